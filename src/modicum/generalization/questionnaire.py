"""Questions in any order, each only as fine as the earlier answers require ([Goldsteen22 §3.2], third option).

Two codes of an attribute are *equivalent* if every completion of the answers leads to the same result with both. A
question's choices are the classes of equivalent codes; an attribute with only one class is not asked.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.errors import DataError, ParameterError
from modicum.generalization.bins import MISSING, AnyPartition, FullDetail, Scalar, unique
from modicum.generalization.cells import CellPartition, format_label, same_bucket
from modicum.generalization.exports import Exports
from modicum.table.frames import numbers
from modicum.table.values import iso
from modicum.typing import Codes, Floats, Mask

# Find codes of an attribute that always lead to the same result, by random fingerprints.

_PRIME = 2**31 - 1  # products of two residues fit into 64 bits, and sums of millions are exact in float64


@dataclass(frozen=True)
class Equivalence:
    """Find equivalent codes of an attribute by fingerprints of their results.

    A code's fingerprint is the sum over all completions x of result(x) · ∏ r(x_b), with random numbers r for each code
    and each result, modulo a prime p. It is computed as a sum over cells of products over attributes, without listing
    completions. Equivalent codes have equal fingerprints. Other codes have equal ones with a probability of at most
    (attributes / p)², because there are two independent fingerprints (Schwartz–Zippel).

    Attributes
    ----------
    boxes : attribute → array of bool, one row per cell and one column per code
    drawn : attribute → the random numbers of its codes
    results : the random numbers of each cell's result
    """

    boxes: dict[int, Mask]
    drawn: dict[int, Floats]
    results: Codes

    @classmethod
    def of(cls, boxes: dict[int, Mask], results: Codes) -> "Equivalence":
        """Draw the random numbers; cells with equal `results` share theirs."""
        random = np.random.default_rng(0)
        drawn = {a: random.integers(_PRIME, size=(box.shape[1], 2)).astype(float) for a, box in boxes.items()}
        return cls(boxes, drawn, random.integers(_PRIME, size=(len(results), 2))[results])

    def classes(self, boxes: dict[int, Mask], rows: Floats | None = None) -> dict[int, Codes]:
        """Return, for each code of each open attribute, the first equivalent code, with a row for each of `rows`.

        Parameters
        ----------
        boxes : open attribute → which of its codes are possible in each cell
        rows : which cells are possible, a row of 0 and 1 for each case; by default one case with all cells

        Examples
        --------
        >>> import numpy as np
        >>> from modicum.generalization.questionnaire import Equivalence
        >>> boxes = {0: np.array([[True, True, False, True], [False, False, True, False]])}
        >>> Equivalence.of(boxes, np.array([0, 1])).classes(boxes)[0].tolist()
        [[0, 0, 2, 0]]
        """
        cases = np.ones((1, len(self.results))) if rows is None else rows
        weights = [(box @ self.drawn[a] % _PRIME).astype(np.int64) for a, box in boxes.items()]
        first_codes = {}
        for (a, box), product in zip(boxes.items(), _products_of_others(self.results, weights), strict=True):
            one, two = ((cases @ (box * each[:, None]) % _PRIME).astype(np.int64) for each in product.T.astype(float))
            first_codes[a] = _first_equal(one << 31 | two)
        return first_codes


def _products_of_others(first: Codes, factors: Sequence[Codes]) -> list[Codes]:
    """Return, for each factor, the product of `first` and all other factors."""
    products = [first]
    for factor in factors[:-1]:
        products.append(products[-1] * factor % _PRIME)
    after = np.ones_like(first)
    for i in reversed(range(len(factors))):
        products[i] = products[i] * after % _PRIME
        after = after * factors[i] % _PRIME
    return products[: len(factors)]


def _first_equal(keys: Codes) -> Codes:
    """Return, for each entry of each row, the place of the first equal entry."""
    order = np.argsort(keys, axis=1, kind="stable")
    ranked = np.take_along_axis(keys, order, axis=1)
    starts = np.zeros(keys.shape, dtype=np.int64)
    starts[:, 1:] = np.where(ranked[:, 1:] != ranked[:, :-1], np.arange(1, keys.shape[1]), 0)
    first = np.take_along_axis(order, np.maximum.accumulate(starts, axis=1), axis=1)
    found = np.empty_like(first)
    np.put_along_axis(found, order, first, axis=1)
    return found


# The questions


@dataclass(frozen=True)
class BucketChoice:
    """An answer to a question: its label, and the codes (buckets of `cells.detail`) that it represents."""

    label: str
    codes: tuple[int, ...]


@dataclass(frozen=True)
class Question:
    """An attribute that is still asked; `choices` is None if its exact value is needed."""

    name: str
    choices: tuple[BucketChoice, ...] | None


@dataclass(frozen=True)
class QuestionnaireState:
    """The state of a questionnaire after some answers.

    Attributes
    ----------
    questions : the open questions, in the artifact's order; empty once it is decided
    decided : whether the answers determine the prediction
    prediction : the model's prediction; None before it is decided, or if the model needs exact values
    values : the record to give to the model, if it needs exact values and all answers are there
    told : attribute → the answer, as a label
    cells : the cells that are still possible
    """

    questions: tuple[Question, ...]
    decided: bool
    prediction: bool | int | float | str | None
    values: dict[str, Scalar] | None
    told: dict[str, str]
    cells: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return asdict(self)


class Questionnaire(Exports):
    """A form that asks for less with every answer, and stops when the prediction is fixed [Goldsteen22 §3.2].

    People answer in any order, so a question that they would rather not answer may become coarser or unnecessary.
    There is no hidden state: `state` depends only on the answers, not on their order. If all answers are offered
    choices, the open questions depend only on the record.

    Equivalence does not depend on the order of questions in the tree. It is decided by fingerprints (see
    `Equivalence`), which wrongly take two codes as equivalent with a probability below 1 in 10¹⁵.

    The kept attributes (`cells.kept`) are always asked: for exact values, or for their buckets if they are kept in
    buckets.

    Parameters
    ----------
    cells : CellPartition

    Examples
    --------
    >>> import modicum as md
    >>> X = md.datasets.load_adult().X[["age", "hours-per-week", "capital-gain"]][:3000]
    >>> rule = lambda X: (X["capital-gain"] > 5000) | (X["age"] > 40) & (X["hours-per-week"] > 45)
    >>> form = md.Questionnaire(md.ModelGuided(rule, random_state=0).fit(X).cells_)
    >>> [question.name for question in form.state().questions]
    ['age', 'hours-per-week', 'capital-gain']
    >>> much = form.state().questions[2].choices[-1]
    >>> form.state({"capital-gain": much}).prediction
    True
    """

    def __init__(self, cells: CellPartition) -> None:
        if not isinstance(cells, CellPartition):
            raise ParameterError(f"A questionnaire is made of cells. Got {type(cells).__name__} instead.")
        self.cells = cells
        if cells.kept or any(cell.prediction is None for cell in cells.tree.cells):
            cells.to_dict()  # refuses values of actual people, which a state would show

    def __repr__(self) -> str:
        return f"<Questionnaire: {len(self.cells.needed)} attributes, {self.cells.n_cells} cells>"

    @cached_property
    def equivalence(self) -> Equivalence:
        """The equivalent codes; attributes are given by their place in `cells.names`."""
        tree, sizes = self.cells.tree, self.cells.detail.sizes
        boxes = {a: np.ones((len(tree.cells), sizes[a]), dtype=bool) for a in tree.asked}
        for i, box in enumerate(tree.boxes):
            for a, mask in box.items():
                boxes[a][i] = mask
        known: dict[Any, int] = {}
        results = [known.setdefault(self._result(i), len(known)) for i in range(len(tree.cells))]
        return Equivalence.of(boxes, np.array(results, dtype=np.int64))

    def _result(self, cell: int) -> tuple[Any, ...]:
        """Return a cell's result: its prediction, or the cell itself if the model needs its values."""
        prediction = self.cells.tree.cells[cell].prediction
        return (cell,) if prediction is None or self.cells.kept else (type(prediction), prediction)

    def state(self, answers: Mapping[str, Any] | None = None) -> QuestionnaireState:
        """Return the open questions after some answers, and the prediction once it is fixed.

        Parameters
        ----------
        answers : attribute → answer
            A `BucketChoice` or its codes; for a kept attribute its value. Any other non-empty set of codes is accepted:
            if it is coarser than the choices, the attribute is asked again within that set.

        Examples
        --------
        >>> import modicum as md
        >>> X = md.datasets.load_adult().X[["age", "capital-gain"]][:3000]
        >>> cells = md.ModelGuided(lambda X: X["capital-gain"] < 5000, random_state=0).fit(X).cells_
        >>> state = md.Questionnaire(cells).state()
        >>> [(question.name, len(question.choices)) for question in state.questions]
        [('capital-gain', 2)]
        """
        given = {} if answers is None else answers
        self._check_names(given)
        open_ = {a: np.ones(self.cells.detail.sizes[a], dtype=bool) for a in self.cells.tree.asked}
        told: dict[str, str] = {}
        exact: dict[str, Scalar] = {}
        for a, name in enumerate(self.cells.names):
            if name not in given:
                continue
            if name in self.cells.kept:
                exact[name], told[name], answer = self._parse_kept_answer(name, given[name])
            else:
                answer = self._answer(name, given[name])
                told[name] = choice_label(self.cells.detail[name], sorted(answer))
            if a in open_:
                open_[a][:] = np.isin(np.arange(len(open_[a])), list(answer))
        return self._state(open_, told, exact)

    def _state(self, open_: dict[int, Mask], told: dict[str, str], exact: dict[str, Scalar]) -> QuestionnaireState:
        boxes = {a: box & open_[a] for a, box in self.equivalence.boxes.items()}
        reached = np.ones(self.cells.n_cells, dtype=bool)
        for box in boxes.values():
            reached &= box.any(axis=1)
        classes = self.equivalence.classes(boxes)
        questions = []
        for a, name in enumerate(self.cells.names):
            if name in self.cells.kept:
                questions += [] if name in exact else [Question(name, self._list_kept_choices(name))]
            elif a in boxes:
                choices = self._choices(name, classes[a][0], np.flatnonzero(open_[a]))
                questions += [Question(name, choices)] if len(choices) > 1 else []
        cells = tuple(np.flatnonzero(reached).tolist())
        if questions:
            return QuestionnaireState(tuple(questions), False, None, None, told, cells)
        one = self.cells.tree.cells[cells[0]]
        prediction = None if self.cells.kept else one.prediction
        values = dict(zip(self.cells.names, one.values, strict=True)) | exact if prediction is None else None
        return QuestionnaireState((), True, prediction, values, told, cells)

    def least(self, answers: Mapping[str, Any]) -> dict[str, object]:
        """Return the coarsest form of these answers that still decides, which is what is sent.

        Later answers may make an early answer needlessly fine. From the last answer to the first, widen each one to all
        codes that lead to the same result given the others, and leave it out if every code does. No answer can then be
        widened further. Answers about kept attributes do not change.

        Parameters
        ----------
        answers : attribute → answer, in the order of answering; together they must decide

        Returns
        -------
        attribute → tuple of codes, in the artifact's order; for a kept attribute its answer

        Examples
        --------
        >>> import modicum as md
        >>> X = md.datasets.load_adult().X[["age", "hours-per-week", "capital-gain"]][:3000]
        >>> rule = lambda X: (X["capital-gain"] > 5000) | (X["age"] > 40) & (X["hours-per-week"] > 45)
        >>> form = md.Questionnaire(md.ModelGuided(rule, random_state=0).fit(X).cells_)
        >>> record = {"age": 50, "hours-per-week": 40, "capital-gain": 9000}
        >>> answers = form.answers_of(record)
        >>> list(answers), list(form.least(answers))
        (['age', 'hours-per-week', 'capital-gain'], ['capital-gain'])
        """
        if not self.state(answers).decided:
            raise ParameterError("These answers do not decide yet; `state` lists the open questions.")
        open_ = {self.cells.names[a]: set(range(self.cells.detail.sizes[a])) for a in self.cells.tree.asked}
        for name, answer in answers.items():
            if name not in self.cells.kept:
                open_[name] = self._answer(name, answer)
            elif name in open_:
                open_[name] = self._parse_kept_answer(name, answer)[2]
        for name in reversed([name for name in answers if name not in self.cells.kept]):
            open_[name] = self._widen_codes(name, open_)
        return {
            name: answers[name] if name in self.cells.kept else tuple(sorted(open_[name]))
            for name in self.cells.needed
            if name in self.cells.kept or len(open_[name]) < len(self._find_partition(name).labels)
        }

    def _widen_codes(self, name: str, open_: Mapping[str, set[int]]) -> set[int]:
        """Return all codes of an attribute that lead to the same result as its open ones, given the others."""
        boxes = {}
        for a, box in self.equivalence.boxes.items():
            other = self.cells.names[a]
            boxes[a] = box if other == name else box & np.isin(np.arange(box.shape[1]), list(open_[other]))
        first = self.equivalence.classes(boxes)[self.cells.names.index(name)][0]
        return set(np.flatnonzero(first == first[min(open_[name])]).tolist())

    def _choices(self, name: str, classes: Codes, codes: Codes) -> tuple[BucketChoice, ...]:
        code_sets = [tuple(codes[classes[codes] == first].tolist()) for first in np.unique(classes[codes])]
        labels = unique([choice_label(self.cells.detail[name], each) for each in code_sets])
        return tuple(BucketChoice(label, each) for label, each in zip(labels, code_sets, strict=True))

    # Answers

    def answer_of(self, state: QuestionnaireState, name: str, record: Any) -> Any:
        """Return a record's answer to one of the questions: the matching choice, or the value of a kept attribute.

        The record maps attributes to values, or is a row of codes from `cells.detail.codes`.
        """
        question = next((question for question in state.questions if question.name == name), None)
        if question is None:
            raise ParameterError(f"There is no open question about {name!r}.")
        if isinstance(record, pd.Series):
            record = record.to_dict()
        if isinstance(record, Mapping):
            if name not in record:
                raise ParameterError(f"The record has no value of {name!r}.")
            if question.choices is None:
                return record[name]
            code = int(self._find_partition(name).encode(_series(name, record[name]))[0])
        elif name in self.cells.kept:
            raise ParameterError(f"The question about {name!r} needs its exact value, which a row of codes lacks.")
        else:
            code = int(record[self.cells.names.index(name)])
        choices = [choice for choice in question.choices or () if code in choice.codes]
        if not choices:
            raise ParameterError(f"The record contradicts the earlier answer about {name!r}.")
        return choices[0]

    def answers_of(self, record: Any, order: Sequence[str] | None = None) -> dict[str, object]:
        """Return a record's answers to questions in some order (by default the artifact's) until it is decided.

        Examples
        --------
        >>> import modicum as md
        >>> X = md.datasets.load_adult().X[["age", "capital-gain"]][:3000]
        >>> cells = md.ModelGuided(lambda X: X["capital-gain"] < 5000, random_state=0).fit(X).cells_
        >>> form = md.Questionnaire(cells)
        >>> answers = form.answers_of({"age": 30, "capital-gain": 7000})
        >>> list(answers), form.state(answers).prediction
        (['capital-gain'], False)
        """
        first = [order] if isinstance(order, str) else list(order or ())
        unknown = [name for name in first if name not in self.cells.names]
        if unknown:
            raise ParameterError(f"The 'order' parameter names {unknown[0]!r}, which is not an attribute of the cells.")
        answers: dict[str, object] = {}
        state = self.state(answers)
        for name in dict.fromkeys([*first, *self.cells.names]):
            if any(question.name == name for question in state.questions):
                answer = self.answer_of(state, name, record)
                answers[name] = answer.codes if isinstance(answer, BucketChoice) else answer
                state = self.state(answers)
        return answers

    def _check_names(self, answers: Mapping[str, Any]) -> None:
        if not isinstance(answers, Mapping):
            raise ParameterError(f"The answers must map attributes to answers. Got {type(answers).__name__} instead.")
        for name in answers:
            if name not in self.cells.names:
                raise ParameterError(f"There is an answer about {name!r}, which is not an attribute of the cells.")
            if name not in self.cells.needed:
                raise ParameterError(f"There is an answer about {name!r}, which is not asked; leave it out.")

    def _answer(self, name: str, answer: Any) -> set[int]:
        codes = answer.codes if isinstance(answer, BucketChoice) else answer
        codes = codes.tolist() if isinstance(codes, np.ndarray) else codes
        size = len(self._find_partition(name).labels)
        listed = isinstance(codes, list | tuple | set | frozenset) and len(codes) > 0
        if not listed or any(
            isinstance(code, bool) or not isinstance(code, int | np.integer) or not 0 <= code < size for code in codes
        ):
            raise ParameterError(
                f"The answer about {name!r} must be one of its choices or a non-empty list of its codes, integers from "
                f"0 to {size - 1}."
            )
        return {int(code) for code in codes}

    def _find_partition(self, name: str) -> AnyPartition:
        """Return the partition with the buckets that an attribute's choices combine."""
        return self.cells.code_buckets(name)[0]

    def _list_kept_choices(self, name: str) -> tuple[BucketChoice, ...] | None:
        """Return a choice for each bucket of a kept attribute; None if it is kept in full detail."""
        partition = self._find_partition(name)
        if isinstance(partition, FullDetail):
            return None
        return tuple(BucketChoice(label, (code,)) for code, label in enumerate(partition.labels))

    def _parse_kept_answer(self, name: str, value: Any) -> tuple[Scalar, str, set[int]]:
        """Return a kept attribute's value for the model, its label, and its bucket in the tree.

        The answer is one of its choices, or the exact value if it is kept in full detail.
        """
        partition, detail = self._find_partition(name), self.cells.detail[name]
        choices = self._list_kept_choices(name) is not None
        if choices and (isinstance(value, BucketChoice) or not pd.api.types.is_scalar(value)):
            codes = self._answer(name, value)
            if len(codes) > 1:
                raise ParameterError(f"The answer about {name!r} must be a single choice.")
            own = codes.pop()
            code = same_bucket(partition, own, detail)
            if code < 0:
                raise DataError(f"The answer about {name!r} is refused by this artifact.")
            return partition.representatives[own], partition.labels[own], {code}
        if isinstance(value, BucketChoice) or not pd.api.types.is_scalar(value) or partition.action == "coarsened":
            raise ParameterError(f"The answer about {name!r} must be {'a choice' if choices else 'a single value'}.")
        series = _series(name, value)
        own = int(partition.encode(series)[0])  # also raises the error for refused values
        code = int(detail.encode(series)[0])
        if choices:
            return partition.representatives[own], partition.labels[own], {code}
        number = float(numbers(series, partition.attribute)[0])
        if math.isnan(number):
            return None, MISSING, {code}
        plain = iso(number) if partition.attribute.kind == "date" else int(number) if number.is_integer() else number
        return plain, str(plain), {code}


def choice_label(partition: AnyPartition, codes: Sequence[int]) -> str:
    """Name several codes together; ranges that are not neighbours are joined by `or`.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.generalization.questionnaire import choice_label
    >>> g = md.Uniform(buckets=4).fit(pd.DataFrame({"age": [20, 40, 60, 80]})).generalization_
    >>> choice_label(g["age"], [0, 1]), choice_label(g["age"], [0, 2, 3])
    ('≤ 50', '≤ 30 or ≥ 51')
    """
    if len(codes) == 1:
        return partition.labels[codes[0]]
    if not partition.attribute.has_order or len(codes) == len(partition.labels):
        return format_label(partition, codes)
    own = np.array([code for code in codes if code < partition.n_buckets], dtype=np.int64)
    runs = [run.tolist() for run in np.split(own, np.flatnonzero(np.diff(own) > 1) + 1) if len(run)]
    words = [partition.labels[run[0]] if len(run) == 1 else format_label(partition, run) for run in runs]
    return " or ".join([*words, *(partition.labels[code] for code in codes if code >= partition.n_buckets)])


def _series(name: str, value: Any) -> nw.Series[Any]:
    """Convert a value of any type to a column."""
    return nw.from_native(pd.Series([value], dtype=object, name=name), series_only=True)
