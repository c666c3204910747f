"""Anonymizers: releases have the requested properties, and nothing else changes."""

import math
import warnings
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import as_polars, shared_file
from data import load_nist
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import modicum as md
from modicum.anonymizers.hilbert import _number_runs, curve_order
from modicum.anonymizers.ranks import Ranked
from modicum.errors import DataError, ModicumError, ParameterError, PrivacyWarning
from modicum.table.frames import as_frame

METHODS = [md.AccuracyGuided, md.Mondrian, md.Hilbert, md.RPlusTree]
QUASI = ["age", "job", "pay", "since"]


@st.composite
def tables(draw):
    """Random tables with all kinds of columns, missing values, repeats and an odd index."""
    n = draw(st.integers(4, 60))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    few = draw(st.integers(1, 6))
    pay = random.normal(size=n).round(draw(st.integers(0, 3)))
    pay[random.uniform(size=n) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = np.nan
    job = random.choice(np.array([*"abcdef", None], dtype=object), n)
    X = pd.DataFrame(
        {
            "age": random.integers(18, 18 + few * 10, n),
            "job": job,
            "pay": pay,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, few * 100, n), unit="D"),
            "ill": random.choice(["flu", "cold", "gout", "none"][: draw(st.integers(2, 4))], n),
            "note": random.choice(["x", "y", None], n),
            "weight": random.normal(size=n),
        },
        index=random.permutation(n) * 3,
    )
    return X, pd.Series(random.integers(0, 2, n), index=X.index)


def _key(value):
    return None if value is None or value != value else value


def classes_of(Z, quasi):
    """Return the equivalence classes by plain Python, as lists of positions."""
    positions = defaultdict(list)
    for i, row in enumerate(as_frame(Z).select(quasi).iter_rows()):
        positions[tuple(_key(value) for value in row)].append(i)
    return list(positions.values())


def entropy(values):
    return -sum(c / len(values) * math.log(c / len(values)) for c in Counter(values).values())


def variation(values, everybody):
    own, whole = Counter(values), Counter(everybody)
    return sum(abs(own[v] / len(values) - whole[v] / len(everybody)) for v in whole) / 2


def earth_movers(values, everybody):
    own, whole, sum_, total = Counter(values), Counter(everybody), 0.0, 0.0
    for v in sorted(whole)[:-1]:
        sum_ += own[v] / len(values) - whole[v] / len(everybody)
        total += abs(sum_)
    return total / max(1, len(whole) - 1)


@given(tables(), st.integers(2, 6), st.sampled_from(METHODS), st.sampled_from(["values", "ranges"]), st.booleans())
def test_every_class_has_k_records_and_nothing_else_changes(data, k, method, output, in_polars):
    X, y = data
    k = min(k, len(X))
    given = as_polars(X.reset_index(drop=True)) if in_polars else X
    Z = method(k=k, quasi_identifiers=QUASI, output=output).fit_transform(given, y)
    assert len(Z) == len(X)
    assert list(Z.columns) == list(X.columns)
    assert min(map(len, classes_of(Z, QUASI))) >= k
    for name in ("ill", "note", "weight"):
        assert Z[name].equals(given[name])
    if not in_polars:
        assert Z.index.equals(X.index)
    if output == "values" and not in_polars:
        assert (Z.dtypes == X.dtypes).all()


@given(tables(), st.sampled_from(METHODS), st.sampled_from(["distinct", "entropy", "recursive"]))
def test_every_class_is_diverse(data, method, kind):
    X, y = data
    limit = 1.5 if kind == "entropy" else 2
    anonymizer = method(k=2, quasi_identifiers=QUASI, l=limit, diversity=kind, c=2.0, sensitive="ill")
    values = X["ill"].tolist()
    ranked = sorted(Counter(values).values(), reverse=True)
    possible = {
        "distinct": len(ranked) >= 2,
        "entropy": math.exp(entropy(values)) >= limit,
        "recursive": len(ranked) >= 2 and ranked[0] < 2.0 * sum(ranked[1:]),
    }
    if not possible[kind]:  # if all records together are not diverse, nothing can be released
        with pytest.raises(DataError, match="'ill'"):
            anonymizer.fit(X, y)
        return
    Z = anonymizer.fit_transform(X, y)
    for members in classes_of(Z, QUASI):
        values = X["ill"].iloc[members].tolist()
        ranked = sorted(Counter(values).values(), reverse=True)
        assert len(members) >= 2
        if kind == "distinct":
            assert len(ranked) >= 2
        elif kind == "entropy":
            assert math.exp(entropy(values)) >= limit - 1e-9
        else:
            assert ranked[0] < 2.0 * sum(ranked[1:])


