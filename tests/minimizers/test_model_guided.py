"""ModelGuided: a model of any kind predicts the same from less data."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import modicum as md
from modicum.errors import ArtifactError, DataError, ParameterError, PrivacyWarning
from modicum.learners.asking import Model
from modicum.measures import disclosure_risk, ncp
from modicum.minimizers.model_guided.guiding_tree import Losses, Nodes, homogeneous_tree, node_costs, weakest_links
from modicum.minimizers.model_guided.outcomes import Outcomes
from modicum.minimizers.model_guided.records import ModelView, Records
from modicum.minimizers.model_guided.setting import exactly, group_codes, numbers_of, partition_of
from modicum.progress import Stop
from modicum.table.codes import Coder
from modicum.table.frames import as_frame

COLUMNS = ["age", "education", "relationship", "hours-per-week", "capital-gain", "native-country", "sex"]


def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    return X[COLUMNS], y


def one_hot(estimator):
    categories = make_column_selector(dtype_exclude=np.number)
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), categories),
            (StandardScaler(), make_column_selector(dtype_include=np.number)),
            sparse_threshold=0,
        ),
        estimator,
    )


@pytest.fixture(scope="module")
def boosted():
    X, y = adult()
    return one_hot(HistGradientBoostingClassifier(max_iter=40, random_state=0)).fit(X[:8000], y[:8000])


@pytest.fixture(scope="module")
def guided(boosted):
    return md.ModelGuided(boosted, target_agreement=0.95).fit(adult()[0][8000:20000])


def agreement(model, g, X):
    return float((model.predict(g.transform(X, output="values")) == model.predict(X)).mean())


def test_the_model_predicts_the_same_from_less(boosted, guided):
    X = adult()[0][20000:]
    held = guided.held_out_
    assert agreement(boosted, guided.generalization_, X) > 0.945
    assert held.agreement >= 0.945
    assert held.interval[0] - 0.005 < agreement(boosted, guided.generalization_, X) < held.interval[1] + 0.005
    assert held.loss.gcp > 0.4
    assert ncp(guided.generalization_, X).gcp == pytest.approx(held.loss.gcp, abs=0.02)


def test_cells_hide_more_at_the_same_target(boosted, guided):
    X = adult()[0][20000:]
    assert agreement(boosted, guided.cells_, X) > 0.94
    assert ncp(guided.cells_, X).gcp >= ncp(guided.generalization_, X).gcp
    assert guided.cells_held_out_.agreement == pytest.approx(agreement(boosted, guided.cells_, X), abs=0.02)


def test_a_cells_prediction_is_the_models_for_its_record(boosted):
    X = adult()[0]
    cells = md.ModelGuided(boosted, target_agreement=0.9).fit(X[8000:14000]).cells_
    assert not cells.kept
    records = pd.DataFrame([cell.values for cell in cells.tree.cells], columns=cells.names).astype(dict(X.dtypes))
    assert boosted.predict(records).tolist() == [cell.prediction for cell in cells.tree.cells]


def test_figures_of_held_out_records_come_from_the_artifact_itself(guided):
    held = guided.held_out_
    assert held.records == 3000
    assert held.disclosure_risk == held.distinct / held.records < held.raw_disclosure_risk
    X = adult()[0][20000:23000]
    assert disclosure_risk(guided.generalization_.transform(X)) == pytest.approx(held.disclosure_risk, abs=0.02)
    content = json.loads(json.dumps(held.to_dict()))
    assert content["loss"]["gcp"] == held.loss.gcp


def test_the_path_leads_from_full_detail_to_nothing(boosted, guided):
    first, last = guided.path_[0], guided.path_[-1]
    assert (first.agreement, first.loss) == (1.0, 0.0)
    assert last.generalization.needed == []
    losses = [point.loss for point in guided.path_]
    assert losses == sorted(losses)
    for finer, coarser in zip(guided.path_[1:], guided.path_[2:], strict=False):
        both = finer.generalization.intersect(coarser.generalization)
        assert both.n_buckets == finer.generalization.n_buckets
    chosen = [p for p in guided.path_ if p.generalization == guided.generalization_]
    assert chosen[0].agreement >= 0.95


def test_labels_are_not_used(boosted):
    X, y = adult()
    least = md.ModelGuided(boosted, target_agreement=0.9)
    assert least.fit(X[8000:12000]).generalization_ == least.fit(X[8000:12000], y[8000:12000]).generalization_


def test_same_seed_same_bytes(boosted):
    X = adult()[0][8000:12000]
    fitted = [md.ModelGuided(boosted, target_agreement=0.93, random_state=3).fit(X) for _ in range(2)]
    assert json.dumps(fitted[0].generalization_.to_dict()) == json.dumps(fitted[1].generalization_.to_dict())
    assert json.dumps(fitted[0].cells_.to_dict()) == json.dumps(fitted[1].cells_.to_dict())


def test_a_target_of_one_can_be_reached(boosted):
    X = adult()[0]
    least = md.ModelGuided(boosted, target_agreement=1.0).fit(X[8000:14000])
    assert agreement(boosted, least.generalization_, X[20000:]) > 0.985
    assert least.held_out_.loss.gcp > 0.05


def test_the_best_search_hides_more_than_the_papers_at_the_same_target(boosted):
    X = adult()[0]
    best = md.ModelGuided(boosted, target_agreement=0.97).fit(X[8000:16000])
    paper = md.ModelGuided(boosted, target_agreement=0.97, search="paper").fit(X[8000:16000])
    assert agreement(boosted, best.generalization_, X[20000:]) > 0.965
    assert best.held_out_.loss.gcp > paper.held_out_.loss.gcp
    assert paper.path_[-1].agreement >= 0.97


def test_the_papers_search_prunes_level_by_level_as_long_as_the_target_holds():
    X, y = adult()
    X = X[["age", "hours-per-week", "capital-gain"]]
    model = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X[:5000], y[:5000])
    paper = md.ModelGuided(model, target_agreement=0.97, search="paper").fit(X[5000:12000])
    assert len(paper.path_) > 1
    assert [p.loss for p in paper.path_] == sorted(p.loss for p in paper.path_)
    assert all(p.agreement >= 0.97 for p in paper.path_)
    assert paper.tree_.n_leaves >= paper.cells_.n_cells


def test_the_papers_search_keeps_attributes_in_the_order_of_ilag():
    """Equation (3): the lowest NCP(f)/gain(f), or NCP(f) where nothing is gained, goes first."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.uniform(size=(4000, 3)), columns=["a", "b", "c"]).round(3)

    def model(frame):  # no tree can follow this: it looks at the last digit of a
        return (np.round(frame["a"].to_numpy() * 1000).astype(int) % 2) + 2 * (frame["b"].to_numpy() > 0.5)

    paper = md.ModelGuided(model, target_agreement=0.999, search="paper", max_depth=4).fit(X)
    kept = [p.name for p in paper.generalization_.partitions if p.action == "kept"]
    assert "a" in kept
    assert paper.held_out_.agreement > 0.99
    assert len(paper.path_) == len(kept) + 1


