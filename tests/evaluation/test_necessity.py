"""Why each attribute is needed: what changes if it is one step coarser, left out or asked in full."""

import datetime as dt
import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import modicum as md
from modicum.errors import ModicumError, ParameterError
from modicum.evaluation import AttributeNeed, Step, necessity
from modicum.evaluation._necessity import RANGES, in_ranges, least_loss
from modicum.generalization.core import raw_generalization
from modicum.measures.intervals import difference_interval, mean_interval, skill_intervals
from modicum.table.frames import as_frame
from modicum.table.splits import draw_rows

N, CUT = 6_000, 3_600
LOGISTIC = LogisticRegression(max_iter=300)


def make_table(seed=0, n=N):
    """The label depends only on a and on b, whose values p and q are equivalent; c is noise, d follows b."""
    random = np.random.default_rng(seed)
    a = random.integers(0, 40, n)
    b = random.choice(list("pqrs"), n)
    X = pd.DataFrame(
        {
            "a": a,
            "b": b,
            "c": random.choice(list("uvw"), n),
            "d": np.where(random.random(n) < 0.9, b, random.choice(list("pqrs"), n)),
        }
    )
    odds = (a > 19) * 2.0 + pd.Series(b).map({"p": 0.0, "q": 0.0, "r": 2.0, "s": -2.0}).to_numpy() - 1
    return X, pd.Series(np.where(random.logistic(size=n) < odds, "yes", "no"), name="bought")


def measure(g, X, y, **options):
    cut = CUT * len(X) // N
    return necessity(g, X[:cut], y[:cut], X[cut:], y[cut:], progress=False, **options)


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def fine(table):
    X, _ = table
    return md.Uniform(buckets=4).fit(X[:CUT]).generalization_.drop("d")


@pytest.fixture(scope="module")
def found(table, fine):
    return measure(fine, *table, personal=["b", "c", "d"], n_jobs=2)


def test_predictive_attributes_are_needed_and_noise_is_not(found):
    assert list(found.attributes) == ["a", "b", "c", "d"]
    for name in ("a", "b"):
        without = found.attributes[name].without
        assert without.error_interval[0] > 0
        assert without.skill_interval[1] < 0
        assert without.what == "left out"
    noise = found.attributes["c"]
    assert noise.without.error_interval[0] <= 0 <= noise.without.error_interval[1]
    assert noise.verdict == "not shown to be needed"


def test_two_buckets_with_the_same_label_share_are_merged(found):
    b = found.attributes["b"]
    assert b.coarser.what == "“p” and “q” merged into “p | q”"
    assert b.coarser.error_interval[0] <= 0 <= b.coarser.error_interval[1]
    assert b.verdict == "needed, but could be coarser"


def test_a_dropped_predictive_attribute_would_help(table, fine):
    a = measure(fine.drop("a"), *table, personal=["b"]).attributes["a"]
    assert a.coarser is None
    assert a.without is None
    assert a.in_full.error_interval[1] < 0
    assert a.in_full.skill_interval[0] > 0
    assert a.in_full.what == "asked in full detail"
    assert a.verdict == "not collected, would help"


def test_the_adversary_errs_less_in_full_detail_and_more_without_the_attribute(found):
    in_detail, left_out = found.attributes["d"].in_full, found.attributes["b"].without
    assert in_detail.own_change < 0
    assert in_detail.own_interval[1] < 0
    assert in_detail.adversary_interval[1] < 0
    assert left_out.own_interval[0] > 0
    assert left_out.adversary_interval[0] > 0
    assert found.attributes["a"].without.own_change is None  # not personal
    assert [need.personal for need in found.attributes.values()] == [False, True, True, True]