@given(tables(), st.sampled_from(METHODS), st.sampled_from([0.05, 0.3, 0.6]), st.sampled_from(["equal", "ordered"]))
def test_every_class_is_close(data, method, t, distance):
    X, y = data
    X["stage"] = X["ill"].map({"flu": 1, "cold": 2, "gout": 3, "none": 4})
    Z = method(k=2, quasi_identifiers=QUASI, t=t, distance=distance, sensitive="stage").fit_transform(X, y)
    measure = variation if distance == "equal" else earth_movers
    everybody = X["stage"].tolist()
    for members in classes_of(Z, QUASI):
        assert measure([everybody[i] for i in members], everybody) <= t + 1e-9


@given(tables(), st.sampled_from(METHODS), st.integers(2, 4))
def test_k_counts_persons_if_the_schema_has_some(data, method, k):
    X, y = data
    X["who"] = np.arange(len(X)) % max(k, len(X) // 3)
    schema = md.Schema.infer(X, person="who")
    Z = method(k=k, quasi_identifiers=QUASI, schema=schema).fit_transform(X, y)
    assert "who" not in Z.columns
    who = X["who"].tolist()
    assert min(len({who[i] for i in members}) for members in classes_of(Z, QUASI)) >= k


@given(tables(), st.sampled_from(METHODS))
def test_a_hierarchy_is_used(data, method):
    X, y = data
    tree = {"flu": ("lungs", "any"), "cold": ("lungs", "any"), "gout": ("joints", "any"), "none": ("any",)}
    schema = md.Schema.infer(X, sensitive=["ill"]).replace("ill", hierarchy=tree)
    anonymizer = method(k=2, quasi_identifiers=QUASI, t=0.2, schema=schema).fit(X, y)
    found = md.measures.t_closeness(anonymizer.release_.frame, QUASI, "ill", hierarchy=tree)
    assert found == pytest.approx(anonymizer.release_.t)
    assert found <= 0.2 + 1e-9
    assert anonymizer.release_.asked["distance"] == "hierarchical"


@pytest.mark.parametrize("method", METHODS)
def test_a_release_reports_the_values_of_the_measures(method):
    X, y = md.datasets.load_adult(return_X_y=True)
    X, y = X[:3_000], y[:3_000]
    quasi = ["age", "sex", "race", "occupation"]
    release = method(k=20, quasi_identifiers=quasi, sensitive="education", l=3, t=0.4).fit(X, y).release_
    frame = release.frame.assign(label=y)
    assert release.k == md.measures.k_anonymity(frame, quasi) >= 20
    assert release.l == md.measures.l_diversity(frame, quasi, "education") >= 3
    assert release.t == md.measures.t_closeness(frame, quasi, "education") <= 0.4
    assert release.discernibility == md.measures.discernibility(frame, quasi)
    assert release.classification_metric == md.measures.classification_metric(frame, quasi, "label")
    assert release.n_classes == len(frame.groupby(quasi, dropna=False, observed=True))
    assert release.ncp == pytest.approx(np.mean(list(release.ncp_by_attribute.values())))
    assert set(release.to_dict()) >= {"k", "l", "t", "ncp", "discernibility", "suppressed", "n_classes"}


def test_ncp_is_the_width_of_the_published_ranges():
    X = pd.DataFrame({"age": [20, 30, 60, 60], "job": ["a", "b", "c", "c"]})
    release = md.Mondrian(k=2, output="ranges").fit(X).release_
    assert release.frame["age"].tolist() == ["20–30", "20–30", "60", "60"]
    assert release.frame["job"].tolist() == ["a | b", "a | b", "c", "c"]
    assert release.ncp_by_attribute == pytest.approx({"age": 0.5 * 10 / 40, "job": 0.5 * 2 / 3})


def test_ranges_of_numbers_show_that_values_may_be_missing():
    X = pd.DataFrame({"age": [20.0, None, 30.0]})
    release = md.Mondrian(k=3, output="ranges").fit(X).release_
    assert release.frame["age"].tolist() == ["20–30 or (missing)"] * 3
    assert release.ncp == 1.0


def test_no_representative_is_the_number_of_only_one_person():
    X = pd.DataFrame({"pay": [1234.56, 2345.67, 3456.78, 4567.89]})
    Z = md.Mondrian(k=4).fit_transform(X)
    assert Z["pay"].nunique() == 1
    assert Z["pay"].iloc[0] not in set(X["pay"])
    assert 1234.56 < Z["pay"].iloc[0] < 3456.78
    shared = md.Mondrian(k=4).fit_transform(pd.DataFrame({"age": [30, 41, 41, 60]}))
    assert shared["age"].tolist() == [41] * 4


def test_a_record_represents_its_group_only_on_request_and_with_a_warning():
    X, y = md.datasets.load_adult(return_X_y=True)
    X, y = X[:2_000], y[:2_000]
    with pytest.warns(PrivacyWarning, match="one actual person"):
        Z = md.AccuracyGuided(k=50, representatives="record").fit_transform(X, y)
    actual = set(map(str, X.itertuples(index=False)))
    assert set(map(str, Z.itertuples(index=False))) <= actual
    computed = md.AccuracyGuided(k=50).fit_transform(X, y)
    assert not set(map(str, computed.itertuples(index=False))) <= actual


@pytest.mark.parametrize("representatives", ["mean", "random"])
def test_other_representatives_repeat_with_the_seed(representatives):
    X, _ = md.datasets.load_adult(return_X_y=True)
    one, two = (md.Mondrian(k=50, representatives=representatives).fit(X[:2_000]).release_ for _ in range(2))
    assert one.frame.equals(two.frame)
    assert one.k >= 50
    assert (one.frame.dtypes == X.dtypes).all()


def test_the_model_predicts_the_same_for_representatives_as_for_most_of_their_group():
    X, y = md.datasets.load_adult(return_X_y=True)
    X, y = X[:4_000], y[:4_000]
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier(max_depth=6, random_state=0))
    model.fit(X, y)
    guided = md.AccuracyGuided(k=50, model=model).fit(X)
    predicted, guided_predictions = pd.Series(model.predict(X)), pd.Series(model.predict(guided.release_.frame))
    plain = md.Mondrian(k=50).fit(X).release_.frame
    assert (predicted == guided_predictions).mean() > 0.95
    assert (predicted == guided_predictions).mean() > (predicted == model.predict(plain)).mean()


