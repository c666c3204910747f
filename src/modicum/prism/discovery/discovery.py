"""Data read and coded once, whose attribute sets can then be searched and assessed (papers/3 §3)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import DataError, ParameterError
from modicum.prism.discovery.association import Association
from modicum.prism.discovery.attribute_codes import ENCODINGS, code_attributes, critical_by_name, read_sensitive
from modicum.prism.discovery.correlation_result import Correlation, Correlations
from modicum.prism.discovery.learned_measures import Computed, Function, GuessedByTree, MultipleCorrelation
from modicum.prism.discovery.measure import CORRECTIONS, CountedSets, Hit, Measure, SearchRule, search_levels
from modicum.prism.discovery.sides import Groups, split_attributes
from modicum.table.codes import Weights, group_rows
from modicum.table.schema import Schema
from modicum.typing import Codes

MOST_RECORDS = 2**53  # whole numbers up to this one are exact in float64
MEASURES = ("cramers_v", "bias_corrected", "pearson", "classifier")


class Discovery:
    """A table, read and coded once, in which sets of attributes that tell about the sensitive ones are sought.

    What `modicum.prism.correlations` does, in two steps: the data is read here, then `search` may be asked several
    times (thresholds, sizes), and `assess` for any one set. The parameters are those of `correlations`; the frame is
    taken as checked, and `weights` are whole numbers above 0, or None.

    Attributes
    ----------
    attributes : candidate attribute → its columns; the sensitive and excluded ones are not among them
    sensitive : sensitive attribute → its columns, and with them all others that bear its name (`ill=flu`, `ill=gout`)
    records : how many records there are

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.prism.discovery.discovery import Discovery
    >>> from modicum.table.frames import as_frame
    >>> X = pd.DataFrame({"a": [0, 0, 1, 1] * 50, "b": [0, 1, 0, 1] * 50, "ill": [0, 1, 1, 0] * 50})
    >>> discovery = Discovery(as_frame(X), md.Schema.infer(X), ["ill"])
    >>> discovery.search(threshold=0.1, max_size=2).sets
    [('a', 'b')]
    >>> discovery.assess(["a"]).strength, discovery.assess(["a", "b"]).strength
    (0.0, 1.0)
    """

    def __init__(
        self,
        frame: nw.DataFrame[Any],
        schema: Schema,
        sensitive: Sequence[str],
        *,
        critical_values: Any = None,
        encoding: str = "both",
        measure: str | Function = "cramers_v",
        p_value: float = 0.05,
        bins: int = 10,
        groups: Groups = "attribute",
        exclude: Sequence[str] | str | None = (),
        weights: Weights | None = None,
        random_state: int | None = 0,
    ) -> None:
        _check_word("encoding", encoding, ENCODINGS)
        _check_measure(measure, encoding)
        _check_number("p_value", p_value, 0, 1)
        _check_whole("bins", bins, 2)
        if len(frame) == 0:
            raise DataError("The data has no rows.")
        check_total(weights)
        self._sides = split_attributes(frame, schema, sensitive, groups, exclude)
        self._encoding, self._p_value = encoding, float(p_value)
        critical = critical_by_name(critical_values, self._sides.attribute_of, list(self._sides.sensitive))
        own = tuple(
            read_sensitive(frame, schema, name, columns, critical.get(name), encoding, int(bins), weights)
            for name, columns in self._sides.own.items()
        )
        coded = code_attributes(frame, schema, self._sides.candidates, int(bins), weights)
        ones = np.ones(len(frame), dtype=np.int64) if weights is None else weights
        self._counted = CountedSets(coded, own, ones)
        self._measure = self._make_measure(measure, frame, schema, _seed(random_state))

    @property
    def attributes(self) -> dict[str, tuple[str, ...]]:
        return dict(self._sides.candidates)

    @property
    def sensitive(self) -> dict[str, tuple[str, ...]]:
        return dict(self._sides.sensitive)

    @property
    def critical(self) -> dict[str, tuple[str, ...] | None]:
        """Sensitive attribute → the values named as critical; None where all are."""
        return {each.name: each.critical for each in self._counted.sensitive}

    @property
    def records(self) -> int:
        return self._counted.records

    def _make_measure(self, measure: str | Function, frame: nw.DataFrame[Any], schema: Schema, seed: int) -> Measure:
        if not isinstance(measure, str):
            return Computed(self._counted, measure, seed)
        if measure == "pearson":
            return MultipleCorrelation(self._counted, frame, schema, self._sides.candidates)
        if measure == "classifier":
            return GuessedByTree(self._counted, seed)
        return Association(self._counted, bias_corrected=measure == "bias_corrected")

    def search(
        self,
        threshold: float,
        max_size: int,
        known: Iterable[Iterable[str] | str] | None = (),
        correction: str | None = None,
        progress: bool = True,
    ) -> Correlations:
        """The minimal sets of at most `max_size` attributes that correlate, and the known ones (see `correlations`)."""
        self._check_search(threshold, max_size, correction)
        given = self._sides.parse_known_sets(known)
        rule = SearchRule(float(threshold), self._p_value, correction)
        usable = np.flatnonzero(self._counted.attributes.sizes > 1)
        columns = [tuple(sorted(map(self._counted.attributes.position, each))) for each in given]
        hits, tested = search_levels(self._measure, usable, rule, int(max_size), columns, progress)
        found = [self._correlation(hit) for hit in hits]
        sets = [set(each.attributes) for each in found]
        more = [each for each in given if not any(other <= each for other in sets)]
        found += [replace(self.assess(tuple(each)), encoding="given") for each in more]
        return Correlations(
            found=tuple(sorted(found, key=lambda each: (len(each.attributes), -each.strength, each.attributes))),
            tested=tested,
            measure=self._measure.name,
            threshold=float(threshold),
            p_value=self._p_value,
            encoding=self._encoding,
            max_size=int(max_size),
            correction=correction,
            records=self.records,
            critical_values=self.critical,
        )

    def assess(self, attributes: Sequence[str]) -> Correlation:
        """How strongly one set correlates: with the sensitive attribute and the encoding where it does so most."""
        names = {self._sides.candidate(name, "attributes") for name in attributes}
        columns = tuple(sorted(map(self._counted.attributes.position, names)))
        if not columns:
            nothing = 0.5 if self._measure.name == "classifier" else 0.0
            return self._correlation(Hit((), 0, nothing, 1.0, nothing, 1))
        sets = np.array([columns], dtype=np.int32)
        (found,) = self._measure.assess(sets, -np.inf, "", False)
        best = int(np.lexsort((found.p_value[0], -found.strength[0]))[0])
        strength, p_value, chance = (float(part[0, best]) for part in (found.strength, found.p_value, found.by_chance))
        return self._correlation(Hit(columns, best, strength, p_value, chance, int(found.cells[0])))

    def sensitive_codes(self) -> dict[str, Codes]:
        """Each sensitive attribute's classes per row, as the search reads them: bins of a number with many values.

        Where critical values are named, these come first, in their order, and all others are one class, the last.
        """
        return {each.name: each.classes.astype(np.int64) for each in self._counted.sensitive}

    def same_as(self, classes: Codes) -> str | None:
        """The sensitive attribute that these classes are, value by value, under other names; None where it is none."""
        for each in self._counted.sensitive:
            both = np.column_stack([classes, each.classes])
            if len({int(group_rows(part).max()) for part in (both, both[:, :1], both[:, 1:])}) == 1:
                return each.name
        return None

    def _correlation(self, hit: Hit) -> Correlation:
        label = self._counted.labels[hit.label]
        return Correlation(
            attributes=tuple(self._counted.attributes.names[j] for j in hit.columns),
            sensitive=label.sensitive,
            strength=hit.strength,
            p_value=hit.p_value,
            by_chance=hit.by_chance,
            encoding=label.encoding,
            value=label.value,
            cells=None if hit.cells < 0 else hit.cells,
        )

    def _check_search(self, threshold: Any, max_size: Any, correction: Any) -> None:
        _check_number("threshold", threshold, 0, 1)
        if self._measure.name == "classifier" and threshold <= 0.5:
            raise ParameterError(
                "With the measure 'classifier', the 'threshold' parameter is a balanced accuracy, of which 0.5 is "
                f"chance, and must be above that. Got {threshold!r} instead."
            )
        _check_whole("max_size", max_size, 1)
        if correction is not None:
            _check_word("correction", correction, CORRECTIONS, " or None")


def check_total(weights: Any) -> None:
    """Refuse more records than can be counted exactly."""
    if weights is not None and np.asarray(weights).sum(dtype=np.float64) > MOST_RECORDS:
        raise DataError(f"sample_weight counts more than {MOST_RECORDS:,} records, which cannot be counted exactly.")


def _seed(random_state: Any) -> int:
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if not isinstance(random_state, Integral) or random_state < 0:
        raise ParameterError(f"The 'random_state' parameter must be an int ≥ 0 or None. Got {random_state!r} instead.")
    return int(random_state)


def _check_measure(measure: Any, encoding: str) -> None:
    if not callable(measure):
        _check_word("measure", measure, MEASURES, " or a function")
    if encoding == "whole" and measure not in ("cramers_v", "bias_corrected"):
        raise ParameterError("The encoding 'whole' needs the measure 'cramers_v' or 'bias_corrected'.")


def _check_word(name: str, value: Any, words: Sequence[str], beside: str = "") -> None:
    if not isinstance(value, str) or value not in words:
        raise ParameterError(
            f"The {name!r} parameter must be one of {', '.join(map(repr, words))}{beside}. Got {value!r} instead."
        )


def _check_whole(name: str, value: Any, low: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
        raise ParameterError(f"The {name!r} parameter must be an int ≥ {low}. Got {value!r} instead.")


def _check_number(name: str, value: Any, low: float, high: float) -> None:
    if not isinstance(value, Real) or isinstance(value, bool) or not low <= float(value) <= high:
        raise ParameterError(f"The {name!r} parameter must be a number from {low} to {high}. Got {value!r} instead.")
