"""Drift: found where planted, silent without any, and the right advice for each kind."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars, shared_file
from data import load_acs, load_nist
from scipy.stats import false_discovery_control, ttest_ind

import modicum as md
from modicum.errors import DataError, ModicumError, ParameterError
from modicum.evaluation import drift
from modicum.measures.intervals import change, holm, mark_increases


def records(n: int, seed: int, *, label: str = "a", reveals_sex: bool = False) -> tuple[pd.DataFrame, pd.Series]:
    """People with two yes/no attributes, a job and a sex; the label follows one of the two in 9 of 10 cases."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame({name: random.choice(["no", "yes"], n) for name in ("a", "b")})
    X["job"] = random.choice(["nurse", "clerk", "smith", "pilot"], n)
    free = random.choice(["f", "m"], n)
    X["sex"] = np.where(X["job"].isin(["nurse", "clerk"]), "f", "m") if reveals_sex else free
    source = {"a": X["a"] == "yes", "b": X["b"] == "yes", "not a": X["a"] == "no"}[label]
    y = pd.Series(np.where(source ^ (random.random(n) < 0.1), "bought", "left"), name="outcome")
    return X, y


@pytest.fixture(scope="module")
def g() -> md.Generalization:
    """Collect `a` and `job` in full, but neither `b` nor `sex`."""
    full = md.Uniform(buckets=9).fit(records(1_000, 0)[0]).generalization_
    return full.drop("b").drop("sex")


@pytest.fixture(scope="module")
def nothing_changed(g):
    return drift(g, *records(1_500, 1), *records(1_500, 2), personal=["sex", "b"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*also among the known ones")  # adult repeats rows
def test_random_halves_of_adult_raise_no_alarm():
    X, y = md.datasets.load_adult(return_X_y=True)
    g = md.PrivacyTree(max_leaves=8).fit(X[:6_000], y[:6_000]).generalization_
    alarms = []
    for seed in range(6):
        rows = np.random.default_rng(seed).choice(np.arange(6_000, len(X)), 2_400, replace=False)
        halves = [part for half in (rows[:1_200], rows[1_200:]) for part in (X.iloc[half], y.iloc[half])]
        found = drift(g, *halves, personal=["race", "sex", "education"], tolerance=0, random_state=seed)
        alarms.append(found.learn_anew or found.retrain)
    assert sum(alarms) <= 1


def test_no_change_is_reported(nothing_changed):
    assert not nothing_changed.learn_anew
    assert not nothing_changed.retrain
    assert nothing_changed.reasons == []
    assert nothing_changed.notes == []
    assert "the generalization can stay" in nothing_changed.sentence
    assert nothing_changed.error.then == pytest.approx(0.1, abs=0.03)
    assert nothing_changed.by_attribute["sex"].naive.now == pytest.approx(0.5, abs=0.05)


def test_a_dropped_attribute_that_becomes_decisive_widens_the_gap(g):
    found = drift(g, *records(1_500, 1), *records(1_500, 2, label="b"), personal=["sex"])
    assert found.learn_anew
    assert found.gap.is_worse
    assert found.gap.then == pytest.approx(0, abs=0.03)
    assert found.gap.now == pytest.approx(0.4, abs=0.06)
    assert found.gap.interval[0] < 0.4 < found.gap.interval[1] + 0.02
    assert found.raw_error.difference == pytest.approx(0, abs=0.05)
    assert any("minimizing costs more" in reason for reason in found.reasons)
    assert found.sentence.startswith("Learn the generalization again: minimizing costs more than before")
    assert not found.by_attribute["sex"].gain.is_worse


def test_an_attribute_that_the_buckets_begin_to_reveal_is_named(g):
    found = drift(g, *records(1_500, 1), *records(1_500, 2, reveals_sex=True), personal=["sex", "b"])
    assert found.learn_anew
    assert not found.gap.is_worse
    assert found.by_attribute["sex"].gain.is_worse
    assert found.by_attribute["sex"].error.now == pytest.approx(0, abs=0.01)
    assert not found.by_attribute["b"].gain.is_worse
    assert any("'sex'" in reason for reason in found.reasons)
    assert not any("'b'" in reason for reason in found.reasons)


def test_an_attribute_without_weight_raises_no_alarm(g):
    now = records(1_500, 2, reveals_sex=True)
    found = drift(g, *records(1_500, 1), *now, personal=["sex", "b"], weights={"sex": 0})
    assert not found.learn_anew
    assert found.by_attribute["sex"].gain.adjusted is None
    assert found.by_attribute["sex"].gain.difference > 0.4


def test_a_smaller_risk_is_no_alarm(g):
    found = drift(g, *records(1_500, 1, reveals_sex=True), *records(1_500, 2), personal=["sex", "b"])
    assert not found.learn_anew
    assert found.by_attribute["sex"].gain.p_value < 1e-6


def test_a_reversed_label_needs_only_a_new_model(g):
    found = drift(g, *records(1_500, 1), *records(1_500, 2, label="not a"), personal=["sex"])
    assert found.frozen.now == pytest.approx(0.9, abs=0.04)
    assert abs(found.error.difference) < 0.05
    assert found.retrain
    assert not found.learn_anew
    assert found.sentence.startswith("Train the model again")
    assert "the generalization can stay" in found.sentence


def test_unseen_values_are_counted(g):
    then, (X, y) = records(1_000, 1), records(1_000, 2)
    X.loc[:299, "job"] = "drone pilot"
    X.loc[300:399, "job"] = None
    found = drift(g, *then, X, y, personal=["sex"])
    job = found.values["job"]
    assert (job.unseen_then, job.unseen_now) == (0, 0.3)
    assert (job.missing_then, job.missing_now) == (0, 0.1)
    assert 0.399 < job.distance < 0.45
    assert np.isnan(found.values["sex"].unseen_now)
    assert found.values["sex"].distance == 0
    assert len(found.notes) == 2
    assert all("'job'" in note for note in found.notes)
    assert "drone" not in json.dumps(found.to_dict())


def test_a_number_in_full_detail_is_compared_in_tenths():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.normal(50, 10, 2_000), "sex": random.choice(["f", "m"], 2_000)})
    y = pd.Series(np.where(X["age"] + random.normal(0, 5, 2_000) > 50, 1, 0))
    g = md.FeatureSelection(k=1).fit(X, y).generalization_
    assert g.needed == ["age"]
    later = X[1_000:].assign(age=X["age"][1_000:] + 1_000)
    found = drift(g, X[:1_000], y[:1_000], later, y[1_000:], personal=["sex"])
    assert found.values["age"].distance == pytest.approx(0.9)


