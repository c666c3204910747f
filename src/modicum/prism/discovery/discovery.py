"""Find sensitive correlations in a table [Barbato25 §3], in one call or in two steps."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral
from types import SimpleNamespace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import DataError, ParameterError, check_number_is
from modicum.prism.discovery.association import Association
from modicum.prism.discovery.attribute_codes import ENCODINGS, code_attributes, critical_by_name, read_sensitive
from modicum.prism.discovery.correlation_result import Correlation, Correlations
from modicum.prism.discovery.learned_measures import Computed, Function, GuessedByTree, MultipleCorrelation
from modicum.prism.discovery.measure import CORRECTIONS, CountedSets, Hit, Measure, SearchRule, search_levels
from modicum.prism.discovery.sides import Groups, split_attributes
from modicum.table.codes import Weights, group_rows
from modicum.table.estimator_input import record_counts, schema_of
from modicum.table.frames import as_frame, is_array
from modicum.table.schema import Schema
from modicum.typing import Codes

MOST_RECORDS = 2**53  # integers up to here are exact in float64
MEASURES = ("cramers_v", "bias_corrected", "pearson", "classifier")


def correlations(
    X: Any,
    sensitive: str | Sequence[str] | None,
    critical_values: Any = None,
    encoding: str = "both",
    measure: str | Function = "cramers_v",
    threshold: float = 0.02,
    p_value: float = 0.05,
    max_size: int = 5,
    *,
    known: Iterable[Iterable[str] | str] | None = (),
    correction: str | None = None,
    groups: Groups = "attribute",
    bins: int = 10,
    schema: Schema | None = None,
    exclude: Sequence[str] | str | None = (),
    sample_weight: Any = None,
    random_state: int | None = 0,
    progress: bool = True,
) -> Correlations:
    """Find the smallest sets of attributes that reveal a sensitive one [Barbato25 §3, Figure 4 and Theorem 1].

    A set correlates if, for some label λ, its strength is at least `threshold` and its p-value at most `p_value`. The
    search goes by levels: sets of one attribute first, then of two, and so on. A set is tested only if all its subsets
    one smaller were tested and do not correlate. So no result contains another one.

    **Supersets.** Cramér's V of the joint values against a binary λ can only grow when attributes join, and so can the
    multiple R. By strength alone, every superset of a result therefore correlates too, and every correlating set up to
    `max_size` contains a result. A bias-corrected V, V against a many-valued attribute (`encoding="whole"`), a
    classifier's accuracy and the p-value may fall again. With them, the result is still exactly what the search by
    levels finds, but supersets of a result need not correlate. To ignore the p-value, set it to 1.

    **Chance.** For independent attributes with `cells` joint values, E[V²] ≈ (cells − 1)/n against a binary λ. At
    40,000 rows, most triples of independent three-valued attributes (27 cells) pass a threshold of 0.02; the p-value
    rejects all of them except the share `p_value`. Each result reports the strength expected by chance as `by_chance`.
    The p-value compares χ² with its distribution when the sensitive values are dealt to the records at random. Its mean
    and variance are known exactly, even if most joint values have only a few records (Haldane, Biometrika 31, 1940;
    Dawson, Biometrika 41, 1954), and a gamma distribution with these moments approximates it. On dense tables this is
    the usual χ² test. If a sensitive value has only a handful of records, χ² takes few values, and p-values far below
    0.05 occur too often. If every record has its own joint value, V = 1 however the sensitive values are dealt: the
    p-value is 1 and the set is not reported. If nearly every record has its own, the few that share one decide. Exclude
    identifiers by their role.

    **Limits.** Numbers are compared by bins: what the digits within a bin reveal is not seen. All records count as
    independent. If a person has several, chance is underestimated, and more sets correlate (so more is forbidden, not
    less).

    Parameters
    ----------
    X : frame or array
        One row per record; an array's columns are called x0, x1, …
    sensitive : name, or list of names
        The sensitive attributes, each by its name or that of any of its one-hot columns. No column with this name (the
        part before `=`, `<`, `>` or `:`) is a candidate, whatever `groups` says. Columns with other names, such as
        `ill_flu`, must be combined by `groups`. None takes those whose role in the schema is sensitive.
    critical_values : list, or mapping from names to lists, optional
        The values to protect, compared as text; "(missing)" is one. A sensitive number with more than 20 values is
        binned, and no bin can be critical. By default all values are critical: a binary attribute has one λ, a
        many-valued one has one for each value against the rest.
    encoding : "both", "single", "multiple" or "whole"
        "single": critical values together against the others; "multiple": each against the rest. Each finds sets that
        the other misses [Barbato25 Figure 3]. "whole": V against the many-valued attribute itself (values that are not
        critical count as one).
    measure : "cramers_v", "bias_corrected", "pearson", "classifier" or a function
        Cramér's V of the set's joint values; Bergsma's correction of it; the multiple correlation R (numbers as
        numbers, other attributes by their values) with an F-test; the balanced accuracy of a decision tree in
        five-fold cross-validation, whose threshold must exceed its chance level of 0.5; or a function of codes (records
        × attributes) and λ (bool per record) that returns a number. The p-values and chance levels of the last two come
        from 199 permutations of λ (slow, about a second for a set that reaches the threshold), so no p-value is below
        0.005.
    threshold : float from 0 to 1
        The paper's τ.
    p_value : float from 0 to 1
    max_size : int
        The most attributes in a set. Larger sets are not searched, so the results hold only up to this size.
    known : list of sets of names
        Correlations that the data owner knows; they are not tested. A list, not an iterator. Of all sets, known or
        found, only those that contain no other are kept.
    correction : None, "bonferroni" or "fdr"
        Correct for the tests of a level (one for every set and λ): Bonferroni's correction, or Benjamini and Hochberg's
        false discovery rate. A correction forbids fewer sets, so it gives less protection. With a permutation test it
        is refused if a level has so many tests that a p-value of 0.005 could not pass (more than ten at a `p_value` of
        0.05).
    groups : "attribute", "column" or mapping
        Whether one-hot columns are one attribute, each column is one, or a mapping from names to columns defines them.
    bins : int
        Numbers with more values than this are binned: a value of at least 1/bins of the records has its own bin, the
        others go into bins of about equal frequency. What the digits within a bin reveal is not seen.
    schema : Schema, optional
        Kinds and roles. The label, person, identifiers, and forbidden or sensitive attributes are not candidates.
    exclude : list of names
        Further columns that are not candidates, such as the label.
    sample_weight : array-like of int, optional
        How many records each row represents.
    random_state : int or None
        Seed of the classifier and of permutations.
    progress : bool
        Show a bar on a terminal.

    Returns
    -------
    Correlations

    Notes
    -----
    More than 5,000,000 sets of one size are refused with a `ParameterError`. Constant attributes are never tested.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from modicum.prism import correlations
    >>> random = np.random.default_rng(0)
    >>> X = pd.DataFrame(random.integers(0, 2, (1000, 4)), columns=["work", "home", "car", "pet"])
    >>> X["ill"] = np.where(X["work"] ^ X["home"], "yes", "no")
    >>> found = correlations(X, "ill", threshold=0.2)
    >>> found.sets
    [('work', 'home')]
    >>> print(found)
    1 minimal correlation with ill (cramers_v ≥ 0.2, p ≤ 0.05; 1,000 records, 12 sets of up to 3 tested)
    attributes   tells about  strength  by chance  p         encoding
    work + home  ill          1.000     0.055      6.6e-217  single
    """
    frame = _frame(X, schema)
    resolved = schema_of(SimpleNamespace(schema=schema), frame)
    names = _names(sensitive, resolved)
    if np.asarray(sample_weight).dtype.kind in "iuf":
        _check_total(sample_weight)
    weights = record_counts(sample_weight, len(frame))
    if weights is not None and not weights.all():
        rows = np.flatnonzero(weights)
        frame, weights = frame[rows.tolist()], weights[rows]
    discovery = Discovery(
        frame,
        resolved,
        names,
        critical_values=critical_values,
        encoding=encoding,
        measure=measure,
        p_value=p_value,
        bins=bins,
        groups=groups,
        exclude=exclude,
        weights=weights,
        random_state=random_state,
    )
    return discovery.search(threshold, max_size, known, correction, progress)


def _frame(X: Any, schema: Schema | None) -> nw.DataFrame[Any]:
    """Convert X to a frame that fits the schema; the columns of an array get the schema's names."""
    named = schema.features if isinstance(schema, Schema) and is_array(X) else None
    frame = as_frame(X, named)
    if len(frame) == 0:
        raise DataError("The data has no rows.")
    if isinstance(schema, Schema):
        schema.check(frame)
    return frame


