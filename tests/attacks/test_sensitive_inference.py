"""The adversary of [Barbato25 §5.2] on data where all, some or nothing can be guessed."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars, shared_file
from data import load_bank
from sklearn.metrics import matthews_corrcoef
from sklearn.svm import NuSVC

import modicum as md
from modicum.attacks import SensitiveInference
from modicum.attacks.inference.nu_adversary import KernelPoints, Merged, NuSetting, NuSvc, fair_limits, kernel, settings
from modicum.attacks.inference.sensitive_inference import _choose_adversary
from modicum.attacks.inference.sensitive_result import SensitiveAnswer, fold_codes
from modicum.errors import DataError, ParameterError
from modicum.learners.inputs import Inputs
from modicum.measures.scores import best_cut, confusion, matthews, matthews_interval

QUICK = {"folds": 2, "inner_folds": 2, "max_rows": 300, "n_jobs": 1}


def ternary(n: int, seed: int, columns: int = 4) -> pd.DataFrame:
    values = np.random.default_rng(seed).integers(0, 3, (n, columns))
    return pd.DataFrame(values, columns=[f"a{j}" for j in range(columns)])


def mixed(n: int, seed: int = 0, right: float = 0.75) -> tuple[pd.DataFrame, list[str]]:
    """For most people the sensitive value says whether two attributes are equal, or whether a third is low."""
    X = ternary(n, seed)
    coin = np.random.default_rng(seed + 100).random((2, n))
    truth = np.where(coin[0] < 0.5, X["a0"] == X["a1"], X["a2"] < 1)
    return X.assign(s=np.where(coin[1] < right, truth, ~truth)), list(X.columns)


def xor(n: int, seed: int, columns: int = 5) -> tuple[pd.DataFrame, list[str]]:
    """No attribute alone says anything; two together predict the sensitive value of three in four people."""
    X = ternary(n, seed, columns)
    same = (X["a0"] + X["a1"]) % 3 == 0
    high = np.random.default_rng(seed + 100).random(n) < np.where(same, 0.75, 0.25)
    return X.assign(s=np.where(high, "yes", "no")), list(X.columns)


def test_both_adversaries_find_interactions_and_nothing_more():
    X, predictors = xor(2_400, 1, columns=4)
    result = SensitiveInference("s", **QUICK).run(X, predictors)
    for attack in result.by_adversary.values():
        assert 0.72 < attack.accuracy.value < 0.775
        assert attack.accuracy.interval[0] < 0.75
        assert attack.mcc.value > 0.4
        assert attack.accuracy.naive == result.class_frequency == pytest.approx(2 / 3 * 0.75 + 1 / 3 * 0.25, abs=0.03)
    assert 0.72 < result.accuracy.value < 0.775
    assert result.chosen["mcc"][0] in str(result)


@pytest.mark.slow
def test_three_interacting_attributes_are_found_among_thirteen():
    X = ternary(20_000, 3, 13)
    odd = X[["a0", "a1", "a2"]].sum(axis=1) % 2 == 1
    X["s"] = np.random.default_rng(4).random(len(X)) < np.where(odd, 0.75, 0.25)
    result = SensitiveInference("s", folds=2, max_rows=2_000).run(X, list(X.columns[:13]))
    assert result.chosen == {"accuracy": ("portfolio",) * 2, "mcc": ("portfolio",) * 2}
    assert 0.71 < result.accuracy.value < 0.76


def test_useless_predictors_leave_the_class_frequency():
    X = ternary(2_000, 5)
    X["s"] = np.random.default_rng(6).random(2_000) < 0.3
    result = SensitiveInference("s", **QUICK).run(X, ["a0", "a1", "a2", "a3"])
    assert result.accuracy.value == pytest.approx(result.class_frequency, abs=0.01)
    for attack in result.by_adversary.values():
        assert attack.mcc.interval[0] <= 0 <= attack.mcc.interval[1]


def test_identifying_columns_say_nothing_about_held_out_people():
    X = pd.DataFrame({"id": [f"p{i}" for i in range(500)], "number": np.random.default_rng(0).permutation(500) + 0.5})
    X["s"] = np.random.default_rng(1).random(500) < 0.5
    result = SensitiveInference("s", **QUICK).run(X, ["id", "number"])
    for attack in result.by_adversary.values():
        assert attack.accuracy.interval[0] <= 0.52
        assert attack.mcc.interval[0] <= 0.02


def test_a_persons_records_are_held_out_together():
    """Everybody has five records with the same unique town: one of them reveals the others."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"person": np.repeat(np.arange(120), 5), "s": np.repeat(random.random(120) < 0.5, 5)})
    X["town"] = "t" + X["person"].astype(str)
    alone = SensitiveInference("s", **QUICK).run(X, ["town"])
    schema = md.Schema.infer(X, person="person")
    together = SensitiveInference("s", schema=schema, **QUICK).run(X, ["town"])
    assert alone.accuracy.value > 0.85
    assert together.accuracy.interval[0] < 0.55
    low, high = together.accuracy.interval
    assert high - low > 0.1  # of 120 people, not of 600 records