def test_only_some_attributes_are_minimized(boosted):
    X = adult()[0]
    least = md.ModelGuided(boosted, target_agreement=0.95, minimize=["age", "education"]).fit(X[8000:12000])
    kept = [p.name for p in least.generalization_.partitions if p.action == "kept"]
    assert set(kept) >= set(COLUMNS) - {"age", "education"}
    assert least.generalization_["education"].action == "coarsened"
    assert all(p.generalization["sex"].action == "kept" for p in least.path_)


def test_weights_protect_what_counts_more(boosted):
    X = adult()[0][8000:14000]
    plain = md.ModelGuided(boosted, target_agreement=0.95).fit(X)
    steered = md.ModelGuided(boosted, target_agreement=0.95, loss_weights={"age": 30}).fit(X)
    assert steered.held_out_.loss.by_attribute["age"] > plain.held_out_.loss.by_attribute["age"]


def test_any_function_of_pandas_or_polars_frames_is_a_model():
    polars = pytest.importorskip("polars")
    X = adult()[0][:4000]

    def model(frame):
        return frame["hours-per-week"] > 40

    least = md.ModelGuided(model, target_agreement=0.97).fit(polars.from_pandas(X))
    assert least.generalization_.needed == ["hours-per-week"]
    assert least.held_out_.agreement > 0.97
    assert least.generalization_.buckets["hours-per-week"][:2] == ("≤ 40", "≥ 41")


