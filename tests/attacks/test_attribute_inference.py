"""Attribute inference against models that reveal an attribute, that do not, and with other sources of information."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars, shared_file
from data import load_nursery
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.metrics import precision_score, recall_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import modicum as md
from modicum.attacks import AttributeInference, OverlapWarning
from modicum.attacks.inference.attribute_inference import Judge, check_giveaways, difference
from modicum.attacks.inference.imputation import CandidateValues
from modicum.attacks.result import Estimate
from modicum.table.frames import as_frame

pytestmark = pytest.mark.slow  # they train many models


def world(n: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """`secret` is independent of the rest; the label is `secret` for one half of the people, a coin for the other."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "secret": random.choice(["a", "b"], n, p=[0.6, 0.4]),
            "half": random.choice(["first", "second"], n),
            "size": random.integers(0, 20, n),
        }
    )
    coin = random.choice(["a", "b"], n)
    return X, pd.Series(np.where(X["half"] == "first", X["secret"], coin))


def tree(X: pd.DataFrame, y: pd.Series, names=("secret", "half"), **options):
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), list(names)), remainder="passthrough")
    return make_pipeline(encoder, DecisionTreeClassifier(random_state=0, **options)).fit(X, y)


MEMBERS, OTHERS = world(400, 1), world(800, 2)


def test_information_from_the_label_is_no_leak_of_the_model():
    """In the first half the label is the secret: any adversary is right there and guesses the usual value elsewhere."""
    result = AttributeInference("secret").run(tree(*MEMBERS, max_depth=3), MEMBERS, OTHERS)
    for side in (result.members, result.control):
        for guesses in (side.model, side.imputation, side.combined):
            assert guesses.accuracy.value == pytest.approx(0.8, abs=0.05)
        assert side.naive.accuracy.value == pytest.approx(0.6, abs=0.05)
        assert side.leak.interval[0] <= 0 <= side.leak.interval[1]
    assert result.gap.interval[0] <= 0 <= result.gap.interval[1]
    assert (result.positive, result.values, result.records, result.known) == ("b", 2, 400, 400)


def test_a_model_that_memorises_reveals_its_members_but_not_the_control():
    """A full tree is sure of the true label for the right value, and tests the secret here and there."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"secret": random.integers(0, 2, 1_500), "size": random.integers(0, 60, 1_500)})
    y = random.integers(0, 2, 1_500)
    model = DecisionTreeClassifier(random_state=0).fit(X[:500], y[:500])
    result = AttributeInference("secret").run(model, (X[:500], y[:500]), (X[500:], y[500:]))
    assert result.members.model.accuracy.interval[0] > 0.55
    assert result.members.leak.interval[0] > 0
    assert result.gap.interval[0] > 0
    assert result.control.leak.interval[0] < 0.02


def test_a_constant_model_leaves_the_naive_guess():
    model = DummyClassifier().fit(*MEMBERS)
    result = AttributeInference("secret").run(model, MEMBERS, OTHERS)
    assert result.members.model.accuracy.value == result.members.naive.accuracy.value
    assert result.members.model.precision.value is None
    assert "no guess" in result.members.model.precision.reason
    assert result.members.imputation.accuracy.value == pytest.approx(0.8, abs=0.05)
    assert result.members.leak.value < -0.1


def test_hard_labels_suffice_if_the_model_is_sure():
    model = tree(*MEMBERS, max_depth=3)
    hard = AttributeInference("secret", output="class").run(model, MEMBERS, OTHERS)
    assert hard.members.model.accuracy.value == pytest.approx(0.8, abs=0.05)


def test_priors_decide_if_the_model_is_constant():
    X = MEMBERS[0].assign(secret=MEMBERS[0]["secret"].replace({"a": "z"}))  # the usual value is the last one
    model = DummyClassifier().fit(X, MEMBERS[1])
    sides = (X[:100], MEMBERS[1][:100]), (X[100:], MEMBERS[1][100:])
    known, uniform = (AttributeInference("secret", priors=p).run(model, *sides) for p in ("known", "uniform"))
    assert known.members.model.accuracy.value > 0.5 > uniform.members.model.accuracy.value
    assert uniform.members.model.recall.value == 1


def test_numbers_are_guessed_in_bins():
    """The label shows whether the number is high, so the model points at the upper bins."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"wage": random.normal(size=900), "noise": random.integers(0, 5, 900)})
    y = np.where(X["wage"] > X["wage"].median(), "high", "low")
    model = DecisionTreeClassifier(max_depth=1).fit(X[:300], y[:300])
    result = AttributeInference("wage", bins=4).run(model, (X[:300], y[:300]), (X[300:], y[300:]))
    assert (result.values, result.positive) == (4, None)
    assert result.members.naive.accuracy.value == pytest.approx(0.25, abs=0.08)
    assert result.members.model.accuracy.value == pytest.approx(0.5, abs=0.07)
    assert result.members.model.recall.naive == pytest.approx(0.25)