def test_changes_are_differences_from_the_generalizations_own_figures(table, fine, found):
    X, y = table
    u = md.utility(fine, X[:CUT], y[:CUT], X[CUT:], y[CUT:])
    without = md.utility(fine.drop("b"), X[:CUT], y[:CUT], X[CUT:], y[CUT:])
    assert found.error == u.error
    assert found.skill_kept == pytest.approx(u.skill_kept)
    step = found.attributes["b"].without
    assert step.error_change == pytest.approx(without.error - u.error)
    assert step.skill_change == pytest.approx(without.skill_kept - u.skill_kept)
    assert (found.records, found.trained_on, found.estimator) == (N - CUT, CUT, "boosted trees")


def test_the_adversary_is_the_counting_member_of_the_portfolio(table, fine, found):
    X, _ = table
    attack = md.attacks.Reconstruction(personal=["b", "c", "d"], members=["counts"])
    by_counts = attack.run(fine, X[:CUT], X[CUT:])
    assert found.adversary_error == pytest.approx(by_counts.error, abs=0.01)
    assert found.adversary == "A1 by counts with back-off"


def test_weights_apply_to_the_mean(table, fine):
    step = measure(fine, *table, personal=["b", "c"], weights={"c": 0}, estimator=LOGISTIC).attributes["b"].without
    assert step.adversary_change == step.own_change > 0


def test_a_paired_interval_is_narrower_than_two_separate_ones(found):
    step, records = found.attributes["b"].coarser, found.records
    low, high = step.error_interval
    wrong = np.arange(records) < found.error * records
    one = np.diff(mean_interval(wrong.astype(float)))[0]
    assert high - low < 0.7 * np.sqrt(2) * one


def test_the_number_of_jobs_does_not_change_the_result(table, fine, found):
    assert measure(fine, *table, personal=["b", "c", "d"], n_jobs=1) == found


def test_a_number_in_full_detail_becomes_ranges(table):
    X, y = table[0][["a", "b"]], table[1]
    raw = raw_generalization(X[:CUT], md.Schema.infer(X))
    a = measure(raw, X, y, personal=["b"]).attributes["a"]
    assert a.action == "kept"
    assert a.coarser.what == f"in {RANGES} ranges of about equal frequency"
    assert abs(a.coarser.error_change) < a.without.error_change / 4
    assert a.without.is_worse
    few = as_frame(pd.DataFrame({"a": [1, 2, 3, 4, 5] * 20}))
    assert in_ranges(raw["a"], few).n_buckets == 2
    assert in_ranges(raw["a"], few[:3]) is None


def test_one_step_coarser_than_two_buckets_is_leaving_out(table):
    X, y = table
    g = md.Uniform(buckets=2).fit(X[:CUT]).generalization_
    need = measure(g, X, y, personal=["b"]).attributes["a"]
    assert need.coarser is None
    assert need.without is not None
    assert need.verdict == "needed"


def test_asking_is_the_only_alternative_if_nothing_is_collected(table):
    X, y = table
    g = md.Uniform(buckets=2).fit(X[["a", "c"]]).generalization_.drop("a").drop("c")
    needs = measure(g, X, y).attributes
    assert {name: list(need.steps) for name, need in needs.items()} == {"a": ["in_full"], "c": ["in_full"]}
    assert [needs["a"].verdict, needs["c"].verdict] == ["not collected, would help", "not collected, not missed"]


def test_one_attribute_alone_can_be_left_out(table):
    X, y = table
    g = md.Uniform(buckets=3).fit(X[["a"]]).generalization_
    assert measure(g, X, y).attributes["a"].without.is_worse


def test_records_of_one_person_are_not_independent():
    X, y = make_table(n=400)
    X = X[["b", "c"]]
    who = np.repeat(np.arange(len(X)), 4)
    many, labels = X.iloc[who].assign(who=who).reset_index(drop=True), y.iloc[who].reset_index(drop=True)
    g = md.Uniform(buckets=4).fit(X).generalization_
    content = g.to_dict()
    content["schema"]["attributes"].append({"name": "who", "kind": "category", "roles": ["person"]})
    by_person = measure(
        md.Generalization.from_dict(content), many, labels, personal=["c"], estimator=LOGISTIC
    ).attributes["c"]
    by_record = measure(g, many, labels, personal=["c"]).attributes["c"]
    width = [np.diff(need.without.adversary_interval)[0] for need in (by_person, by_record)]
    assert width[0] > 1.7 * width[1]