def test_the_correlation_shows_rare_values_that_accuracy_misses():
    X = ternary(4_000, 8)
    chance = np.where((X["a0"] == 2) & (X["a1"] == 2), 0.2, 0.01)
    X["s"] = np.random.default_rng(9).random(4_000) < chance
    result = SensitiveInference("s", **QUICK).run(X, ["a0", "a1", "a2"])
    assert result.class_frequency > 0.95
    for attack in result.by_adversary.values():
        assert attack.accuracy.value == pytest.approx(result.class_frequency, abs=0.003)
        assert attack.mcc.interval[0] > 0.15
    assert result.by_adversary["nu-SVC"].settings["accuracy"] == ({"model": "most frequent value"},) * 2
    assert result.mcc.interval[0] > result.mcc.naive == 0


def test_many_values_are_distinguished_and_critical_ones_joined():
    X = ternary(900, 10)
    random = np.random.default_rng(11)
    X["s"] = np.where(random.random(900) < 0.7, X["a0"], random.integers(0, 3, 900)).astype(str)
    every = SensitiveInference("s", **QUICK).run(X, ["a0", "a1"])
    assert (every.values, every.critical, every.by_contrast) == (3, None, ())
    for attack in every.by_adversary.values():
        assert attack.accuracy.value == pytest.approx(0.8, abs=0.04)
        assert attack.mcc.value == pytest.approx(0.7, abs=0.06)
    result = SensitiveInference("s", critical_values=[0, 1.0], **QUICK).run(X, ["a0"])
    assert [each.critical for each in result.by_contrast] == [("0",), ("1",), ("0", "1")]
    joined = result.by_contrast[2]
    assert joined.values == 2
    assert joined.class_frequency == pytest.approx((X["s"] != "2").mean())
    assert joined.accuracy.value == pytest.approx(0.7 + 0.3 * (4 / 9 + 1 / 9), abs=0.04)


def test_a_sensitive_number_is_guessed_in_bins():
    X = ternary(300, 12)
    X["wage"] = X["a0"] * 10.0 + np.random.default_rng(13).random(300)
    result = SensitiveInference("wage", bins=3, **QUICK).run(X, ["a0"])
    assert result.values == 3
    assert result.accuracy.value > 0.9


def test_each_critical_value_is_attacked_separately():
    """Half of each group has a critical value, each group another one: together they look even, alone they do not."""
    X = pd.DataFrame([("0", "al"), ("0", "other"), ("1", "ga"), ("1", "other")] * 60, columns=["a", "s"])
    result = SensitiveInference("s", critical_values=["al", "ga"], **QUICK).run(X, ["a"])
    alone, _, together = result.by_contrast
    assert result.mcc == alone.mcc or result.mcc == result.by_contrast[1].mcc
    assert result.mcc.interval[0] > 0.4  # al or not from a: 1/√3
    assert together.mcc.interval[0] <= 0 <= together.mcc.interval[1]
    assert [each["critical"] for each in result.to_dict()["by_contrast"]] == [["al"], ["ga"], ["al", "ga"]]
    assert "('al' or not)" in str(alone)