def test_one_hot_columns_are_set_together_and_missing_ones_are_found():
    X, y = (pd.concat(parts, ignore_index=True) for parts in zip(MEMBERS, OTHERS, strict=True))
    job = np.random.default_rng(0).choice(["clerk", "nurse", "smith"], len(X))
    hot = pd.get_dummies(X["half"]).astype(int).join(pd.get_dummies(pd.Series(job)).astype(int))
    y = np.where(job == "nurse", "b", y)
    model = DecisionTreeClassifier(random_state=0).fit(hot[:400], y[:400])
    members, others = (hot[:400], y[:400]), (hot[400:], y[400:])

    def refused(attribute, complaint):
        with pytest.raises(md.errors.DataError, match=complaint):
            AttributeInference(attribute).run(model, members, others)

    refused("nurse", "'nurse' can be derived, at least in part, from 'clerk' and 'smith'")
    refused(["nurse", "clerk"], "can be derived, at least in part, from 'smith'")
    refused("first", "can be derived, at least in part, from 'second'")
    result = AttributeInference(["clerk", "nurse", "smith"]).run(model, members, others)
    assert result.values == 3
    assert result.attribute == ("clerk", "nurse", "smith")
    assert result.members.model.accuracy.value > result.members.naive.accuracy.value


def test_copies_of_the_attribute_are_found_but_not_chance():
    random = np.random.default_rng(0)
    n = 300
    age, city = random.integers(20, 60, n), random.integers(0, 9, n)
    X = pd.DataFrame(
        {
            "age": age,
            "born": 2000 - age,
            "city": city.astype(str),
            "land": (city // 3).astype(str),
            "wage": random.normal(size=n),
            "id": random.permutation(n).astype(str),
            "coin": random.integers(0, 2, n),
            "rare": (np.arange(n) == 7).astype(int),
        }
    )
    X["cents"] = -100 * X["wage"]
    for name, copy in {"age": "born", "land": "city", "city": "land", "wage": "cents"}.items():
        with pytest.raises(md.errors.DataError, match=f"{name!r} can be derived, at least in part, from {copy!r}, so"):
            check_giveaways(as_frame(X), [name])
    check_giveaways(as_frame(X), ["coin"])
    check_giveaways(as_frame(X), ["id"])
    check_giveaways(as_frame(X), ["age", "born"])
    check_giveaways(as_frame(X), ["rare"])


def test_frames_of_both_libraries_and_arrays_give_the_same_result():
    numbers = [
        (X.assign(secret=(X["secret"] == "b") * 1.0, half=(X["half"] == "first") * 1.0), y)
        for X, y in (MEMBERS, OTHERS)
    ]
    results = []
    for as_table, name in ((pd.DataFrame, "secret"), (as_polars, "secret"), (np.asarray, "x0")):
        members, others = ((as_table(X), y) for X, y in numbers)
        model = DecisionTreeClassifier(random_state=0).fit(*members)
        result = AttributeInference(name, random_state=3).run(model, members, others).to_dict()
        results.append({key: value for key, value in result.items() if key not in ("seconds", "attribute")})
    assert results[0] == results[1] == results[2]
    assert json.loads(json.dumps(results[0])) == results[0]


def test_candidates_keep_the_type_of_their_column():
    when = pd.date_range("2020-01-01", periods=60)
    X = pd.DataFrame({"day": when, "job": pd.Categorical(["b", "a", None] * 20, ordered=True)}, index=range(5, 65))
    job = CandidateValues.of(X, ["job"], 10)
    frames = [job.put(X[:4], code) for code in range(job.size)]
    assert [frame["job"].dtype for frame in frames] == [X["job"].dtype] * 3
    assert [frame["job"].astype(object).tolist()[0] for frame in frames[:2]] == ["a", "b"]
    assert frames[2]["job"].isna().all()
    assert frames[0].index.equals(X[:4].index)
    day = CandidateValues.of(X, ["day"], 3)
    assert [day.put(X, code)["day"].nunique() for code in range(3)] == [1, 1, 1]
    assert day.encode(day.put(X, 2)).tolist() == [2] * 60


def test_unknown_values_and_labels_are_never_guessed_right():
    X, y = MEMBERS[0].copy(), MEMBERS[1].copy()
    X.loc[:99, "secret"], y[:50] = "new", "new"
    result = AttributeInference("secret").run(tree(X, y), (X, y), OTHERS)
    assert result.values == 2
    assert result.members.model.accuracy.value < 0.75
    model = tree(*MEMBERS)
    others = (OTHERS[0], OTHERS[1].where(OTHERS[1].index > 100, "never seen"))
    assert AttributeInference("secret").run(model, MEMBERS, others).control.model.accuracy.value > 0.6


def test_precision_and_recall_agree_with_scikit_learn():
    random = np.random.default_rng(0)
    truth, guess = random.integers(0, 4, 500), random.integers(0, 4, 500)
    found = Judge(truth, 4, None, np.zeros(500, dtype=np.int64), 0).score_guess(guess)
    assert found.precision.value == pytest.approx(precision_score(truth, guess, average="macro"))
    assert found.recall.value == pytest.approx(recall_score(truth, guess, average="macro"))
    assert found.recall.interval[0] < found.recall.value < found.recall.interval[1]
    two = Judge(truth % 2, 2, 1, np.zeros(500, dtype=np.int64), 0).score_guess(guess % 2)
    assert two.precision.value == pytest.approx(precision_score(truth % 2, guess % 2))
    assert two.recall.value == pytest.approx(recall_score(truth % 2, guess % 2))


def test_the_interval_of_a_difference_covers_the_truth():
    random = np.random.default_rng(0)
    inside = []
    for _ in range(300):
        shares = random.binomial(100, [0.6, 0.5]) / 100
        both = [Estimate(p, md.measures.share_interval(100 * p, 100)) for p in shares]
        low, high = difference(*both).interval
        inside.append(low <= 0.1 <= high)
    assert 0.92 < np.mean(inside) < 0.985


def test_a_paired_leak_has_a_narrow_interval_if_adversaries_agree():
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, 2_000)
    without = random.integers(0, 2, 2_000)
    guess = np.where(np.arange(2_000) < 100, truth, without)
    leak = Judge(truth, 2, 1, np.zeros(2_000, dtype=np.int64), 0).leak(guess, without)
    assert 0 < leak.interval[0] < leak.value < leak.interval[1] < 0.05


