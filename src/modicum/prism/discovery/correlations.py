"""The one call that finds sensitive correlations in a table."""

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import DataError, ParameterError
from modicum.prism.discovery.correlation_result import Correlations
from modicum.prism.discovery.discovery import Discovery, check_total
from modicum.prism.discovery.learned_measures import Function
from modicum.prism.discovery.sides import Groups
from modicum.table.codes import Weights
from modicum.table.estimator_input import record_counts, schema_of
from modicum.table.frames import as_frame, is_array
from modicum.table.schema import Schema


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
    """The smallest sets of attributes that tell about a sensitive one (papers/3 §3, Figure 4 and Theorem 1).

    A set correlates where, with some label λ, its strength is at least `threshold` and its p-value at most `p_value`.
    The search goes by levels: sets of one attribute first, then of two, and so on; a set is tested only if all its
    subsets one smaller were tested and found not to correlate. So no set found contains another one.

    **When larger sets follow.** Cramér's V of the joint values against a binary λ can only grow as attributes join,
    and so can the multiple R: by strength alone, every superset of a set that was found correlates too, and every set
    up to `max_size` that correlates contains one that was found. A bias-corrected V, V against a many-valued attribute
    (`encoding="whole"`), a classifier's accuracy and the p-value may fall again. With them the result still is exactly
    what the search by levels reaches, the minimal sets of the predicate, but supersets of a found set are no longer
    implied to correlate. To leave the p-value out, set it to 1.

    **What chance alone does.** For a set of independent attributes with `cells` joint values, E[V²] ≈ (cells − 1)/n
    against a binary λ: at 40,000 rows, most triples of independent three-valued attributes (27 cells) pass a threshold
    of 0.02, and only the p-value keeps them out, but for the share `p_value` of them. The null value stands beside each
    strength as `by_chance`. The p-value compares χ² with what it comes to where the sensitive values are dealt to the
    records by chance: its mean and variance then are known exactly, also where most joint values have but a few records
    (Haldane, Biometrika 31, 1940; Dawson, Biometrika 41, 1954), and a gamma distribution with these two stands for its
    own. On dense tables this is the usual χ² test. Where a sensitive value has but a handful of records, χ² takes few
    values, and p-values far below 0.05 come more often than they say. A set with a joint value of its own for every
    record has V = 1, and so would it have were the sensitive values dealt otherwise: its p-value is 1 and it is not
    found. Where nearly every record has one, the few that share theirs decide: they are found if they agree more often
    than by chance. Keep identifiers out by their role.

    **What is seen.** A set tells what the bins of its numbers tell: what the digits within a bin say is not seen. All
    records count as independent; where a person has many, chance is underrated, and more sets correlate (so more is
    forbidden, not less).

    Parameters
    ----------
    X : frame or array
        One row per record; an array's columns are called x0, x1, …
    sensitive : name, or list of names
        The sensitive attributes, each by its name or that of any of its one-hot columns. No column that bears its name
        (the part before `=`, `<`, `>` or `:`) is a candidate, whatever `groups` says; columns called otherwise, as
        `ill_flu`, must be put together by `groups`. None takes those whose role in the schema is sensitive.
    critical_values : list, or mapping from names to lists, optional
        The values that are to be protected, compared as text; "(missing)" is one. A sensitive number with more than 20
        values is taken in bins, none of which can be critical. By default all values are: a binary attribute has one
        λ, a many-valued one has one for each value against the rest.
    encoding : "both", "single", "multiple" or "whole"
        "single": critical values together against the others; "multiple": each against the rest; neither finds all
        that the other does (papers/3, Figure 3). "whole": V against the many-valued attribute itself (values that are
        not critical count as one).
    measure : "cramers_v", "bias_corrected", "pearson", "classifier" or a function
        Cramér's V of the set's joint values; Bergsma's correction of it; the multiple correlation R (numbers as
        numbers, other attributes by their values) with an F-test; the balanced accuracy of a decision tree in
        five-fold cross-validation, whose threshold must exceed its chance level of 0.5; or a function of codes (records
        × attributes) and λ (bool per record) that gives a number. The p-value and null value of the latter two come
        from 199 permutations of λ (slow, about a second for a set that reaches the threshold), so that no p-value is
        below 0.005.
    threshold : float from 0 to 1
        The paper's τ.
    p_value : float from 0 to 1
    max_size : int
        The most attributes in a set. Larger sets are not searched, so what is promised is promised up to this size.
    known : list of sets of names
        Correlations that the data owner knows of; they need no test. A list, no iterator that can be read but once. The
        result is minimal as a whole: nothing that contains another set stays.
    correction : None, "bonferroni" or "fdr"
        For the many tests of a level (every set with every λ is one): Bonferroni's, or Benjamini and Hochberg's false
        discovery rate. A correction forbids fewer sets, so it gives less protection. With a measure tested by
        permutation it is refused once a level has so many tests that a p-value of 0.005 could not pass (more than ten
        at a `p_value` of 0.05).
    groups : "attribute", "column" or mapping
        Whether one-hot columns count as one attribute, each alone, or as a mapping from names to columns says.
    bins : int
        The bins in which a number with more values is taken: a value that 1/bins of the records have stands alone, the
        others are dealt into bins of about equal frequency. What a number's digits tell within a bin is not seen.
    schema : Schema, optional
        Kinds and roles; label, person, identifiers, and what is forbidden or sensitive (named here or not) are no
        candidates.
    exclude : list of names
        Further columns that are no candidates, such as the label.
    sample_weight : array-like of int, optional
        How many records each row stands for.
    random_state : int or None
        For the classifier and for permutations.
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
    weights = _weights(sample_weight, len(frame))
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
    """X as a frame that agrees with the schema, an array under the schema's names."""
    named = schema.features if isinstance(schema, Schema) and is_array(X) else None
    frame = as_frame(X, named)
    if len(frame) == 0:
        raise DataError("The data has no rows.")
    if isinstance(schema, Schema):
        schema.check(frame)
    return frame


def _weights(sample_weight: Any, n: int) -> Weights | None:
    if np.asarray(sample_weight).dtype.kind in "iuf":
        check_total(sample_weight)
    return record_counts(sample_weight, n)


def _names(sensitive: Any, schema: Schema) -> list[str]:
    named = schema.with_role("sensitive") if sensitive is None else sensitive
    if isinstance(named, str) or not isinstance(named, Iterable):
        named = [named]
    names = [str(name) for name in named]
    if not names:
        raise ParameterError("No attribute is sensitive: name one as 'sensitive', or give it that role in the schema.")
    return names