def _names(sensitive: Any, schema: Schema) -> list[str]:
    named = schema.with_role("sensitive") if sensitive is None else sensitive
    if isinstance(named, str) or not isinstance(named, Iterable):
        named = [named]
    names = [str(name) for name in named]
    if not names:
        raise ParameterError(
            "No attribute is sensitive: name one with the 'sensitive' parameter, or give it that role in the schema."
        )
    return names


class Discovery:
    """A table, read and coded once, to search for sets of attributes that reveal the sensitive ones.

    This is `modicum.prism.correlations` in two steps: the constructor reads the data, then `search` may be called
    several times (thresholds, sizes), and `assess` for any set. The parameters are those of `correlations`; the frame
    must be checked already, and `weights` are whole numbers above 0, or None.

    Attributes
    ----------
    attributes : candidate attribute → its columns; without sensitive and excluded attributes
    sensitive : sensitive attribute → its columns, including all others with its name (`ill=flu`, `ill=gout`)
    records : the number of records

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
        check_number_is(p_value, "p_value", "PriSM", 0, 1, whole=False)
        check_number_is(bins, "bins", "PriSM", 2)
        if len(frame) == 0:
            raise DataError("The data has no rows.")
        _check_total(weights)
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
        """Sensitive attribute → its critical values; None if all are."""
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
        """Find the minimal correlating sets of at most `max_size` attributes; add known sets (see `correlations`)."""
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
        """Measure one set's strongest correlation over all sensitive attributes and encodings."""
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
        """Return each sensitive attribute's class per row; a number with many values is binned.

        Critical values come first, in the given order; all others form the last class.
        """
        return {each.name: each.classes.astype(np.int64) for each in self._counted.sensitive}

    def same_as(self, classes: Codes) -> str | None:
        """Return the sensitive attribute that these classes match one to one, or None."""
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
        check_number_is(threshold, "threshold", "PriSM", 0, 1, whole=False)
        if self._measure.name == "classifier" and threshold <= 0.5:
            raise ParameterError(
                "With the measure 'classifier', the 'threshold' parameter is a balanced accuracy and must be above its "
                f"chance level 0.5. Got {threshold!r} instead."
            )
        check_number_is(max_size, "max_size", "PriSM", 1)
        if correction is not None:
            _check_word("correction", correction, CORRECTIONS, " or None")


def _check_total(weights: Any) -> None:
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


def _check_word(name: str, value: Any, words: Sequence[str], alternative: str = "") -> None:
    if not isinstance(value, str) or value not in words:
        raise ParameterError(
            f"The {name!r} parameter must be one of {', '.join(map(repr, words))}{alternative}. Got {value!r} instead."
        )