def test_a_critical_value_may_be_text_a_number_or_missing():
    X = pd.DataFrame({"a": [0, 1, 2] * 60, "s": ["flu", "cold", None] * 60, "n": [1, 2, 3] * 60})
    for value, named in (("flu", "flu"), ([None], "(missing)"), ("(missing)", "(missing)")):
        result = SensitiveInference("s", critical_values=value, **QUICK).run(X, [])
        assert (result.critical, result.class_frequency) == ((named,), pytest.approx(2 / 3))
    assert SensitiveInference("s", critical_values=[None], **QUICK).run(X, ["a"]).mcc.value == 1
    assert SensitiveInference("n", critical_values=2, **QUICK).run(X, []).critical == ("2",)


def test_values_may_be_given_for_each_record():
    X = pd.get_dummies(pd.Series(["flu", "gout", "hiv"] * 80), prefix="ill", prefix_sep="=")
    X["cure"], ill = [2, 0, 1] * 80, np.array(["flu", "gout", "hiv"] * 80)
    result = SensitiveInference("ill", **QUICK).run(X, ["cure"], values=ill)
    assert (result.values, result.accuracy.value) == (3, 1.0)
    one = SensitiveInference("ill", critical_values="hiv", **QUICK).run(X, [], values=ill)
    assert (one.critical, one.class_frequency) == (("hiv",), 2 / 3)
    many = SensitiveInference("ill", **QUICK).run(X, [], values=np.arange(240) % 40)
    assert many.values == 40
    with pytest.raises(DataError, match=r"The values of 'ill' have shape \(3,\)"):
        SensitiveInference("ill", **QUICK).run(X, ["cure"], values=[1, 2, 3])


def test_a_number_with_few_values_is_guessed_by_its_values():
    X = pd.DataFrame({"a": np.arange(600) % 2, "s": np.arange(600) % 15, "t": np.arange(600) % 30})
    assert SensitiveInference("s", **QUICK).run(X, []).values == 15
    assert SensitiveInference("t", **QUICK).run(X, []).values == 10


@pytest.mark.parametrize("values", ["xyz", "xxxyy", "xyxyz", "xxxxxy", "xxxyyy", "xxxxyyyy"])
def test_a_handful_of_records_leaves_the_naive_guess(values):
    X = pd.DataFrame({"a": np.arange(len(values)) % 2, "b": np.arange(len(values)), "s": list(values)})
    naive = ({"model": "most frequent value"},) * 2
    result = SensitiveInference("s", folds=2, n_jobs=1).run(X, ["a", "b"])
    assert result.by_adversary["portfolio"].settings["mcc"] == naive
    assert 0 <= result.accuracy.value <= 1
    few = SensitiveInference("s", **QUICK).run(pd.concat([X] * 5), ["a"], persons=list(range(len(X))) * 5)
    assert few.by_adversary["portfolio"].settings["mcc"] == naive


def test_persons_may_be_given_without_a_schema():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"town": np.repeat(np.arange(120), 5).astype(str), "s": np.repeat(random.random(120) < 0.5, 5)})
    together = SensitiveInference("s", **QUICK).run(X, ["town"], persons=X["town"])
    assert together.accuracy.interval[0] < 0.55
    with pytest.raises(DataError, match="There are 3 persons for 600 rows"):
        SensitiveInference("s", **QUICK).run(X, ["town"], persons=[1, 2, 3])