def test_arrays_and_scores_of_classes_are_accepted():
    X = np.random.default_rng(0).normal(size=(2000, 4))

    def scores(values):
        assert isinstance(values, np.ndarray)
        return np.column_stack([-values[:, 2], values[:, 2]])

    least = md.ModelGuided(scores, target_agreement=0.97).fit(X)
    assert least.generalization_.needed == ["x2"]
    assert least.transform(X[:5]).shape == (5, 1)


def test_categories_stay_categories(guided):
    countries = guided.path_[1].generalization["native-country"]
    assert countries.attribute.kind == "category"
    values = guided.generalization_.transform(adult()[0][20000:20100], output="values")
    assert set(values["education"]) <= set(adult()[0]["education"])


def test_one_hot_columns_become_one_category_and_scaled_numbers_keep_their_units():
    X, y = adult()
    numbers = ["age", "hours-per-week"]
    scaler = StandardScaler().fit(X[numbers])
    hot = pd.get_dummies(X[["relationship", "sex"]], dtype=float)
    wide = pd.concat([pd.DataFrame(scaler.transform(X[numbers]), columns=numbers, index=X.index), hot], axis=1)
    model = LogisticRegression(max_iter=1000).fit(wide[:8000], y[:8000])
    slices = [[c for c in hot if c.startswith("relationship")], [c for c in hot if c.startswith("sex")]]
    least = md.ModelGuided(model, target_agreement=0.95, feature_slices=slices, scaler=scaler).fit(wide[8000:14000])
    assert least.generalization_.names == ["age", "hours-per-week", "relationship", "sex"]
    assert least.path_[0].generalization["relationship"].labels[0] == "Husband"
    finest = least.path_[1].generalization["age"]
    assert finest.attribute.storage == "integer"
    assert 17 < finest.edges[0] < 90
    fed = least.feed(wide[20000:])
    assert list(fed.columns) == list(wide.columns)
    assert (model.predict(fed) == model.predict(wide[20000:])).mean() > 0.94
    assert fed[slices[0]].sum(axis=1).eq(1).all()
    named = {"who": slices[0], "sex": slices[1]}
    again = md.ModelGuided(model, target_agreement=0.95, feature_slices=named, scaler=scaler).fit(wide[8000:14000])
    assert "who" in again.generalization_.names
    assert set(again.transform(wide[:10]).columns) == set(again.generalization_.needed)


def test_a_numeric_prediction_is_kept_by_r2_or_within_a_tolerance():
    X, hours = adult()[0][["age", "education", "capital-gain", "sex"]], adult()[0]["hours-per-week"]
    model = one_hot(RandomForestRegressor(n_estimators=10, min_samples_leaf=50, random_state=0)).fit(
        X[:5000], hours[:5000]
    )
    predicted, rest = model.predict(X[12000:]), X[12000:]
    by_r2 = md.ModelGuided(model, target_agreement=0.9).fit(X[5000:12000])
    from_less = model.predict(by_r2.generalization_.transform(rest, output="values"))
    r2 = 1 - ((from_less - predicted) ** 2).mean() / predicted.var()
    assert 0.88 < r2 < 1
    assert by_r2.held_out_.agreement == pytest.approx(r2, abs=0.03)
    assert by_r2.held_out_.loss.gcp > 0.2
    close = md.ModelGuided(model, target_agreement=0.95, agreement=2.0).fit(X[5000:12000])
    from_less = model.predict(close.generalization_.transform(rest, output="values"))
    assert (np.abs(from_less - predicted) <= 2).mean() > 0.93
    cells = model.predict(close.cells_.transform(rest, output="values"))
    assert (np.abs(cells - predicted) <= 2).mean() > 0.92


def test_the_records_of_people_are_used_only_with_a_warning_and_never_saved(boosted, tmp_path):
    X = adult()[0][8000:12000]
    least = md.ModelGuided(boosted, target_agreement=0.9, representatives="record")
    with pytest.warns(PrivacyWarning, match="actual people"):
        least.fit(X)
    assert not least.cells_.kept
    people = set(X.astype(str).apply(tuple, axis=1))
    representatives_used = least.cells_.transform(X, output="values")
    assert set(representatives_used.astype(str).apply(tuple, axis=1)) <= people
    with pytest.raises(ArtifactError, match="actual people"):
        least.cells_.save(tmp_path / "cells.json")
    synthetic = md.ModelGuided(boosted, target_agreement=0.9).fit(X)
    synthetic.cells_.save(tmp_path / "cells.json")


