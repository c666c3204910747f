"""Matching people to sensitive values: exact where it can be, honest where it must guess."""

import json
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars

import modicum as md
from modicum.attacks.matching_groups import Groups
from modicum.attacks.matching_kernel import EXACT
from modicum.errors import DataError, ParameterError
from modicum.generalization.anatomy_release import AnatomyRelease

VALUES = np.array(["asthma", "cold", "flu", "gout", "measles"])
MIDDLE = np.array([20, 32, 44, 56, 68])


def people(n=900, spread=9, seed=0):
    """Made-up people whose age goes with their illness, the more the smaller the spread; town goes with nothing."""
    random = np.random.default_rng(seed)
    ill = random.integers(0, len(VALUES), n)
    age = MIDDLE[ill] + np.round(random.normal(0, spread, n))
    return pd.DataFrame({"age": age, "town": random.integers(0, 6, n).astype(str), "ill": VALUES[ill]})


def released(X, l=2, seed=0, **options):
    anatomy = md.Anatomy(l=l, sensitive="ill", random_state=seed, **options).fit(X)
    return anatomy.release_, X["ill"].iloc[anatomy.rows_]


def by_hand(sizes, seed=0, values=4):
    """A release with groups of these sizes, in which values may repeat, and the truth."""
    random = np.random.default_rng(seed)
    gid = np.repeat(np.arange(len(sizes)), sizes)
    ill = random.integers(0, values, len(gid)).astype(str)
    identifying = pd.DataFrame({"age": random.integers(0, 9, len(gid)), "GID": gid})
    sensitive = pd.DataFrame({"GID": gid, "ill": ill}).sort_values(["GID", "ill"])
    return AnatomyRelease.from_tables(identifying, sensitive), ill


def every_matching(groups, g):
    """A group's options place by place, and all orders of its records."""
    own = slice(groups.firsts[g], groups.firsts[g + 1])
    places = np.repeat(np.arange(own.stop - own.start), groups.caps[own])
    return places, list(permutations(range(len(places))))


@pytest.mark.parametrize("sizes", [[2, 3, 4], [5, 2, 1], pytest.param([6, 7, 3], marks=pytest.mark.slow)])
def test_chances_and_the_best_matching_are_those_of_all_permutations(sizes):
    release, _ = by_hand(sizes)
    groups = Groups.of(release)
    scores = np.random.default_rng(1).normal(0, 3, int(groups.blocks[-1]))
    chances, total = groups.chances(scores)
    best = groups.best(scores, np.random.default_rng(0))
    likelihood = 0.0
    for g, m in enumerate(sizes):
        block = slice(groups.blocks[g], groups.blocks[g + 1])
        own = scores[block].reshape(m, -1)
        places, orders = every_matching(groups, g)
        weights = np.array([np.exp(sum(own[i, places[p]] for i, p in enumerate(order))) for order in orders])
        expected = np.zeros_like(own)
        for order, weight in zip(orders, weights, strict=True):
            for i, p in enumerate(order):
                expected[i, places[p]] += weight / weights.sum()
        assert np.allclose(chances[block].reshape(m, -1), expected)
        likelihood += np.log(weights.mean())
        top = orders[int(weights.argmax())]
        options = groups.options[groups.firsts[g] : groups.firsts[g + 1]]
        assert [options[places[p]] for p in top] == best[groups.starts[g] : groups.starts[g + 1]].tolist()
    assert np.isclose(total, likelihood / sum(sizes))


def test_chances_stay_chances_where_scores_are_far_apart():
    groups = Groups.of(by_hand([8, 8, 5])[0])
    scores = np.random.default_rng(0).normal(0, 2_000, int(groups.blocks[-1]))
    chances, total = groups.chances(scores)
    sums = np.bincount(groups.pair_records, weights=chances)
    assert np.isfinite(total)
    assert np.allclose(sums, 1)


def test_large_groups_keep_their_values_and_come_close_to_the_exact_chances(monkeypatch):
    release, truth = by_hand([EXACT + 4, 60])
    groups = Groups.of(release)
    scores = np.random.default_rng(1).normal(0, 1, int(groups.blocks[-1]))
    chances, _ = groups.chances(scores)
    assert np.allclose(np.bincount(groups.pair_records, weights=chances), 1)
    assert np.allclose(np.bincount(groups.pair_options, weights=chances), groups.caps, atol=1e-3)
    guess = groups.best(scores, np.random.default_rng(0))
    own = np.sort(groups.groups * 10 + guess)
    assert own.tolist() == np.sort(groups.groups * 10 + groups.truths(truth, "ill")).tolist()


