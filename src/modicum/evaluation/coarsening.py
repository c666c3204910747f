"""What a guarantee of group sizes changes for who would single people out or guess their attributes (papers/0 §9)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from modicum.attacks.singling_out import SinglingOut, SinglingOutResult
from modicum.generalization import Generalization
from modicum.measures.certificate import Certificate, certify
from modicum.table.frames import as_frame


@dataclass(frozen=True)
class Effect:
    """Two generalizations of the same attributes, judged side by side.

    Attributes
    ----------
    singling_out_before, singling_out_after : what the adversary A8 finds among the test records
    certificate_before, certificate_after : what no adversary can exceed who guesses the personal attributes
    buckets_before, buckets_after : how many buckets each has
    smallest_before, smallest_after : the smallest group of known records (persons) with the same buckets
    """

    singling_out_before: SinglingOutResult
    singling_out_after: SinglingOutResult
    certificate_before: Certificate
    certificate_after: Certificate
    buckets_before: int
    buckets_after: int
    smallest_before: int
    smallest_after: int

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, for the team: small counts are in it."""
        return {
            "singling_out": {"before": self.singling_out_before.to_dict(), "after": self.singling_out_after.to_dict()},
            "certificate": {"before": self.certificate_before.to_dict(), "after": self.certificate_after.to_dict()},
            "buckets": {"before": self.buckets_before, "after": self.buckets_after},
            "smallest_group": {"before": self.smallest_before, "after": self.smallest_after},
        }


def effect(
    before: Generalization,
    after: Generalization,
    X_known: Any,
    X_test: Any,
    personal: Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    confidence: float = 0.99,
    population: int | None = None,
) -> Effect:
    """Compare a generalization with the coarser one that `coarsen` made of it.

    Parameters
    ----------
    before, after : Generalization
    X_known : frame
        Full records on which `after` was made; its smallest group is counted on them.
    X_test : frame
        Full records that had no part in making either; the attack and the certificate are counted on them.
    personal, weights, confidence : as for `certify`
    population : as for `attacks.SinglingOut`

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.evaluation.coarsening import effect
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.PrivacyTree(max_leaves=10).fit(X[:9_000], y[:9_000]).generalization_
    >>> found = effect(g, g.coarsen(X[:9_000], y[:9_000], min_group=10), X[:9_000], X[9_000:12_000], ["race", "sex"])
    >>> found.smallest_before < 10 <= found.smallest_after, found.buckets_after < found.buckets_before
    (True, True)
    """
    known, test = as_frame(X_known, before.names), as_frame(X_test, before.names)
    personal = None if personal is None else list(personal)
    attack = SinglingOut(population)
    certificates = [certify(g, test, personal, confidence, weights=weights, known=known) for g in (before, after)]
    return Effect(
        singling_out_before=attack.run(before, test),
        singling_out_after=attack.run(after, test),
        certificate_before=certificates[0],
        certificate_after=certificates[1],
        buckets_before=before.n_buckets,
        buckets_after=after.n_buckets,
        smallest_before=SinglingOut().run(before, known).least,
        smallest_after=SinglingOut().run(after, known).least,
    )