def test_numeric_predictions_guide_too():
    X, _ = md.datasets.load_adult(return_X_y=True)
    guided = md.AccuracyGuided(k=50, quasi_identifiers=["age", "sex"], model=lambda X: X["age"] * 1.5).fit(X[:2_000])
    assert guided.release_.k >= 50
    assert guided.release_.ncp_by_attribute["age"] < guided.release_.ncp_by_attribute["sex"]


def test_there_is_no_transform_and_models_of_anonymous_records_take_new_ones_unchanged():
    X, y = md.datasets.load_adult(return_X_y=True)
    X, new, y = X[:3_000], X[3_000:4_000], y[:3_000]
    anonymizer = md.AccuracyGuided(k=100)
    released = anonymizer.fit_transform(X, y)
    assert md.measures.k_anonymity(released) >= 100
    assert released.equals(md.AccuracyGuided(k=100).fit(X, y).release_.frame)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier(random_state=0))
    assert len(model.fit(released, y).predict(new)) == 1_000
    assert not hasattr(anonymizer, "transform")
    with pytest.raises(TypeError, match="should be transformers"):  # a pipeline would let new records pass
        make_pipeline(anonymizer, model).fit(X, y)


@pytest.mark.parametrize("method", METHODS)
def test_resampling_leaves_out_the_costliest_groups_and_says_how_many(method):
    X, y = md.datasets.load_adult(return_X_y=True)
    X, y = X[:3_000], y[:3_000]
    anonymizer = method(k=20, max_suppressed=0.1, sensitive="race", t=0.3)
    fewer, labels = anonymizer.fit_resample(X, y)
    release = anonymizer.release_
    assert len(fewer) == len(labels) == 3_000 - release.suppressed
    assert 0 < release.suppressed <= 300
    assert labels.equals(y.iloc[anonymizer.sample_indices_])
    assert fewer.index.equals(labels.index)
    assert release.k >= 20
    assert release.t <= 0.3
    assert release.ncp < method(k=20, sensitive="race", t=0.3).fit(X, y).release_.ncp
    assert isinstance(method(k=20).fit_resample(X.to_numpy()[:, :1].astype(float), y.tolist())[1], list)