def test_sinkhorn_is_close_to_exact_in_a_group_that_both_can_do():
    from modicum.attacks.matching_kernel import _by_scaling, _by_subsets

    random = np.random.default_rng(0)
    scores, caps = random.normal(0, 1, (8, 3)), np.array([3, 3, 2])
    exact, scaled = np.empty((8, 3)), np.empty((8, 3))
    _by_subsets(scores, caps, exact)
    _by_scaling(scores, caps, scaled)
    assert np.abs(exact - scaled).max() < 0.06


def test_random_worlds_is_the_mean_over_all_matchings():
    sizes = [2, 3, 4, 6]
    release, truth = by_hand(sizes, seed=3, values=3)
    groups = Groups.of(release)
    expected = 0.0
    for g, m in enumerate(sizes):
        own = truth[groups.order][groups.starts[g] : groups.starts[g + 1]]
        orders = list(permutations(range(m)))
        expected += np.mean([[own[p] == own[i] for i, p in enumerate(order)] for order in orders]) * m
    assert np.isclose(groups.random_worlds, expected / sum(sizes))


@pytest.mark.parametrize("l", [2, 3])
def test_attributes_that_tell_nothing_leave_one_in_l(l):
    X = people()
    X["age"] = np.random.default_rng(5).permutation(X["age"])
    result = md.attacks.Matching().run(*released(X, l=l))
    assert result.baseline == pytest.approx(1 / l, abs=0.01)
    assert result.interval[0] <= result.baseline <= result.interval[1]
    assert result.l == l


@pytest.mark.filterwarnings("ignore:The identifying table tells 'ill'")
def test_the_more_an_attribute_tells_the_more_people_are_matched():
    found = [md.attacks.Matching(rounds=4).run(*released(people(spread=spread))) for spread in (0, 12, 40)]
    accuracies = [each.accuracy for each in found]
    assert accuracies[0] > 0.98
    assert 0.7 < accuracies[1] < 0.95
    assert 0.5 < accuracies[2] < accuracies[1] - 0.05
    for each in found:
        assert each.gain == each.accuracy - each.baseline
        assert each.interval[0] > each.baseline


def test_the_class_is_part_of_what_is_seen():
    X = people(spread=1e3).drop(columns="age")
    y = pd.Series(np.where(np.random.default_rng(0).random(len(X)) < 0.9, X["ill"] == "flu", False), name="sick")
    anatomy = md.Anatomy(l=2, sensitive="ill", random_state=0).fit(X, y)
    truth = X["ill"].iloc[anatomy.rows_]
    assert md.attacks.Matching(rounds=6).run(anatomy.release_, truth).interval[0] > 0.5


def test_who_knows_others_does_better_and_the_release_adds_to_that():
    X = people(900, spread=14)
    release, truth = released(X, l=3)
    known = people(3_000, spread=14, seed=9)
    result = md.attacks.Matching(known=known, rounds=6).run(release, truth)
    told = {name: each.value for name, each in result.by_adversary.items()}
    assert told["informed"] >= result.accuracy - 0.03
    assert told["informed"] > told["without the release"] + 0.05
    assert told["without the release"] > result.naive
    assert result.known == 3_000
    assert "without the release" in str(result)


def test_two_values_in_every_group_tell_who_is_alike_but_not_who_has_which():
    X = people(800)
    X = X[X["ill"].isin(["cold", "gout"])].reset_index(drop=True)
    X = X.groupby("ill").head(120).reset_index(drop=True)
    release, truth = released(X)
    result = md.attacks.Matching(known=people(500, seed=4)).run(release, truth)
    assert result.learner is None
    assert result.interval[0] < 0.5 < result.interval[1]
    assert result.by_adversary["informed"].value > 0.9


@pytest.mark.parametrize(
    ("trials", "least", "most"), [(40, 0.85, 1), pytest.param(300, 0.92, 0.98, marks=pytest.mark.slow)]
)
def test_intervals_hold_the_truth_as_often_as_they_say(trials, least, most):
    """At random 1/ℓ is right on average; both records of a group are right together, which the interval must know."""
    held, gid, ill = 0, np.repeat(np.arange(100), 2), np.tile(["a", "b"], 100)
    release = AnatomyRelease.from_tables(
        pd.DataFrame({"nothing": [None] * 200, "GID": gid}), pd.DataFrame({"GID": gid, "ill": ill})
    )
    for seed in range(trials):
        swap = np.repeat(np.random.default_rng(seed).random(100) < 0.5, 2)
        truth = np.where(swap, ill, ill.reshape(-1, 2)[:, ::-1].ravel())
        low, high = md.attacks.Matching(random_state=seed).run(release, truth).interval
        held += low <= 0.5 <= high
    assert least <= held / trials <= most


