"""What the detail of each attribute is good for: every change of it by one step, measured."""

from dataclasses import asdict, dataclass
from typing import Any

from modicum.generalization.bins import Action
from modicum.measures.intervals import Interval
from modicum.table.values import plain

NEEDED, COULD_BE_COARSER, NOT_SHOWN = "needed", "needed, but could be coarser", "not shown to be needed"
WOULD_HELP, NOT_MISSED = "not collected, would help", "not collected, not missed"


@dataclass(frozen=True)
class Step:
    """What changes when one attribute is collected in another detail and all others stay as they are.

    Every change is the alternative's figure minus that of the generalization, on the same test records, with the 95%
    interval of that paired difference.

    Attributes
    ----------
    what : the change in plain words
    error_change, error_interval : of the share of wrong predictions; above 0 the prediction gets worse
    skill_change, skill_interval : of the share that is kept of the raw model's log-loss gain over the majority guess;
        below 0 the prediction gets worse. NaN where the raw model gains nothing; the interval also where there are
        fewer than a hundred people
    adversary_change, adversary_interval : of the adversary's error, the weighted mean over the personal attributes;
        above 0 it errs more, which is more private
    own_change, own_interval : of its error about this very attribute; None where that is not personal

    Examples
    --------
    >>> from modicum.evaluation import Step
    >>> step = Step("left out", 0.02, (0.01, 0.03), -0.1, (-0.15, -0.05), 0.04, (0.03, 0.05))
    >>> step.is_worse, step.is_better
    (True, False)
    """

    what: str
    error_change: float
    error_interval: Interval
    skill_change: float
    skill_interval: Interval
    adversary_change: float
    adversary_interval: Interval
    own_change: float | None = None
    own_interval: Interval | None = None

    @property
    def is_worse(self) -> bool:
        """Whether the prediction is shown to get worse: by the error or by the skill, each by its 95% interval."""
        return self.error_interval[0] > 0 or self.skill_interval[1] < 0

    @property
    def is_better(self) -> bool:
        """Whether it is shown to get better by one of the two, and worse by neither."""
        return not self.is_worse and (self.error_interval[1] < 0 or self.skill_interval[0] > 0)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data; a number that does not exist is null."""
        return dict(plain(asdict(self) | {"is_worse": self.is_worse, "is_better": self.is_better}))


@dataclass(frozen=True)
class AttributeNeed:
    """The alternatives to how one attribute is collected.

    Attributes
    ----------
    name : the attribute
    action : what becomes of it: "dropped", "coarsened" or "kept"
    personal : whether the adversary guesses it
    coarser : with one bucket less, or, for a number in full detail, in ranges; None where it is not collected, and with
        two buckets left, of which one less is `without`
    without : not collected; None where it is not
    in_full : collected in full detail; None where it is collected, or where the training records have no value of it

    Examples
    --------
    >>> from modicum.evaluation import AttributeNeed, Step
    >>> without = Step("left out", 0.02, (0.01, 0.03), -0.1, (-0.15, -0.05), 0.04, (0.03, 0.05))
    >>> AttributeNeed("age", "coarsened", personal=True, without=without).verdict
    'needed'
    """

    name: str
    action: Action
    personal: bool
    coarser: Step | None = None
    without: Step | None = None
    in_full: Step | None = None

    @property
    def verdict(self) -> str:
        """What the alternatives say, in words.

        - "needed": without it the prediction is shown to get worse (`Step.is_worse`), and so it is one step coarser,
          where there is such a step;
        - "needed, but could be coarser": without it the prediction is shown to get worse, one step coarser it is not;
        - "not shown to be needed": without it the prediction is not shown to get worse;
        - "not collected, would help": in full detail it is shown to make the prediction better (`Step.is_better`);
        - "not collected, not missed": it is not.

        What is not shown may still be so: more test records tell smaller differences.
        """
        if self.without is None:
            return WOULD_HELP if self.in_full is not None and self.in_full.is_better else NOT_MISSED
        if not self.without.is_worse:
            return NOT_SHOWN
        return NEEDED if self.coarser is None or self.coarser.is_worse else COULD_BE_COARSER

    @property
    def steps(self) -> dict[str, Step]:
        """The alternatives that there are, by name."""
        named = {"coarser": self.coarser, "without": self.without, "in_full": self.in_full}
        return {name: step for name, step in named.items() if step is not None}

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        found = {name: None if (step := getattr(self, name)) is None else step.to_dict() for name in _STEPS}
        return {"name": self.name, "action": self.action, "personal": self.personal, "verdict": self.verdict, **found}


_STEPS = ("coarser", "without", "in_full")


@dataclass(frozen=True)
class Necessity:
    """Why each attribute is collected as it is, or not at all.

    Attributes
    ----------
    attributes : attribute → `AttributeNeed`, in the generalization's order
    error, skill_kept, adversary_error : the figures of the generalization itself, which the changes are counted from
    records : how many test records the changes are counted on
    trained_on : how many training records the models and the adversary learned from
    estimator : what predicts the label
    adversary : who guesses the personal attributes
    random_state : the seed

    Examples
    --------
    >>> from modicum.evaluation import AttributeNeed, Necessity
    >>> needs = {"age": AttributeNeed("age", "dropped", personal=True)}
    >>> found = Necessity(needs, 0.1, 0.9, 0.4, 1_000, 2_000, "boosted trees", "A1 by counts", 0)
    >>> found.attributes["age"].verdict, found.to_dict()["records"]
    ('not collected, not missed', 1000)
    """

    attributes: dict[str, AttributeNeed]
    error: float
    skill_kept: float
    adversary_error: float
    records: int
    trained_on: int
    estimator: str
    adversary: str
    random_state: int

    @property
    def note(self) -> str:
        """How far the verdicts can be trusted together."""
        return (
            f"Each of the {len(self.attributes):,} attributes is judged by 95% intervals of its own: of those that "
            "make no difference, about one in twenty may be called needed, or missed, by chance. The intervals are "
            "over the test records, for models trained once; how much another training would move them is not in them."
        )

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data; a number that does not exist is null."""
        content = {name: getattr(self, name) for name in type(self).__dataclass_fields__ if name != "attributes"}
        attributes = {name: need.to_dict() for name, need in self.attributes.items()}
        return dict(plain(content | {"note": self.note, "attributes": attributes}))