def test_missing_values_unseen_values_dates_and_polars_frames_are_accepted():
    X, y = make_table(n=1_200)
    random = np.random.default_rng(1)
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(d)) for d in random.integers(0, 900, len(X))]
    X = X.assign(a=X["a"].where(random.random(len(X)) < 0.9), day=pd.to_datetime(pd.Series(days)))
    X.loc[random.random(len(X)) < 0.1, "b"] = None
    schema = md.Schema.infer(X)
    g = raw_generalization(X, schema)
    g = md.Uniform(buckets=3, schema=schema).fit(X).generalization_.intersect(g).drop("c")
    X.loc[1_100:, "b"] = "never seen"
    X.loc[1_100:, "c"] = "nor this"
    in_pandas = measure(g, X, y, personal=["b", "c"], estimator=LOGISTIC)
    in_polars = measure(g, pl.from_pandas(X), y.to_numpy(), personal=["b", "c"], estimator=LOGISTIC)
    assert in_pandas == in_polars
    assert in_pandas.attributes["day"].coarser.what.startswith("in 20 ranges")
    json.dumps(in_pandas.to_dict(), allow_nan=False)


@pytest.mark.parametrize("label_bins", [None, 3])
def test_labels_of_several_classes(label_bins):
    X, _ = make_table(n=1_200)
    X = X[["a", "c"]]
    noise = np.random.default_rng(0).normal(size=len(X))
    y = X["a"] + 8 * noise if label_bins else np.where(X["a"] > 25, "high", np.where(X["a"] < 12, "low", "middle"))
    g = md.Uniform(buckets=4).fit(X).generalization_
    need = measure(g, X, y, personal=["c"], label_bins=label_bins, estimator=LOGISTIC).attributes
    assert need["a"].verdict == "needed"
    assert not need["c"].without.is_worse


def test_any_classifier_can_judge(table, fine):
    found = measure(fine, *table, personal=["b"], estimator=LOGISTIC)
    assert found.estimator == "LogisticRegression"
    assert found.attributes["b"].without.is_worse


def test_a_table_in_an_engine_is_sampled(table, fine):
    X, y = table
    train, test = (part.assign(bought=y) for part in (X[:CUT], X[CUT:]))
    options = {"personal": ["b"], "sample": 2_000, "progress": False, "estimator": LOGISTIC}
    relations = [duckdb.from_df(part) for part in (train, test)]
    found = necessity(fine, relations[0], "bought", relations[1], "bought", **options)
    assert (found.trained_on, found.records) == (2_000, 2_000)
    assert found.attributes["b"].without.is_worse
    with pytest.raises(ParameterError, match="must be the name of one of its columns"):
        necessity(fine, relations[0], y[:CUT], relations[1], "bought", **options)


def test_whole_persons_are_drawn_from_many_training_records():
    assert draw_rows(10, None, 10, 0) is None
    assert len(draw_rows(10, None, 4, 0)) == 4
    units = np.repeat(np.arange(10), 5)
    rows = np.array(draw_rows(50, units, 22, 0))
    assert len(rows) == 20
    assert len(np.unique(units[rows])) == 4
    assert (np.diff(rows) > 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"personal": ["z"]}, "names 'z', which the generalization does not have"),
        ({"personal": ["b"], "weights": {"c": 1}}, "names 'c', which is not a personal attribute"),
        ({"estimator": "forest"}, "The 'estimator' parameter must be"),
        ({"n_jobs": 0}, "The 'n_jobs' parameter must be an int ≥ 1"),
        ({"label_bins": 1}, "The 'label_bins' parameter must be an int from 2"),
    ],
)
def test_bad_parameters_are_refused(table, fine, options, message):
    with pytest.raises(ModicumError, match=message):
        measure(fine, *table, **options)


