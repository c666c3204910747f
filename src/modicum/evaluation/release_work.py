"""A k-anonymous release beside the records that it was made of."""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.anonymizers.base import Anonymizer
from modicum.errors import DataError, ParameterError, check_number_is
from modicum.evaluation.group_guesses import GroupInference, group_inference, value_targets
from modicum.measures.uniqueness import Crowd, crowd
from modicum.releases.release import Release
from modicum.table.estimator_input import schema_of
from modicum.table.frames import as_frame, column
from modicum.table.roles import as_names, person_codes
from modicum.table.schema import Schema
from modicum.table.targets import label_values
from modicum.table.values import Codes

QUASI, ALL = "quasi-identifiers", "every published column"


@dataclass(frozen=True)
class ReleaseWork:
    """A release beside its records.

    Attributes
    ----------
    owner : the anonymizer that made the release, where it was given
    release, frame : the release and its table
    raw, y : the full records and their label
    rows : which full record each released one is
    schema : kinds and roles
    persons : whose each full record is, where a column says so
    random_state : the seed of the evidence
    """

    owner: Anonymizer | None
    release: Release
    frame: nw.DataFrame[Any]
    raw: nw.DataFrame[Any]
    y: Any
    rows: Codes
    schema: Schema
    persons: Codes | None
    random_state: int

    @classmethod
    def of(cls, given: Any, X: Any, y: Any, schema: Schema | None, random_state: int) -> "ReleaseWork":
        """Tie a release to its records; what does not belong together is refused."""
        check_number_is(random_state, "random_state", "release_evidence", 0)
        release = _release(given)
        raw, frame = as_frame(X), as_frame(release.frame)
        rows = getattr(given, "sample_indices_", np.arange(len(raw)))
        _check_records(release, raw, rows)
        owner = given if isinstance(given, Anonymizer) else None
        known = schema or (schema_of(owner, raw) if owner is not None else Schema.infer(raw))
        if y is None and known.label is not None and known.label in raw.columns:
            y = raw[known.label].to_native()
        if y is not None:
            label_values(y, len(raw))
        return cls(owner, release, frame, raw, y, rows, known, person_codes(known, raw), random_state)

    @property
    def label(self) -> str:
        """What is predicted; a label without a name is not taken for a column that is called "y"."""
        named = getattr(self.y, "name", None)
        return str(named or ("the label" if "y" in self.raw.columns else "y"))

    @property
    def label_column(self) -> str | None:
        """The label among the columns of the records."""
        return self.label if self.y is not None and self.label in self.raw.columns else None

    @property
    def people(self) -> int:
        """How many people the full records are of."""
        return len(self.raw) if self.persons is None else int(self.persons.max()) + 1

    @property
    def released_raw(self) -> nw.DataFrame[Any]:
        """The full records of those who were released, in the release's order."""
        return self.raw[self.rows.tolist()]

    @property
    def released_persons(self) -> Codes | None:
        """Whose each released record is."""
        if self.persons is None:
            return None
        return np.unique(self.persons[self.rows], return_inverse=True)[1]

    @property
    def features(self) -> Schema:
        """The schema of what a model learns from; the person column is kept, though no feature."""
        kept = [n for n in self.schema.features if n in self.frame.columns and n != self.label_column]
        person = [self.schema.person] if self.persons is not None and self.schema.person else []
        return self.schema.select([*kept, *person])

    def crowds(self, population: int | None) -> dict[str, dict[str, Crowd]]:
        """Who is alike by the quasi-identifiers, and by all that is published: in the release, and before it."""
        released, raw = self._with_label(self.frame, self.rows), self._with_label(self.raw, np.arange(len(self.raw)))
        seen = {QUASI: list(self.release.quasi_identifiers), ALL: list(released.columns)}
        found = {}
        for key, names in seen.items():
            many = population if key == QUASI else None
            found[key] = {
                "release": crowd(released, names, self.released_persons),
                "raw": crowd(raw, names, self.persons, many, self.random_state),
            }
        return found

    def _with_label(self, frame: nw.DataFrame[Any], rows: Codes) -> nw.DataFrame[Any]:
        """Records with their label as one more column: it is published beside them."""
        if self.y is None or self.label in frame.columns:
            return frame
        values = label_values(self.y)[rows].tolist()
        return frame.with_columns(nw.new_series(self.label, values, backend=frame.implementation))

    def sensitive(self, given: Any) -> list[str]:
        """What is to be guessed, the label where nothing else is named."""
        named = [given] if isinstance(given, str) else as_names(given)
        if named is None:
            own = self.schema.with_role("sensitive") or ([self.release.sensitive] if self.release.sensitive else [])
            named = list(own) or ([self.label] if self.y is not None else [])
        for name in named:
            if name in self.release.quasi_identifiers:
                raise ParameterError(f"The 'sensitive' parameter names {name!r}, which is a quasi-identifier.")
            if name not in self.raw.columns and not (self.y is not None and name == self.label):
                raise DataError(f"The column {name!r}, which the 'sensitive' parameter names, is not in X.")
        return list(dict.fromkeys(named))

    def inferred(self, name: str) -> GroupInference | None:
        """How well one attribute is guessed from a person's group; None where all have the same value."""
        if name in self.raw.columns:
            column(self.raw, name)
            values = value_targets(self.raw, name, self.schema[name] if name in self.schema.names else None)
        else:
            native = nw.new_series(name, label_values(self.y).tolist(), backend=self.raw.implementation)
            values = value_targets(native.to_frame().to_native(), name)
        if values[1] < 2:
            return None
        own = (values[0][self.rows], *values[1:])
        return group_inference(name, self.frame, self.released_raw, list(self.release.quasi_identifiers), own)


def _release(given: Any) -> Release:
    is_anonymizer = isinstance(given, Anonymizer)
    release = getattr(given, "release_", None) if is_anonymizer else given
    if not isinstance(release, Release):
        got = f"{type(given).__name__}, which is not fitted" if is_anonymizer else type(given).__name__
        raise ParameterError(
            f"The 'anonymizer' parameter must be a fitted anonymizer or its release. Got {got} instead."
        )
    if release.frame is None or release.classes is None:
        raise DataError("This release was written in batches or by an engine; its evidence is measured in memory.")
    return release


def _check_records(release: Release, raw: nw.DataFrame[Any], rows: Codes) -> None:
    absent = [name for name in release.quasi_identifiers if name not in raw.columns]
    if absent:
        raise DataError(f"The column {absent[0]!r}, a quasi-identifier of the release, is not in X.")
    if len(rows) != release.rows or len(raw) != release.rows + release.suppressed:
        raise DataError(
            f"X has {len(raw):,} records, but the release was made of {release.rows + release.suppressed:,}"
            + ("; give the anonymizer, which knows which were left out." if release.suppressed else ".")
        )