def test_a_new_class_of_the_label_is_counted_and_reported(g):
    then, (X, y) = records(1_000, 1), records(1_000, 2)
    y[:200] = "returned"
    found = drift(g, *then, X, y, personal=["sex"])
    assert (found.new_classes, found.new_class_records) == (1, 200)
    assert "200 records have a label that did not occur then (1 new class)" in found.notes
    assert found.frozen.difference > 0.1
    y[5:200] = "bought"
    few = drift(g, *then, X, y, personal=["sex"])
    assert few.notes[0].startswith("fewer than 10 records")


def test_rows_of_one_person_widen_the_interval(g):
    frames = []
    for seed in (1, 2):
        X, y = records(400, seed)
        rows = np.repeat(np.arange(400), 4)
        frames += [
            X.iloc[rows].reset_index(drop=True).assign(who=rows + 1_000 * seed),
            y.iloc[rows].reset_index(drop=True),
        ]
    schema = md.Schema.infer(frames[0], person="who")
    g = md.Uniform(buckets=9, schema=schema).fit(frames[0]).generalization_.drop("b").drop("sex")
    clustered = drift(g, *frames, personal=["sex"])
    unnamed = [part.drop(columns="who") if isinstance(part, pd.DataFrame) else part for part in frames]
    blind = drift(g, *unnamed, personal=["sex"])
    assert clustered.error.standard_error == pytest.approx(2 * blind.error.standard_error, rel=0.3)
    assert clustered.error.freedom < 200


def test_the_smaller_period_sets_how_much_is_learned(g):
    found = drift(g, *records(3_000, 1), *records(400, 2), personal=["sex"])
    assert found.learned_from[0] == found.learned_from[1] < 300
    assert found.tested_on[0] > 800 > 200 > found.tested_on[1]
    assert not found.learn_anew


def test_same_seed_same_result(g, nothing_changed):
    again = drift(g, *records(1_500, 1), *records(1_500, 2), personal=["sex", "b"])
    assert again.to_dict() == nothing_changed.to_dict()
    other = drift(g, *records(1_500, 1), *records(1_500, 2), personal=["sex", "b"], random_state=1)
    assert other.error != nothing_changed.error


