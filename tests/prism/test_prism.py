"""PriSM's models: what they choose, promise, need for a prediction, and refuse."""

import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars, shared_file
from data import load_bank
from prism_people import N, fitted, make_people

import modicum as md
from modicum.errors import DataError, ParameterError


@pytest.fixture(scope="module")
def data():
    return make_people()


def test_no_revealing_set_is_chosen_completely(data):
    model = fitted(*data)
    assert model.correlations_.sets == [("proxy",), ("a", "b")]
    assert set(model.predictors_) in ({"a", "d", "age"}, {"b", "d", "age"})
    assert model.max_feasible_predictors_ == 3
    assert model.optimality_gap_ <= 1e-4


def test_the_better_of_two_that_reveal_together_is_kept(data):
    assert "a" in fitted(*data).predictors_


def test_parsimony_takes_the_best_predictors_and_the_plain_machine_takes_all(data):
    assert fitted(*data, md.prism.Parsimony, max_predictors=3).predictors_ == ["a", "proxy", "age"]
    plain = fitted(*data, md.prism.LinearSVM)
    assert plain.predictors_ == ["a", "b", "proxy", "d", "age"]
    assert plain.objective_ < fitted(*data).objective_
    assert not hasattr(plain, "correlations_")


def test_the_association_of_all_predictors_is_reported(data):
    private, plain = fitted(*data).association_, fitted(*data, md.prism.LinearSVM).association_
    assert set(private.attributes) == {"a", "d", "age"}
    assert private.strength < 0.3 < plain.strength
    assert 0 < private.by_chance < 0.3
    assert plain.p_value < 1e-9


def test_a_prediction_needs_its_predictors_by_name_and_nothing_else(data):
    X, y = data
    model = fitted(X, y)
    whole = model.predict(X)
    few = X[["age", *(name for name in model.needed_columns_ if name != "age")]].assign(more="x")
    assert (model.predict(few) == whole).all()
    with pytest.raises(DataError, match="'age' is not in the data"):
        model.predict(X.drop(columns="age"))


def test_an_array_needs_as_many_columns_as_at_fit(data):
    X, y = data
    numbers = np.column_stack([X["d"], X["age"], X["ill"] == "ill"]).astype(float)
    model = md.PrismClassifier("x2", threshold=0.3, progress=False).fit(numbers, y)
    assert model.predictors_ == ["x0", "x1"]
    assert len(model.predict(numbers)) == len(y)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(numbers[:, :2])


def test_coefficients_are_in_original_units(data):
    X, y = data
    model = fitted(X, y)
    assert model.columns_ == ["a = yes", "d", "age"] or model.columns_ == ["a = no", "d", "age"]
    value = model.columns_[0].split(" = ")[1]
    columns = np.column_stack([X["a"] == value, X["d"], X["age"]]).astype(float)
    by_hand = columns @ model.coef_[0] + model.intercept_[0]
    assert np.allclose(by_hand, model.decision_function(X), atol=1e-5)
    clear = np.abs(by_hand) > 1e-4
    assert (model.predict(X) == np.where(by_hand > 0, "good", "bad"))[clear].all()


def test_the_label_is_learned(data):
    X, y = data
    test, truth = make_people(seed=1)
    model = fitted(X, y)
    assert model.score(test, truth) > 0.7
    assert model.score(test, truth) < fitted(X, y, md.prism.LinearSVM).score(test, truth)


def test_more_predictors_than_possible_cause_a_warning(data):
    with pytest.warns(UserWarning, match="At most 3 of 5 attributes"):
        md.PrismClassifier("ill", threshold=0.3, max_predictors=5, progress=False).fit(*data)


