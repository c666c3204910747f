"""Membership inference against models that memorise everything, nothing, or something."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import modicum as md
from modicum.attacks import MembershipInference, OverlapWarning
from modicum.attacks.membership.membership_inference import _compute_log_odds, _ratio, best_threshold, halves
from modicum.attacks.membership.two_sides import AttackNetwork, Forest, ModelAnswers
from modicum.measures.scores import auc, auc_interval, rate_at, rate_interval

METHODS = [
    pytest.param("forest", marks=pytest.mark.slow),
    pytest.param("network", marks=pytest.mark.slow),
    "loss",
    "lira",
    pytest.param("strongest", marks=pytest.mark.slow),
]


def sides(n: int, seed: int = 0) -> tuple[tuple, tuple]:
    """Members and others with six numbers each, and random labels."""
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(2 * n, 6)), random.choice(["no", "yes"], 2 * n)
    return (X[:n], y[:n]), (X[n:], y[n:])


def memory(n: int = 200) -> tuple:
    """Return a forest that has memorised every random label, its members and others."""
    members, others = sides(n)
    return RandomForestClassifier(20, bootstrap=False, random_state=0).fit(*members), members, others


@pytest.mark.parametrize("method", METHODS)
def test_a_model_that_memorises_random_labels_is_caught(method):
    model, members, others = memory()
    result = MembershipInference(method, shadows=8).run(model, members, others)
    assert result.auc.value > 0.97
    assert result.accuracy.value > 0.9
    assert result.accuracy.interval[0] > result.accuracy.naive == 0.5
    assert result.member_accuracy.value == 1
    assert result.gap == pytest.approx(0.5, abs=0.1)
    assert result.tpr[0.01].value > 0.5
    assert result.method == method if method != "strongest" else result.method in ("forest", "loss")


@pytest.mark.parametrize("method", ["loss", "lira", "forest"])
def test_a_constant_model_reveals_nobody(method):
    members, others = sides(300)
    result = MembershipInference(method, shadows=4).run(DummyClassifier().fit(*members), members, others)
    for score in (result.accuracy, result.auc):
        assert score.interval[0] <= 0.5 <= score.interval[1]
    assert result.auc.value == pytest.approx(0.5, abs=0.06)


def test_a_constant_score_finds_as_many_members_as_others():
    members, others = sides(1_000)
    constant = DummyClassifier(strategy="uniform").fit(*members)
    result = MembershipInference("loss").run(constant, members, others)
    assert result.auc.value == 0.5
    assert result.tpr[0.01].value == pytest.approx(0.01)
    assert result.tpr[0.01].interval[0] < 0.01 < result.tpr[0.01].interval[1]


def test_a_model_that_memorises_nothing_is_safe():
    """A line through 1,000 records is no closer to members than to others."""
    members, others = sides(1_000)
    result = MembershipInference("loss").run(LogisticRegression().fit(*members), members, others)
    assert result.auc.interval[0] < 0.5 < result.auc.interval[1]
    assert abs(result.gap) < 0.08


def test_shadow_models_find_more_than_the_loss():
    """Records are hard or easy; LiRA knows which, a threshold on the loss does not."""
    random = np.random.default_rng(1)
    X = random.normal(size=(800, 5))
    y = np.where(random.random(800) < 0.5 + 0.5 * np.tanh(np.abs(X[:, 0])), X[:, 1] > 0, random.random(800) < 0.5)
    model = RandomForestClassifier(25, random_state=0).fit(X[:400], y[:400])
    found = {
        method: MembershipInference(method, shadows=16).run(model, (X[:400], y[:400]), (X[400:], y[400:])).auc.value
        for method in ("loss", "lira")
    }
    assert found["lira"] > found["loss"] + 0.05


def test_rates_that_need_more_records_are_not_claimed():
    model, members, others = memory(300)
    result = MembershipInference("loss").run(model, members, others)
    assert result.tpr[0.001].value is None
    assert "this needs 1,000" in result.tpr[0.001].reason
    assert result.tpr[0.01].value is not None
    content = json.loads(json.dumps(result.to_dict()))
    assert content["tpr"]["0.001"]["value"] is None
    assert content["auc"]["naive"] == 0.5
    assert "answers" not in content


def test_half_is_known_and_half_attacked_with_equal_sides():
    model, members, (X, y) = memory(300)
    result = MembershipInference("loss").run(model, members, (X[:100], y[:100]))
    assert (result.known, result.records) == (100, 100)
    known, attacked = halves(np.arange(400) < 300, None, 0)
    assert len(np.intersect1d(known, attacked)) == 0
    assert (known < 300).sum() == (attacked < 300).sum() == 50


def test_the_exposed_are_members_of_a_model_that_memorises():
    model, members, others = memory(200)
    exposed = MembershipInference("loss").run(model, members, others).exposed(20)
    assert (exposed["side"] == "members").mean() > 0.9
    assert exposed["score"].is_monotonic_decreasing


def test_the_same_seed_gives_the_same_result():
    members, others = sides(20)
    model = DecisionTreeClassifier(max_depth=4).fit(*members)  # without a seed, its shadow models could differ
    attack = MembershipInference("lira", shadows=4, random_state=5)
    results = [attack.run(model, members, others) for _ in range(2)]
    contents = [result.to_dict() for result in results]
    for each in contents:
        each.pop("seconds")
    assert contents[0] == contents[1]
    assert np.array_equal(results[0].answers.scores, results[1].answers.scores)


@pytest.mark.parametrize("kind", [pytest.param(AttackNetwork, marks=pytest.mark.slow), Forest])
def test_attack_models_find_members_and_repeat_with_the_seed(kind):
    """Members' true class has a high chance; some records have a class that is unknown to the model."""
    random = np.random.default_rng(0)
    labels, member = random.integers(-1, 3, 300), random.random(300) < 0.5
    chances = random.dirichlet([1, 1, 1], 300) + 2 * member[:, None] * (labels[:, None] == np.arange(3))
    evidence = ModelAnswers(chances / chances.sum(axis=1, keepdims=True), labels)
    first, second = (kind(1).fit(evidence[:200], member[:200]).score(evidence[200:]) for _ in range(2))
    assert np.array_equal(first, second)
    known = labels[200:] >= 0
    assert auc(first[known], member[200:][known]) > 0.9
    assert auc(first[~known], member[200:][~known]) < 0.75


