"""Learning from an anatomized release: its training data and what pruning keeps. Nothing else is used."""

import json
import math
from collections import Counter, defaultdict
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars, tables
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import modicum as md
from modicum.anatomy import anatomy_classifier as classifier
from modicum.anatomy import paper_bound, pruning, training_data
from modicum.anatomy.join import Join
from modicum.anatomy.pruning import Norms
from modicum.anatomy.training import make_generator
from modicum.errors import DataError, ParameterError, PrivacyWarning

# Releases


def make_people(n=1_200, seed=0):
    """Return people whose class depends on age, job and, most of all, the sensitive grade."""
    random = np.random.default_rng(seed)
    age, job = random.integers(20, 80, n), random.choice(["nurse", "clerk", "smith"], n)
    grade = random.integers(0, 6, n)
    score = (age - 50) / 20 + (job == "smith") + (grade - 2.5) / 1.5 + random.logistic(scale=0.4, size=n)
    X = pd.DataFrame({"age": age.astype(float), "job": job, "grade": np.array(list("ABCDEF"), dtype=object)[grade]})
    return X, pd.Series(np.where(score > 0, "good", "bad"), name="label")


def schema_of(X):
    return md.Schema.infer(X).replace("grade", kind="ordered", domain=list("ABCDEF"))


@pytest.fixture(scope="module")
def data():
    return make_people()


@pytest.fixture(scope="module")
def release(data):
    X, y = data
    return md.Anatomy(l=3, sensitive="grade", schema=schema_of(X), random_state=0).fit(X, y).release_


@pytest.fixture(scope="module")
def two():
    """A release with two sensitive attributes."""
    X, y = make_people(200)
    X["pay"] = np.random.default_rng(1).choice([10.0, 20.0, 30.0, 70.0], len(X))
    with pytest.warns(PrivacyWarning, match="'pay' is a number"):
        return md.Anatomy(l=2, sensitive=["grade", "pay"], random_state=0).fit(X, y).release_


