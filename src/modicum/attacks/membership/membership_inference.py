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

# The result of a membership attack, with baselines.

FALSE_RATES = (0.001, 0.01)
_FEW_FALSE = 5  # with fewer false positives a rate is only rough


@dataclass(frozen=True)
class MembershipResult(PlainResult):
    """How well the attack distinguishes members from others, on records whose membership it did not know.

    Attributes
    ----------
    method : the attack; for "strongest" the one that was strongest on known records
    accuracy : share of right answers, with a threshold from known records; half are members, so guessing gives 0.5
    precision : share of members among the records that it classifies as members
    recall : share of members that it classifies as members; its baseline is the same share of the others
    auc : chance that a member scores above another record
    tpr : rate of false positives (0.001, 0.01) → share of members found at this rate; its baseline is the rate itself
    member_accuracy, other_accuracy : the model's own accuracy on the members (training) and on the others (test)
    records : the number of attacked records, half of them members
    known : the number of records whose membership the adversary knew, half of them members
    overlap : the number of others that are also members; 0 for a meaningful attack
    random_state, seconds : the seed and the time

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
        """The model's accuracy on members minus that on others: its overfitting."""
        return float(self.member_accuracy.value or 0) - float(self.other_accuracy.value or 0)

    def exposed(self, n: int = 10) -> pd.DataFrame:
        """Return the records with the highest scores for membership. For the team only: the result names rows.

        Returns
        -------
        frame with `side` ("members" or "others", the truth), `row` (position there) and `score`, highest first.
        """
        first = np.argsort(-self.answers.scores, kind="stable")[:n]
        side = np.where(self.answers.member[first], "members", "others")
        return pd.DataFrame({"side": side, "row": self.answers.rows[first], "score": self.answers.scores[first]})


@dataclass(frozen=True)
class MembershipAnswers:
    """The scores of the attacked records, their membership, and their positions on their side."""

    scores: Floats
    member: Mask
    rows: Codes
    units: Codes | None

    def precision(self, positive: Mask) -> Estimate:
        """Return the share of members among the records classified as members."""
        if not positive.any():
            return Estimate(None, None, 0.5, "the attack classifies no record as a member")
        return Estimate(*share_of(self.member, positive, self.units), naive=0.5)

    def true_rate(self, rate: float, random_state: int) -> Estimate:
        """Return the true positive rate at this false positive rate; no value if there are too few others."""
        others = int((~self.member).sum())
        if others * rate < 1 - 1e-9:
            reason = (
                f"{others:,} attacked non-members cannot show a rate of {rate:.1%} false positives: this needs "
                f"{round(1 / rate):,}; the lowest rate above 0 that they can show is {1 / others:.1%}"
            )
            return Estimate(None, None, rate, reason)
        interval = rate_interval(self.scores, self.member, rate, self.units, random_state)
        few = int(others * rate + 1e-9)
        rough = f"rough: it rests on {few} false positives" if few < _FEW_FALSE else None
        return Estimate(rate_at(self.scores, self.member, rate), interval, rate, rough)


def best_threshold(scores: Floats, member: Mask) -> float:
    """Return the threshold on the score that classifies most known records right.

    It is the midpoint between two scores, or infinite if it is best to classify no record as a member.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.attacks.membership.membership_inference import best_threshold
    >>> best_threshold(np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, False, True, True]))
    2.5
    """
    values, place = np.unique(scores, return_inverse=True)
    gain = np.bincount(place, weights=np.where(member, 1.0, -1.0))
    from_here = np.append(np.cumsum(gain[::-1])[::-1], 0.0)  # members minus others at or above each value
    best = int(from_here.argmax())
    if best == len(values):
        return float("inf")
    return float(values[0] if best == 0 else (values[best - 1] + values[best]) / 2)


# LiRA: is the model's answer for a record likelier from models that trained on it? (Carlini et al. 2022)

ENOUGH = 32  # with this many shadow models on each side, each record has its own variance
_LOWEST, _HIGHEST = 1e-12, 1e-2  # limits of the value that replaces a chance of 0


def likelihood_ratios(
    asked: AskedModel, X: Any, y: Any, shadow: Any, shadows: int, units: Codes | None, random_state: int
) -> Floats:
    """Compute the log likelihood ratio of each record of the pool: above 0 indicates a member.

    Half of the shadow models train on random halves of the pool, the others on the complements, so that every record is
    in exactly half of the training sets.
    """
    random = np.random.default_rng(random_state)
    inside = _draw_halves(len(y), shadows, units, random)
    seeds = random.integers(0, 2**31 - 1, shadows)
    models = [
        _train_shadow(shadow, X, y, np.flatnonzero(rows), int(seed)) for rows, seed in zip(inside, seeds, strict=True)
    ]
    pairs = np.array([_true_and_rest(model, X, y) for model in [asked, *models]])
    odds = _compute_log_odds(pairs)
    return _ratio(odds[0], odds[1:], inside)