def test_frames_of_both_libraries_and_pipelines_give_the_same_result(people):
    X, y = people
    X = X.astype({"school": str}).assign(age=X["age"].fillna(0.0), job=X["job"].fillna("none"))
    results = []
    for frame in (pd.DataFrame, as_polars):
        encoder = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["job", "school", "sex"]), remainder="passthrough"
        )
        model = make_pipeline(encoder, RandomForestClassifier(20, random_state=0)).fit(frame(X[:300]), y[:300])
        attack = MembershipInference("lira", shadows=4)
        result = attack.run(model, (frame(X[:300]), y[:300]), (frame(X[300:]), y[300:])).to_dict()
        result.pop("seconds")
        results.append(result)
    assert results[0] == results[1]
    assert results[0]["auc"]["value"] > 0.6


def test_a_grid_search_is_a_classifier_like_any_other():
    members, others = sides(80)
    model = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [None]}).fit(*members)
    assert MembershipInference("loss").run(model, members, others).auc.value > 0.7


def test_records_of_an_unknown_class_are_no_members():
    model, members, (X, y) = memory(100)
    y = np.where(np.arange(100) < 50, "perhaps", y)
    for method in ("loss", "lira"):
        result = MembershipInference(method, shadows=4).run(model, members, (X, y))
        assert result.auc.value > 0.95
        assert result.other_accuracy.value < 0.5


def test_records_on_both_sides_cause_a_warning():
    model, members, _ = memory(200)
    with pytest.warns(OverlapWarning, match="200 of the 200 others are also among the members"):
        result = MembershipInference("loss").run(model, members, members)
    assert result.overlap == 200
    assert result.auc.value == pytest.approx(0.5, abs=0.1)


def test_one_persons_records_stay_together_and_are_not_independent():
    """Each person's record occurs ten times: an interval over rows would be too narrow."""
    members, others = sides(100)
    model = DecisionTreeClassifier(random_state=0).fit(*members)
    often = [tuple(np.repeat(part, 10, axis=0) for part in side) for side in (members, others)]
    persons = (np.repeat(np.arange(100), 10), np.repeat(np.arange(100, 200), 10))
    alone = MembershipInference("loss").run(model, *often)
    together = MembershipInference("loss").run(model, *often, persons=persons)
    for name in ("accuracy", "auc"):
        widths = [np.diff(getattr(result, name).interval)[0] for result in (alone, together)]
        assert widths[1] > 2 * widths[0]
    units = np.concatenate(persons)
    known, attacked = halves(np.arange(2_000) < 1_000, units, 0)
    assert len(np.intersect1d(units[known], units[attacked])) == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"method": "magic"}, "'method' parameter of MembershipInference must be 'forest', 'network'"),
        ({"shadows": 2}, "'shadows' parameter of MembershipInference must be an int ≥ 4"),
        ({"shadows": 7}, "must be even"),
        ({"random_state": -1}, "'random_state' parameter"),
    ],
)
def test_bad_arguments(arguments, complaint):
    model, members, others = memory(20)
    with pytest.raises(md.errors.ParameterError, match=complaint):
        MembershipInference(**arguments).run(model, members, others)


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (None, "with predict_proba"),
        (LinearSVC, "is the class LinearSVC"),
        (LinearSVC(), "with predict_proba"),
        (LinearRegression(), "with predict_proba"),
        (GaussianMixture(), "no classes, or is not fitted"),
        (RandomForestClassifier(), "no classes, or is not fitted"),
        ("model.pkl", "with predict_proba"),
    ],
    ids=str,
)
def test_only_fitted_classifiers_are_accepted(model, complaint):
    _, members, others = memory(20)
    with pytest.raises(md.errors.ParameterError, match=complaint):
        MembershipInference().run(model, members, others)


