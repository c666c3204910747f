"""The kinds of training data that [Mancuhan16] compares, and generalized ones.

Each is made only from a training fold; test records stay raw, except for full-domain generalization.

- original: the records themselves (Definition 7);
- identifying, pruned, joined: from a release of ℓ-diverse anatomy (Definitions 11 to 14), `pruned` with one candidate
  for each record, `by group` with one for each group (Figure B.2, read literally), `in kernel` with norms of that
  space;
- k-anonymous by Mondrian and by accuracy-guided groups: records of the original domain, by medians and modes;
- full-domain k-anonymity by value hierarchies: every value of an attribute is generalized by the same number of steps,
  and up to 5% of the records are left out. The attribute with the most values is generalized first, as in Sweeney's
  Datafly. A record is generalized in the same way before the classifier predicts for it. Ranges of Mondrian's groups
  would not work: they overlap, so a record to predict for has no unique range;
- distinct ℓ-diverse by generalization, the future work of [Mancuhan16 §6]: Mondrian with one more argument. Its groups
  have ℓ different sensitive values, but one may dominate; Definition 9 is stricter.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from papers.anatomy.data import Fold, Table, coarser, steps

import modicum as md
from modicum.errors import PrivacyWarning

LEFT_OUT = 0.05  # the largest share of records that full-domain generalization leaves out
ORIGINAL, IDENTIFYING, PRUNED = "original", "identifying", "pruned"
BY_GROUP, IN_KERNEL, JOINED = "pruned, by group", "pruned, in kernel", "joined"
MONDRIAN, GUIDED, FULL_DOMAIN = "k-anonymous, Mondrian", "k-anonymous, guided", "k-anonymous, full-domain"
DIVERSE = "distinct ℓ-diverse, Mondrian"
OF_RELEASE: Mapping[str, dict[str, str]] = {
    IDENTIFYING: {"kind": "identifying"},
    PRUNED: {"kind": "pruned"},
    BY_GROUP: {"kind": "pruned", "prune_per": "group"},
    IN_KERNEL: {"kind": "pruned", "space": "kernel"},
    JOINED: {"kind": "joined"},
}
GENERALIZED = (MONDRIAN, GUIDED, FULL_DOMAIN, DIVERSE)
SVC, SVM, ONE_HOT = "SVC", "SVM", "SVC, one-hot"
MODELS = {ORIGINAL: (SVC, SVM, ONE_HOT), PRUNED: (SVC, SVM, ONE_HOT), IN_KERNEL: (SVM,)}
MODELS |= {JOINED: (SVC,), GUIDED: (SVC,), DIVERSE: (SVC,)}  # SVC and SVM for the others
MOST_JOINED = 3  # ℓ up to which the join is learned from: it has ℓ times the records


def same(X: pd.DataFrame) -> pd.DataFrame:
    return X


@dataclass(frozen=True)
class Variant:
    """Training records, the number left out, and the transformation of a record before prediction."""

    kind: str
    level: int | None
    X: pd.DataFrame = field(repr=False)
    y: pd.Series = field(repr=False)
    schema: md.Schema = field(repr=False)
    left_out: int = 0
    matched: float | None = None  # share of records with their own sensitive value, if it applies
    through: Callable[[pd.DataFrame], pd.DataFrame] = field(default=same, repr=False)

    @property
    def models(self) -> tuple[str, ...]:
        found = MODELS.get(self.kind, (SVC, SVM))
        ordered = any(each.kind == "ordered" for each in self.schema.attributes)
        return found if ordered else tuple(model for model in found if model != ONE_HOT)


def variants(table: Table, fold: Fold, kinds: Iterable[str], levels: Iterable[int]) -> Iterator[Variant]:
    """Make every requested kind of training data from one fold."""
    kinds, levels = set(kinds), tuple(levels)
    yield Variant(ORIGINAL, None, fold.X, fold.y, table.schema)
    for l in levels:
        yield from anatomized(table, fold, kinds, l, first=l == levels[0])
    if FULL_DOMAIN in kinds:
        yield from full_domain(table, fold, levels)
    for k in levels:
        for kind in [each for each in (MONDRIAN, GUIDED, DIVERSE) if each in kinds]:
            yield generalized(table, fold, kind, k)


def anatomized(table: Table, fold: Fold, kinds: set[str], l: int, first: bool) -> Iterator[Variant]:
    """Make the training data of a release with this ℓ; identifying records differ only by those left out."""
    anatomy = release_of(table, fold.X, fold.y, l, fold.number)
    out = len(fold.X) - anatomy.release_.rows
    truth = fold.X[table.sensitive].to_numpy()[anatomy.rows_]
    for kind, options in OF_RELEASE.items():
        if kind in kinds and (first or kind != IDENTIFYING) and (l <= MOST_JOINED or kind != JOINED):
            X, y = md.anatomy.training_data(anatomy.release_, random_state=fold.number, **options)
            level = None if kind == IDENTIFYING else l
            matched = float((X[table.sensitive].to_numpy() == truth).mean()) if kind in (PRUNED, IN_KERNEL) else None
            yield Variant(kind, level, X, y, table.schema.select(list(X.columns)), out, matched)


def release_of(table: Table, X: pd.DataFrame, y: pd.Series, l: int, seed: int, grouping: str = "bucketize") -> Any:
    """Fit `Anatomy`; if ℓ is too large, leave out the fewest records [Mancuhan16 §5.1.2]."""
    asked = {"l": l, "sensitive": table.sensitive, "grouping": grouping, "max_suppressed": 1.0, "schema": table.schema}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # columns of the paper's tables may reveal it
        return md.Anatomy(**asked, random_state=seed).fit(X, y)


def generalized(table: Table, fold: Fold, kind: str, k: int) -> Variant:
    """Make groups of k records that share all attributes except the sensitive one, which stays exact."""
    known = [name for name in fold.X.columns if name != table.sensitive]
    asked = {"l": k, "sensitive": table.sensitive} if kind == DIVERSE else {}
    method = md.AccuracyGuided if kind == GUIDED else md.Mondrian
    anonymizer = method(k=k, quasi_identifiers=known, schema=table.schema, random_state=fold.number, **asked)
    return Variant(kind, k, anonymizer.fit_transform(fold.X, fold.y), fold.y, table.schema)


def full_domain(table: Table, fold: Fold, levels: Iterable[int]) -> Iterator[Variant]:
    """Return, for each k, the first generalized table that leaves out few enough records."""
    known = [name for name in fold.X.columns if name != table.sensitive]
    wanted, up = sorted(levels), dict.fromkeys(known, 0)
    coded = {name: pd.factorize(fold.X[name])[0] for name in known}
    while wanted:
        sizes = _group_sizes(coded)
        while wanted and (sizes < wanted[0]).mean() <= LEFT_OUT:
            yield _at(table, fold, dict(up), wanted.pop(0), sizes)
        name = max((each for each in known if up[each] < steps(each)), key=lambda each: coded[each].max(), default=None)
        if name is None:
            return
        up[name] += 1
        coded[name] = pd.factorize(coarser(fold.X[name], up[name]))[0]


def _group_sizes(coded: Mapping[str, Any]) -> Any:
    """Count, for each record, the records that share all of these codes."""
    groups = pd.DataFrame(coded).groupby(list(coded), sort=False).ngroup().to_numpy()
    return np.bincount(groups)[groups]


def _at(table: Table, fold: Fold, up: dict[str, int], k: int, sizes: Any) -> Variant:
    def through(X: pd.DataFrame) -> pd.DataFrame:
        return X.assign(**{name: coarser(X[name], level) for name, level in up.items()})

    stay = sizes >= k
    kinds = [
        md.Attribute(name=each.name, kind="category") if up.get(each.name) else each for each in table.schema.attributes
    ]
    schema = md.Schema(attributes=tuple(kinds))
    return Variant(
        FULL_DOMAIN,
        k,
        through(fold.X)[stay].reset_index(drop=True),
        fold.y[stay].reset_index(drop=True),
        schema,
        int((~stay).sum()),
        through=through,
    )
