"""The certificate: an upper bound on the accuracy of *any* adversary, whatever its method or computing power.

For an attribute p and a holdout of n records that g has not seen, let

    U = (1/n) Σ_z max_v #{records with buckets z and x_p = v}.

An adversary is a rule h that guesses v from z. No rule is right more often than U on the holdout, and the expectation
of U is at least the accuracy of the best rule on fresh records. Changing one record moves U by at most 1/n. So by
McDiarmid's inequality, with probability at least 1−δ over the holdout, no adversary that sees only z is right more
often than

    U + sqrt(ln(1/δ) / (2n))

on fresh records, on average over people. It assumes that holdout and fresh records are independent draws from the same
population. If one person has several records (role `person`), only persons are assumed independent, given their numbers
of records: changing a person with m_i records moves U by at most m_i/n, so 1/n becomes Σ m_i² / n², and the average is
over records.

An adversary with side knowledge sees z and the full values of other attributes of the same person. A cell then combines
both (`knowledge`, as for `modicum.attacks.Reconstruction`). If hardly two holdout records share a cell, U is near 1 and
the bound says nothing; `vacuous` lists such attributes.

For m attributes and c candidates among which the certificate chose, δ = (1 − confidence) / (m·c), so that all claims
hold together. A number is certified at the resolution of `modicum.table.targets`: ten bins, fixed on other records.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.engines import is_table, table_at
from modicum.engines.buckets import best_at
from modicum.engines.counting import PERSON, records_of, with_person
from modicum.engines.dispatch import target_of
from modicum.errors import DataError, ParameterError, format_names
from modicum.generalization import Artifact
from modicum.generalization.core import raw_generalization
from modicum.table.codes import group_rows
from modicum.table.estimator_input import attribute_weights, person_codes, personal_attributes
from modicum.table.frames import as_frame, column, texts
from modicum.table.plain_data import PlainResult
from modicum.table.schema import Schema
from modicum.table.targets import BINS, Target
from modicum.typing import Codes

_EMPTY = "The holdout has no rows; a certificate needs at least one record."
_THIN = 5  # with fewer records per cell on average, cells are too small for a useful bound
_SEEN = {
    "nothing": "the generalized record",
    "non_personal": "the generalized record and all attributes that are not personal",
    "all_but_one": "the generalized record and all other attributes",
}


@dataclass(frozen=True)
class Certificate(PlainResult):
    """Accuracy that no adversary can exceed, on average over people.

    Attributes
    ----------
    bounds : attribute → the highest accuracy of any adversary that sees only the buckets
    observed : attribute → U, the accuracy of the best rule chosen with hindsight on the holdout
    naive : attribute → the accuracy of always guessing the holdout's most frequent value
    confidence : the probability with which all bounds hold together
    records, persons : their numbers in the holdout; without a person column each record is a person
    groups : the number of different cells of the holdout's records; the maximum if it differs by attribute
    margin : the term added to U
    bins : the number of bins in which a number is guessed
    knowledge : what the adversary knows in addition to the buckets
    weights : attribute → its share in the mean

    Examples
    --------
    >>> import modicum as md
    >>> X = md.datasets.load_adult().X[["age", "race", "sex"]]
    >>> g = md.Uniform(buckets=2).fit(X[:2_000]).generalization_
    >>> found = md.certify(g, X[2_000:10_000], personal=["age", "sex"])
    >>> found.confidence, sorted(found.bounds)
    (0.99, ['age', 'sex'])
    >>> found.bounds["age"] < 0.3 < found.bounds["sex"]
    True
    """

    bounds: dict[str, float]
    observed: dict[str, float]
    naive: dict[str, float]
    confidence: float
    records: int
    persons: int
    groups: int
    margin: float
    bins: int
    knowledge: str
    weights: dict[str, float]

    _properties = ("mean", "unit", "worst", "vacuous", "note")

    @property
    def mean(self) -> float:
        """The weighted mean of the bounds over the attributes."""
        return float(sum(self.weights[name] * bound for name, bound in self.bounds.items()))

    @property
    def unit(self) -> str:
        """The unit of the average: people, or records if one person has several."""
        return "people" if self.persons == self.records else "records"

    @property
    def vacuous(self) -> list[str]:
        """The attributes with bound 1, about which the certificate says nothing."""
        return [name for name, bound in self.bounds.items() if bound >= 1]

    @property
    def note(self) -> str | None:
        """Why the certificate says nothing about some attributes; None if it covers all."""
        if not self.vacuous:
            return None
        if self.records < _THIN * self.groups:
            return (
                f"The bound says nothing about {format_names(self.vacuous)}: people fall into so many different "
                f"cells that a cell holds only {self.records / self.groups:.1f} holdout records on average, too few to "
                "exclude anything."
            )
        common = [name for name in self.vacuous if self.naive[name] + self.margin >= 1]
        why = "almost everyone has the same value" if common == self.vacuous else "the visible data may reveal it"
        return f"The bound says nothing about {format_names(self.vacuous)}: {why}."

    @property
    def worst(self) -> str:
        """The attribute with the largest distance from the naive guess to the bound."""
        return max(self.bounds, key=lambda name: self.bounds[name] - self.naive[name])

    def sentence(self, attribute: str) -> str:
        """Return the claim about one attribute as a sentence to quote."""
        if attribute not in self.bounds:
            raise ParameterError(
                f"The certificate does not cover {attribute!r}; it covers {format_names(self.bounds)}."
            )
        bound = math.ceil(1000 * self.bounds[attribute] - 1e-9) / 1000  # rounded up, so that it still holds
        return (
            f"With {confidence_text(self.confidence)} confidence, no adversary that sees only "
            f"{_SEEN[self.knowledge]} guesses {attribute!r} correctly for more than {bound:.1%} of "
            f"{self.unit} like those in the holdout, on average."
        )


def confidence_text(confidence: float) -> str:
    """Format a confidence as a percentage with all its digits.

    Examples
    --------
    >>> from modicum.measures.certificate import confidence_text
    >>> confidence_text(0.99), confidence_text(0.9995)
    ('99%', '99.95%')
    """
    return f"{100 * confidence:.10g}%"


def check_confidence(confidence: Any) -> None:
    """Refuse a confidence that is not a number between 0 and 1."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise ParameterError(
            f"The 'confidence' parameter must be a number between 0 and 1. Got {confidence!r} instead."
        )