def test_bad_records_are_refused(table, fine):
    X, y = table
    with pytest.raises(ModicumError, match="no rows"):
        necessity(fine, X, y, X[:0], y[:0])
    with pytest.raises(ModicumError, match="is constant"):
        necessity(fine, X, ["yes"] * len(X), X, y)
    with pytest.raises(ModicumError, match="it needs one value for each"):
        necessity(fine, X, y, X, y[:5])
    with pytest.raises(ModicumError, match="must be a Generalization"):
        necessity("g.json", X, y, X, y)


def test_the_pair_with_the_least_loss_is_found_given_the_other_attributes():
    """Alone, buckets 0 and 1 have the same share; within each context they are opposite, and 1 and 2 agree."""
    contexts = np.repeat([0, 1], 300)
    buckets = np.tile(np.repeat([0, 1, 2], 100), 2)
    y = np.where(buckets == 0, contexts, 1 - contexts)
    assert least_loss(contexts, buckets, y, 2, 3, has_order=False) == (1, 2)
    assert least_loss(np.zeros(600, dtype=int), buckets, y, 2, 3, has_order=False) == (0, 1)


def test_only_neighbours_that_occur_are_compared_and_special_buckets_stay():
    buckets, y = np.repeat([0, 1, 3, 4], 50), np.repeat([0, 1, 0, 0], 50)
    assert least_loss(np.zeros(200, dtype=int), buckets, y, 2, 4, has_order=True) == (0, 1)
    assert least_loss(np.zeros(200, dtype=int), buckets, y, 2, 4, has_order=False) == (0, 3)


def test_the_loss_is_the_rise_of_entropy_minus_the_rise_by_chance():
    from modicum.evaluation._necessity import _cost

    random = np.random.default_rng(0)
    counts = random.integers(0, 9, (3, 4, 3)).astype(float)

    def entropy(n):
        total = n.sum(axis=-1, keepdims=True)
        return -(n * np.log(np.where(n > 0, n, 1) / np.where(total > 0, total, 1))).sum()

    for b in (1, 2):
        both = counts[0] + counts[b]
        shared = (counts[0].sum(axis=1) > 0) & (counts[b].sum(axis=1) > 0)
        chance = (((both > 0).sum(axis=1) - 1) * shared).sum() / 2
        expected = entropy(both) - entropy(counts[0]) - entropy(counts[b]) - chance
        assert _cost(counts, 0, np.array([b]))[0] == pytest.approx(expected)


def test_a_difference_interval_covers_the_truth_as_often_as_stated():
    random = np.random.default_rng(0)
    for share in (0.002, 0.1):
        drawn = random.choice([1.0, -1.0, 0.0], p=[2 * share, share, 1 - 3 * share], size=(800, 500))
        ends = np.array([difference_interval(each) for each in drawn])
        covered = np.mean((ends[:, 0] <= share) & (share <= ends[:, 1]))
        assert covered > 0.93


def test_a_difference_interval_has_width_without_differences_and_is_full_for_one_person():
    low, high = difference_interval(np.zeros(1_000))
    assert low == -high
    assert 0.001 < high < 0.003
    assert difference_interval(np.zeros(10), np.zeros(10, dtype=int)) == (-1.0, 1.0)


def test_rows_of_a_unit_count_once_in_a_difference_interval():
    random = np.random.default_rng(0)
    each = random.choice([1.0, 0.0, -1.0], 200)
    by_unit = difference_interval(np.repeat(each, 5), np.repeat(np.arange(200), 5))
    assert by_unit == pytest.approx(difference_interval(each))