def test_a_parts_adversary_is_chosen_without_that_part_and_ties_go_to_the_portfolio():
    X = ternary(600, 5)
    X["s"] = np.random.default_rng(6).random(600) < 0.3
    assert SensitiveInference("s", **QUICK).run(X, ["a0"]).chosen["accuracy"] == ("portfolio",) * 2
    parameters = {"model": "any"}
    for ahead, chosen in ((0.0, "portfolio"), (0.02, "portfolio"), (0.05, "nu-SVC")):  # a standard error is 0.022
        nu, portfolio = (SensitiveAnswer(np.zeros(1), 0.7 + more, 400.0, parameters, 1) for more in (ahead, 0.0))
        assert (
            _choose_adversary({"nu-SVC": {"accuracy": nu}, "portfolio": {"accuracy": portfolio}}, "accuracy") == chosen
        )


def test_missing_values_are_used_as_such():
    random = np.random.default_rng(14)
    gone = random.random(200) < 0.4
    X = pd.DataFrame({"wage": np.where(gone, np.nan, random.normal(size=200)), "town": np.where(gone, None, "here")})
    X["s"] = gone
    for name in ("wage", "town"):
        result = SensitiveInference("s", **QUICK).run(X, [name])
        assert [found.accuracy.value for found in result.by_adversary.values()] == [1.0, 1.0]
        assert result.mcc.value == 1.0
        assert 0.9 < result.mcc.interval[0] < 1.0


def test_without_predictors_the_guess_is_naive():
    X, _ = mixed(400)
    result = SensitiveInference("s", **QUICK).run(X, [])
    assert result.accuracy.value == result.class_frequency
    assert (result.mcc.value, result.mcc.interval) == (0.0, (0.0, 0.0))
    assert result.distinct == 1
    constant = SensitiveInference("s", **QUICK).run(X.assign(same="x"), ["same"])
    assert constant.accuracy.value == result.class_frequency


def test_both_libraries_and_any_number_of_workers_give_the_same_result():
    X, predictors = mixed(300)
    X["city"] = np.where(X["a0"] == 1, None, "c" + X["a1"].astype(str))
    results = []
    for frame, jobs in ((X, 1), (as_polars(X), 2)):
        attack = SensitiveInference("s", **QUICK | {"max_rows": 100, "n_jobs": jobs, "random_state": 3})
        results.append(attack.run(frame, [*predictors, "city"]).to_dict())
    for each in results:
        each.pop("seconds")
    assert results[0] == results[1]
    assert json.loads(json.dumps(results[0])) == results[0]
    assert results[0]["by_adversary"]["nu-SVC"]["rows"] <= 100


def test_few_records_of_a_value_make_fewer_folds():
    X = pd.DataFrame({"a": [0, 1] * 20, "s": ["often"] * 37 + ["rare"] * 3})
    assert SensitiveInference("s", inner_folds=2, n_jobs=1).run(X, ["a"]).folds == 3
    lonely = X.assign(s=["often"] * 39 + ["rare"])
    result = SensitiveInference("s", inner_folds=2, n_jobs=1).run(lonely, ["a"])
    assert result.folds == 2
    assert result.accuracy.value == result.class_frequency == 39 / 40


def test_folds_hold_every_value_and_whole_persons():
    random = np.random.default_rng(0)
    values, units = (random.random(1_000) < 0.05).astype(np.int64), random.integers(0, 300, 1_000)
    parts = fold_codes(values, units, 5, random)
    assert len(np.unique(np.column_stack([units, parts]), axis=0)) == len(np.unique(units))
    assert all(values[parts == part].any() for part in range(5))
    alone = fold_codes(values, None, 4, random)
    assert np.ptp(np.bincount(alone)) <= 1
    assert np.ptp(np.bincount(alone[values == 1])) <= 1