@st.composite
def releases(draw):
    """A random identifying table with all kinds of columns in random groups, and one sensitive attribute."""
    X, y, schema = draw(tables(min_rows=8, max_rows=24))
    n, seed = len(X), draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["category", "ordered", "number"]))
    words = np.array(list("pqrstuv"), dtype=object)
    values = random.choice(words[: draw(st.integers(2, 7))], n) if kind != "number" else random.integers(0, 9, n) / 2
    own = {"domain": tuple(words[::-1])} if kind == "ordered" else {}
    groups = random.permutation(np.arange(n) // draw(st.integers(2, 4)))
    identifying = X.assign(label=y.to_numpy(), GID=groups)
    sensitive = pd.DataFrame({"GID": groups, "secret": values}).sort_values(["GID", "secret"], ignore_index=True)
    attributes = [*schema.attributes, md.Attribute(name="secret", kind=kind, **own)]
    attributes.append(md.Attribute(name="label", kind="category", roles=["label"]))
    return md.AnatomyRelease.from_tables(identifying, sensitive, schema=md.Schema(attributes=tuple(attributes)))


# The definitions in plain Python


def is_missing(value):
    return value is None or value is pd.NaT or value != value


def coded_by_hand(values, attribute):
    """Code one column of the joined data as in Appendix B."""
    if attribute.kind in ("number", "date"):
        seconds = [v.timestamp() if isinstance(v, pd.Timestamp) and not is_missing(v) else v for v in values]
        known = [float(v) for v in seconds if not is_missing(v)]
        mean = math.fsum(known) / len(known) if known else 0.0
        return [0.0 if is_missing(v) else float(v) - mean for v in seconds]
    words = [None if is_missing(v) else md.table.values.canonical(v) for v in values]
    if attribute.kind == "ordered":
        domain = [str(v) for v in attribute.domain]
        counts = Counter(w for w in words if w is not None)
        mode = max(domain, key=lambda w: (counts[w], -domain.index(w)))
        return [0.0 if w is None else float(domain.index(w) - domain.index(mode)) for w in words]
    counts = Counter(words)
    mode = sorted(counts, key=lambda w: (-counts[w], w is None, w or ""))[0]
    return [float(w != mode) for w in words]


def joined_by_hand(release):
    """Return every row of the join as (record, values of the sensitive attributes), and its squared norm."""
    people = release.identifying.to_dict("records")
    options = {name: defaultdict(list) for name in release.sensitive_tables}
    for name, table in release.sensitive_tables.items():
        for row in table.to_dict("records"):
            options[name][row[release.group_column(name)]].append(row[name])
    rows = []
    for i, person in enumerate(people):
        own = [options[name][person[release.group_column(name)]] for name in options]
        rows += [(i, values) for values in product(*own)]
    columns = [[people[i][name] for i, _ in rows] for name in release.identifying_names]
    columns += [[values[a] for _, values in rows] for a in range(len(release.sensitive_tables))]
    names = [*release.identifying_names, *release.sensitive_tables]
    coded = [coded_by_hand(column, release.schema[name]) for column, name in zip(columns, names, strict=True)]
    return rows, [math.fsum(value * value for value in row) for row in zip(*coded, strict=True)]


def check_choices(release, rows, norms, chosen, group_of):
    """Check that each chosen row is among the nearest to the middle of its record or group."""
    middle, slack = (min(norms) + max(norms)) / 2, 1e-9 * max(norms)
    best, own = {}, {}
    for (i, values), norm in zip(rows, norms, strict=True):
        best[group_of(i)] = min(best.get(group_of(i), math.inf), abs(norm - middle))
        own[i, values] = norm
    assert sorted({group_of(i) for i, _ in chosen}) == sorted(best)
    for i, values in chosen:
        assert abs(own[i, values] - middle) <= best[group_of(i)] + slack


@profile(max_examples=profile().max_examples // 4)  # the join by hand takes long
@given(releases())
def test_pruning_keeps_each_records_candidate_nearest_to_the_middle_radius(release):
    rows, norms = joined_by_hand(release)
    join = Join.of(release)
    radii = Norms.of(join).radii(join)
    assert radii.smallest == pytest.approx(min(norms), rel=1e-9, abs=1e-9 * max(norms))
    assert radii.largest == pytest.approx(max(norms), rel=1e-9)
    X, y = training_data(release, random_state=0)
    assert len(X) == release.rows
    pd.testing.assert_frame_equal(X[release.identifying_names], release.identifying[release.identifying_names])
    assert y.tolist() == release.identifying["label"].tolist()
    check_choices(release, rows, norms, [(i, (v,)) for i, v in enumerate(X["secret"])], lambda i: i)


@profile(max_examples=profile().max_examples // 4)  # the join by hand takes long
@given(releases())
def test_the_literal_reading_keeps_the_nearest_row_of_each_group(release):
    rows, norms = joined_by_hand(release)
    groups = release.identifying["GID"].tolist()
    named = release.identifying.assign(label=np.arange(release.rows))  # the record's number
    X, y = training_data(
        md.AnatomyRelease.from_tables(named, release.sensitive, schema=release.schema),
        prune_per="group",
        random_state=0,
    )
    assert len(X) == release.n_groups
    check_choices(
        release, rows, norms, list(zip(y.tolist(), [(v,) for v in X["secret"]], strict=True)), groups.__getitem__
    )


def released(secret, index=None, **columns):
    """Return a release whose groups are copies of one group with `secret` and the columns."""
    many, l = 400, len(secret)
    gid = np.repeat(np.arange(many), l)
    people = pd.DataFrame({name: np.tile(values, many) for name, values in columns.items()})
    people = people.assign(label=np.arange(many * l), GID=gid)
    sensitive = pd.DataFrame({"GID": gid, "secret": np.tile(secret, many)})
    if index is not None:
        people, sensitive = people.set_axis(index(many * l)), sensitive.set_axis(index(many * l))
    return md.AnatomyRelease.from_tables(people, sensitive, label="label")


@pytest.mark.parametrize("prune_per", ["record", "group"])
def test_the_middle_radius_lies_between_the_norms_even_if_all_are_large(prune_per):
    release = released([-4.0, -1.0, 5.0, 0.0], age=[-10.0, 10.0, -10.0, 10.0])
    # Norms are 100 + 16, 1, 25 or 0: the middle is 112.5 and -4 the nearest; half of the largest would have 0.
    X, _ = training_data(release, prune_per=prune_per, random_state=0)
    assert set(X["secret"]) == {-4.0}


@pytest.mark.parametrize("space", ["input", "kernel"])
@pytest.mark.parametrize("prune_per", ["record", "group"])
def test_candidates_that_differ_only_by_rounding_are_drawn_with_equal_chances(prune_per, space):
    drawn = Counter()
    for age in (0.7, 0.3, 1.1):  # every norm is age² + 0.01 or 0.04, all as far from the middle
        release = released([-0.1, -0.1, 0.2] * 2, age=[-age, age] * 3)
        drawn.update(training_data(release, prune_per=prune_per, space=space, random_state=0)[0]["secret"])
    assert set(drawn) == {-0.1, 0.2}
    assert chisquare([drawn[-0.1] / 2, drawn[-0.1] / 2, drawn[0.2]]).pvalue > 1e-3


def test_an_index_of_the_tables_does_not_matter():
    columns = {"secret": [1.0, 2.0, 4.0], "age": [20.0, 30.0, 70.0]}
    for kind in ("pruned", "joined", "identifying"):
        plain, y = training_data(released(**columns), kind, random_state=0)
        own, y2 = training_data(released(**columns, index=lambda n: np.arange(n)[::-1] + 7), kind, random_state=0)
        pd.testing.assert_frame_equal(own, plain)
        pd.testing.assert_series_equal(y2, y)
        assert own.index.equals(pd.RangeIndex(len(own)))


def test_with_several_sensitive_attributes_every_combination_is_a_candidate(two):
    rows, norms = joined_by_hand(two)
    X, _ = training_data(two, random_state=0)
    chosen = [(i, values) for i, values in enumerate(zip(X["grade"], X["pay"], strict=True))]
    check_choices(two, rows, norms, chosen, lambda i: i)
    joined = training_data(two, "joined")[0]
    assert Counter(zip(joined["grade"], joined["pay"], strict=True)) == Counter(values for _, values in rows)
    assert len(joined) == len(rows)
    with pytest.raises(DataError, match="prune_per='record'"):
        training_data(two, prune_per="group")


def test_ties_are_drawn_with_equal_chances_and_by_the_seed():
    gid = np.repeat(np.arange(2_000), 3)
    secret = np.tile(np.array(["a", "b", "c", "b", "d", "c"], dtype=object), 1_000)  # b and c are as frequent
    people = pd.DataFrame({"age": np.random.default_rng(0).normal(size=6_000), "label": gid % 2, "GID": gid})
    tables = people, pd.DataFrame({"GID": gid, "secret": secret})
    release = md.AnatomyRelease.from_tables(*tables, label="label")
    X, _ = training_data(release, random_state=0)
    first = X["secret"][gid % 2 == 0]  # a, b (the mode) and c: a and c tie if far from 0 is right
    far = first[first != "b"].value_counts()
    assert set(far.index) == {"a", "c"}
    assert far.sum() > 300
    assert chisquare(far).pvalue > 1e-3
    assert X.equals(training_data(release, random_state=0)[0])
    assert not X.equals(training_data(release, random_state=1)[0])


def test_ties_among_records_are_drawn_too_if_a_group_keeps_one_row():
    gid, who = np.repeat(np.arange(3_000), 2), np.tile([0, 1], 3_000)
    people = pd.DataFrame({"job": np.where(who, "x", "y"), "town": np.where(who, "v", "w"), "GID": gid, "label": who})
    sensitive = pd.DataFrame({"GID": gid, "secret": np.tile(np.array(["a", "b"], dtype=object), 3_000)})
    release = md.AnatomyRelease.from_tables(people, sensitive, label="label")
    # x, v and a are the modes, so that norms are 0 or 2 and 0 or 1: (x, v, b) and (y, w, a) are both ½ from the middle.
    X, y = training_data(release, prune_per="group", random_state=0)
    assert set(zip(X["job"], X["secret"], strict=True)) == {("x", "b"), ("y", "a")}
    assert chisquare(y.value_counts()).pvalue > 1e-3
    assert not y.equals(training_data(release, prune_per="group", random_state=1)[1])


def test_a_very_large_group_is_pruned_like_any_other():
    n, random = 60_000, np.random.default_rng(0)  # 3.6 · 10⁹ rows of the join
    age, values = random.normal(size=n), random.integers(0, 50, n) / 7
    people = pd.DataFrame({"age": age, "label": np.arange(n), "GID": 1})
    release = md.AnatomyRelease.from_tables(people, pd.DataFrame({"GID": 1, "secret": values}), label="label")
    own, distinct = (age - age.mean()) ** 2, np.unique(values)
    norms = own[:, None] + (distinct - values.mean()) ** 2
    apart = np.abs(norms - (norms.min() + norms.max()) / 2)
    best, slack = apart.min(axis=1), 1e-9 * norms.max()
    X, _ = training_data(release, random_state=0)
    found = apart[np.arange(n), np.searchsorted(distinct, X["secret"])]
    assert (found <= best + slack).all()
    X, record = training_data(release, prune_per="group", random_state=0)
    assert apart[record[0], np.searchsorted(distinct, X["secret"][0])] <= best.min() + slack


def wide(many, n=20, l=5):
    """Return a release with many sensitive attributes, each with all its values in every group."""
    gid, names = np.arange(n) // l, [f"s{j}" for j in range(many)]
    people = pd.DataFrame({"age": np.arange(n), "label": np.arange(n) % 2} | {f"GID {name}": gid for name in names})
    values = np.array(list("abcde"), dtype=object)[np.arange(n) % l]
    attributes = [md.Attribute(name=name, kind="category", roles=["sensitive"]) for name in names]
    attributes += [md.Attribute(name="age", kind="number")]
    attributes += [md.Attribute(name="label", kind="category", roles=["label"])]
    tables = {name: pd.DataFrame({f"GID {name}": gid, name: values}) for name in names}
    return md.AnatomyRelease(people, tables, md.Schema(attributes=tuple(attributes)))


@pytest.mark.parametrize(("many", "combinations"), [(8, "390,625"), (28, "37,252,902,984,619,1")])
def test_too_many_combinations_of_candidates_are_refused(many, combinations):
    release = wide(many)
    for kind, space in (("pruned", "input"), ("pruned", "kernel"), ("joined", "input")):
        with pytest.raises(DataError, match=rf"^A record has {combinations}.*{many} sensitive attributes"):
            training_data(release, kind, space=space)
    with pytest.raises(DataError, match="combinations"):
        paper_bound(release)
    assert len(training_data(release, "identifying")[0]) == release.rows
    assert len(training_data(wide(3), random_state=0)[0]) == release.rows


def test_a_join_of_too_many_rows_is_refused_and_says_how_many():
    gid = np.zeros(20_000, dtype=int)
    people = pd.DataFrame({"age": np.arange(20_000.0), "label": np.arange(20_000) % 2, "GID": gid})
    sensitive = pd.DataFrame({"GID": gid, "secret": np.arange(20_000) % 7})
    release = md.AnatomyRelease.from_tables(people, sensitive, label="label")
    for settings in ({"kind": "joined"}, {"space": "kernel"}):
        with pytest.raises(DataError, match="has 400,000,000 rows, more than 100,000,000"):
            training_data(release, **settings)
    with pytest.raises(DataError, match="rows, more than 2,147,483,648"):
        training_data(wide(7, n=30_000))


# What a model is trained on


def test_the_join_equals_a_merge_and_each_person_counts_once(release):
    X, y, weights = training_data(release, "joined", return_weights=True)
    merged = release.identifying.merge(release.sensitive, on="GID")[["age", "job", "grade", "label"]]
    order = ["age", "job", "grade", "label"]
    ours = X.assign(label=y)[order].sort_values(order, ignore_index=True)
    pd.testing.assert_frame_equal(ours, merged[order].sort_values(order, ignore_index=True))
    numbered = release.identifying.assign(label=np.arange(release.rows))
    again = md.AnatomyRelease.from_tables(numbered, release.sensitive, schema=release.schema)
    _, record, weights = training_data(again, "joined", return_weights=True)
    assert np.bincount(record, weights) == pytest.approx(np.ones(release.rows))


def test_identifying_data_has_no_sensitive_column_and_pruned_data_only_values_of_the_group(release):
    X, y = training_data(release, "identifying")
    assert list(X.columns) == ["age", "job"]
    assert y.tolist() == release.identifying["label"].tolist()
    X, _ = training_data(release, random_state=0)
    own = release.sensitive.groupby("GID")["grade"].agg(set)
    assert all(v in own[g] for v, g in zip(X["grade"], release.identifying["GID"], strict=True))


def test_polars_tables_give_polars_frames_with_the_same_records(release):
    there = md.AnatomyRelease.from_tables(
        as_polars(release.identifying), as_polars(release.sensitive), schema=release.schema
    )
    for kind in ("identifying", "joined", "pruned"):
        X, y = training_data(release, kind, random_state=0)
        X2, y2 = training_data(there, kind, random_state=0)
        assert X2.to_dict(as_series=False) == X.to_dict("list")
        assert y2.to_list() == y.tolist()


def test_missing_values_count_as_the_mean_or_as_their_own_value():
    people = pd.DataFrame(
        {
            "age": [10.0, 30.0, np.nan, 20.0],
            "job": [None, None, None, "smith"],
            "GID": [1, 1, 2, 2],
            "label": [0, 1] * 2,
        }
    )
    sensitive = pd.DataFrame({"GID": [1, 1, 2, 2], "secret": [1, 2, 1, 2]})
    join = Join.of(md.AnatomyRelease.from_tables(people, sensitive, label="label"))
    assert Norms.of(join).own.tolist() == [100.0, 100.0, 0.0, 1.0]
    tied = people.assign(age=0.0, job=[None, "smith", "smith", None])  # in a tie, a value is the mode, not missing
    join = Join.of(md.AnatomyRelease.from_tables(tied, sensitive, label="label"))
    assert Norms.of(join).own.tolist() == [1.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("prune_per", ["record", "group"])
@pytest.mark.parametrize("space", ["input", "kernel"])
@pytest.mark.parametrize("name", ["big", "secret"])
def test_numbers_whose_squares_would_overflow_are_refused_by_name(prune_per, space, name):
    random = np.random.default_rng(0)
    gid, wide = np.repeat(np.arange(30), 2), random.choice([1e200, -1e200], 60)
    values = {"big": random.normal(size=60), "secret": random.normal(size=60)} | {name: wide}
    people = pd.DataFrame({"big": values["big"], "label": gid % 2, "GID": gid})
    tables = people, pd.DataFrame({"GID": gid, "secret": values["secret"]})
    release = md.AnatomyRelease.from_tables(*tables, label="label")
    for use in (
        lambda: training_data(release, prune_per=prune_per, space=space),
        lambda: paper_bound(release, prune_per=prune_per),
    ):
        with pytest.raises(DataError, match=f"column '{name}' has numbers beyond"):
            use()
    with pytest.raises(DataError, match=f"column '{name}' has numbers beyond"):
        md.AnatomyClassifier().fit_release(release)
    largest = people.assign(big=random.choice([1e70, -1e70], 60)), tables[1].assign(secret=random.normal(size=60))
    found = paper_bound(md.AnatomyRelease.from_tables(*largest, label="label"), prune_per=prune_per)
    assert math.isfinite(found.bound)


# The kernel space


def kernel_rows(join, gamma):
    """Return the join as points, and the exact squared norms around the mean in the kernel space."""
    points = pruning.NystroemPoints.of(join)
    records, places = join.rows(np.arange(len(join.first)))
    rows = np.hstack([points.records(records), points.of_value[0][points.values(0, places[:, 0])]])
    apart = ((rows[:, None, :] - rows[None]) ** 2).sum(axis=2)
    kernel = np.exp(-gamma * apart)
    return points, 1 - 2 * kernel.mean(axis=1) + kernel.mean()


def small(n=90):
    X, y = make_people(n)
    return md.Anatomy(l=2, sensitive="grade", random_state=0).fit(X, y).release_


def test_norms_in_the_kernel_space_are_exact_around_the_mean_and_one_without_it():
    join = Join.of(small())
    points, exact = kernel_rows(join, 0.02)
    found = {
        centred: pruning.KernelSpace(points, make_generator(0), gamma=0.02, centred=centred).norms(np.arange(90))
        for centred in (True, False)
    }
    assert np.abs(found[True] - exact).max() < 0.01
    assert np.ptp(exact) > 0.05
    assert np.ptp(found[False]) < 0.01
    assert found[False].max() == pytest.approx(1)


def test_batches_change_nothing(monkeypatch):
    join = Join.of(small())
    points = pruning.NystroemPoints.of(join)
    whole = pruning.KernelSpace(points, make_generator(0)).norms(np.arange(90))
    monkeypatch.setattr(pruning, "_BATCH", 7)
    assert pruning.KernelSpace(points, make_generator(0)).norms(np.arange(90)) == pytest.approx(whole, abs=1e-9)


@pytest.mark.parametrize("prune_per", ["record", "group"])
def test_pruning_in_the_kernel_space_keeps_the_rows_nearest_to_its_middle(prune_per):
    release = small()
    join = Join.of(release)
    norms = pruning.KernelSpace(pruning.NystroemPoints.of(join), make_generator(0)).norms(np.arange(90))
    records, places = join.rows(np.arange(90))
    values = join.sensitive_values(0, places[:, 0]).to_numpy()
    rows = [(int(i), (v,)) for i, v in zip(records, values, strict=True)]
    numbered = release.identifying.assign(label=np.arange(90))
    again = md.AnatomyRelease.from_tables(numbered, release.sensitive, schema=release.schema)
    X, y = training_data(again, prune_per=prune_per, space="kernel", random_state=0)
    chosen = list(zip(y.tolist(), [(v,) for v in X["grade"]], strict=True))
    groups = release.identifying["GID"].tolist()
    check_choices(release, rows, norms.tolist(), chosen, (lambda i: i) if prune_per == "record" else groups.__getitem__)


def test_the_kernel_space_takes_several_sensitive_attributes(two):
    X, _ = training_data(two, space="kernel", random_state=0)
    assert len(X) == two.rows
    own = two.sensitive_tables["pay"].groupby("GID pay")["pay"].agg(set)
    assert all(v in own[g] for v, g in zip(X["pay"], two.identifying["GID pay"], strict=True))


# The classifier


def model(**settings):
    return md.AnatomyClassifier(**{"l": 3, "sensitive": "grade", "random_state": 0} | settings)


def test_the_model_is_a_function_of_the_release_alone(data, release, tmp_path, monkeypatch):
    X, y = data
    own = model(schema=schema_of(X)).fit(X, y)
    release.save(tmp_path / "release")
    for source in (own.release_, md.AnatomyRelease.load(tmp_path / "release"), tmp_path / "release"):
        again = model().fit_release(source)
        assert np.array_equal(again.estimator_.coef_, own.estimator_.coef_)
        assert again.predict(X).tolist() == own.predict(X).tolist()
    monkeypatch.setattr(classifier.Anatomy, "fit", lambda self, X, y: SimpleNamespace(release_=release))
    shuffled = X.sample(frac=1, random_state=3, ignore_index=True)
    assert np.array_equal(model().fit(shuffled, y[::-1]).estimator_.coef_, own.estimator_.coef_)


def test_cross_validation_beats_the_majority_and_exact_data_beats_the_release(data):
    X, y = data
    settings = {"cv": 3, "error_score": "raise"}
    pruned = cross_val_score(model(schema=schema_of(X)), X, y, **settings).mean()
    joined = cross_val_score(model(schema=schema_of(X), training="joined"), X, y, **settings).mean()
    raw = make_column_transformer((OneHotEncoder(), ["job", "grade"]), (StandardScaler(), ["age"]))
    exact = cross_val_score(make_pipeline(raw, LinearSVC(dual=False)), X, y, **settings).mean()
    majority = y.value_counts(normalize=True).max()
    assert majority + 0.1 < min(pruned, joined) <= max(pruned, joined) < exact


def test_the_default_is_a_linear_svm_on_scaled_columns_with_ordered_categories_by_place(data, release):
    own = model().fit_release(release)
    X, y = training_data(release, random_state=0)
    order = release.schema["grade"].domain
    columns = pd.get_dummies(X.assign(grade=X["grade"].map(order.index)), columns=["job"]).astype(float)
    for name in ("age", "grade"):
        columns[name] = (columns[name] - columns[name].mean()) / columns[name].std(ddof=0)
    plain = LinearSVC(dual=False).fit(columns.to_numpy(), y)
    assert isinstance(own.estimator_, LinearSVC)
    assert own.decision_function(X) == pytest.approx(plain.decision_function(columns.to_numpy()), abs=1e-2)
    assert own.predict(X).tolist() == plain.predict(columns.to_numpy()).tolist()
    assert not hasattr(own, "predict_proba")
    assert not hasattr(model(), "predict_proba")


def test_rows_of_the_join_have_the_weight_of_one_person(release):
    own = model(estimator=LogisticRegression(), training="joined").fit_release(release)
    X, y, weights = training_data(release, "joined", return_weights=True)
    columns = own._design.encode(md.table.frames.as_frame(X))
    plain = LogisticRegression().fit(columns, y, sample_weight=weights)
    assert own.estimator_.coef_ == pytest.approx(plain.coef_)
    assert own.estimator_.coef_ != pytest.approx(LogisticRegression().fit(columns, y).coef_)


@pytest.mark.parametrize(
    ("estimator", "training"),
    [
        (RandomForestClassifier(10), "pruned"),
        (HistGradientBoostingClassifier(max_iter=5), "joined"),
        (LogisticRegression(), "identifying"),
        pytest.param(RandomForestClassifier(10), "joined", marks=pytest.mark.slow),
        pytest.param(RandomForestClassifier(10), "identifying", marks=pytest.mark.slow),
        pytest.param(HistGradientBoostingClassifier(max_iter=5), "pruned", marks=pytest.mark.slow),
        pytest.param(HistGradientBoostingClassifier(max_iter=5), "identifying", marks=pytest.mark.slow),
    ],
)
def test_any_classifier_can_learn_from_a_release(data, estimator, training):
    X, y = data
    own = model(estimator=estimator, training=training).fit(X, y)
    shares = own.predict_proba(X)
    assert shares.shape == (len(X), 2)
    assert (own.classes_[shares.argmax(axis=1)] == own.predict(X)).mean() > 0.99
    assert own.score(X, y) > y.value_counts(normalize=True).max()
    assert np.array_equal(shares, model(estimator=estimator, training=training).fit(X, y).predict_proba(X))
    assert estimator.random_state is None
    assert own.estimator_.random_state not in (None, 0)  # 0 was the seed of the groups
    assert own.estimator_.random_state != model(estimator=estimator, random_state=1).fit(X, y).estimator_.random_state


def test_a_random_state_of_the_estimator_itself_is_kept(data):
    own = model(estimator=RandomForestClassifier(5, random_state=7)).fit(*data)
    assert own.estimator_.random_state == 7


def test_a_pipeline_gets_records_of_the_original_domain(data):
    X, y = data
    prepare = make_column_transformer((OneHotEncoder(), ["job", "grade"]), (StandardScaler(), ["age"]))
    own = model(estimator=make_pipeline(prepare, RandomForestClassifier(10))).fit(X, y)
    assert own.estimator_[0].feature_names_in_.tolist() == ["age", "job", "grade"]
    assert own.estimator_[-1].random_state not in (None, 0)
    assert own.score(X[X.columns[::-1]], y) > 0.7
    search = GridSearchCV(own.estimator, {"randomforestclassifier__max_depth": [3, 5]}, cv=2)
    around = model(estimator=search).fit(X, y)
    assert around.estimator_.best_estimator_[0].feature_names_in_.tolist() == ["age", "job", "grade"]
    assert around.score(X[X.columns[::-1]], y) > 0.7


def test_no_records_have_no_predictions(data):
    X, y = data
    own = model(estimator=LogisticRegression()).fit(X, y)
    for empty in (X[:0], as_polars(X[:0])):
        assert own.predict(empty).shape == own.decision_function(empty).shape == (0,)
        assert own.predict(empty).dtype == own.classes_.dtype
        assert own.predict_proba(empty).shape == (0, 2)
    three = model().fit(X, X["age"].rename("label") % 3)
    assert three.decision_function(X[:0]).shape == three.decision_function(X)[:0].shape == (0, 3)


@pytest.mark.parametrize(
    "use", [md.AnatomyClassifier(l=3, sensitive="grade"), md.PrismClassifier(sensitive="grade", max_predictors=1)]
)
def test_errors_about_bad_tables_do_not_show_their_content(data, use):
    X, y = data
    own = clone(use).fit(X, y)
    record = X.to_numpy()[0]
    for table in (record, record.tolist(), None, {"age": 71.5}, "nurse", [[71.5, "nurse"], [71.5]], [[[71.5]]]):
        for method in (own.predict, lambda table: clone(use).fit(table, y)):
            with pytest.raises(ValueError, match=r"table \(2D\)|same length") as error:
                method(table)
            assert not any(str(value) in str(error.value) for value in [*record, 71.5, "nurse"] if len(str(value)) > 1)


def test_a_model_without_the_sensitive_attribute_predicts_without_it(data):
    X, y = data
    own = model(training="identifying").fit(X, y)
    assert own.needed_columns_ == ["age", "job"]
    assert own.predict(X[["age", "job"]]).tolist() == own.predict(X).tolist()
    with pytest.raises(DataError, match="column 'grade' is not in the data"):
        model().fit(X, y).predict(X[["age", "job"]])


def test_pandas_polars_and_arrays_get_the_same_predictions(data):
    X, y = data
    own = model().fit(X, y)
    assert own.predict(as_polars(X)).tolist() == own.predict(X).tolist()
    other = model().fit(as_polars(X), as_polars(y.to_frame())["label"])
    assert other.predict(X).tolist() == own.predict(X).tolist()
    array = model(sensitive="x2").fit(X.to_numpy(), y.to_numpy())
    assert array.predict(X.to_numpy()).tolist() == own.predict(X).tolist()


@pytest.mark.parametrize("labels", [("a", "b"), (False, True), (3, 7), (0.0, 1.0), ("a", "b", "c")])
def test_labels_keep_their_type(data, labels):
    X, y = data
    codes = (y == "good").astype(int) + (X["age"] > 70) * (len(labels) == 3)
    given = np.array(labels)[codes]
    own = model().fit(X, given)
    assert own.classes_.tolist() == list(labels)
    assert own.classes_.dtype == given.dtype == own.predict(X).dtype
    assert own.score(X, given) > 0.6


def test_suppressed_records_are_not_learned_from():
    X, y = make_people(600)
    X.loc[:350, "grade"] = "A"
    with pytest.raises(DataError, match="largest possible l"):
        model().fit(X, y)
    own = model(max_suppressed=1.0).fit(X, y)
    assert own.release_.suppressed > 0
    assert own.release_.rows + own.release_.suppressed == len(X)


def test_two_sensitive_attributes_can_be_learned_from(two):
    own = md.AnatomyClassifier(random_state=0).fit_release(two)
    assert set(own.needed_columns_) == {"age", "job", "grade", "pay"}
    assert own.n_features_in_ == 4


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"training": "original"}, "'training' parameter of AnatomyClassifier must be 'pruned', 'joined' or"),
        ({"prune_per": "all"}, "'prune_per' parameter"),
        ({"space": "rbf"}, "'space' parameter"),
        ({"random_state": -1}, "'random_state' parameter"),
        ({"estimator": LogisticRegression}, r"not its class: LogisticRegression\(\) instead of LogisticRegression\."),
        ({"estimator": "svm"}, "'estimator' parameter of AnatomyClassifier must be a scikit-learn classifier"),
        ({"l": 1}, "'l' parameter"),
        ({"grouping": "none"}, "'grouping' parameter"),
        ({"sensitive": "salary"}, "'salary' is not in the data"),
    ],
)
def test_a_bad_parameter_is_named(data, settings, sentence):
    with pytest.raises((ParameterError, DataError), match=sentence):
        model(**settings).fit(*data)