def test_people_on_both_sides_cause_a_warning():
    with pytest.warns(OverlapWarning, match="of the 400 others are also among the members"):
        AttributeInference("half").run(tree(*MEMBERS), MEMBERS, MEMBERS)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"attribute": []}, "'attribute' parameter of AttributeInference must be a column's name"),
        ({"attribute": 3}, "'attribute' parameter"),
        ({"attribute": "shoe size"}, "'shoe size' is not in the data"),
        ({"attribute": "secret", "priors": "flat"}, "'priors' parameter of AttributeInference must be 'known'"),
        ({"attribute": "secret", "output": "logits"}, "'output' parameter"),
        ({"attribute": "secret", "bins": 1}, "'bins' parameter of AttributeInference must be an int ≥ 2"),
    ],
)
def test_bad_arguments(arguments, complaint):
    with pytest.raises(md.errors.ModicumError, match=complaint):
        AttributeInference(**arguments).run(tree(*MEMBERS), MEMBERS, OTHERS)


def test_bad_data():
    attack = AttributeInference("secret")
    with pytest.raises(md.errors.ParameterError, match="with predict_proba"):
        attack.run(LinearSVC(), MEMBERS, OTHERS)
    same = [(X.assign(secret="a"), y) for X, y in (MEMBERS, OTHERS)]
    with pytest.raises(md.errors.DataError, match="'secret' has a single value"):
        attack.run(tree(*MEMBERS), *same)
    with pytest.raises(md.errors.DataError, match="too few"):
        attack.run(tree(*MEMBERS), MEMBERS, (OTHERS[0][:4], OTHERS[1][:4]))
    with pytest.raises(md.errors.DataError, match="same columns"):
        attack.run(tree(*MEMBERS), MEMBERS, (OTHERS[0].drop(columns="size"), OTHERS[1]))


def test_the_social_attribute_of_nursery_is_attacked():
    """Data of [Goldsteen21 Table 3]: the tree reveals `social`, but no more than a model of other people's records."""
    folder = shared_file("nursery/nursery.data.gz").parents[1]
    X, y = load_nursery(folder=folder, return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:2_400]
    X, y = X.iloc[rows], y.iloc[rows]
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier(random_state=0))
    model.fit(X[:800], y[:800])
    result = AttributeInference("social").run(model, (X[:800], y[:800]), (X[800:], y[800:]))
    assert result.values == 3
    assert result.members.model.accuracy.value > result.members.naive.accuracy.value
    assert result.baseline == "own model"
    assert result.members.leak.interval[0] < 0.03