def test_clusters_and_functions_can_set_what_the_tree_learns(boosted):
    X = adult()[0][8000:12000]
    clusters = md.ModelGuided(boosted, target_agreement=0.93, generalizer="clusters").fit(X)
    assert clusters.held_out_.agreement > 0.91
    assert clusters.tree_.n_leaves > md.ModelGuided(boosted, target_agreement=0.93).fit(X).tree_.n_leaves
    own = md.ModelGuided(boosted, target_agreement=0.93, generalizer=lambda frame, predictions: predictions).fit(X)
    assert own.held_out_.agreement > 0.91


def test_another_loss_can_be_used(boosted):
    X = adult()[0][8000:12000]
    entropy = md.ModelGuided(boosted, target_agreement=0.93, loss="entropy").fit(X)
    assert entropy.held_out_.agreement > 0.91
    calls = []

    def loss(coding, codes):
        calls.append(coding.attribute.name)
        return len(codes) / len(coding.counts) if len(codes) > 1 else 0.0

    md.ModelGuided(boosted, target_agreement=0.93, loss=loss).fit(X)
    assert {"age", "education"} <= set(calls) <= set(COLUMNS)
    with pytest.raises(ParameterError, match="from 0 to 1"):
        md.ModelGuided(boosted, loss=lambda coding, codes: 7).fit(X)


def test_a_model_can_be_trained_again_on_the_collected_data():
    X, y = adult()
    X = X[["age", "hours-per-week", "capital-gain"]]
    model = DecisionTreeClassifier(max_leaf_nodes=30, random_state=0).fit(X[:5000], y[:5000])
    least = md.ModelGuided(model, target_agreement=0.97).fit(X[5000:12000])
    again = least.retrain(X[:5000], y[:5000])
    assert again is not model
    fed = least.feed(X[12000:])
    assert (again.predict(fed) == y[12000:]).mean() >= (model.predict(fed) == y[12000:]).mean() - 0.01
    with pytest.raises(ParameterError, match="is a function"):
        md.ModelGuided(lambda F: F["age"] > 40).fit(X[:500]).retrain(X, y)


def test_a_clone_keeps_the_fitted_model(boosted):
    copied = clone(md.ModelGuided(boosted, target_agreement=0.9, minimize=["age"]))
    assert copied.model is boosted
    assert (copied.target_agreement, copied.minimize) == (0.9, ["age"])
    assert copied.fit(adult()[0][8000:9000]).held_out_.records == 250


def test_a_synthetic_record_is_nobodys_record(boosted):
    """Many cells hold few records: their representatives come from the cell's bounds and from all records."""
    X = adult()[0][8000:18000]
    cells = md.ModelGuided(boosted, target_agreement=0.95).fit(X).cells_
    assert cells.n_cells > 10
    rows = X.astype(str).apply(tuple, axis=1)
    fresh = adult()[0][18000:28000].astype(str).apply(tuple, axis=1)
    representatives = (
        pd.DataFrame([cell.values for cell in cells.tree.cells], columns=cells.names).astype(str).apply(tuple, axis=1)
    )
    unique, others = (set(r[~r.duplicated(keep=False)]) for r in (rows, fresh))
    assert representatives.isin(unique).sum() <= representatives.isin(others).sum() + 2  # no more than by chance


def test_the_model_is_fed_the_types_that_it_knows():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"b": random.uniform(size=3000) < 0.5, "n": random.integers(0, 50, 3000)})
    X["k"] = pd.array(random.integers(0, 5, 3000), dtype="Int64")
    seen = []

    def model(frame):
        seen.append(tuple(map(str, frame.dtypes)))
        return (frame["n"] > 20) & ~frame["b"]

    least = md.ModelGuided(model).fit(X)
    assert set(seen) == {("bool", "int64", "Int64")}
    assert least.held_out_.agreement > 0.97
    numbered = md.ModelGuided(lambda F: (F[1] > 20) & ~F[0]).fit(X.set_axis([0, 1, 2], axis=1))
    assert numbered.held_out_.agreement > 0.97


