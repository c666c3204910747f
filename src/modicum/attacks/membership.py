"""Membership inference: was this record in the model's training data? (papers/2 §4.2)"""

import time
from typing import Any

from modicum.attacks.attack_models import AttackModel, AttackNetwork, Forest, LossThreshold, cross_scores
from modicum.attacks.estimate import Estimate
from modicum.attacks.likelihood_ratio import likelihood_ratios, unfitted
from modicum.attacks.membership_result import MembershipResult, best_threshold
from modicum.attacks.pool import Pool
from modicum.attacks.two_sides import both_sides, person_units, warn_of_shared
from modicum.errors import ParameterError, check_choice, check_number
from modicum.learners.asking import AskedModel
from modicum.measures.scores import auc, share_of
from modicum.table.values import Floats

FOREST, NETWORK, LOSS, LIRA, STRONGEST = METHODS = ("forest", "network", "loss", "lira", "strongest")
FEWEST_SHADOWS = 4


class MembershipInference:
    """Tell the records that a model was trained on from records that it was not (papers/2 §4.2).

    The adversary may ask the model anything and is strong: of half of the members and as many others it knows which
    they are. It learns from what the model says of these and is judged on the other half, half of which are members.
    It sees the chances f(x), the true label y and the model's loss on it.

    - "forest": a random forest on f(x), the one-hot label and the loss, which the paper found to do as well as
      a network in some cases;
    - "network": a network like the paper's (see `modicum.attacks.attack_models.AttackNetwork` for its shape; PyTorch);
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
        pool = Pool.of(asked, *sides, units, self.random_state)
        overlap = warn_of_shared(*sides)
        method, own, scores = self._strongest(pool)
        answers = pool.answers(scores)
        return MembershipResult(
            method=method,
            **answers.judged(best_threshold(own, pool.member[pool.known]), self.random_state),
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

    def _strongest(self, pool: Pool) -> tuple[str, Floats, Floats]:
        """The method, its scores of known records, and those of the attacked."""
        several = [FOREST, LOSS, *([] if self.shadow is None else [LIRA])]
        names = several if self.method == STRONGEST else [self.method]
        tried = {name: self._scores(name, pool) for name in names}
        best = max(tried, key=lambda name: auc(tried[name][0], pool.member[pool.known]))
        return best, *tried[best]

    def _scores(self, name: str, pool: Pool) -> tuple[Floats, Floats]:
        if name == LIRA:
            shadow = unfitted(pool.asked.model if self.shadow is None else self.shadow)
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