def certify(
    g: Artifact,
    X_holdout: Any,
    personal: Iterable[str] | None = None,
    confidence: float = 0.99,
    *,
    knowledge: str = "nothing",
    weights: Mapping[str, float] | None = None,
    known: Any = None,
    bins: int = BINS,
    candidates: int = 1,
    random_state: int = 0,
) -> Certificate:
    """Bound the accuracy of every adversary that sees `g`'s buckets; the module docstring explains why it holds.

    Parameters
    ----------
    g : Generalization, or another artifact with `codes`
    X_holdout : frame
        Full records that were not used to make or choose `g`. A column with the schema's role `person` is used. A
        table in an engine is counted there.
    personal : attributes to certify; the schema's personal attributes by default
    confidence : float
        The probability with which all bounds hold together.
    knowledge : "nothing", "non_personal" or "all_but_one"
        Whether the adversary also knows the full values of the attributes that are not personal (A3), or of all but the
        one it guesses (A4).
    weights : attribute → its weight in the mean, by default 1
    known : frame, optional
        Other records, to fix the bins of personal numbers. Without them a tenth of a holdout in memory is used for
        that and not counted.
    bins : int
        The number of bins in which a number is guessed.
    candidates : int
        The number of generalizations among which this certificate helps to choose.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.PrivacyTree(max_leaves=6).fit(X[:20_000], y[:20_000]).generalization_
    >>> certificate = md.certify(g, X[20_000:], personal=["race", "sex"])
    >>> certificate.bounds["sex"] < 0.9
    True
    """
    if not isinstance(g, Artifact):
        raise ParameterError(f"A certificate needs a generalization, such as `md.load` gives. Got {type(g).__name__}.")
    check_confidence(confidence)
    for name, value, least in (("candidates", candidates, 1), ("bins", bins, 2)):
        if not isinstance(value, int) or value < least:
            raise ParameterError(f"The {name!r} parameter must be an int ≥ {least}. Got {value!r} instead.")
    if not isinstance(knowledge, str) or knowledge not in _SEEN:
        raise ParameterError(
            f"The 'knowledge' parameter must be one of {format_names(_SEEN)}. Got {knowledge!r} instead."
        )
    attributes = personal_attributes(g.schema, personal)
    shares = attribute_weights(attributes, weights)
    delta = (1 - confidence) / (len(attributes) * candidates)
    count = _count_records_at if is_table(X_holdout) else _count_records
    counted = count(g, X_holdout, attributes, knowledge, known, bins, random_state)
    margin = _margin(counted.records, counted.squares, delta)
    return Certificate(
        bounds={name: min(1.0, u + margin) for name, u in counted.observed.items()},
        observed=counted.observed,
        naive=counted.naive,
        confidence=confidence,
        records=counted.records,
        persons=counted.persons,
        groups=counted.groups,
        margin=margin,
        bins=bins,
        knowledge=knowledge,
        weights=shares,
    )


@dataclass(frozen=True)
class _Counted:
    """The counts of a holdout; `squares` is Σ m_i² over persons with m_i records."""

    observed: dict[str, float]
    naive: dict[str, float]
    records: int
    persons: int
    groups: int
    squares: int


def _count_records(
    g: Artifact, X: Any, attributes: Sequence[str], knowledge: str, known: Any, bins: int, random_state: int
) -> _Counted:
    """Count records in memory."""
    holdout = as_frame(X, g.names)
    if known is None and any(not g.schema[name].is_category for name in attributes):
        holdout, known = _set_aside(holdout, g.schema, random_state)
    if len(holdout) == 0:
        raise DataError(_EMPTY)
    cells = _cells(g, holdout, attributes, knowledge)
    persons = person_codes(g.schema, holdout)
    values = {name: _values(g.schema, name, holdout, known, bins) for name in attributes}
    return _Counted(
        observed={name: best_in_hindsight(cells[name], codes) for name, codes in values.items()},
        naive={name: float(np.bincount(codes).max() / len(codes)) for name, codes in values.items()},
        records=len(holdout),
        persons=len(holdout) if persons is None else int(persons.max()) + 1,
        groups=max(int(of_row.max()) + 1 for of_row in cells.values()),
        squares=len(holdout) if persons is None else _squares(np.bincount(persons)),
    )