@pytest.mark.parametrize("shadow", [LinearSVC(), "tree", FrozenEstimator(DummyClassifier().fit([[0]], [0]))], ids=str)
def test_unusable_shadow_models_are_refused(shadow):
    model, members, others = memory(20)
    with pytest.raises(md.errors.ParameterError, match="unfitted"):
        MembershipInference("lira", shadow=shadow).run(model, members, others)


def test_several_labels_at_once_are_refused():
    _, (X, y), others = memory(20)
    model = DecisionTreeClassifier().fit(X, np.column_stack([y, y]))
    with pytest.raises(md.errors.ParameterError, match="2 labels at once"):
        MembershipInference().run(model, (X, y), others)


def test_bad_data():
    model, members, (X, y) = memory(20)

    def refused(others, complaint, **more):
        with pytest.raises(md.errors.ModicumError, match=complaint):
            MembershipInference("loss").run(model, members, others, **more)

    refused(X, r"'others' parameter must be a pair \(X, y\)")
    refused((X[:5], y[:5]), "others are 5 records, too few")
    refused((X, y[:5]), "needs one value for each of the 20 rows")
    refused((X[:, :3], y), "same columns")
    refused((X, np.ones(20)), "labels of the same type")
    refused((pd.DataFrame(X, columns=[f"x{j}" for j in range(6)]), y), "both be frames or both arrays")
    refused((np.full_like(X, np.inf), y), "The model failed on the records: ValueError: Input X contains infinity")
    refused((X, y), "There are 3 persons for 20 members", persons=([1, 2, 3], [4]))
    refused((X, y), "fewer than 10 persons", persons=([1] * 20, list(range(20))))
    strange = (X, np.full(20, "perhaps"))
    with pytest.raises(md.errors.DataError, match="None of the labels"):
        MembershipInference().run(model, strange, strange)


def test_errors_of_a_model_name_no_value():
    X = pd.DataFrame({"job": ["nurse", "clerk"] * 20, "age": range(40)})
    y = np.array(["no", "yes"] * 20)
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough"), DecisionTreeClassifier()
    ).fit(X, y)
    with pytest.raises(md.errors.DataError, match="The model failed on the records: ValueError") as caught:
        MembershipInference().run(model, (X, y), (X.assign(job="spy"), y))
    assert "spy" not in str(caught.value)


def test_the_area_under_the_curve_agrees_with_scikit_learn():
    random = np.random.default_rng(0)
    for _ in range(20):
        positive = random.random(60) < 0.4
        scores = random.integers(0, 8, 60) + positive
        assert auc(scores, positive) == pytest.approx(roc_auc_score(positive, scores))


def test_the_interval_of_the_area_covers_the_truth():
    """Two Gaussians with distance one have an AUC of 0.760; about 95% of 400 intervals must hold it."""
    random = np.random.default_rng(0)
    positive = np.arange(200) < 100
    ends = [auc_interval(random.normal(size=200) + positive, positive) for _ in range(400)]
    covered = np.mean([low <= 0.7602 <= high for low, high in ends])
    assert 0.92 < covered < 0.985


def test_the_rate_at_a_low_false_rate_agrees_with_counting():
    positive = np.repeat([True, False], 1_000)
    scores = np.concatenate([np.repeat([9.0, 1.0], [50, 950]), np.repeat([5.0, 0.0], [10, 990])])
    assert rate_at(scores, positive, 0.001) == pytest.approx(0.05)
    low, high = rate_interval(scores, positive, 0.001)
    assert 0.03 < low < 0.05 < high < 0.08


def test_the_threshold_is_right_for_most_known_records():
    random = np.random.default_rng(0)
    scores, member = random.integers(0, 9, 50).astype(float), random.random(50) < 0.5
    best = max(np.mean((scores >= t) == member) for t in [*np.unique(scores), np.inf])
    assert np.mean((scores >= best_threshold(scores, member)) == member) == best


def test_the_likelihood_ratio_is_that_of_two_gaussians():
    from scipy.stats import norm

    inside = np.array([[True], [True], [False], [False]])
    scores = np.array([[2.0], [4.0], [-1.0], [1.0]])
    by_hand = norm.logpdf(2.5, 3, np.sqrt(2)) - norm.logpdf(2.5, 0, np.sqrt(2))
    assert _ratio(np.array([2.5]), scores, inside)[0] == pytest.approx(by_hand)


def test_a_zero_chance_counts_as_half_of_the_least_nonzero_chance():
    pairs = np.array([[[1.0, 0.99], [0.0, 0.01]]])
    assert _compute_log_odds(pairs)[0].tolist() == pytest.approx([np.log(1 / 0.005), np.log(99)])