def test_merged_rows_with_counts_train_the_same_machine_as_repeated_rows(monkeypatch):
    monkeypatch.setattr("modicum.attacks.inference.nu_adversary._TOLERANCE", 1e-9)
    random = np.random.default_rng(0)
    points = random.integers(0, 4, (300, 2)) / 2
    values = (random.random(300) < np.where(points[:, 0] > points[:, 1], 0.9, 0.2)).astype(np.int64)
    places, cells = np.unique(points, axis=0, return_inverse=True)
    rows = Merged.of(cells, values, np.ones(300))
    assert len(rows) < 40
    assert rows.weights.sum() == 300
    for setting in (
        NuSetting(0.5, 0.8, "as they are"),
        NuSetting(2.0, 0.65, "balanced"),
        NuSetting(None, 0.95, "balanced"),
    ):
        both = []
        for where, value, weight in ((points, values, np.ones(300)), (places[rows.cells], rows.values, rows.weights)):
            model = NuSvc(setting, 2).fit(kernel(where, where, setting.gamma), value, weight)
            assert model.useful
            support = model.support
            both.append(model.scores(kernel(places, where[support], setting.gamma), support))
        np.testing.assert_allclose(both[0], both[1], atol=1e-4)


def test_the_machine_agrees_with_scikit_learn_and_needs_a_margin():
    random = np.random.default_rng(0)
    points = random.normal(size=(200, 3))
    values = (points[:, 0] + random.normal(size=200) > 0.5).astype(np.int64)
    most = 2 * min(values.mean(), 1 - values.mean())
    own = NuSVC(nu=0.8 * most, gamma=0.5).fit(points, values).decision_function(points)
    model = NuSvc(NuSetting(0.5, 0.8, "as they are"), 2).fit(kernel(points, points, 0.5), values, np.ones(200))
    support = model.support
    np.testing.assert_allclose(model.scores(kernel(points, points[support], 0.5), support)[:, 1], own, atol=0.02)
    same = np.ones((200, 200))  # all records alike: no machine can distinguish them
    assert not NuSvc(NuSetting(None, 0.5, "as they are"), 2).fit(same, values, np.ones(200)).useful


def test_even_values_need_no_balancing_and_rare_ones_free_their_rows():
    assert {setting.weighting for setting in settings(np.array([52.0, 48.0]))} == {"as they are"}
    assert len({setting.weighting for setting in settings(np.array([98.0, 2.0]))}) == 2
    assert len(settings(np.ones(12))) == 4 < len(settings(np.ones(2))) == 16
    assert fair_limits([5_000, 100], 4_000) == [3_900, 100]


def test_points_give_every_attribute_the_same_weight():
    random = np.random.default_rng(0)
    wage = np.where(np.arange(500) < 100, np.nan, np.exp(3 * random.normal(size=500)))
    inputs = Inputs(random.integers(0, 2_000, (500, 1)), (2_000,), wage[:, None])
    points = KernelPoints(inputs).of(inputs)
    assert points.shape == (500, 52)
    assert points.var(axis=0).sum() == pytest.approx(1)
    assert points[:100, 50].max() == points[:100, 50].min() == 0
    order = np.argsort(wage[100:])
    assert (np.diff(points[100:, 50][order]) > 0).all()


def test_matthews_correlation_agrees_with_scikit_learn_and_its_interval_covers_the_truth():
    random = np.random.default_rng(0)
    for size in (2, 4):
        truth, guess = random.integers(0, size, 300), random.integers(0, size, 300)
        assert matthews(confusion(truth, guess, size)) == pytest.approx(matthews_corrcoef(truth, guess))
    covered = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        n = 60 if seed % 2 else 400
        truth = random.integers(0, 2, n)
        low, high = matthews_interval(truth, np.where(random.random(n) < 0.8, truth, 1 - truth), 2, random_state=seed)
        covered.append(low < 0.6 < high)
    assert np.mean(covered) > 0.85
    assert matthews_interval(np.array([0, 1]), np.array([1, 0]), 2) == (-1.0, 1.0)