def test_polars_gives_the_same(g, nothing_changed):
    frames = [(as_polars(X), y.to_numpy()) for X, y in (records(1_500, 1), records(1_500, 2))]
    assert drift(g, *frames[0], *frames[1], personal=["sex", "b"]).to_dict() == nothing_changed.to_dict()


def test_the_result_is_plain_data(nothing_changed):
    content = json.loads(json.dumps(nothing_changed.to_dict(), allow_nan=False))
    assert content["learn_anew"] is False
    assert content["values"]["sex"]["unseen_now"] is None
    assert set(content["by_attribute"]) == {"sex", "b"}
    assert content["sentence"] == nothing_changed.sentence


def test_a_numeric_label_uses_the_earlier_ranges(g):
    then, now = records(800, 1), records(800, 2)
    noise = np.random.default_rng(0).random(800)
    prices = [pd.Series((y == "bought") * 100 + noise, name="price") for _, y in (then, now)]
    found = drift(g, then[0], prices[0], now[0], prices[1] + 0.5, label_bins=2, personal=["sex"])
    assert found.error.then == pytest.approx(0.1, abs=0.05)
    assert found.new_classes == 0
    with pytest.raises(DataError, match="Nearly all records of now have the same label"):
        drift(g, then[0], prices[0], now[0], prices[1] + 1_000, label_bins=2)
    with pytest.raises(DataError, match="label_bins"):
        drift(g, then[0], prices[0], now[0], prices[1])


# What is refused


def bad(case: str) -> tuple[dict, dict]:
    then, now = records(200, 1), records(200, 2)
    data = {"X_then": then[0], "y_then": then[1], "X_now": now[0], "y_now": now[1]}
    changed: dict = {
        "no column": {"X_now": now[0].drop(columns=["job", "b"])},
        "no records": {"X_now": now[0][:0], "y_now": now[1][:0]},
        "few records": {"X_then": then[0][:30], "y_then": then[1][:30]},
        "short label": {"y_now": now[1][:-1]},
        "other kind": {"y_now": pd.Series(np.arange(200) % 2, name="outcome")},
        "other classes": {"y_now": now[1] + " today"},
        "one class": {"y_now": pd.Series(["bought"] * 200, name="outcome")},
    }
    return data, changed[case]


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        ("no column", r"^The records of now lack 'b' and 'job'; add the attributes of the generalization\.$"),
        ("no records", r"^There are no records of now\.$"),
        ("few records", r"^Each period needs at least 50 records to distinguish a change from chance; then has 30\.$"),
        ("short label", r"has shape \(199,\); it needs one value for each of the 200 rows\.$"),
        ("other kind", r"^The label 'outcome' was text then and is a number now\.$"),
        ("other classes", r"^No class of the label 'outcome' occurs both then and now\.$"),
        ("one class", r"^The label 'outcome' is constant"),
    ],
)
def test_bad_records_are_refused_with_one_sentence(g, case, sentence):
    data, changed = bad(case)
    with pytest.raises(DataError, match=sentence):
        drift(g, **(data | changed))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"level": 1}, r"The 'level' parameter of drift must be a number between 0 and 1\. Got 1 instead\."),
        ({"level": "high"}, "'level' parameter"),
        ({"tolerance": -0.1}, r"The 'tolerance' parameter of drift must be a number from 0 to below 1\. Got -0\.1"),
        ({"tolerance": None}, "'tolerance' parameter"),
        ({"random_state": -1}, "'random_state' parameter"),
        ({"personal": ["height"]}, "names 'height'"),
        ({"weights": {"height": 1}}, "names 'height'"),
        ({"estimator": "oracle"}, "'estimator' parameter"),
    ],
)
def test_bad_parameters_are_refused_with_one_sentence(g, options, sentence):
    with pytest.raises(ParameterError, match=sentence):
        drift(g, *records(200, 1), *records(200, 2), **options)


def test_both_periods_or_neither_must_identify_people():
    X, y = records(200, 1)
    named = X.assign(who=np.arange(200))
    g = md.Uniform(buckets=9, schema=md.Schema.infer(named, person="who")).fit(named).generalization_
    with pytest.raises(DataError, match="Only one of the two periods has the column 'who'"):
        drift(g, named, y, X, y)
    with pytest.raises(DataError, match=r"at least 50 people.*now has 4"):
        drift(g, named, y, named.assign(who=np.arange(200) % 4), y)


# The statistics


