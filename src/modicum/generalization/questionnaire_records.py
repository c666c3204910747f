"""Records of a questionnaire as they travel: what was asked, in no finer buckets than the result needs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from modicum.errors import DataError, ParameterError
from modicum.generalization.questionnaire import Questionnaire
from modicum.generalization.record_entries import Asked, Inputs, Told, bucket_code, check_fields, column, rows
from modicum.generalization.representatives import typed_column


class QuestionnaireRecords:
    """Records of a `Questionnaire`; a key holds pairs of an attribute and its codes, or its kept code or number."""

    def __init__(self, form: Questionnaire) -> None:
        self.form = form
        self.names = form.cells.needed
        self._kept = {name: Asked(form.cells.told(name)[0]) for name in form.cells.kept}
        self._codes = {
            name: {label: i for i, label in enumerate(form.cells.detail[name].labels)}
            for name in self.names
            if name not in self._kept
        }

    def check(self, record: Any) -> Told:
        check_fields(record, list(self._kept), self.form.cells.names, self.names)
        told = tuple((name, self._own(name, record[name])) for name in self.names if name in record)
        answers = self._answers(told)
        state = self.form.state(answers)
        if not state.decided:
            raise DataError(f"The record does not say enough: {state.questions[0].name!r} is still asked.")
        least = self.form.least(answers)
        finer = next((name for name in answers if name not in self._kept and answers[name] != least.get(name)), None)
        if finer is not None:
            raise DataError(f"What is sent about {finer!r} is finer than it need be.")
        return told

    def _own(self, name: str, sent: Any) -> Any:
        if name in self._kept:
            return self._kept[name].check(sent)
        if not isinstance(sent, list) or not sent:
            raise DataError(f"What is sent about {name!r} must be a list of its buckets.")
        codes = sorted({bucket_code(self._codes[name], name, each) for each in sent})
        if len(codes) < len(sent):
            raise DataError(f"What is sent about {name!r} names a bucket twice.")
        if len(codes) == len(self._codes[name]):
            raise DataError(f"What is sent about {name!r} names all its buckets, which tells nothing; leave it out.")
        return tuple(codes)

    def _answers(self, told: Told) -> dict[str, Any]:
        """The key as `Questionnaire.state` takes it."""
        return {name: self._kept[name].answer(own) if name in self._kept else own for name, own in told}

    def record(self, told: Told) -> dict[str, Any]:
        return {
            name: self._kept[name].word(own)
            if name in self._kept
            else [self.form.cells.detail[name].labels[code] for code in own]
            for name, own in told
        }

    def inputs(self, told: Sequence[Told], kind: Inputs) -> pd.DataFrame:
        if kind != "values":
            raise ParameterError("A questionnaire's records differ in what they tell; a model is given their values.")
        states = [self.form.state(self._answers(each)) for each in told]
        cells = np.array([state.cells[0] for state in states], dtype=np.int64)
        kept = {name: [dict(each)[name] for each in told] for name in self._kept}
        tree, schema = self.form.cells.tree, self.form.cells.schema
        columns = {
            name: column(self.form.cells.told(name)[0], kept[name], len(told), kind)
            if name in kept
            else typed_column(schema[name], [cell.values[j] for cell in tree.cells], cells, rows(len(told)))
            for j, name in enumerate(self.form.cells.names)
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(len(told)))

    def prediction(self, told: Told) -> bool | int | float | str | None:
        return self.form.state(self._answers(told)).prediction
