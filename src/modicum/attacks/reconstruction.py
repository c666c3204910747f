"""A1: guess each personal attribute of a breached record from its buckets (papers/0 §5, Appendices A and F)."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

from modicum.attacks.result import AttackResult, AttributeResult
from modicum.errors import DataError, ParameterError, quoted
from modicum.generalization import Generalization
from modicum.generalization.possible import Mask
from modicum.learners.inputs import Codes, Inputs
from modicum.learners.portfolio import MEMBERS, Portfolio, Question
from modicum.measures.intervals import Resampling, mean_interval
from modicum.table.frames import as_frame
from modicum.table.roles import person_codes, personal_attributes
from modicum.table.targets import BINS, Target


class Reconstruction:
    """The reconstruction adversary A1.

    It knows the generalization and full records of other people (`known`), and sees the buckets of the breached ones.
    It guesses every personal attribute, and the error is the share of wrong guesses, mean over the attributes:

        PR_A1(g) = min_h E[ (1/|P|) Σ_p 1{h(g(x))_p ≠ x_p} ]        (papers/0 §5)

    The minimum over h is approached by a portfolio: the paper's network, counts per cell with back-off, boosted trees
    and their average. Each may only guess what `g` leaves possible (Appendix A); the strongest for each attribute is
    chosen on known records, never on the breached ones. Who sees the raw record reads the value off: `raw` is 0.

    Parameters
    ----------
    knowledge : "nothing"
        What it knows of the breached people besides their buckets.
    personal : attributes to guess; the schema's personal attributes by default.
    bins : int
        A personal number counts as guessed when its bin is right, of so many bins of equal frequency among `known`.
    members : the models of the portfolio
    random_state : int

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.PrivacyTree(max_leaves=4).fit(X[:9_000], y[:9_000]).generalization_
    >>> attack = md.attacks.Reconstruction(personal=["race", "sex"])
    >>> result = attack.run(g, known=X[:9_000], breached=X[9_000:12_000])
    >>> result.raw <= result.error <= result.naive + 0.02
    True
    """

    def __init__(
        self,
        knowledge: Literal["nothing"] = "nothing",
        personal: Iterable[str] | None = None,
        *,
        bins: int = BINS,
        members: Sequence[str] = MEMBERS,
        random_state: int = 0,
    ) -> None:
        self.knowledge = knowledge
        self.personal = personal if personal is None or isinstance(personal, str) else list(personal)
        self.bins = bins
        self.members = members
        self.random_state = random_state

    def run(self, g: Generalization, known: Any, breached: Any) -> AttackResult:
        """Learn from the known records, attack the breached ones.

        Parameters
        ----------
        g : Generalization
        known, breached : frames with full records; the breached ones are seen through `g` alone and used to count
            right guesses.
        """
        start = time.perf_counter()
        self._check()
        attributes = personal_attributes(g.schema, self.personal)
        known, breached = _rows(known, g.names, "known"), _rows(breached, g.names, "breached")
        targets = [Target.fit(known, g.schema[name], self.bins) for name in attributes]
        values = [target.encode(breached) for target in targets]
        guesses, methods = self._guesses(g, targets, known, breached)
        right = [guess == value for guess, value in zip(guesses, values, strict=True)]
        naive = [float(np.mean(v != t.counts.argmax())) for t, v in zip(targets, values, strict=True)]
        persons = person_codes(g.schema, breached)
        results = {
            target.name: AttributeResult(
                float(np.mean(~hits)), mean_interval(~hits, persons), base, 0.0, target.size, method
            )
            for target, hits, base, method in zip(targets, right, naive, methods, strict=True)
        }
        per_record = 1 - np.mean(right, axis=0)
        resampling = Resampling(len(breached), persons, random_state=self.random_state)
        low, high = resampling.interval(lambda draws: float(np.average(per_record, weights=draws)))
        return AttackResult(
            error=float(per_record.mean()),
            interval=(low, high) if low < high else mean_interval(per_record, persons),
            naive=float(np.mean(naive)),
            raw=0.0,
            by_attribute=results,
            records=len(breached),
            known=len(known),
            random_state=self.random_state,
            seconds=time.perf_counter() - start,
        )

    def _check(self) -> None:
        if self.knowledge != "nothing":
            raise ParameterError(
                f"The 'knowledge' parameter of Reconstruction must be 'nothing'. Got {self.knowledge!r} instead."
            )
        if not isinstance(self.bins, int) or self.bins < 2:
            raise ParameterError(
                f"The 'bins' parameter of Reconstruction must be an int ≥ 2. Got {self.bins!r} instead."
            )
        unknown = [name for name in self.members if name not in MEMBERS]
        if unknown or not self.members:
            raise ParameterError(
                f"The 'members' parameter of Reconstruction must name some of {quoted(MEMBERS)}. "
                f"Got {self.members!r} instead."
            )

    def _guesses(
        self, g: Generalization, targets: Sequence[Target], known: nw.DataFrame[Any], breached: nw.DataFrame[Any]
    ) -> tuple[list[Codes], list[str]]:
        """For each target, what is guessed of the breached records, and the model that guesses it."""
        codes, seen_codes = g.codes(known), g.codes(breached)
        inputs, cells = Inputs.of_codes(g, codes).distinct()
        masks = _masks(g, targets, codes, cells)
        questions = [Question(t.encode(known), t.size, mask) for t, mask in zip(targets, masks, strict=True)]
        portfolio = Portfolio(self.members, self.random_state)
        portfolio.fit(inputs, cells, questions, person_codes(g.schema, known))
        seen, seen_cells = Inputs.of_codes(g, seen_codes).distinct()
        guesses = portfolio.guess(seen, _masks(g, targets, seen_codes, seen_cells))
        return [guess[seen_cells] for guess in guesses], portfolio.chosen_


def _rows(X: Any, names: Sequence[str], what: str) -> nw.DataFrame[Any]:
    frame = as_frame(X, names)
    if len(frame) < (5 if what == "known" else 1):
        raise DataError(f"The {what} data has {len(frame)} rows, too few for an attack.")
    return frame


def _masks(g: Generalization, targets: Sequence[Target], codes: Codes, cells: Codes) -> list[Callable[[Any], Mask]]:
    """For each target, what the buckets of some of the distinct rows leave possible."""
    distinct = codes[np.unique(cells, return_index=True)[1]]
    return [_mask(g, target, distinct[:, g.names.index(target.name)]) for target in targets]


def _mask(g: Generalization, target: Target, codes: Codes) -> Callable[[Any], Mask]:
    buckets, which = np.unique(codes, return_inverse=True)
    table = g.possible(target.name, target, buckets)
    return lambda rows: table[which[rows]]
