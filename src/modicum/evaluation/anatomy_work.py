"""An anatomized release beside the records that it was made of, and what a model learns from it."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from sklearn.base import clone

from modicum.anatomy import Anatomy
from modicum.errors import DataError, ModicumError, ParameterError, PrivacyWarning
from modicum.evaluation.anatomy_learning import AnatomyLearned, anatomy_errors
from modicum.evaluation.release_learning import NoTrialError, hold_out
from modicum.releases.anatomy_release import AnatomyRelease
from modicum.table.frames import as_frame
from modicum.table.inference import not_whole
from modicum.table.roles import person_codes, unit_codes
from modicum.table.targets import MAX_CLASSES, label_values
from modicum.table.values import Codes


@dataclass(frozen=True)
class AnatomyWork:
    """A release beside its records.

    Attributes
    ----------
    owner : the Anatomy that made the release, where it was given
    release : the tables
    raw, y : the full records and their class
    rows : which full record each row of the identifying table is
    persons : whose each full record is, where a column says so
    random_state : the seed of the evidence, not that of the groups
    """

    owner: Anatomy | None
    release: AnatomyRelease
    raw: nw.DataFrame[Any]
    y: Any
    rows: Codes
    persons: Codes | None
    random_state: int

    @classmethod
    def of(cls, given: Any, X: Any, y: Any, random_state: int) -> "AnatomyWork":
        """Tie a release to its records; what does not belong together is refused."""
        owner = given if isinstance(given, Anatomy) else None
        release = getattr(given, "release_", None) if owner is not None else given
        if not isinstance(release, AnatomyRelease):
            raise ParameterError(
                "The 'anatomy' parameter must be a fitted Anatomy, or the AnatomyRelease of one that keeps its tables. "
                f"Got {type(given).__name__} instead."
            )
        raw = as_frame(X)
        rows = np.arange(len(raw)) if owner is None else owner.rows_
        _check_records(release, raw, rows)
        label = release.label
        if y is None and label is not None and label in raw.columns:
            y = raw[label].to_native()
        if y is not None:
            label_values(y, len(raw))
        persons = None if owner is None or owner.schema is None else person_codes(owner.schema, raw)
        return cls(owner, release, raw, y, rows, persons, random_state)

    @property
    def released_raw(self) -> nw.DataFrame[Any]:
        """The full records of those who were released, in the order of the identifying table."""
        return self.raw[self.rows.tolist()]

    @property
    def people(self) -> int:
        """How many people were released."""
        own = self.released_persons
        return self.release.rows if own is None else int(own.max()) + 1

    @property
    def released_persons(self) -> Codes | None:
        """Whose each released record is."""
        return None if self.persons is None else np.unique(self.persons[self.rows], return_inverse=True)[1]

    def known(self, X_test: Any, y_test: Any) -> Any:
        """Complete records of other people, as an adversary would have them: with the class, which is published."""
        label = self.release.label
        if X_test is None or y_test is None or label is None:
            return X_test
        frame = as_frame(X_test)
        if label in frame.columns:
            return X_test
        values = label_values(y_test, len(frame)).tolist()
        return frame.with_columns(nw.new_series(label, values, backend=frame.implementation)).to_native()

    def utility(
        self, X_test: Any, y_test: Any, estimator: Any, by: Any
    ) -> tuple[AnatomyLearned | None, bool, dict[str, str]]:
        """Train and test, where there is something to predict; whether records were held out; why not."""
        if y_test is not None and X_test is None:
            raise ParameterError("The 'y_test' parameter belongs to 'X_test'.")
        why = self._why_not(y_test)
        if why is not None:
            return None, False, {"utility": why}
        options = {"estimator": estimator, "by": by, "random_state": self.random_state}
        if y_test is not None:
            values, test = label_values(self.y)[self.rows], as_frame(X_test)
            persons = None if self.persons is None else self._persons_of(test)
            found = anatomy_errors(self.release, self.released_raw, values, test, y_test, persons=persons, **options)
            return found, False, {}
        try:
            return self._trial(options), True, {}
        except NoTrialError as error:
            return None, False, {"utility": str(error)}

    def _why_not(self, y_test: Any) -> str | None:
        if self.y is None or self.release.label is None:
            return "The release has no class, so no model was trained."
        values = label_values(self.y)
        if len(pd.unique(values)) < 2:
            return "The label has only one value, so there is nothing to predict."
        if values.dtype.kind == "f" and not_whole(values):
            return "The label is a number with fractions, and the classifier predicts classes."
        if values.dtype.kind in "iuf" and len(np.unique(values)) > MAX_CLASSES:
            return "The label is a number of many values, and the classifier predicts classes."
        if self.owner is None and y_test is None:
            return "Only the release was given; a second one of part of the records needs the Anatomy that made it."
        return None

    def _persons_of(self, frame: nw.DataFrame[Any]) -> Codes | None:
        return None if self.owner is None or self.owner.schema is None else person_codes(self.owner.schema, frame)

    def _trial(self, options: dict[str, Any]) -> AnatomyLearned:
        """A release of 70% of the records to learn from, and the others to test on; a person's records together."""
        values = label_values(self.y)
        train, test = hold_out(values, self.persons, self.random_state)
        names = [name for name in self.raw.columns if name != self.release.label]
        raw = self.raw.select(names)[train.tolist()]
        again = self._made_again(raw, values[train], names)
        return anatomy_errors(
            again.release_,
            raw[again.rows_.tolist()],
            values[train][again.rows_],
            self.raw[test.tolist()],
            values[test],
            persons=None if self.persons is None else unit_codes(self.persons[test]),
            **options,
        )

    def _made_again(self, raw: nw.DataFrame[Any], y: Any, names: Sequence[str]) -> Anatomy:
        """Tables of these records by the same settings, which nobody sees; the seed of the groups has no part."""
        assert self.owner is not None
        schema = self.owner.schema
        if schema is not None:
            schema = schema.select([name for name in schema.names if name in names])
        again = clone(self.owner).set_params(random_state=self.random_state, schema=schema)
        labels = nw.new_series(str(self.release.label), y.tolist(), backend=raw.implementation).to_native()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)  # it is not published
            try:
                return again.fit(raw.to_native(), labels)
            except ModicumError as error:
                raise NoTrialError(f"A release of part of the records, to test with, cannot be made: {error}") from None


def _check_records(release: AnatomyRelease, raw: nw.DataFrame[Any], rows: Codes) -> None:
    if len(raw) != release.rows + release.suppressed or len(rows) != release.rows:
        raise DataError(
            f"X has {len(raw):,} records, but the release was made of {release.rows + release.suppressed:,}."
        )
    absent = [n for n in [*release.identifying_names, *release.sensitive_names] if n not in raw.columns]
    if absent:
        raise DataError(f"The column {absent[0]!r} of the release is not in X.")
