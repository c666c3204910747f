"""What a membership attack found, beside what guessing would find."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.attacks.result import Estimate
from modicum.measures.scores import auc, auc_interval, rate_at, rate_interval, share_of
from modicum.table.values import plain
from modicum.typing import Codes, Floats, Mask

FALSE_RATES = (0.001, 0.01)
_FEW_FALSE = 5  # false positives on which a rate rests roughly


@dataclass(frozen=True)
class MembershipResult:
    """How well members are told from others, on records of which the adversary did not know it.

    Attributes
    ----------
    method : the attack; of "strongest" the one that was strongest on known records
    accuracy : share of right answers, with a threshold from known records; half are members, so that guessing gives 0.5
    precision : share of members among those it takes for members
    recall : share of members that it takes for members; without an attack as many as of the others, one half
    auc : chance that a member scores above another record
    tpr : rate of false positives (0.001, 0.01) → share of members found at that rate; without an attack the rate itself
    member_accuracy, other_accuracy : the model's own accuracy on the members (training) and on the others (test)
    records : how many records were attacked, half of them members
    known : of how many the adversary knew whether they are members, half of them members
    overlap : how many of the others are members as well; none, if the attack is to mean something
    random_state, seconds : the seed, and how long it took

    Examples
    --------
    >>> import modicum as md
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "hours-per-week", "capital-gain"]]
    >>> model = DecisionTreeClassifier(random_state=0).fit(X[:500], y[:500])
    >>> found = md.attacks.MembershipInference("loss").run(model, (X[:500], y[:500]), (X[500:1_000], y[500:1_000]))
    >>> found.method, found.records, found.gap > 0
    ('loss', 500, True)
    >>> found.accuracy.naive, sorted(found.tpr)
    (0.5, [0.001, 0.01])
    """

    method: str
    accuracy: Estimate
    precision: Estimate
    recall: Estimate
    auc: Estimate
    tpr: dict[float, Estimate]
    member_accuracy: Estimate
    other_accuracy: Estimate
    records: int
    known: int
    overlap: int
    random_state: int
    seconds: float
    answers: "MembershipAnswers" = field(repr=False, compare=False)

    @property
    def gap(self) -> float:
        """The model's accuracy on members less that on others: how far it is fitted to those it has seen."""
        return float(self.member_accuracy.value or 0) - float(self.other_accuracy.value or 0)

    def exposed(self, n: int = 10) -> pd.DataFrame:
        """The records that the adversary is surest are members. For the team alone: rows are named.

        Returns
        -------
        frame with `side` ("members" or "others": what is true), `row` (position there) and `score`, highest first.
        """
        first = np.argsort(-self.answers.scores, kind="stable")[:n]
        side = np.where(self.answers.member[first], "members", "others")
        return pd.DataFrame({"side": side, "row": self.answers.rows[first], "score": self.answers.scores[first]})

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, without any record."""
        names = [f.name for f in fields(self) if f.name != "answers"]
        content = {name: getattr(self, name) for name in names} | {"gap": self.gap}
        content["tpr"] = {f"{rate:g}": asdict(found) for rate, found in self.tpr.items()}
        return dict(plain({k: asdict(v) if isinstance(v, Estimate) else v for k, v in content.items()}))


@dataclass(frozen=True)
class MembershipAnswers:
    """The scores of the attacked records, which of them are members, and where they stand on their side."""

    scores: Floats
    member: Mask
    rows: Codes
    units: Codes | None

    def compute_figures(self, threshold: float, random_state: int) -> dict[str, Any]:
        """Every figure of the attack."""
        taken = self.scores >= threshold
        accuracy = share_of(taken == self.member, np.ones(len(taken), dtype=bool), self.units)
        return {
            "accuracy": Estimate(*accuracy, naive=0.5),
            "precision": self._precision(taken),
            "recall": Estimate(*share_of(taken, self.member, self.units), naive=float(taken[~self.member].mean())),
            "auc": Estimate(auc(self.scores, self.member), auc_interval(self.scores, self.member, self.units), 0.5),
            "tpr": {rate: self._at(rate, random_state) for rate in FALSE_RATES},
        }

    def _precision(self, taken: Mask) -> Estimate:
        if not taken.any():
            return Estimate(None, None, 0.5, "the attack takes nobody for a member")
        return Estimate(*share_of(self.member, taken, self.units), naive=0.5)

    def _at(self, rate: float, random_state: int) -> Estimate:
        """The rate of true positives; None where not even one false positive would be that rare."""
        others = int((~self.member).sum())
        if others * rate < 1 - 1e-9:
            reason = (
                f"{others:,} attacked non-members cannot show a rate of {rate:.1%} false positives: it takes "
                f"{round(1 / rate):,}, and the lowest rate above 0 that they show is {1 / others:.1%}"
            )
            return Estimate(None, None, rate, reason)
        interval = rate_interval(self.scores, self.member, rate, self.units, random_state)
        few = int(others * rate + 1e-9)
        rough = f"rough: it rests on {few} false positives" if few < _FEW_FALSE else None
        return Estimate(rate_at(self.scores, self.member, rate), interval, rate, rough)


def best_threshold(scores: Floats, member: npt.NDArray[np.bool_]) -> float:
    """From which score on to say "member", so that most known records are answered rightly.

    Between two scores that occur their middle; infinite where it is best to say it of nobody.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.attacks.membership.membership_result import best_threshold
    >>> best_threshold(np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, False, True, True]))
    2.5
    """
    values, place = np.unique(scores, return_inverse=True)
    gain = np.bincount(place, weights=np.where(member, 1.0, -1.0))
    from_here = np.append(np.cumsum(gain[::-1])[::-1], 0.0)  # members less others at or above each value
    best = int(from_here.argmax())
    if best == len(values):
        return float("inf")
    return float(values[0] if best == 0 else (values[best - 1] + values[best]) / 2)
