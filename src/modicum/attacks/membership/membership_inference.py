"""Membership inference: was this record in the model's training data? [Goldsteen21 §4.2]"""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from modicum.attacks.membership.two_sides import (
    FOLDS,
    AttackModel,
    AttackNetwork,
    Forest,
    LossThreshold,
    ModelAnswers,
    RecordSide,
    both_sides,
    concat_rows,
    cross_scores,
    person_units,
    warn_of_shared,
)
from modicum.attacks.result import Estimate
from modicum.errors import DataError, ParameterError, check_choice, check_number
from modicum.learners.asking import AskedModel, safe_message, true_chance
from modicum.measures.scores import auc, auc_interval, rate_at, rate_interval, renumber_units, share_of
from modicum.table.plain_data import LEFT_OUT, PlainResult
from modicum.table.splits import take_rows
from modicum.typing import Codes, Floats, Mask

# What a membership attack found, beside what guessing would find.

FALSE_RATES = (0.001, 0.01)
_FEW_FALSE = 5  # false positives on which a rate rests roughly


@dataclass(frozen=True)
class MembershipResult(PlainResult):
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
    answers: "MembershipAnswers" = field(repr=False, compare=False, metadata=LEFT_OUT)

    _properties = ("gap",)

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


@dataclass(frozen=True)
class MembershipAnswers:
    """The scores of the attacked records, which of them are members, and where they stand on their side."""

    scores: Floats
    member: Mask
    rows: Codes
    units: Codes | None

    def precision(self, taken: Mask) -> Estimate:
        """The share of members among those taken for members."""
        if not taken.any():
            return Estimate(None, None, 0.5, "the attack takes nobody for a member")
        return Estimate(*share_of(self.member, taken, self.units), naive=0.5)

    def true_rate(self, rate: float, random_state: int) -> Estimate:
        """The rate of true positives at this rate of false ones; None where not even one false one is that rare."""
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


def best_threshold(scores: Floats, member: Mask) -> float:
    """From which score on to say "member", so that most known records are answered rightly.

    Between two scores that occur their middle; infinite where it is best to say it of nobody.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.attacks.membership.membership_inference import best_threshold
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


# LiRA: is what the model says of a record likelier from models that trained on it? (Carlini et al. 2022)

ENOUGH = 32  # shadow models on either side from which on each record has a variance of its own
_LOWEST, _HIGHEST = 1e-12, 1e-2  # what a chance of 0 may count as


def likelihood_ratios(
    asked: AskedModel, X: Any, y: Any, shadow: Any, shadows: int, units: Codes | None, random_state: int
) -> Floats:
    """The log likelihood ratio of each record of the pool: above 0 speaks for a member.

    Half of the shadow models train on a random half of the pool and the other half on the records left, so that every
    record is in as many as it is out of.
    """
    random = np.random.default_rng(random_state)
    inside = _halves(len(y), shadows, units, random)
    seeds = random.integers(0, 2**31 - 1, shadows)
    models = [
        _train_shadow(shadow, X, y, np.flatnonzero(rows), int(seed)) for rows, seed in zip(inside, seeds, strict=True)
    ]
    pairs = np.array([_true_and_rest(model, X, y) for model in [asked, *models]])
    said = _compute_log_odds(pairs)
    return _ratio(said[0], said[1:], inside)


def _halves(n: int, shadows: int, units: Codes | None, random: np.random.Generator) -> Mask:
    """For each shadow model which records it trains on; of one person all or none."""
    whose = np.arange(n) if units is None else units
    many = int(whose.max()) + 1
    first = np.array([random.permutation(many) < (many + 1) // 2 for _ in range(shadows // 2)])[:, whose]
    return np.vstack([first, ~first])


def _train_shadow(shadow: Any, X: Any, y: Any, rows: Codes, seed: int) -> AskedModel:
    model = seed_model(clone_unfitted(shadow), seed)
    try:
        model.fit(take_rows(X, rows), y[rows])
    except Exception as error:
        raise DataError(f"A shadow model could not be trained: {safe_message(error, X)}") from error
    return AskedModel(model, "The 'shadow' parameter of MembershipInference")


def clone_unfitted(shadow: Any) -> Any:
    """An unfitted copy."""
    from sklearn.base import clone

    try:
        copy = clone(shadow)
    except (TypeError, RuntimeError):
        copy = None
    if copy is None or hasattr(copy, "classes_"):
        raise ParameterError(
            f"The {type(shadow).__name__} cannot be copied unfitted, so that there are no shadow models; give "
            "MembershipInference an unfitted scikit-learn classifier as 'shadow'."
        )
    if not hasattr(copy, "predict_proba"):
        raise ParameterError(
            "The 'shadow' parameter of MembershipInference must be an unfitted classifier with predict_proba. "
            f"Got {type(shadow).__name__}, which has none."
        )
    return copy


def seed_model(model: Any, seed: int) -> Any:
    """The model with a number wherever it would draw its own seed."""
    open_ = [k for k, v in model.get_params().items() if k.split("__")[-1] == "random_state" and not isinstance(v, int)]
    return model.set_params(**dict.fromkeys(open_, seed))


def _true_and_rest(model: AskedModel, X: Any, y: Any) -> tuple[Floats, Floats]:
    """The chance of the true class, and of all others together."""
    chances = model.chances(X)
    true = true_chance(chances, model.labels(y))
    return true, np.maximum(chances.sum(axis=1) - true, 0.0)


def _compute_log_odds(pairs: Floats) -> Floats:
    """log p/(1−p) of the true class; 0 counts as half of the least chance that any of the models gives.

    A forest of 100 trees says 1 where all agree and 0.99 where one does not: by a fixed tiny number the two would be
    worlds apart.
    """
    given = pairs[pairs > _LOWEST]
    least = np.clip(given.min(initial=1.0) / 2, _LOWEST, _HIGHEST)
    return np.asarray(np.log(np.maximum(pairs[:, 0], least)) - np.log(np.maximum(pairs[:, 1], least)))


def _ratio(target: Floats, shadows: Floats, inside: Mask) -> Floats:
    """The two Gaussians' log densities at what the target model says, in minus out."""
    return _density(target, shadows, inside) - _density(target, shadows, ~inside)