def test_a_difference_interval_covers_the_truth_if_some_people_have_many_rows():
    random = np.random.default_rng(0)
    truth, covered = 0.2 * 5 / (0.2 * 5 + 0.8) * 0.1, []
    for _ in range(400):
        many = random.uniform(size=600) < 0.2  # five rows each, a tenth of which get worse; the others have one row
        units = np.repeat(np.arange(600), np.where(many, 5, 1))
        worse = many & (random.uniform(size=600) < 0.1)
        low, high = difference_interval(worse[units].astype(float), units)
        covered.append(low <= truth <= high)
    assert np.mean(covered) > 0.92
    sizes = np.where(np.arange(2_000) < 400, 50, 1)
    units = np.repeat(np.arange(2_000), sizes)
    same = np.where(units < 400, 0.0, 1.0)  # people with many rows see no change, everyone else does
    low, high = difference_interval(same, units)
    assert (low + high) / 2 == pytest.approx(1_600 / len(units), rel=0.01)
    assert high - low > 0.01  # with Σ s² − (Σ s)² / m, which is right for equal sizes only, it would be 0.004


def test_skill_has_no_interval_for_few_people():
    random = np.random.default_rng(0)
    raw, other = np.full(400, 0.3), 0.3 + random.uniform(size=400)
    few = np.repeat(np.arange(99), 5)[:400] % 50
    assert np.isnan(skill_intervals([other], raw, raw, raw + 0.4, few, 0)).all()
    assert np.isnan(skill_intervals([other[:99]], raw[:99], raw[:99], raw[:99] + 0.4, None, 0)).all()
    ((_, high),) = skill_intervals([other], raw, raw, raw + 0.4, None, 0)
    assert high < 0


def test_one_test_record_shows_no_need(table, fine):
    X, y = table
    found = necessity(fine, X[:CUT], y[:CUT], X[CUT : CUT + 1], y[CUT : CUT + 1], progress=False)
    assert {need.verdict for need in found.attributes.values()} == {
        "not shown to be needed",
        "not collected, not missed",
    }


def test_at_most_as_many_records_test_as_train(table, fine):
    X, y = table
    found = necessity(fine, X[:200], y[:200], X[CUT:], y[CUT:], progress=False)
    assert (found.trained_on, found.records) == (200, 200)


def test_without_raw_skill_no_skill_is_kept_or_lost():
    flat = np.full(500, 0.7)
    ((low, high),) = skill_intervals([flat], flat, flat, flat, None, 0)
    assert np.isnan(low)
    assert np.isnan(high)
    assert skill_intervals([], flat, flat, flat, None, 0) == []


def need(**steps):
    worse = Step("left out", 0.1, (0.05, 0.2), -0.1, (-0.2, -0.05), 0.0, (0.0, 0.0))
    same = Step("left out", 0.0, (-0.1, 0.1), np.nan, (np.nan, np.nan), 0.0, (0.0, 0.0))
    better = Step("asked in full detail", -0.1, (-0.2, -0.05), 0.1, (-0.1, 0.2), 0.0, (0.0, 0.0))
    kinds = {"worse": worse, "same": same, "better": better}
    return AttributeNeed("a", "coarsened", False, **{name: kinds[kind] for name, kind in steps.items()})


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ({"without": "worse", "coarser": "worse"}, "needed"),
        ({"without": "worse"}, "needed"),
        ({"without": "worse", "coarser": "same"}, "needed, but could be coarser"),
        ({"without": "same", "coarser": "worse"}, "not shown to be needed"),
        ({"without": "better"}, "not shown to be needed"),
        ({"in_full": "better"}, "not collected, would help"),
        ({"in_full": "same"}, "not collected, not missed"),
        ({"in_full": "worse"}, "not collected, not missed"),
        ({}, "not collected, not missed"),
    ],
)
def test_the_verdict_follows_from_the_intervals(steps, verdict):
    assert need(**steps).verdict == verdict


def test_plain_data_has_every_alternative_and_verdict(found):
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert list(content["attributes"]) == list(found.attributes)
    d = content["attributes"]["d"]
    assert d["verdict"] == found.attributes["d"].verdict
    assert d["coarser"] is None
    assert d["in_full"]["error_interval"] == list(found.attributes["d"].in_full.error_interval)
    assert "one in twenty" in content["note"]