def in_threes(groups=500, apart=0.0, seed=0, copies=1):
    """Groups of asthma, cold and either flu or gout; in a share of them asthma or cold is missing instead."""
    random = np.random.default_rng(seed)
    ill = np.array([[0, 1, 2], [0, 1, 3]])[random.integers(0, 2, groups)]
    other = random.random(groups) < apart
    ill[other] = np.array([[0, 2, 3], [1, 2, 3]])[random.integers(0, 2, int(other.sum()))]
    ill = random.permuted(ill, axis=1).ravel()
    gid = np.repeat(np.arange(groups), 3)
    age = MIDDLE[ill] + np.round(random.normal(0, 3, len(ill)))
    seen = pd.DataFrame({f"age {i}": age for i in range(copies)} | {"GID": gid})
    table = pd.DataFrame({"GID": gid, "ill": VALUES[ill]}).sort_values(["GID", "ill"])
    return AnatomyRelease.from_tables(seen, table), VALUES[ill]


@pytest.mark.parametrize("seed", range(2))
def test_values_that_every_group_has_are_not_told_apart_but_the_others_are(seed):
    """Who has flu or gout is found; between asthma and cold it is a coin's throw, neither all right nor all wrong."""
    release, truth = in_threes(seed=seed)
    result = md.attacks.Matching(rounds=6).run(release, truth)
    assert result.alike == 2
    assert 0.6 < result.accuracy < 0.72


def test_a_few_groups_without_one_of_two_values_name_both_of_them():
    result = md.attacks.Matching(rounds=6).run(*in_threes(apart=0.05))
    assert result.alike == 0
    assert result.interval[0] > 0.9


def test_a_model_too_sure_of_itself_is_believed_less():
    """Six copies of an attribute make naive Bayes six times as sure; the likelihood of groups set aside undoes that."""
    once, often = (md.attacks.Matching(rounds=3).run(*in_threes(apart=0.3, copies=many)) for many in (1, 6))
    assert often.fits["naive Bayes"] > 0.9 * once.fits["naive Bayes"] > 0.1
    for each in (once, often):
        told = {name: found.value for name, found in each.by_adversary.items()}
        assert told["deFinetti"] >= max(told["deFinetti, naive Bayes"], told["deFinetti, network"]) - 0.02
        assert each.fits["both"] > 0


def test_merged_values_keep_their_counts_and_scores_spread_back():
    groups = Groups.of(in_threes(groups=20)[0])
    merged = groups.merged()
    assert (len(merged.values), merged.caps.sum()) == (3, 60)
    assert np.allclose(merged.shares.sum(), 1)
    scores = np.arange(len(merged.pair_records), dtype=float)
    spread = groups.spread(merged, scores).reshape(-1, 3)
    assert (spread[:, 0] == spread[:, 1]).all()
    assert spread[:, [0, 2]].ravel().tolist() == scores.tolist()


def test_several_sensitive_attributes_are_attacked_one_at_a_time():
    X = people(800).assign(job=np.random.default_rng(1).choice(["clerk", "nurse", "smith"], 800))
    anatomy = md.Anatomy(l=2, sensitive=["ill", "job"], random_state=0).fit(X)
    rows = X.iloc[anatomy.rows_]
    attack = md.attacks.Matching(rounds=2)
    with pytest.raises(ParameterError, match="several sensitive attributes; say which: 'ill' and 'job'"):
        attack.run(anatomy.release_, rows["ill"])
    ill, job = (attack.run(anatomy.release_, rows[name], name) for name in ("ill", "job"))
    assert ill.accuracy > 0.8
    assert job.interval[0] < 0.55
    with pytest.raises(DataError, match="no sensitive attribute 'age'"):
        attack.run(anatomy.release_, rows["ill"], "age")