def _density(target: Floats, shadows: Floats, chosen: Mask) -> Floats:
    """With one variance for all records, that around each record's own mean, where there are few shadow models."""
    many = chosen.sum(axis=0)
    middle = np.where(chosen, shadows, 0).sum(axis=0) / many
    squares = (np.where(chosen, shadows - middle, 0) ** 2).sum(axis=0)
    freedom = np.maximum(many - 1, 1)
    variance = squares / freedom if many.min() >= ENOUGH else squares.sum() / freedom.sum()
    variance = np.maximum(variance, 1e-6)
    return np.asarray(-((target - middle) ** 2) / (2 * variance) - np.log(variance) / 2)


# Members and others together: of one half the adversary knows which they are, the other half is attacked.


@dataclass(frozen=True)
class MemberPool:
    """All records, members first.

    Attributes
    ----------
    asked : the attacked model
    X, y : the records and their labels
    evidence : what the model says of them
    member : which of them it was trained on
    units : whose they are, where that was said
    known, attacked : rows of either half; in both as many members as others
    """

    asked: AskedModel
    X: Any
    y: Any
    evidence: ModelAnswers
    member: Mask
    units: Codes | None
    known: Codes
    attacked: Codes

    @classmethod
    def of(
        cls, asked: AskedModel, members: RecordSide, others: RecordSide, units: Codes | None, random_state: int
    ) -> "MemberPool":
        """Ask the model about everyone and draw the halves."""
        X, y = concat_rows(members.X, others.X), np.concatenate([members.y, others.y])
        evidence = ModelAnswers.of(asked, members).concat(ModelAnswers.of(asked, others))
        if (evidence.labels < 0).all():
            raise DataError("None of the labels is a class that the model knows; are they written as in its training?")
        member = np.arange(len(y)) < len(members)
        return cls(asked, X, y, evidence, member, units, *halves(member, units, random_state))

    def folds(self, random_state: int) -> Codes:
        """For each known record one of three folds, of whole persons, members and others dealt out alike."""
        random = np.random.default_rng(random_state)
        member, units = self.member[self.known], renumber_units(self.units, self.known)
        found = np.zeros(len(member), dtype=np.int64)
        for side in (member, ~member):
            whose = np.arange(side.sum()) if units is None else np.unique(units[side], return_inverse=True)[1]
            found[side] = (random.permutation(int(whose.max()) + 1) % FOLDS)[whose]
        return found

    def answers(self, scores: Floats) -> MembershipAnswers:
        """The scores of the attacked records beside the truth."""
        member = self.member[self.attacked]
        rows = np.where(member, self.attacked, self.attacked - int(self.member.sum()))
        return MembershipAnswers(scores, member, rows, renumber_units(self.units, self.attacked))