def test_identifiers_are_dropped():
    X = pd.DataFrame({"name": list("abcdef"), "age": [30, 31, 32, 50, 51, 52]})
    schema = md.Schema.infer(X, identifiers=["name"])
    anonymizer = md.Mondrian(k=3, schema=schema)
    assert list(anonymizer.fit_transform(X).columns) == ["age"]
    assert anonymizer.get_feature_names_out().tolist() == ["age"]


def test_relaxed_halves_split_equal_values():
    X = pd.DataFrame({"age": [30] * 7 + [40]})
    assert md.Mondrian(k=4).fit(X).release_.n_classes == 1
    relaxed = md.Mondrian(k=4, strict=False, output="ranges").fit(X).release_
    assert sorted(relaxed.frame["age"].unique()) == ["30", "30–40"]


def test_hilbert_cuts_the_line_as_cheaply_as_possible():
    from modicum.anonymizers.hilbert import cheapest_runs

    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.integers(0, 20, 14), "b": random.choice(["x", "y", "z", None], 14)})
    ranked = Ranked.of(as_frame(X), md.Schema.infer(X), ["a", "b"])
    order, k = curve_order(ranked), 2

    def cost(run):
        own = X.iloc[order[run]]
        values = own["b"].fillna("missing").nunique()
        width = (own["a"].max() - own["a"].min()) / (X["a"].max() - X["a"].min())
        return len(own) * (width + (values / X["b"].fillna("missing").nunique() if values > 1 else 0))

    def cheapest(start):
        if start == len(X):
            return 0.0
        ends = range(start + k, len(X) + 1)
        return min((cost(np.arange(start, end)) + cheapest(end) for end in ends), default=math.inf)

    groups = _number_runs(order, cheapest_runs(order, ranked.for_kernel(), k))
    found = sum(cost(np.flatnonzero(groups[order] == g)) for g in range(groups.max() + 1))
    assert found == pytest.approx(cheapest(0))


def test_neighbours_on_the_hilbert_curve_are_neighbours_in_space():
    side = 16
    X = pd.DataFrame({"a": np.repeat(np.arange(side), side), "b": np.tile(np.arange(side), side)})
    order = curve_order(Ranked.of(as_frame(X), md.Schema.infer(X), ["a", "b"]))
    assert sorted(order.tolist()) == list(range(side**2))
    steps = np.abs(np.diff(X.to_numpy()[order], axis=0)).sum(axis=1)
    assert (steps == 1).all()


@pytest.mark.parametrize("method", METHODS)
def test_equal_rows_are_released_unchanged(method):
    X = pd.DataFrame({"age": [30] * 10, "job": ["nurse"] * 10})
    release = method(k=10).fit(X, [0, 1] * 5).release_
    assert release.frame.equals(X)
    assert (release.k, release.ncp, release.n_classes) == (10, 0.0, 1)


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_label_still_anonymizes(method):
    X, _ = md.datasets.load_adult(return_X_y=True)
    assert method(k=10).fit(X[:500], np.zeros(500)).release_.k >= 10