def test_a_path_equals_single_fits(data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = md.PrismClassifier("ill", threshold=0.3, progress=False).fit_path(X, y, [1, 2, 3])
    assert [model.max_predictors for model in path] == [1, 2, 3]
    for model in path:
        alone = fitted(X, y, max_predictors=model.max_predictors)
        assert model.predictors_ == alone.predictors_
        assert np.array_equal(model.predict(X), alone.predict(X))
        assert model.objective_ == pytest.approx(alone.objective_, rel=1e-4)


def test_polars_and_pandas_agree(data):
    X, y = data
    one, other = fitted(X, y), fitted(as_polars(X), y)
    assert one.predictors_ == other.predictors_
    assert np.array_equal(one.coef_, other.coef_)
    assert (one.predict(X) == other.predict(as_polars(X))).all()


def test_the_same_data_gives_the_same_bytes(data):
    one, other = fitted(*data), fitted(*data)
    assert one.coef_.tobytes() == other.coef_.tobytes()
    assert one.intercept_.tobytes() == other.intercept_.tobytes()


def test_missing_and_unseen_values_are_accepted(data):
    X, y = data
    random = np.random.default_rng(2)
    holes = X.assign(age=X["age"].where(random.random(N) > 0.1), a=X["a"].where(random.random(N) > 0.1, None))
    model = fitted(holes, y)
    assert "age is missing" in model.columns_
    assert "a is missing" in model.columns_
    new = holes[:4].assign(a=["never", "yes", None, "no"])
    assert np.isfinite(model.decision_function(new)).all()
    values = {"age": holes["age"].fillna(0), "age is missing": holes["age"].isna(), "d": holes["d"]}
    values |= {f"a = {each}": holes["a"] == each for each in ("yes", "no")} | {"a is missing": holes["a"].isna()}
    columns = np.column_stack([values[name] for name in model.columns_]).astype(float)
    assert np.allclose(columns @ model.coef_[0] + model.intercept_[0], model.decision_function(holes), atol=1e-5)


def test_rare_classes_can_count_as_much_as_frequent_ones():
    random = np.random.default_rng(5)
    X = pd.DataFrame({"x": random.normal(size=N), "coin": random.integers(0, 2, N)})
    y = np.where(X["x"] + random.normal(size=N) > 2.2, "rare", "usual")
    usual, even = (fitted(X, y, sensitive="coin", class_weight=weight) for weight in (None, "balanced"))
    assert (even.predict(X) == "rare").mean() > 2 * (usual.predict(X) == "rare").mean()
    shares = pd.Series(y).value_counts(normalize=True)
    same = fitted(X, y, sensitive="coin", class_weight={each: 0.5 / shares[each] for each in shares.index})
    assert np.allclose(even.coef_, same.coef_)
    with pytest.raises(ParameterError, match="'class_weight' parameter"):
        fitted(X, y, sensitive="coin", class_weight={"nobody": 2})


def test_several_classes_share_one_set_of_attributes(data):
    X, y = data
    three = pd.Series(np.where(X["age"] > 60, "old", y), name="label")
    model = fitted(X, three, max_predictors=2)
    assert model.classes_.tolist() == ["bad", "good", "old"]
    assert len(model.predictors_) == 2
    assert model.coef_.shape == (3, len(model.columns_))
    assert model.decision_function(X).shape == (N, 3)
    assert model.score(X, three) > 0.5


def test_several_attributes_can_be_sensitive(data):
    X, y = data
    model = fitted(X, y, sensitive=["ill", "d"])
    assert model.sensitive_ == ["ill", "d"]
    assert not {"ill", "d", "proxy"} & set(model.predictors_)


def test_the_schema_can_say_what_is_sensitive(data):
    X, y = data
    schema = md.Schema.infer(X, sensitive=["ill"])
    assert fitted(X, y, sensitive=None, schema=schema).predictors_ == fitted(X, y).predictors_


def test_owners_can_name_revealing_sets(data):
    model = fitted(*data, known=[["age"]])
    assert "age" not in model.predictors_
    assert ("age",) in model.correlations_.sets


def test_one_hot_columns_are_chosen_together_or_one_by_one():
    random = np.random.default_rng(4)
    job, coin = random.integers(0, 4, N), random.integers(0, 2, N)
    y = np.where(random.random(N) < np.array([0.1, 0.2, 0.8, 0.95])[job], "good", "bad")
    hot = pd.DataFrame({f"job={name}": (job == j).astype(int) for j, name in enumerate("abcd")}).assign(coin=coin)
    noise = random.normal(size=N)
    whole = fitted(hot.assign(noise=noise), y, sensitive="coin", max_predictors=1)
    assert whole.predictors_ == ["job"]
    assert whole.needed_columns_ == ["job=a", "job=b", "job=c", "job=d"]
    single = fitted(hot.assign(noise=noise), y, sensitive="coin", max_predictors=2, groups="column")
    assert len(single.predictors_) == len(single.needed_columns_) == 2
    hidden = fitted(hot.assign(noise=noise), hot["coin"].astype(str).rename("y"), sensitive="job", threshold=1.0)
    assert not any(name.startswith("job") for name in hidden.needed_columns_)


def test_regression_is_ridge_on_the_chosen_attributes(data):
    X, _ = data
    random = np.random.default_rng(3)
    y = pd.Series(2 * X["age"] + 10 * (X["a"] == "yes") + random.normal(size=N), name="cost")
    model = fitted(X, y, md.prism.PrismRegressor)
    assert set(model.predictors_) >= {"a", "age"}
    assert "proxy" not in model.predictors_
    assert model.score(X, y) > 0.95
    age = model.coef_[model.columns_.index("age")]
    assert age == pytest.approx(2, abs=0.05)
    value = model.columns_[0].split(" = ")[1]
    by_hand = np.column_stack([X["a"] == value, *(X[name] for name in model.columns_[1:])]).astype(float) @ model.coef_
    assert np.allclose(by_hand + model.intercept_, model.predict(X))


def test_attributes_are_selected_for_any_classifier(data):
    X, y = data
    chosen = md.prism.select(X, y, "ill", threshold=0.3, max_predictors=3, progress=False)
    model = fitted(X, y, max_predictors=3)
    assert chosen.attributes == model.predictors_
    assert chosen.columns == model.needed_columns_
    assert chosen.max_feasible == 3
    assert chosen.to_dict()["correlations"]["found"][0]["attributes"] == ["proxy"]
    with pytest.raises(ParameterError, match="'task' parameter"):
        md.prism.select(X, y, "ill", task="ranking")


@pytest.mark.parametrize("usual", ["good", "bad"])
def test_records_on_the_line_get_the_usual_label(data, usual):
    X, y = data
    few = np.flatnonzero(y == usual)[:200]
    more = np.concatenate([np.arange(N), few])
    model = fitted(X.iloc[more], y.iloc[more])
    model._intercepts = model._intercepts + model.decision_function(X[:1]) * (1 + 1e-12)  # it now lies on the line
    assert model.decision_function(X[:1]).tolist() == [0.0]
    assert model.predict(X[:1]).tolist() == [usual]


@pytest.mark.parametrize("other", [bool, float, str, object])
def test_a_flag_is_a_flag_whatever_its_type(data, other):
    X, y = data
    model = fitted(X, y)
    assert "d" in model.predictors_
    assert (model.predict(X.assign(d=X["d"].astype(other))) == model.predict(X)).all()
    as_flags = fitted(X.assign(d=X["d"].astype(bool)), y)
    assert (as_flags.predict(X) == model.predict(X)).all()


def test_a_category_of_one_and_two_is_named_by_its_value(data):
    X, y = data
    schema = md.Schema.infer(X.assign(d=X["d"] + 1)).replace("d", kind="category")
    model = fitted(X.assign(d=X["d"] + 1), y, schema=schema)
    assert {"d = 1", "d = 2"} & set(model.columns_)


def test_the_label_is_no_predictor_under_its_own_name(data):
    X, y = data
    for leaking in (X.assign(label=y), X.assign(**{"label=good": y == "good", "label=bad": y == "bad"})):
        assert not any(name.startswith("label") for name in fitted(leaking, y).predictors_)
        assert not any(name.startswith("label") for name in fitted(leaking, y.to_frame().iloc[:, 0]).predictors_)
    assert "y" in fitted(X.rename(columns={"age": "y"}), y.to_numpy()).predictors_


def test_sets_too_large_for_the_search_still_cause_a_warning(data):
    model = md.PrismClassifier("ill", threshold=0.3, max_size=1, max_predictors=4, progress=False)
    with pytest.warns(md.errors.PrivacyWarning, match="All 4 predictors together correlate with 'ill'"):
        model.fit(*data)
    assert {"a", "b"} <= set(model.predictors_)


def test_a_time_limit_causes_a_warning(data):
    X, y = data
    with pytest.warns(md.errors.StoppedWarning, match="before the best choice was proven"):
        md.prism.Parsimony("ill", max_predictors=2, time_limit=0, tol=1e-9, progress=False).fit(X, y)


def test_hostile_names_stay_unchanged(data):
    X, y = data
    names = {"a": "'; DROP TABLE", "age": "<script>", "d": "{0}%s"}
    model = fitted(X.rename(columns=names), y)
    assert set(model.predictors_) == set(names.values())


def test_no_classifier_exists_if_every_attribute_reveals(data):
    X, y = data
    with pytest.raises(DataError, match="Every attribute correlates with 'ill' by itself \\('proxy'\\)"):
        md.PrismClassifier("ill", progress=False).fit(X[["proxy", "ill"]], y)


def test_a_label_that_is_the_sensitive_attribute_is_refused(data):
    X, _ = data
    with pytest.raises(ParameterError, match="label 'ill' is the sensitive attribute"):
        md.PrismClassifier("ill", progress=False).fit(X, X["ill"])
    with pytest.raises(DataError, match="reveals the sensitive attribute 'ill'"):
        md.PrismClassifier("ill", progress=False).fit(X, (X["ill"] == "ill").rename("sick"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sensitive": None}, "No attribute is sensitive: name one with"),
        ({"sensitive": "nowhere"}, "'nowhere'"),
        ({"sensitive": 3}, "'sensitive' parameter"),
        ({"sensitive": "flat"}, "'flat'"),
        ({"critical_values": ["plague"]}, "'ill'"),
        ({"max_predictors": 0}, "'max_predictors' parameter"),
        ({"threshold": 2}, "threshold"),
        ({"C": -1}, "'C' parameter"),
        ({"tol": 0}, "'tol' parameter"),
        ({"measure": "magic"}, "measure"),
        ({"encoding": "magic"}, "encoding"),
        ({"max_size": 0}, "max_size"),
        ({"known": [["nowhere"]]}, "'nowhere'"),
        ({"groups": "magic"}, "'groups' parameter"),
        ({"schema": 3}, "'schema' parameter"),
        ({"time_limit": -1}, "'time_limit' parameter"),
        ({"C": np.inf}, "'C' parameter of PrismClassifier"),
    ],
)
def test_bad_parameters_get_one_sentence(data, settings, message):
    with pytest.raises(md.errors.ModicumError, match=message):
        md.PrismClassifier(**{"sensitive": "ill", "progress": False} | settings).fit(*data)


def test_bad_labels_get_one_sentence(data):
    X, y = data
    model = md.PrismClassifier("ill", threshold=0.3, progress=False)
    with pytest.raises(DataError, match="1 class"):
        model.fit(X, ["one"] * N)
    for numbers in (np.random.default_rng(0).normal(size=N), np.arange(N) % 50):
        with pytest.raises(DataError, match="PrismRegressor"):
            model.fit(X, numbers)
    with pytest.raises(DataError, match="missing"):
        model.fit(X, y.where(y == "good", None))
    with pytest.raises(DataError, match="no attribute has more than one value"):
        model.fit(X[["flat", "ill"]], y)
    with pytest.raises(DataError, match="infinity"):
        model.fit(X.assign(age=np.inf), y)


def test_bank_is_learned_without_default_and_attributes_that_reveal_it():
    data = load_bank(folder=shared_file("bank/bank-full.csv.gz").parents[1])
    X, y = data.X[:8_000], data.y[:8_000]
    model = fitted(
        X, y, sensitive=None, schema=data.schema, threshold=0.1, max_size=2, max_predictors=3, class_weight="balanced"
    )
    assert model.sensitive_ == ["default"]
    assert len(model.predictors_) == 3
    assert "default" not in model.predictors_
    assert model.optimality_gap_ <= 1e-4
    assert not any(set(each) <= set(model.predictors_) for each in model.correlations_.sets)