def test_the_held_out_figures_give_agreement_by_class_and_of_a_constant(boosted, guided):
    held = guided.held_out_
    shares = pd.Series(boosted.predict(adult()[0][8000:20000])).value_counts(normalize=True)
    assert held.constant_agreement == pytest.approx(shares.max())
    assert set(held.by_class) == {"<=50K", ">50K"}
    assert min(held.by_class.values()) < held.agreement < max(held.by_class.values())


def test_class_probabilities_suffice_as_a_model():
    class Chances:
        def predict_proba(self, X):
            return np.column_stack([X["age"] <= 40, X["age"] > 40]).astype(float)

    least = md.ModelGuided(Chances()).fit(adult()[0][:2000])
    assert least.generalization_.needed == ["age"]


def test_missing_is_treated_as_one_more_value():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.integers(0, 9, 4000).astype(float), "b": random.choice(["x", "y", None], 4000)})
    X.loc[random.uniform(size=4000) < 0.3, "a"] = np.nan

    def model(frame):
        return frame["a"].isna().to_numpy() | (frame["b"].to_numpy() == "x")

    least = md.ModelGuided(model, target_agreement=0.99).fit(X)
    assert least.held_out_.agreement == 1.0
    assert least.cells_held_out_.agreement == 1.0
    assert least.generalization_["a"].n_buckets == 1  # any value, or none
    assert least.generalization_.transform(X, output="values")["a"].isna().equals(X["a"].isna())


def test_rows_of_one_person_are_never_both_learned_from_and_reported_on(boosted):
    X = adult()[0][8000:12000].assign(who=np.arange(4000) // 4)
    schema = md.Schema.infer(X).with_roles(person="who")
    least = md.ModelGuided(boosted, target_agreement=0.9, schema=schema).fit(X)
    assert "who" not in least.generalization_.names
    assert least.held_out_.records % 4 == 0


def test_unseen_values_are_fed_as_the_artifact_feeds_them():
    """The search expects what `transform` does, so the target is not missed silently."""
    random = np.random.default_rng(0)
    answers = random.integers(0, 2, 300)
    X = pd.DataFrame({"code": random.integers(0, 300, 2400).astype(str), "n": random.integers(0, 9, 2400)})
    X.loc[2300:, "n"] = np.nan  # some parts have none missing

    def model(frame):
        known = answers[frame["code"].to_numpy().astype(int)]
        return known + 2 * (frame["n"].fillna(8).to_numpy() > 4)

    least = md.ModelGuided(model, target_agreement=0.9).fit(X)
    chosen = next(p for p in least.path_ if p.generalization == least.generalization_)
    assert chosen.agreement == pytest.approx(least.held_out_.agreement, abs=0.04)


def test_the_search_feeds_each_record_as_the_artifact_does(boosted):
    X = adult()[0][8000:10000].assign(born=pd.Timestamp("2000-01-01") + pd.to_timedelta(np.arange(2000) % 900, "D"))
    X.loc[X.index[::7], "education"] = None
    schema = md.Schema.infer(X)
    coder = Coder.fit(X[:1000], schema)
    view = ModelView.of(X, list(X.columns), None, None)
    predictions = np.arange(2000) % 2
    records = Records(
        Model(lambda F: np.zeros(len(F))),
        view,
        coder,
        Outcomes.of(predictions, "auto", None),
        as_frame(X),
        np.arange(2000),
    )
    random = np.random.default_rng(0)
    for _ in range(5):
        groupings = []
        for coding in coder.codings:
            own = np.sort(random.integers(0, 4, coding.n_codes))
            groupings.append(exactly(coding) if random.uniform() < 0.3 else group_codes(coding, own))
        g = md.Generalization(
            schema, [partition_of(c, grouping) for c, grouping in zip(coder.codings, groupings, strict=True)]
        )
        fed, transformed = records._feed(numbers_of(groupings, records)), g.transform(X, output="values")
        for name in X:
            ours, theirs = fed[name].reset_index(drop=True), transformed[name].reset_index(drop=True)
            assert ours.astype(str).tolist() == theirs.astype(str).tolist(), name


def test_one_person_alone_cannot_be_reported_on(boosted):
    X = adult()[0][8000:8100].assign(who=1)
    with pytest.raises(DataError, match="too few persons"):
        md.ModelGuided(boosted, schema=md.Schema.infer(X).with_roles(person="who")).fit(X)


def test_an_array_may_hold_a_column_of_person_ids():
    X = np.random.default_rng(0).normal(size=(800, 3))
    X[:, 2] = np.arange(800) // 2
    schema = md.Schema.infer(pd.DataFrame(X, columns=["x0", "x1", "x2"])).with_roles(person="x2")
    least = md.ModelGuided(lambda values: values[:, 0] > 0, schema=schema).fit(X)
    assert least.generalization_.names == ["x0", "x1"]


def test_a_category_of_many_values_is_grouped():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"town": random.integers(0, 800, 6000).astype(str), "age": random.integers(18, 90, 6000)})
    least = md.ModelGuided(lambda F: (F["town"].str.len() > 2) & (F["age"] > 50), target_agreement=0.95).fit(X)
    assert least.held_out_.agreement > 0.93
    assert least.generalization_["town"].n_buckets < 100