def bad(**changes):
    X = pd.DataFrame({"age": [30, 40, 50, 60], "job": list("abcd"), "ill": ["flu", "flu", "cold", "flu"]})
    parameters = {"k": 2, "quasi_identifiers": ["age", "job"]} | changes
    return X, parameters


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 5}, "'k' parameter of Mondrian is 5, but there are only 4 records"),
        ({"k": 1}, "must be an int ≥ 2"),
        ({"k": 2.5}, "must be an int ≥ 2"),
        ({"l": 3, "sensitive": "ill"}, "'ill' has 2 different values, fewer than l = 3"),
        ({"l": 1.9, "diversity": "entropy", "sensitive": "ill"}, "one value is too frequent"),
        ({"l": 2, "sensitive": "age"}, "'age' cannot be both a quasi-identifier and sensitive"),
        ({"l": 2}, "'sensitive' parameter must name"),
        ({"t": 2, "sensitive": "ill"}, "'t' parameter of Mondrian must be a number from 0 to 1"),
        ({"t": 0.5, "sensitive": "ill", "distance": "hierarchical"}, "needs a hierarchy of 'ill'"),
        ({"t": 0.5, "sensitive": "ill", "distance": "near"}, "'distance' parameter of Mondrian must be"),
        ({"quasi_identifiers": ["height"]}, "names 'height', which is not in the data"),
        ({"quasi_identifiers": "age"}, "must be a list of names"),
        ({"quasi_identifiers": []}, "No attribute is a quasi-identifier"),
        ({"sensitive": "height", "l": 2}, "names 'height', which is not in the data"),
        ({"sensitive": ["ill", "job"], "l": 2}, "must name one attribute"),
        ({"representatives": "best"}, "'representatives' parameter of Mondrian must be"),
        ({"output": "codes"}, "'output' parameter of Mondrian must be 'values' or 'ranges'"),
        ({"strict": "yes"}, "'strict' parameter of Mondrian must be"),
        ({"schema": "age"}, "'schema' parameter must be a Schema"),
    ],
)
def test_bad_input_gets_a_one_sentence_error(changes, message):
    X, parameters = bad(**changes)
    with pytest.raises(ModicumError, match=message) as caught:
        md.Mondrian(**parameters).fit(X)
    assert "\n" not in str(caught.value)


def test_data_that_cannot_be_released_is_refused():
    with pytest.raises(DataError, match="0 rows"):
        md.Mondrian(k=2).fit(pd.DataFrame({"age": []}))
    with pytest.raises(DataError, match="'age' contains infinity"):
        md.Mondrian(k=2).fit(pd.DataFrame({"age": [1.0, np.inf]}))
    with pytest.raises(DataError, match="requires y"):
        md.AccuracyGuided(k=2).fit(pd.DataFrame({"age": [1.0, 2.0]}))
    with pytest.raises(DataError, match="would be left out"):
        md.Mondrian(k=2, max_suppressed=1.0).fit_resample(pd.DataFrame({"age": [1, 2, 3]}), [0, 1, 0])
    with pytest.raises(ParameterError, match="fitted estimator"):
        md.AccuracyGuided(k=2, model=3).fit(pd.DataFrame({"age": [1.0, 2.0]}))
    X = pd.DataFrame({"age": [1, 2, 3], "who": ["a", "a", "a"]})
    with pytest.raises(DataError, match="only 1 persons"):
        md.Mondrian(k=2, schema=md.Schema.infer(X, person="who")).fit(X)


def test_a_release_that_misses_the_requested_k_is_refused(monkeypatch):
    monkeypatch.setattr("modicum.anonymizers.mondrian.split", lambda ranked, *_, **__: np.arange(len(ranked.codes)))
    anonymizer = md.Mondrian(k=2)
    with pytest.raises(DataError, match="does not meet the requested k, so it is not released"):
        anonymizer.fit(pd.DataFrame({"age": [1, 2, 3]}))
    assert not hasattr(anonymizer, "release_")