def test_polars_and_missing_values_give_the_same():
    X = people(700)
    X.loc[::7, "age"] = np.nan
    X.loc[::5, "town"] = None
    X["empty"] = np.nan
    release, truth = released(X)
    found = md.attacks.Matching(rounds=3).run(release, truth)
    tables = as_polars(release.identifying), as_polars(release.sensitive)
    other = AnatomyRelease(tables[0], {"ill": tables[1]}, release.schema)
    again = md.attacks.Matching(rounds=3).run(other, as_polars(truth.to_frame())["ill"])
    assert again.accuracy == found.accuracy > 0.6


def test_the_same_seed_gives_the_same_bytes_and_plain_data():
    release, truth = released(people(600))
    first, second = (md.attacks.Matching(rounds=3, random_state=7).run(release, truth).to_dict() for _ in range(2))
    for each in (first, second):
        assert each.pop("seconds") > 0
    assert json.dumps(first) == json.dumps(second)
    assert {"accuracy", "interval", "baseline", "naive", "gain", "by_adversary", "group_sizes"} <= set(first)
    assert sum(int(size) * many for size, many in first["group_sizes"].items()) == first["records"] == 600


def test_the_order_of_the_tables_decides_nothing():
    gid = np.repeat(np.arange(300), 3)
    ill = np.tile(["a", "b", "c"], 300)
    release = AnatomyRelease.from_tables(
        pd.DataFrame({"one": ["x"] * 900, "GID": gid}), pd.DataFrame({"GID": gid, "ill": ill})
    )
    result = md.attacks.Matching().run(release, ill)
    assert result.interval[0] < 1 / 3 < result.interval[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda truth: truth.sample(frac=1, random_state=0), "not those of this release"),
        (lambda truth: truth.replace({"flu": "cold"}), "not those of this release"),
        (lambda truth: truth.where(truth != "flu"), "not those of this release"),
        (lambda truth: truth[:-1], "Got 399 values"),
        (lambda truth: "flu", "Got 1 values"),
        (lambda truth: None, "Got 1 values"),
    ],
)
def test_a_truth_that_does_not_belong_is_refused_without_its_values(change, said):
    release, truth = released(people(400))
    with pytest.raises(DataError, match=said) as caught:
        md.attacks.Matching().run(release, change(truth))
    assert "flu" not in str(caught.value)


def test_bad_parameters_are_refused_in_one_sentence():
    release, truth = released(people(400))
    with pytest.raises(ParameterError, match="The 'rounds' parameter of Matching must be an int ≥ 1"):
        md.attacks.Matching(rounds=0).run(release, truth)
    with pytest.raises(ParameterError, match=r"Matching attacks an AnatomyRelease\. Got a DataFrame"):
        md.attacks.Matching().run(people(10), truth)
    with pytest.raises(DataError, match="no column 'age'"):
        md.attacks.Matching(known=people(50).drop(columns="age"), rounds=1).run(release, truth)
    with pytest.raises(DataError, match="The column 'ill' is not in the data"):
        md.attacks.Matching(known=people(50).drop(columns="ill"), rounds=1).run(release, truth)
    with pytest.raises(DataError, match="Fewer than 10 of the known records"):
        md.attacks.Matching(known=people(50).assign(ill="plague"), rounds=1).run(release, truth)


def test_odd_releases_are_attacked_too():
    """One value, one group, groups of one, thousands of values, attributes that nobody shares."""
    random = np.random.default_rng(0)
    attack = md.attacks.Matching(rounds=2)
    many = random.integers(0, 600, 1_200)
    cases = [
        ({"a": random.integers(0, 5, 60)}, ["x"] * 60, np.arange(60) // 2, 1.0),
        ({"a": random.integers(0, 5, 60)}, random.choice(["x", "y"], 60), np.arange(60), 1.0),
        ({"a": [f"n{i}" for i in range(60)]}, ["x", "y", "z"] * 20, np.zeros(60, dtype=int), 1 / 3),
        ({"a": many}, many.astype(str), np.arange(1_200) // 4, None),
        ({"a": [1.0]}, ["x"], [0], 1.0),
    ]
    for columns, ill, gid, baseline in cases:
        sensitive = pd.DataFrame({"GID": gid, "ill": ill}).sort_values(["GID", "ill"])
        result = attack.run(AnatomyRelease.from_tables(pd.DataFrame(columns | {"GID": gid}), sensitive), ill)
        assert result.interval[0] <= result.accuracy <= result.interval[1]
        assert baseline is None or result.baseline == pytest.approx(baseline)
    assert (result.records, result.learner) == (1, None)