def test_the_best_cut_is_the_best_of_all_cuts():
    random = np.random.default_rng(0)
    positive, weights = random.random(80) < 0.2, random.integers(1, 5, 80).astype(float)
    scores = (random.normal(size=80) + positive).round(1)
    cut, found = best_cut(scores, positive, weights)
    every = [matthews(confusion(positive.astype(int), (scores > c).astype(int), 2, weights)) for c in scores]
    assert found == pytest.approx(max(every))
    assert matthews(confusion(positive.astype(int), (scores > cut).astype(int), 2, weights)) == pytest.approx(found)
    assert best_cut(np.ones(5), np.arange(5) < 2, np.ones(5)) == (np.inf, 0.0)


@pytest.mark.parametrize(
    ("options", "predictors", "complaint"),
    [
        ({}, ["a0", "nobody"], "The column 'nobody' is not in the data"),
        ({"sensitive": "nobody"}, ["a0"], "The column 'nobody' is not in the data"),
        ({}, ["a0", "s"], "'s' must not be one of the predictors"),
        ({}, "a0", "must be a list"),
        ({}, None, "must be a list"),
        ({}, [3], "must be a list"),
        ({"sensitive": "one"}, ["a0"], "'one' has a single value"),
        ({"sensitive": 3}, ["a0"], "'sensitive' parameter of SensitiveInference must be a column's name"),
        ({"critical_values": ["yes"]}, ["a0"], "'critical_values' .* values that occur in 's'. Got 1 that do not"),
        ({"critical_values": "t"}, ["a0"], "'critical_values' .* values that occur in 's'. Got 1 that do not"),
        ({"critical_values": [None]}, ["a0"], "'critical_values' .* values that occur in 's'. Got 1 that do not"),
        ({"critical_values": []}, ["a0"], "'critical_values' .* values that occur in 's'. Got none"),
        ({"critical_values": ["1"], "sensitive": "one"}, ["a0"], "'one' has a single value"),
        ({"folds": 1}, ["a0"], "'folds' parameter of SensitiveInference must be an int ≥ 2"),
        ({"inner_folds": 1}, ["a0"], "'inner_folds' .* ≥ 2"),
        ({"max_rows": 3}, ["a0"], "'max_rows' .* ≥ 50"),
        ({"bins": 1}, ["a0"], "'bins' .* ≥ 2"),
        ({"random_state": -1}, ["a0"], "'random_state' .* ≥ 0"),
        ({"schema": "people"}, ["a0"], "'schema' .* must be a Schema or None"),
        ({"n_jobs": 0}, ["a0"], "'n_jobs' parameter must be an int"),
    ],
)
def test_bad_input_is_refused_by_name(options, predictors, complaint):
    X, _ = mixed(60)
    with pytest.raises((DataError, ParameterError), match=complaint):
        SensitiveInference(**{"sensitive": "s", **options}).run(X.assign(one=1), predictors)


def test_one_person_alone_and_no_rows_are_refused():
    X, _ = mixed(60)
    schema = md.Schema.infer(X.assign(who="ann"), person="who")
    with pytest.raises(DataError, match="one person"):
        SensitiveInference("s", schema=schema).run(X.assign(who="ann"), ["a0"])
    with pytest.raises(DataError, match="no rows"):
        SensitiveInference("s").run(X[:0], ["a0"])


@pytest.mark.slow
def test_bank_marketing_reveals_credit_in_default_as_much_as_in_the_paper():
    """[Barbato25 §5.2]: a Matthews correlation of 0.20 from all predictors."""
    folder = shared_file("bank/bank-binarized.csv.gz").parents[1]
    X, _ = load_bank(binarized=True, folder=folder, return_X_y=True)
    result = SensitiveInference("default=no", folds=3).run(X, [name for name in X.columns if name != "default=no"])
    assert result.mcc.value == pytest.approx(0.20, abs=0.03)
    assert result.accuracy.value == pytest.approx(result.class_frequency, abs=0.001)