# Parts of the search


def grow_tree(X, predictions):
    coder = Coder.fit(X, md.Schema.infer(X))
    codes = coder.encode(X)
    outcomes = Outcomes.of(predictions, "auto", None)
    return coder, codes, outcomes, homogeneous_tree(coder, codes, outcomes.targets(), range(X.shape[1]), None, Stop())


def test_every_leaf_of_the_tree_holds_one_prediction(boosted):
    X = adult()[0][8000:12000]
    _, codes, outcomes, tree = grow_tree(X, boosted.predict(X))
    leaves = tree.apply(codes)
    mixed = [leaf for leaf in np.unique(leaves) if len(set(outcomes.original[leaves == leaf])) > 1]
    alike = [len(np.unique(codes[leaves == leaf], axis=0)) for leaf in mixed]
    assert all(count == 1 for count in alike)  # only records that no question distinguishes


def test_weakest_links_cost_what_their_trees_cost(boosted):
    X, others = adult()[0][8000:10000], adult()[0][10000:11000]
    predictions = boosted.predict(pd.concat([X, others]))
    coder, codes, _, tree = grow_tree(X, predictions[:2000])
    outcomes = Outcomes.of(predictions, "auto", None)
    losses = Losses(coder, np.full(7, 1 / 7), "ncp")
    nodes = Nodes(tree, losses)
    other_codes = coder.encode(others)
    rows, other_rows = np.arange(2000), np.arange(2000, 3000)
    way = weakest_links(
        nodes, *node_costs(nodes, outcomes, rows, tree.apply(codes), other_rows, tree.apply(other_codes))
    )
    assert way.tree(len(way.ends)).n_leaves == 1
    assert (np.diff(way.hidden) >= -1e-9).all()
    for step in (0, len(way.ends) // 2, len(way.ends)):
        cut = way.tree(step)
        leaves, other = cut.apply(codes), cut.apply(other_codes)
        usual = {leaf: np.bincount(outcomes.original[:2000][leaves == leaf]).argmax() for leaf in np.unique(leaves)}
        missed = sum(usual[leaf] != s for leaf, s in zip(other, outcomes.original[2000:], strict=True))
        assert way.costs[step] == pytest.approx(missed)


# Bad input


def test_a_model_that_fails_on_a_representative_is_quoted_with_the_columns():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"pay": random.choice(10**6, 2000, replace=False), "age": random.integers(20, 60, 2000)})
    known = set(X["pay"])

    def picky(frame):
        if not set(frame["pay"]) <= known:
            raise RuntimeError("unheard-of pay")
        return frame["pay"] + 1000 * frame["age"] > 520_000

    with pytest.raises(DataError, match=r"^The model failed on representative values of 'pay': .*unheard-of pay$"):
        md.ModelGuided(picky, target_agreement=0.9).fit(X)