def test_a_release_without_a_class_or_with_one_class_cannot_be_learned_from(data, release):
    X, _ = data
    without = md.Anatomy(l=3, sensitive="grade", random_state=0).fit(X).release_
    with pytest.raises(ParameterError, match="no class to learn"):
        model().fit_release(without)
    assert training_data(without, random_state=0)[1] is None
    with pytest.raises(DataError, match="'label' is the same for all"):
        model().fit(X, pd.Series(["good"] * len(X), name="label"))
    for fractions in (X["age"] + 0.5, (X["age"] > 50) / 2):
        with pytest.raises(DataError, match="Unknown label type: the class 'label' contains numbers with fractions"):
            model().fit(X, fractions.rename("label"))
    with pytest.raises(ParameterError, match=r"must be an AnatomyRelease or a folder\. Got DataFrame"):
        model().fit_release(X)
    with pytest.raises(DataError, match="requires y to be passed"):
        model().fit(X, None)


def test_training_data_names_a_bad_parameter(data, release):
    for settings in ({"kind": "original"}, {"prune_per": 3}, {"space": None}, {"random_state": 0.5}):
        with pytest.raises(ParameterError, match=f"'{next(iter(settings))}' parameter of training_data must be"):
            training_data(release, **settings)
    with pytest.raises(ParameterError, match=r"must be an AnatomyRelease\. Got DataFrame"):
        training_data(data[0])