def _count_records_at(
    g: Artifact, X: Any, attributes: Sequence[str], knowledge: str, known: Any, bins: int, random_state: int
) -> _Counted:
    """Count a table in an engine by group-bys there."""
    table = with_person(table_at(X), g.schema)
    numbers = [name for name in attributes if not g.schema[name].is_category]
    if known is None and numbers:
        raise ParameterError(
            f"The 'known' parameter must give other records to fix the bins of {numbers[0]!r}: no records of a table "
            f"in {table.engine} are set aside for that."
        )
    n = table.rows()
    if not n:
        raise DataError(_EMPTY)
    targets = {name: target_of(known, g.schema[name], bins) for name in numbers}
    results = {
        name: best_at(table, g, name, targets.get(name), _side(g, attributes, name, knowledge)) for name in attributes
    }
    many, often = records_of(table.lazy, PERSON) if PERSON in table.types else (np.array([1]), np.array([n]))
    return _Counted(
        observed={name: best.right / n for name, best in results.items()},
        naive={name: best.naive / n for name, best in results.items()},
        records=n,
        persons=int(often.sum()),
        groups=max(best.groups for best in results.values()),
        squares=int((many.astype(object) ** 2 * often.astype(object)).sum()),
    )


def _side(g: Artifact, attributes: Sequence[str], name: str, knowledge: str) -> list[str]:
    """Return the attributes that an adversary who guesses this one knows in full."""
    if knowledge == "nothing":
        return []
    guessed = attributes if knowledge == "non_personal" else [name]
    return [other for other in g.schema.features if other not in guessed]


def _cells(g: Artifact, holdout: Any, attributes: Sequence[str], knowledge: str) -> dict[str, Codes]:
    """Return each record's cell for every attribute: records of one cell look the same to its adversary."""
    seen = g.codes(holdout)
    if knowledge == "nothing":
        return dict.fromkeys(attributes, group_rows(seen))
    full = raw_generalization(holdout, g.schema)
    values = full.codes(holdout)
    side = {name: [full.names.index(other) for other in _side(g, attributes, name, knowledge)] for name in attributes}
    if knowledge == "non_personal":
        return dict.fromkeys(attributes, group_rows(np.hstack([seen, values[:, side[attributes[0]]]])))
    return {name: group_rows(np.hstack([seen, values[:, columns]])) for name, columns in side.items()}


def _values(schema: Schema, name: str, holdout: Any, known: Any, bins: int) -> Codes:
    """Return each record's value as a number from 0; missing is 0."""
    if schema[name].is_category:
        return np.asarray(texts(column(holdout, name))[0] + 1)
    return Target.fit(known, schema[name], bins).encode(holdout) + 1


def best_in_hindsight(cells: Codes, values: Codes) -> float:
    """Return U, the accuracy of guessing the most frequent value (a number from 0) in every cell.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.certificate import best_in_hindsight
    >>> best_in_hindsight(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    0.75
    """
    width = int(values.max()) + 1
    pairs, records = np.unique(cells * width + values, return_counts=True)
    starts = np.flatnonzero(np.diff(pairs // width, prepend=-1))
    return float(np.maximum.reduceat(records, starts).sum() / len(cells))


def margin_of(n: int, persons: Codes | None, delta: float) -> float:
    """Return the term added to U, so that the bound fails with probability at most δ (see the module docstring).

    Examples
    --------
    >>> from modicum.measures.certificate import margin_of
    >>> round(margin_of(10_000, None, 0.01), 4)
    0.0152
    """
    return _margin(n, n if persons is None else _squares(np.bincount(persons)), delta)


def _margin(n: int, squares: int, delta: float) -> float:
    return math.sqrt(math.log(1 / delta) * squares / (2 * n**2))


def _squares(records: Codes) -> int:
    return int((records.astype(np.float64) ** 2).sum())


def _set_aside(holdout: Any, schema: Schema, random_state: int) -> tuple[Any, Any]:
    """Split the holdout by whole persons: nine tenths to count, and a random tenth to fix bins."""
    persons = person_codes(schema, holdout)
    units: Any = np.arange(len(holdout)) if persons is None else persons
    n_units = int(units.max()) + 1 if len(units) else 0
    if n_units < 2:
        raise DataError("The holdout has fewer than two persons; a certificate needs at least two.")
    aside = np.random.default_rng(random_state).permutation(n_units) < max(1, n_units // 10)
    rows: Sequence[int] = np.flatnonzero(~aside[units]).tolist()
    return holdout[rows], holdout[np.flatnonzero(aside[units]).tolist()]