def _draw_halves(n: int, shadows: int, units: Codes | None, random: np.random.Generator) -> Mask:
    """Mark the training records of each shadow model; all records of a person are in or out together."""
    persons = np.arange(n) if units is None else units
    many = int(persons.max()) + 1
    first = np.array([random.permutation(many) < (many + 1) // 2 for _ in range(shadows // 2)])[:, persons]
    return np.vstack([first, ~first])


def _train_shadow(shadow: Any, X: Any, y: Any, rows: Codes, seed: int) -> AskedModel:
    model = seed_model(clone_unfitted(shadow), seed)
    try:
        model.fit(take_rows(X, rows), y[rows])
    except Exception as error:
        raise DataError(f"A shadow model could not be trained: {safe_message(error, X)}") from error
    return AskedModel(model, "The 'shadow' parameter of MembershipInference")


def clone_unfitted(shadow: Any) -> Any:
    """Return an unfitted copy of the classifier, or refuse it."""
    from sklearn.base import clone

    try:
        copy = clone(shadow)
    except (TypeError, RuntimeError):
        copy = None
    if copy is None or hasattr(copy, "classes_"):
        raise ParameterError(
            f"The {type(shadow).__name__} cannot be copied unfitted to train shadow models. Give MembershipInference "
            "an unfitted scikit-learn classifier as 'shadow'."
        )
    if not hasattr(copy, "predict_proba"):
        raise ParameterError(
            "The 'shadow' parameter of MembershipInference must be an unfitted classifier with predict_proba. "
            f"Got {type(shadow).__name__}, which has no predict_proba."
        )
    return copy


def seed_model(model: Any, seed: int) -> Any:
    """Set every random state of the model that is not a number to the seed."""
    open_ = [k for k, v in model.get_params().items() if k.split("__")[-1] == "random_state" and not isinstance(v, int)]
    return model.set_params(**dict.fromkeys(open_, seed))


def _true_and_rest(model: AskedModel, X: Any, y: Any) -> tuple[Floats, Floats]:
    """Return the chance of the true class, and of all others together."""
    chances = model.chances(X)
    true = true_chance(chances, model.labels(y))
    return true, np.maximum(chances.sum(axis=1) - true, 0.0)


def _compute_log_odds(pairs: Floats) -> Floats:
    """Compute log p/(1−p) of the true class; 0 counts as half of the lowest chance that any of the models gives.

    A forest of 100 trees gives 1 if all agree and 0.99 if one does not. With a fixed tiny number instead of 0, the log
    odds of the two would be far apart.
    """
    positive = pairs[pairs > _LOWEST]
    least = np.clip(positive.min(initial=1.0) / 2, _LOWEST, _HIGHEST)
    return np.asarray(np.log(np.maximum(pairs[:, 0], least)) - np.log(np.maximum(pairs[:, 1], least)))


def _ratio(target: Floats, shadows: Floats, inside: Mask) -> Floats:
    """Subtract the Gaussians' log densities at the target model's answer: models with the record minus without it."""
    return _density(target, shadows, inside) - _density(target, shadows, ~inside)


def _density(target: Floats, shadows: Floats, chosen: Mask) -> Floats:
    """Compute a Gaussian log density per record; with few shadow models all records share one variance."""
    many = chosen.sum(axis=0)
    middle = np.where(chosen, shadows, 0).sum(axis=0) / many
    squares = (np.where(chosen, shadows - middle, 0) ** 2).sum(axis=0)
    freedom = np.maximum(many - 1, 1)
    variance = squares / freedom if many.min() >= ENOUGH else squares.sum() / freedom.sum()
    variance = np.maximum(variance, 1e-6)
    return np.asarray(-((target - middle) ** 2) / (2 * variance) - np.log(variance) / 2)


# Members and others together: the adversary knows the membership of one half and attacks the other.


@dataclass(frozen=True)
class MemberPool:
    """All records, members first.

    Attributes
    ----------
    asked : the attacked model
    X, y : the records and their labels
    evidence : the model's answers for them
    member : which of them it was trained on
    units : the person of each record, if given
    known, attacked : the rows of each half, with as many members as others
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
        """Query the model for all records and draw the halves."""
        X, y = concat_rows(members.X, others.X), np.concatenate([members.y, others.y])
        evidence = ModelAnswers.of(asked, members).concat(ModelAnswers.of(asked, others))
        if (evidence.labels < 0).all():
            raise DataError("None of the labels is a class of the model. Give labels as in its training data.")
        member = np.arange(len(y)) < len(members)
        return cls(asked, X, y, evidence, member, units, *halves(member, units, random_state))

    def folds(self, random_state: int) -> Codes:
        """Assign each known record to one of three folds, by whole persons, stratified by membership."""
        random = np.random.default_rng(random_state)
        member, units = self.member[self.known], renumber_units(self.units, self.known)
        found = np.zeros(len(member), dtype=np.int64)
        for side in (member, ~member):
            persons = np.arange(side.sum()) if units is None else np.unique(units[side], return_inverse=True)[1]
            found[side] = (random.permutation(int(persons.max()) + 1) % FOLDS)[persons]
        return found

    def answers(self, scores: Floats) -> MembershipAnswers:
        """Combine the scores of the attacked records with the truth."""
        member = self.member[self.attacked]
        rows = np.where(member, self.attacked, self.attacked - int(self.member.sum()))
        return MembershipAnswers(scores, member, rows, renumber_units(self.units, self.attacked))


def halves(member: Mask, units: Codes | None, random_state: int) -> tuple[Codes, Codes]:
    """Draw rows to know and rows to attack, by whole persons, each with as many members as others.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.attacks.membership.membership_inference import halves
    >>> known, attacked = halves(np.arange(30) < 10, None, 0)
    >>> len(known), len(attacked), int((known < 10).sum()), int((attacked < 10).sum())
    (10, 10, 5, 5)
    """
    persons = np.arange(len(member)) if units is None else units
    rank = np.random.default_rng(random_state).permutation(int(persons.max()) + 1)[persons]
    parts = [_split_by_rank(np.flatnonzero(side), rank) for side in (member, ~member)]
    known, attacked = ([part[i] for part in parts] for i in (0, 1))
    return _balance_sides(known), _balance_sides(attacked)


def _split_by_rank(rows: Codes, rank: Codes) -> tuple[Codes, Codes]:
    """Split rows into lower and higher ranks, about half each; rows of equal rank stay together."""
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
    """Distinguish the records that a model was trained on from other records [Goldsteen21 §4.2].

    The adversary may query the model without limit, and knows the membership of half of the members and of as many
    others. It learns from the model's answers for these and is judged on the other half, half of which are members. It
    sees the chances f(x), the true label y and the model's loss on it.

    - "forest": a random forest on f(x), the one-hot label and the loss, which in the paper sometimes did as well as a
      network;
    - "network": a network like the paper's (see `AttackNetwork` for its shape; PyTorch);
    - "loss": a record with a loss below a threshold counts as a member (Yeom et al. 2018);
    - "lira": the likelihood ratio of Carlini et al. (2022), online. Shadow models are trained on random halves of all
      records. Two Gaussians describe log p/(1−p) of the true class from models that have and have not seen a record.
      The score is the ratio of their densities at the model's answer. With fewer than 64 shadow models, all records
      share one variance;
    - "strongest": forest, loss, or with a `shadow` LiRA, whichever has the highest AUC on known records.

    Thresholds and the strongest method come from known records, scored by models that have not learned from them (three
    folds), never from the attacked ones. Only the true positive rates at low false positive rates take their thresholds
    from the attacked records, as in the literature.

    A record on both sides cannot be distinguished and makes the attack look weaker. If there are more of these than
    expected by chance, an `OverlapWarning` is issued.

    Parameters
    ----------
    method : "forest", "network", "loss", "lira" or "strongest"
    shadows : even int ≥ 4
        The number of shadow models that LiRA trains.
    shadow : unfitted classifier
        The classifier that LiRA trains; by default a clone of the model.
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
        others : pair (X, y), other records from the same source
        persons : pair (of the members, of the others) with the person of each record, optional
            A person's records then stay together, and do not count as independent in intervals.
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
        member, persons = answers.member, answers.units
        positive = scores >= best_threshold(own, pool.member[pool.known])
        return MembershipResult(
            method=method,
            accuracy=Estimate(*share_of(positive == member, np.ones(len(positive), dtype=bool), persons), naive=0.5),
            precision=answers.precision(positive),
            recall=Estimate(*share_of(positive, member, persons), naive=float(positive[~member].mean())),
            auc=Estimate(auc(scores, member), auc_interval(scores, member, persons), 0.5),
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
        """Return the method, its scores of known records, and of attacked ones."""
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