def test_a_change_agrees_with_a_two_sample_test():
    random = np.random.default_rng(0)
    then, now = random.random(3_000), random.random(2_000) + 0.02
    found, welch = change(then, now), ttest_ind(now, then, equal_var=False)
    assert found.p_value == pytest.approx(welch.pvalue, rel=0.05)
    assert found.interval == pytest.approx(tuple(welch.confidence_interval(0.95)), abs=1e-4)


def test_a_person_in_both_samples_counts_once():
    random = np.random.default_rng(0)
    person = np.arange(1_000)
    then = (random.random(1_000) < 0.5).astype(float)
    assert change(then, then, (person, person)).standard_error < 0.1 * change(then, then).standard_error


def test_samples_that_agree_fully_still_have_uncertainty():
    same = change(np.zeros(60), np.zeros(60))
    assert same.interval[0] < -0.03 < 0.03 < same.interval[1]
    assert change(np.zeros(60), np.array([1.0] + [0.0] * 59)).p_value > 0.3
    with pytest.raises(ParameterError, match="two people"):
        change(np.zeros(5), np.zeros(5), (np.zeros(5, dtype=int), np.arange(5)))


def test_intervals_cover_the_truth_as_often_as_stated():
    random = np.random.default_rng(0)
    inside = []
    for _ in range(400):
        shares = random.beta(2, 8, 160)  # 80 people each, with four similar rows
        rows = (random.random((160, 4)) < shares[:, None]).astype(float)
        units = np.repeat(np.arange(160), 4)
        found = change(rows[:80].ravel(), rows[80:].ravel(), (units[:320], units[320:]))
        inside.append(found.interval[0] <= 0 <= found.interval[1])
    assert 0.92 < np.mean(inside) < 0.985


def test_holm_lies_between_no_correction_and_bonferroni():
    p = [0.001, 0.2, 0.01, 0.04]
    adjusted = np.array(holm(p))
    assert adjusted == pytest.approx([0.004, 0.2, 0.03, 0.08])
    assert (adjusted >= false_discovery_control(p) - 1e-12).all()
    assert holm([]) == []


def test_the_tolerance_lies_within_the_interval_before_it_counts():
    few, many = np.arange(20_000) % 10 < 1, np.arange(20_000) % 50 < 6  # 10% and 12%
    found = change(few.astype(float), many.astype(float), level=0.9)
    for tolerance, is_worse in [(0, True), (0.01, True), (found.interval[0] * 1.01, False), (0.03, False)]:
        assert mark_increases([found], tolerance, 0.95)[0].is_worse is is_worse
    assert not mark_increases([change(many.astype(float), few.astype(float))], 0, 0.95)[0].is_worse


# Real data


@pytest.mark.slow
def test_two_years_and_two_states_of_the_american_community_survey():
    shared_file("nist/national2018.csv.gz"), shared_file("nist/national2019.csv.gz")
    shared_file("acs/ny2024.parquet"), shared_file("acs/nj2024.parquet")
    folder = shared_file(".")
    nist = [load_nist(year, folder=folder) for year in (2018, 2019)]
    acs = [load_acs("employment", state, folder=folder) for state in ("ny", "nj")]
    for then, now in (nist, acs):
        frames = [data.X if data.persons is None else data.X.join(data.persons) for data in (then, now)]
        fit = np.random.default_rng(0).random(len(then.X)) < 0.3
        if then.persons is not None:
            fit = pd.factorize(then.persons)[0] % 10 < 3
        g = md.PrivacyTree(max_leaves=20, schema=then.schema).fit(frames[0][fit], then.y[fit]).generalization_
        found = drift(g, frames[0][~fit], then.y[~fit], frames[1], now.y)
        assert 0 < found.raw_error.then < found.error.then + 0.01 < 0.4
        assert -0.02 < found.gap.interval[0] - found.gap.difference < 0 < found.gap.interval[1] - found.gap.difference
        assert set(found.by_attribute) == set(then.schema.personal)
        assert all(0 <= shift.distance < 1 for shift in found.values.values())
        assert found.learn_anew == any(
            c.is_worse for c in [found.gap, found.risk.gain, *(r.gain for r in found.by_attribute.values())]
        )
        json.dumps(found.to_dict(), allow_nan=False)


def test_every_refusal_is_an_error_of_this_library(g):
    with pytest.raises(ModicumError):
        drift(g, *records(200, 1), "no table", records(200, 2)[1])