def test_a_release_is_saved_completely(tmp_path):
    X = pd.DataFrame({"age": [30, 31, 50, 51], "job": ["a", "b", "c", "d"]})
    release = md.Mondrian(k=2, output="ranges").fit(X).release_
    release.save(tmp_path / "out.csv")
    release.save(tmp_path / "out.parquet")
    assert pd.read_csv(tmp_path / "out.csv")["age"].tolist() == release.frame["age"].tolist()
    assert pl.read_parquet(tmp_path / "out.parquet")["job"].to_list() == release.frame["job"].tolist()


def test_hostile_names_and_odd_columns_stay():
    X = pd.DataFrame({"": [1, 2, 3, 4], "a'; DROP": ["<b>", "|", "", "x"], "\0label": [True, False, True, False]})
    Z = md.Hilbert(k=2).fit_transform(X)
    assert md.measures.k_anonymity(Z) >= 2
    assert len(Z.columns) == 3


def test_all_methods_agree_on_real_data_with_many_missing_values():
    folder = shared_file("nist/national2018.csv.gz").parents[1]
    X, y = load_nist(folder=folder, return_X_y=True)
    X, y = X[:4_000], y[:4_000]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in METHODS:
            release = method(k=25).fit(X, y).release_
            assert release.k >= 25
            assert 0 < release.ncp < 1


def test_all_column_types_stay():
    n = 12
    X = pd.DataFrame(
        {
            "flag": np.array([True, False, None] * 4, dtype=object),
            "day": pd.to_datetime(["2020-01-01", "2021-06-01"] * 6).astype("datetime64[ns]"),
            "zone": pd.to_datetime(["2020-01-01", "2021-06-01"] * 6).tz_localize("Europe/Berlin"),
            "size": np.arange(n, dtype=np.float32),
            "many": pd.array([1, 2, None] * 4, dtype="Int64"),
            "kind": pd.Categorical(list("abc") * 4),
        }
    )
    Z = md.Mondrian(k=3).fit_transform(X)
    assert (Z.dtypes == X.dtypes).all()
    assert set(Z["flag"].dropna().map(type)) <= {bool}
    P = pl.DataFrame({"kind": pl.Series(list("abc") * 4, dtype=pl.Enum(["a", "b", "c"])), "size": range(n)})
    P = P.with_columns(day=pl.date(2020, 1, 1), word=pl.col("kind").cast(pl.Categorical))
    assert md.Mondrian(k=3).fit_transform(P).schema == P.schema
    assert md.RPlusTree(k=3).fit_transform(P).schema == P.schema


def test_no_representative_is_a_number_of_the_group():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"pay": random.permutation(100_000)[:600] / 4, "single": np.float32(random.normal(size=600))})
    for representatives in ("median", "random"):
        for method in METHODS:
            Z = method(k=5, representatives=representatives).fit_transform(X, random.integers(0, 2, 600))
            for name in X.columns:
                assert not set(Z[name]) & set(X[name])
    persons = pd.DataFrame({"who": [1, 1, 2, 3], "pay": [777.5, 777.5, 1.0, 2000.25]})
    Z = md.Mondrian(k=3, schema=md.Schema.infer(persons, person="who")).fit_transform(persons)
    assert Z["pay"].iloc[0] not in set(persons["pay"])


def test_a_fitted_anonymizer_holds_no_record():
    X = pd.DataFrame({"pay": np.arange(500) / 7 + 0.123})
    anonymizer = md.AccuracyGuided(k=50, model=lambda frame: frame["pay"] > 30).fit(X)
    known = ("model", "release_", "feature_names_in_")
    rest = {name: value for name, value in vars(anonymizer).items() if name not in known}
    assert {type(value) for value in rest.values()} <= {int, float, str, bool, list, tuple, type(None)}
    assert "0.123" not in repr(rest)


def test_ordered_distance_needs_a_declared_order():
    X = pd.DataFrame({"age": range(100), "ill": ["flu", "cold", "gout", "none"] * 25})
    with pytest.raises(ParameterError, match="needs an order of 'ill'"):
        md.Mondrian(k=5, t=0.2, distance="ordered", sensitive="ill").fit(X)


def test_a_label_with_many_whole_numbers_is_numeric():
    X = pd.DataFrame({"age": np.arange(400) % 80})
    assert md.AccuracyGuided(k=10).fit(X, np.arange(400)).release_.classification_metric is None
