"""What the prediction loses: scores that agree with scikit-learn, honest comparisons, every kind of learner."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars, shared_file
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import modicum as md
from modicum.evaluation._utility import counts_rows, model_on
from modicum.measures.scores import Predictions
from modicum.table.files import read_table
from modicum.table.splits import split_rows


def task(n: int, seed: int, classes: int = 2) -> tuple[pd.DataFrame, pd.Series]:
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": random.integers(18, 90, n).astype(float),
            "job": random.choice(["nurse", "clerk", "driver"], n),
            "noise": random.normal(size=n),
        }
    )
    score = (X["age"] - 50) / 15 + (X["job"] == "nurse") * 1.5 + random.logistic(size=n)
    X.loc[random.random(n) < 0.05, "age"] = np.nan
    y = pd.qcut(score, classes, labels=[f"class {c}" for c in range(classes)]).astype(str)
    return X, y


TRAIN, TEST = task(6_000, 1), task(4_000, 2)


@pytest.fixture(scope="module")
def g() -> md.Generalization:
    return md.PrivacyTree(max_leaves=8, privacy=0.2).fit(*TRAIN).generalization_


@pytest.mark.parametrize("estimator", ["boosted trees", "network", LogisticRegression(max_iter=1000)], ids=str)
def test_minimized_lies_between_raw_and_majority(g, estimator):
    u = md.utility(g, *TRAIN, *TEST, estimator=estimator)
    assert u.majority_error == pytest.approx(0.5, abs=0.03)
    assert u.raw_error - 0.02 < u.error < u.majority_error - 0.1
    assert u.interval[0] < u.error < u.interval[1]
    assert u.skill_interval[0] < u.skill_kept < u.skill_interval[1] < 1.3
    assert not u.is_weak
    auc = u.scores["auc"]
    assert auc.interval[0] < auc.minimized < auc.interval[1]
    assert auc.majority == 0.5
    json.dumps(u.to_dict(), allow_nan=False)


@pytest.mark.parametrize("classes", [2, 4])
def test_scores_agree_with_scikit_learn(classes):
    random = np.random.default_rng(0)
    chances = random.dirichlet(np.ones(classes), 500).round(2)
    chances /= chances.sum(axis=1, keepdims=True)
    y = random.integers(0, classes, 500)
    found = Predictions(chances, y)
    weights = random.integers(0, 3, 500)
    floor = np.clip(chances, 1e-6, 1)
    expected = log_loss(y, floor / floor.sum(axis=1, keepdims=True), labels=range(classes))
    assert found.log_loss() == pytest.approx(expected, abs=1e-4)
    scores = chances[:, 1] if classes == 2 else chances
    assert found.auc() == pytest.approx(roc_auc_score(y, scores, multi_class="ovr"))
    if classes == 2:
        assert found.auc(weights) == pytest.approx(roc_auc_score(y, scores, sample_weight=weights))
    assert found.error(weights) == pytest.approx(np.average(chances.argmax(axis=1) != y, weights=weights))


def test_scoring_takes_any_scorer(g):
    u = md.utility(g, *TRAIN, *TEST, scoring=["balanced_accuracy", "neg_brier_score"])
    assert u.scores["balanced_accuracy"].minimized == pytest.approx(1 - u.error, abs=0.02)
    assert u.scores["balanced_accuracy"].majority == pytest.approx(0.5)
    assert u.scores["neg_brier_score"].raw > u.scores["neg_brier_score"].majority
    with pytest.raises(md.errors.ParameterError, match="'scoring' parameter"):
        md.utility(g, *TRAIN, *TEST, scoring="charm")


def test_scores_by_group_name_the_worst(g):
    X, y = TEST
    random = np.random.default_rng(3)
    spoiled = y.where((X["job"] != "driver") | (random.random(len(y)) < 0.5), "class 0")
    spoiled = spoiled.where((X["job"] != "driver") | (random.random(len(y)) < 0.5), "class 1")
    u = md.utility(g, *TRAIN, X, spoiled, by="job")
    assert set(u.by_group) == {"job: nurse", "job: clerk", "job: driver"}
    assert u.worst_group == "job: driver"
    assert sum(score.records for score in u.by_group.values()) == len(X)
    total = sum(score.records * score.error for score in u.by_group.values()) / len(X)
    assert total == pytest.approx(u.error)


def test_groups_by_range_by_several_columns_and_by_values(g):
    ranges = md.utility(g, *TRAIN, *TEST, by="age").by_group
    assert len(ranges) == 6
    assert "age: (missing)" in ranges
    both = md.utility(g, *TRAIN, *TEST, by=["age", "job"]).by_group
    assert len(both) == 9
    odd = md.utility(g, *TRAIN, *TEST, by=np.arange(len(TEST[0])) % 2).by_group
    assert set(odd) == {"0", "1"}
    with pytest.raises(md.errors.ParameterError, match="one value for each of the 4,000"):
        md.utility(g, *TRAIN, *TEST, by=[1, 2, 3])
    with pytest.raises(md.errors.ParameterError, match="'by' parameter"):
        md.utility(g, *TRAIN, *TEST, by=3)
    with pytest.raises(md.errors.DataError, match="'shoes' is not in the data"):
        md.utility(g, *TRAIN, *TEST, by=["age", "shoes"])
    with pytest.raises(md.errors.DataError, match="'shoes' is not in the data"):
        md.utility(g, *TRAIN, *TEST, by="shoes")


def test_an_unpredictable_label_is_called_weak(g):
    random = np.random.default_rng(5)
    coin = [pd.Series(random.choice(["a", "b"], len(part[0]))) for part in (TRAIN, TEST)]
    u = md.utility(g, TRAIN[0], coin[0], TEST[0], coin[1], estimator=LogisticRegression())
    assert u.is_weak


def test_collecting_nothing_keeps_no_skill(g):
    nothing = g
    for name in g.needed:
        nothing = nothing.drop(name)
    for estimator in ("boosted trees", "network", LogisticRegression()):
        u = md.utility(nothing, *TRAIN, *TEST, estimator=estimator)
        assert u.skill_kept == pytest.approx(0, abs=0.02)


def test_several_classes_numbers_and_frames(g):
    X, y = task(3_000, 6, classes=4)
    u = md.utility(g, as_polars(X[:2000]), y[:2000].to_numpy(), as_polars(X[2000:]), y[2000:].to_numpy())
    assert u.error < u.majority_error
    score = X["age"].fillna(50) + np.random.default_rng(0).normal(size=3_000)
    u = md.utility(g, X[:2000], score[:2000], X[2000:], score[2000:], label_bins=3)
    assert u.majority_error == pytest.approx(2 / 3, abs=0.05)
    assert u.error < 0.4
    with pytest.raises(md.errors.DataError, match="label_bins"):
        md.utility(g, X[:2000], score[:2000], X[2000:], score[2000:])


def test_a_class_unknown_in_training_counts_as_wrong(g):
    X, y = TEST
    u = md.utility(g, *TRAIN, X, y.where(np.arange(len(y)) >= 2000, "new"), estimator=LogisticRegression())
    assert u.error > 0.5


def test_distinct_rows_with_counts_give_the_same_model():
    """A learner on distinct (z, y) with counts equals the learner on the records."""
    X, y = TRAIN
    g = md.PrivacyTree(max_leaves=8, privacy=0.2).fit(X, y).generalization_
    codes = (y == "class 1").to_numpy().astype(np.int64)
    for estimator in (LogisticRegression(C=1e3, tol=1e-10, max_iter=5000), MultinomialNB()):
        ours = model_on(g, estimator, 2, 0).fit(X, codes)
        pipeline = make_pipeline(g.encoder(), estimator)
        theirs = pipeline.fit(g.transform(X), codes)
        assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(g.transform(X)), abs=1e-4)


def test_which_learners_are_trained_on_records():
    assert counts_rows(KNeighborsClassifier())  # takes no weights
    assert counts_rows(RandomForestClassifier())  # counts rows in a leaf
    assert not counts_rows(LogisticRegression())
    assert counts_rows(CalibratedClassifierCV(LogisticRegression()))  # splits rows
    assert counts_rows(BaggingClassifier(DecisionTreeClassifier()))  # its part counts rows


@pytest.mark.parametrize("estimator", ["oracle", 3, SVC, object()])
def test_only_classifiers_are_accepted(g, estimator):
    with pytest.raises(md.errors.ParameterError, match="'estimator' parameter"):
        md.utility(g, *TRAIN, *TEST, estimator=estimator)


def test_a_tiny_class_does_not_spoil_the_rest():
    """Fatal accidents in eight classes, the rarest with nine records: boosting without L2 diverges."""
    X = read_table(shared_file("fars/fars.tsv.gz"))
    y = X.pop("target")
    parts = split_rows(y)
    train, test = ((X.iloc[rows], y.iloc[rows]) for rows in (parts.train, parts.test))
    g = md.PrivacyTree(max_leaves=20).fit(*train).generalization_
    u = md.utility(g, *train, *test)
    assert u.raw_error < u.majority_error / 2
    assert u.error < u.majority_error
    assert 0 < u.skill_kept < 1.05