@pytest.mark.slow
def test_the_pruned_svm_on_adult_is_within_two_points_of_exact_data():
    adult = md.datasets.load_adult()
    whole = adult.X.notna().all(axis=1)
    X, y = adult.X[whole], adult.y[whole]
    prepare = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), X.select_dtypes(exclude="number").columns.tolist()),
        (StandardScaler(), X.select_dtypes("number").columns.tolist()),
    )
    exact = cross_val_score(make_pipeline(prepare, LinearSVC(dual=False)), X, y, cv=3).mean()
    for l in (2, 3):
        own = model(l=l, sensitive="education", schema=adult.schema)
        assert exact - cross_val_score(own, X, y, cv=3, error_score="raise").mean() < 0.02


# The paper's bound


def test_the_bound_is_the_papers_formula(release):
    norms = joined_by_hand(release)[1]
    found = paper_bound(release)
    n, d = release.rows, 2
    assert (found.n, found.d, found.sensitive) == (n, d, 1)
    assert found.vc_term == pytest.approx(4 * math.sqrt(((d + 2) * math.log(n + 1) + math.log(2)) / n))
    assert (found.radius2_min, found.radius2_max) == pytest.approx((min(norms), max(norms)))
    X, y = training_data(release, random_state=0)
    age = release.identifying["age"].mean()  # all groups have three records, so the join has the same mean
    counts = {"job": Counter(X["job"]), "grade": Counter(release.sensitive["grade"])}
    mode = {name: max(sorted(each), key=each.__getitem__) for name, each in counts.items()}
    places = X["grade"].map("ABCDEF".index) - "ABCDEF".index(mode["grade"])
    columns = np.column_stack([X["age"] - age, X["job"] != mode["job"], places]).astype(float)
    plain = LinearSVC(dual=False, tol=1e-8).fit(columns, y)
    assert found.weights2 == pytest.approx((plain.coef_**2).sum(), rel=1e-3)
    assert found.pruning_term == pytest.approx(found.weights2 * (max(norms) - min(norms)) / n)
    assert found.bound == found.vc_term + found.pruning_term
    assert found.vacuous == (found.bound >= 1)
    assert json.loads(json.dumps(found.to_dict()))["note"] == found.note
    assert "no guarantee" in str(found)