def test_a_model_that_fails_on_the_records_is_quoted():
    def broken(frame):
        raise ValueError("column 'age' holds 'Ann Smith', 41.5")

    with pytest.raises(DataError, match=r"unchanged records: ValueError: column 'age' holds …, …$"):
        md.ModelGuided(broken).fit(adult()[0][:100])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda X: np.zeros(3), "gave 3 predictions for"),
        (lambda X: 7, "no list of predictions"),
        (lambda X: np.ones(len(X)), "the same for all"),
        (lambda X: np.where(X["age"] > 40, np.nan, 1.0), "predicts NaN, infinity or None for"),
        (lambda X: np.where(X["age"] > 40, None, "yes"), "predicts NaN, infinity or None for"),
        (
            lambda X: np.random.default_rng().integers(0, 2, len(X)),
            "predictions change if the same records are rebuilt",
        ),
    ],
)
def test_a_model_with_useless_predictions_is_refused(model, message):
    with pytest.raises(DataError, match=message):
        md.ModelGuided(model).fit(adult()[0][:200])


def test_an_unreachable_target_names_the_best():
    X = adult()[0][:4000]
    schema = md.Schema.infer(X).replace("hours-per-week", forbidden=True)

    def model(frame):
        return frame["hours-per-week"] > 40

    with pytest.raises(DataError, match=r"keeps 98.0% of the predictions; the best keeps [67]\d\.\d%"):
        md.ModelGuided(model, schema=schema).fit(X)
    with pytest.warns(
        UserWarning, match="One prediction for everyone agrees with the model on .* needs no data; ask for more"
    ):
        least = md.ModelGuided(model, target_agreement=0.6, schema=schema).fit(X)
    assert least.generalization_["hours-per-week"].action == "dropped"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"minimize": ["salary"]}, "'minimize' parameter names 'salary'"),
        ({"minimize": "age"}, "'minimize' parameter must be a list"),
        ({"minimize": []}, "names no attribute"),
        ({"schema": {"age": "number"}}, "'schema' parameter must be a Schema"),
        ({"scaler": StandardScaler()}, "The scaler failed .ValueError.; it must be fitted"),
        ({"target_agreement": 1.5}, "'target_agreement' parameter of ModelGuided must be a number from 0 to 1"),
        ({"search": "worst"}, "'search' parameter of ModelGuided must be 'best' or 'paper'"),
        ({"representatives": "mean"}, "'representatives' parameter"),
        ({"generalizer": "forest"}, "'generalizer' parameter"),
        ({"loss": "dm"}, "'loss' parameter"),
        ({"agreement": "kappa"}, "'agreement' parameter"),
        ({"agreement": -1}, "'agreement' parameter"),
        ({"max_depth": 0}, "'max_depth' parameter"),
        ({"loss_weights": {"salary": 1}}, "'loss_weights' parameter names 'salary'"),
        ({"feature_slices": [["age", "salary"]]}, "'salary' of feature_slices is not in the data"),
        ({"feature_slices": [["age", "hours-per-week"]]}, "not one-hot"),
        ({"feature_slices": [["age"]]}, "at least two columns"),
        ({"feature_slices": 3}, "must be a dict or a list"),
        ({"scaler": 3}, "'scaler' parameter"),
        ({"random_state": "x"}, "cannot be used to seed"),
    ],
)
def test_bad_parameters_are_one_sentence(parameters, message):
    with pytest.raises((ParameterError, DataError, ValueError), match=message):
        md.ModelGuided(lambda X: X["age"] > 40, **parameters).fit(adult()[0][:300])


@pytest.mark.parametrize(
    ("model", "message"),
    [(3, "fitted estimator or a function"), (LogisticRegression, "give a fitted model of it")],
)
def test_an_object_that_is_not_a_model_is_refused(model, message):
    with pytest.raises(ParameterError, match=message):
        md.ModelGuided(model).fit(adult()[0][:300])


def test_an_unfitted_model_is_refused():
    with pytest.raises(DataError, match="NotFittedError"):
        md.ModelGuided(LogisticRegression()).fit(adult()[0][["age", "hours-per-week"]][:300])


def test_labels_instead_of_records_are_refused_without_showing_them():
    with pytest.raises(DataError, match="must be a table") as info:
        md.ModelGuided(lambda X: X[:, 0] > 0).fit(np.array([41.5, 12.25, 99.0]))
    assert "41" not in str(info.value)


def test_nothing_warns_on_clean_data(boosted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        md.ModelGuided(boosted, target_agreement=0.9).fit(adult()[0][8000:9000])