def halves(member: Mask, units: Codes | None, random_state: int) -> tuple[Codes, Codes]:
    """Rows to know and rows to attack, at random, of whole persons; as many members as others in each.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.attacks.membership.membership_inference import halves
    >>> known, attacked = halves(np.arange(30) < 10, None, 0)
    >>> len(known), len(attacked), int((known < 10).sum()), int((attacked < 10).sum())
    (10, 10, 5, 5)
    """
    whose = np.arange(len(member)) if units is None else units
    rank = np.random.default_rng(random_state).permutation(int(whose.max()) + 1)[whose]
    parts = [_cut(np.flatnonzero(side), rank) for side in (member, ~member)]
    known, attacked = ([part[i] for part in parts] for i in (0, 1))
    return _balance_sides(known), _balance_sides(attacked)


def _cut(rows: Codes, rank: Codes) -> tuple[Codes, Codes]:
    """The rows of lower and of higher rank, about half each; rows of one rank stay together."""
    ordered = rows[np.argsort(rank[rows], kind="stable")]
    ranks = rank[ordered]
    half = int(np.searchsorted(ranks, ranks[len(rows) // 2]))
    half = half or int(np.searchsorted(ranks, ranks[0], side="right"))
    return ordered[:half], ordered[half:]


def _balance_sides(sides: list[Codes]) -> Codes:
    fewest = min(len(side) for side in sides)
    return np.sort(np.concatenate([side[:fewest] for side in sides]))


FOREST, NETWORK, LOSS, LIRA, STRONGEST = METHODS = ("forest", "network", "loss", "lira", "strongest")
FEWEST_SHADOWS = 4


class MembershipInference:
    """Tell the records that a model was trained on from records that it was not [Goldsteen21 §4.2].

    The adversary may ask the model anything and is strong: of half of the members and as many others it knows which
    they are. It learns from what the model says of these and is judged on the other half, half of which are members.
    It sees the chances f(x), the true label y and the model's loss on it.

    - "forest": a random forest on f(x), the one-hot label and the loss, which the paper found to do as well as
      a network in some cases;
    - "network": a network like the paper's (see `AttackNetwork` for its shape; PyTorch);
    - "loss": whose loss is below a threshold is called a member (Yeom et al. 2018);
    - "lira": the likelihood ratio of Carlini et al. (2022), online: shadow models are trained on random halves of all
      the records given, two Gaussians describe log p/(1−p) of the true class from models that have and that have not
      seen a record, and the ratio of their densities at what the model says is the score. Below 64 shadow models one
      variance serves all records;
    - "strongest": forest or loss, or LiRA where a `shadow` is given, whichever has the highest AUC on known records.

    Thresholds, and which is strongest, come from known records scored by models that have not learned from them (three
    folds), never from the attacked. Only the true-positive rates at low false-positive rates take their threshold from
    the attacked records, as the literature does.

    A record that stands on both sides cannot be told apart: it makes the attack look weaker, and where this is more
    than chance an `OverlapWarning` says so.

    Parameters
    ----------
    method : "forest", "network", "loss", "lira" or "strongest"
    shadows : even int ≥ 4
        How many shadow models LiRA trains.
    shadow : unfitted classifier
        What LiRA trains; a clone of the model by default.
    random_state : int

    Examples
    --------
    >>> import modicum as md
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "hours-per-week", "capital-gain", "capital-loss"]]
    >>> model = DecisionTreeClassifier(random_state=0).fit(X[:1_000], y[:1_000])
    >>> attack = md.attacks.MembershipInference("loss")
    >>> result = attack.run(model, members=(X[:1_000], y[:1_000]), others=(X[1_000:2_000], y[1_000:2_000]))
    >>> result.accuracy.value > result.accuracy.naive, result.records
    (True, 1000)
    """

    def __init__(self, method: str = FOREST, *, shadows: int = 16, shadow: Any = None, random_state: int = 0) -> None:
        self.method = method
        self.shadows = shadows
        self.shadow = shadow
        self.random_state = random_state

    def run(self, model: Any, members: Any, others: Any, persons: Any = None) -> MembershipResult:
        """Attack a model.

        Parameters
        ----------
        model : fitted classifier with `predict_proba`, with all its preprocessing
        members : pair (X, y), records that the model was trained on
        others : pair (X, y), records that it was not, drawn alike
        persons : pair (of the members, of the others) that says whose each record is, optional
            One person's records then stay together, and intervals do not take them for independent.
        """
        start = time.perf_counter()
        self._check()
        asked = AskedModel(model)
        sides = both_sides(members, others)
        units = person_units(persons, (len(sides[0]), len(sides[1])))
        pool = MemberPool.of(asked, *sides, units, self.random_state)
        overlap = warn_of_shared(*sides)
        method, own, scores = self._strongest(pool)
        answers = pool.answers(scores)
        member, whose = answers.member, answers.units
        taken = scores >= best_threshold(own, pool.member[pool.known])
        return MembershipResult(
            method=method,
            accuracy=Estimate(*share_of(taken == member, np.ones(len(taken), dtype=bool), whose), naive=0.5),
            precision=answers.precision(taken),
            recall=Estimate(*share_of(taken, member, whose), naive=float(taken[~member].mean())),
            auc=Estimate(auc(scores, member), auc_interval(scores, member, whose), 0.5),
            tpr={rate: answers.true_rate(rate, self.random_state) for rate in FALSE_RATES},
            member_accuracy=Estimate(*share_of(pool.evidence.right, pool.member, units)),
            other_accuracy=Estimate(*share_of(pool.evidence.right, ~pool.member, units)),
            records=len(pool.attacked),
            known=len(pool.known),
            overlap=overlap,
            random_state=self.random_state,
            seconds=time.perf_counter() - start,
            answers=answers,
        )

    def _check(self) -> None:
        check_choice(self, "method", METHODS)
        check_number(self, "shadows", FEWEST_SHADOWS)
        check_number(self, "random_state", 0)
        if self.shadows % 2:
            raise ParameterError(
                "The 'shadows' parameter of MembershipInference must be even: each record is in half of them. "
                f"Got {self.shadows} instead."
            )

    def _strongest(self, pool: MemberPool) -> tuple[str, Floats, Floats]:
        """The method, its scores of known records, and those of the attacked."""
        several = [FOREST, LOSS, *([] if self.shadow is None else [LIRA])]
        names = several if self.method == STRONGEST else [self.method]
        tried = {name: self._scores(name, pool) for name in names}
        best = max(tried, key=lambda name: auc(tried[name][0], pool.member[pool.known]))
        return best, *tried[best]

    def _scores(self, name: str, pool: MemberPool) -> tuple[Floats, Floats]:
        if name == LIRA:
            shadow = clone_unfitted(pool.asked.model if self.shadow is None else self.shadow)
            ratios = likelihood_ratios(pool.asked, pool.X, pool.y, shadow, self.shadows, pool.units, self.random_state)
            return ratios[pool.known], ratios[pool.attacked]
        model = self._attack_model(name)
        evidence, member = pool.evidence[pool.known], pool.member[pool.known]
        own = cross_scores(model, evidence, member, pool.folds(self.random_state))
        return own, model.fit(evidence, member).score(pool.evidence[pool.attacked])

    def _attack_model(self, name: str) -> AttackModel:
        if name == LOSS:
            return LossThreshold()
        return Forest(self.random_state) if name == FOREST else AttackNetwork(self.random_state)