def test_more_records_lower_the_bound_and_the_literal_reading_counts_groups(data, release):
    X, y = data
    fewer = md.Anatomy(l=3, sensitive="grade", schema=schema_of(X), random_state=0).fit(X[:300], y[:300]).release_
    assert paper_bound(release).vc_term < paper_bound(fewer).vc_term
    assert paper_bound(release, prune_per="group").n == release.n_groups


def test_each_sensitive_attribute_adds_one_column_to_the_bound(two):
    found, n = paper_bound(two), two.rows
    assert (found.d, found.sensitive) == (2, 2)
    assert found.vc_term == pytest.approx(4 * math.sqrt((5 * math.log(n + 1) + math.log(2)) / n))


@pytest.mark.parametrize(
    "settings",
    [
        *({"prune_per": "bogus"}, {"prune_per": None}, {"random_state": "a"}, {"random_state": -3}),
        *({"C": -1}, {"C": "a"}, {"C": 0}, {"C": math.nan}),
    ],
)
def test_the_bound_names_a_bad_parameter(release, settings):
    with pytest.raises(ParameterError, match=f"'{next(iter(settings))}' parameter of paper_bound must be"):
        paper_bound(release, **settings)
    with pytest.raises(ParameterError, match=r"must be an AnatomyRelease\. Got NoneType"):
        paper_bound(None)


def test_the_bound_is_for_two_classes(data):
    X, _ = data
    three = md.Anatomy(l=3, sensitive="grade", random_state=0).fit(X, X["age"].rename("label") % 3).release_
    with pytest.raises(DataError, match="two classes; the pruned data has 3"):
        paper_bound(three)
