"""Matching people to sensitive values: exact if possible, approximate in large groups."""

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars

import modicum as md
from modicum.attacks.matching.kernel import EXACT
from modicum.attacks.matching.release_groups import ReleaseGroups
from modicum.errors import DataError, ParameterError
from modicum.releases.anatomy_release import AnatomyRelease

VALUES = np.array(["asthma", "cold", "flu", "gout", "measles"])
MIDDLE = np.array([20, 32, 44, 56, 68])


def people(n=900, spread=9, seed=0):
    """Return invented people whose age correlates with their illness, more so for a small spread; town is random."""
    random = np.random.default_rng(seed)
    ill = random.integers(0, len(VALUES), n)
    age = MIDDLE[ill] + np.round(random.normal(0, spread, n))
    return pd.DataFrame({"age": age, "town": random.integers(0, 6, n).astype(str), "ill": VALUES[ill]})


def release_of(X, l=2, seed=0, **options):
    anatomy = md.Anatomy(l=l, sensitive="ill", random_state=seed, **options).fit(X)
    return anatomy.release_, X["ill"].iloc[anatomy.rows_]


def build_release(sizes, seed=0, values=4):
    """Return a release with groups of these sizes, where values may repeat, and the truth."""
    random = np.random.default_rng(seed)
    gid = np.repeat(np.arange(len(sizes)), sizes)
    ill = random.integers(0, values, len(gid)).astype(str)
    identifying = pd.DataFrame({"age": random.integers(0, 9, len(gid)), "GID": gid})
    sensitive = pd.DataFrame({"GID": gid, "ill": ill}).sort_values(["GID", "ill"])
    return AnatomyRelease.from_tables(identifying, sensitive), ill


def every_matching(groups, g):
    """Return a group's options place by place, and all orders of its records."""
    own = slice(groups.firsts[g], groups.firsts[g + 1])
    places = np.repeat(np.arange(own.stop - own.start), groups.caps[own])
    return places, list(permutations(range(len(places))))


@pytest.mark.parametrize("sizes", [[2, 3, 4], [5, 2, 1], pytest.param([6, 7, 3], marks=pytest.mark.slow)])
def test_chances_and_guesses_agree_with_all_permutations(sizes):
    release, _ = build_release(sizes)
    groups = ReleaseGroups.of(release)
    scores = np.random.default_rng(1).normal(0, 3, int(groups.blocks[-1]))
    chances, total = groups.chances(scores)
    guess = groups.likeliest(scores, np.random.default_rng(0))
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
        options = groups.options[groups.firsts[g] : groups.firsts[g + 1]]
        assert options[expected.argmax(axis=1)].tolist() == guess[groups.starts[g] : groups.starts[g + 1]].tolist()
    assert np.isclose(total, likelihood / sum(sizes))


def test_the_likeliest_value_is_right_more_often_than_the_likeliest_matching():
    """The expectation over all matchings with these scores, for ℓ = 4 and 30 groups."""
    groups = ReleaseGroups.of(build_release([4] * 30, values=9)[0])
    scores = np.random.default_rng(1).normal(0, 1, int(groups.blocks[-1]))
    chances, _ = groups.chances(scores)
    guess = groups.likeliest(scores, np.random.default_rng(0))
    likeliest = chances[guess[groups.pair_records] == groups.options[groups.pair_options]].sum()
    one_matching = 0.0
    for g in range(30):
        block = slice(groups.blocks[g], groups.blocks[g + 1])
        own, chance = scores[block].reshape(4, -1), chances[block].reshape(4, -1)
        places, orders = every_matching(groups, g)
        best = max(orders, key=lambda order: sum(own[i, places[p]] for i, p in enumerate(order)))
        one_matching += sum(chance[i, places[p]] for i, p in enumerate(best))
    assert likeliest > one_matching + 1


def test_chances_add_up_even_if_scores_are_far_apart():
    groups = ReleaseGroups.of(build_release([8, 8, 5])[0])
    scores = np.random.default_rng(0).normal(0, 2_000, int(groups.blocks[-1]))
    chances, total = groups.chances(scores)
    sums = np.bincount(groups.pair_records, weights=chances)
    assert np.isfinite(total)
    assert np.allclose(sums, 1)


def test_chances_of_large_groups_use_every_value_as_often_as_it_occurs():
    groups = ReleaseGroups.of(build_release([EXACT + 4, 60])[0])
    scores = np.random.default_rng(1).normal(0, 1, int(groups.blocks[-1]))
    chances, _ = groups.chances(scores)
    assert np.allclose(np.bincount(groups.pair_records, weights=chances), 1)
    assert np.allclose(np.bincount(groups.pair_options, weights=chances), groups.caps, atol=1e-3)
    assert groups.chances(0 * scores)[1] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("spread", "far"), [(0.1, 1e-4), (0.5, 2e-3), (1, 0.02), (4, 0.15)])
@pytest.mark.parametrize("caps", [[3, 3, 2], [1] * 8])
def test_the_approximation_for_large_groups_is_close_to_exact_in_small_ones(spread, far, caps):
    """Models are compared by the likelihood of groups: a measure that is too low would call them all useless."""
    from modicum.attacks.matching.kernel import _by_scaling, _by_subsets

    random = np.random.default_rng(0)
    scores, many = random.normal(0, spread, (8, len(caps))), np.array(caps)
    exact, scaled = np.empty(scores.shape), np.empty(scores.shape)
    likely = _by_subsets(scores, many, exact), _by_scaling(scores, many, scaled)
    assert abs(likely[0] - likely[1]) / 8 < far
    assert spread > 1 or np.abs(exact - scaled).max() < 0.25 * spread


def test_random_worlds_is_the_best_guess_if_all_matchings_are_equally_likely():
    sizes = [2, 3, 4, 6]
    release, truth = build_release(sizes, seed=3, values=3)
    groups = ReleaseGroups.of(release)
    expected = 0.0
    for g, m in enumerate(sizes):
        own = truth[groups.order][groups.starts[g] : groups.starts[g + 1]]
        orders = list(permutations(range(m)))
        chances = [[np.mean([own[order[i]] == value for order in orders]) for value in set(own)] for i in range(m)]
        expected += sum(map(max, chances))
    assert np.isclose(groups.random_worlds, expected / sum(sizes))
    guess = groups.likeliest(np.zeros(int(groups.blocks[-1])), np.random.default_rng(0))
    assert (guess == groups.truths(truth, "ill")).mean() <= groups.random_worlds + 0.2


@pytest.mark.parametrize("l", [2, 3])
def test_useless_attributes_leave_one_in_l(l):
    X = people()
    X["age"] = np.random.default_rng(5).permutation(X["age"])
    result = md.attacks.Matching().run(*release_of(X, l=l))
    assert result.baseline == pytest.approx(1 / l, abs=0.01)
    assert result.interval[0] <= result.baseline <= result.interval[1]
    assert result.l == l


def random_release(seed, l=3, n=240):
    random = np.random.default_rng(seed)
    X = pd.DataFrame({name: random.integers(0, 4, n).astype(str) for name in "abc"})
    return release_of(
        X.assign(ill=random.choice([f"v{i}" for i in range(3 * l)], n)), l=l, seed=seed, max_suppressed=1.0
    )


@pytest.mark.parametrize(("seeds", "l"), [(6, 3), *(pytest.param(50, l, marks=pytest.mark.slow) for l in (2, 3, 5))])
def test_over_many_random_releases_as_many_are_right_as_by_chance(seeds, l):
    """The adversary always guesses by its best model; random attributes must gain nothing."""
    found = [md.attacks.Matching(rounds=2, random_state=seed).run(*random_release(seed, l)) for seed in range(seeds)]
    gains = np.array([each.gain for each in found])
    assert all(each.learner for each in found)
    assert abs(gains.mean()) < 3.5 * gains.std(ddof=1) / np.sqrt(seeds)
    assert np.mean([each.interval[0] <= each.baseline <= each.interval[1] for each in found]) >= 0.75


def faint(n, values, signal, seed=0):
    """Return people with two attributes that each name the value with some chance."""
    random = np.random.default_rng(seed)
    ill = random.integers(0, values, n)
    seen = {name: np.where(random.random(n) < signal, ill, random.integers(0, values, n)) for name in "ab"}
    return pd.DataFrame({name: each.astype(str) for name, each in seen.items()} | {"ill": [f"v{i}" for i in ill]})


@pytest.mark.parametrize(("l", "values"), [(9, 18), (12, 24)])
def test_groups_too_large_for_exact_chances_are_not_called_safe(l, values):
    result = md.attacks.Matching(rounds=2).run(*release_of(faint(1_500, values, 0.4), l=l, max_suppressed=1.0))
    assert result.l > EXACT
    assert result.interval[0] > result.baseline + 0.05
    assert max(result.fits.values()) > 0


def test_a_faint_signal_in_few_records_is_used_despite_a_poor_fit():
    found = [
        md.attacks.Matching(rounds=2).run(*release_of(faint(600, 6, 0.2, seed), l=5, max_suppressed=1.0))
        for seed in range(3)
    ]
    assert all(each.learner for each in found)
    assert np.mean([each.gain for each in found]) > 0.02


def test_no_adversary_sees_the_truth(monkeypatch):
    release, truth = release_of(people(400), l=3)
    gid = release.identifying["GID"].to_numpy()
    random, other = np.random.default_rng(0), truth.to_numpy().copy()
    for g in np.unique(gid):
        other[gid == g] = random.permutation(other[gid == g])
    guesses, likeliest = [], ReleaseGroups.likeliest
    monkeypatch.setattr(ReleaseGroups, "likeliest", lambda *given: guesses.append(likeliest(*given)) or guesses[-1])
    attack = md.attacks.Matching(rounds=2, known=people(200, seed=5))
    found = [attack.run(release, each) for each in (truth.to_numpy(), other)]
    half = len(guesses) // 2
    assert half == 5
    assert np.array_equal(guesses[:half], guesses[half:])
    assert found[0].accuracy > found[1].accuracy


@pytest.mark.filterwarnings("ignore:The identifying table reveals 'ill'")
def test_more_informative_attributes_match_more_people():
    results = [md.attacks.Matching(rounds=4).run(*release_of(people(spread=spread))) for spread in (0, 12, 40)]
    accuracies = [each.accuracy for each in results]
    assert accuracies[0] > 0.98
    assert 0.7 < accuracies[1] < 0.95
    assert 0.5 < accuracies[2] < accuracies[1] - 0.05
    for each in results:
        assert each.gain == each.accuracy - each.baseline
        assert each.interval[0] > each.baseline


def test_the_class_is_visible_to_the_adversary():
    X = people(spread=1e3).drop(columns="age")
    y = pd.Series(np.where(np.random.default_rng(0).random(len(X)) < 0.9, X["ill"] == "flu", False), name="sick")
    anatomy = md.Anatomy(l=2, sensitive="ill", random_state=0).fit(X, y)
    truth = X["ill"].iloc[anatomy.rows_]
    assert md.attacks.Matching(rounds=6).run(anatomy.release_, truth).interval[0] > 0.5


def test_known_records_help_and_the_release_adds_to_that():
    X = people(900, spread=14)
    release, truth = release_of(X, l=3)
    known = people(3_000, spread=14, seed=9)
    result = md.attacks.Matching(known=known, rounds=6).run(release, truth)
    values = {name: each.value for name, each in result.by_adversary.items()}
    assert values["informed"] >= result.accuracy - 0.03
    assert values["informed"] > values["without the release"] + 0.05
    assert values["without the release"] > result.naive
    assert result.known == 3_000
    assert "without the release" in str(result)


def test_two_values_in_every_group_show_who_is_alike_but_not_which_value():
    X = people(800)
    X = X[X["ill"].isin(["cold", "gout"])].reset_index(drop=True)
    X = X.groupby("ill").head(120).reset_index(drop=True)
    release, truth = release_of(X)
    result = md.attacks.Matching(known=people(500, seed=4)).run(release, truth)
    assert (result.learner, result.identifiable, result.alike, result.values) == (None, False, 2, 2)
    assert result.interval[0] < 0.5 < result.interval[1]
    assert result.by_adversary["informed"].value > 0.9
    assert 'see "informed"' in result.note
    alone = md.attacks.Matching().run(release, truth)
    assert "All values of 'ill' come together" in alone.note
    assert "Someone who knows a few of these people can infer the values of the others" in str(alone)
    assert (alone.to_dict()["note"], alone.to_dict()["identifiable"]) == (alone.note, False)


@pytest.mark.parametrize(
    ("trials", "least", "most"), [(40, 0.85, 1), pytest.param(300, 0.92, 0.98, marks=pytest.mark.slow)]
)
def test_intervals_cover_the_truth_as_often_as_stated(trials, least, most):
    """By chance 1/ℓ is right on average."""
    covered, gid, ill = 0, np.repeat(np.arange(100), 2), np.tile(["a", "b"], 100)
    release = AnatomyRelease.from_tables(
        pd.DataFrame({"nothing": [None] * 200, "GID": gid}), pd.DataFrame({"GID": gid, "ill": ill})
    )
    for seed in range(trials):
        swap = np.repeat(np.random.default_rng(seed).random(100) < 0.5, 2)
        truth = np.where(swap, ill, ill.reshape(-1, 2)[:, ::-1].ravel())
        low, high = md.attacks.Matching(random_state=seed).run(release, truth).interval
        covered += low <= 0.5 <= high
    assert least <= covered / trials <= most


def in_threes(groups=500, apart=0.0, seed=0, copies=1):
    """Return groups of asthma, cold and either flu or gout; in a share of them asthma or cold is missing instead."""
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
def test_only_values_in_every_group_are_not_distinguished(seed):
    """Flu and gout are found; between asthma and cold it is a coin's throw, neither all right nor all wrong."""
    release, truth = in_threes(seed=seed)
    result = md.attacks.Matching(rounds=6).run(release, truth)
    assert (result.alike, result.values, result.identifiable) == (2, 4, True)
    assert 0.6 < result.accuracy < 0.72
    assert "2 of the 4 values of 'ill' come together" in result.note


def test_fewer_right_than_by_chance_is_not_called_safe():
    result = md.attacks.Matching(rounds=2).run(*release_of(people(300)))
    assert result.note is None
    low = replace(result.by_adversary["deFinetti"], value=0.3, interval=(0.25, 0.35))
    swapped = replace(result, by_adversary={**result.by_adversary, "deFinetti": low})
    assert "no protection" in swapped.note
    assert swapped.note in str(swapped)


def test_each_adversary_is_described_with_its_baseline():
    result = md.attacks.Matching(rounds=2, known=people(100, seed=3)).run(*release_of(people(300)))
    text = str(result)
    assert "learns from the release alone" in text
    assert "fitted held-out groups best" in text
    assert "100 complete records of other people" in text
    for each in result.to_dict()["by_adversary"].values():
        assert set(each) == {"value", "interval", "baseline", "means"}
        assert each["baseline"] == result.baseline


def test_a_few_groups_without_one_of_two_values_reveal_both():
    result = md.attacks.Matching(rounds=6).run(*in_threes(apart=0.05))
    assert result.alike == 0
    assert result.interval[0] > 0.9


def test_an_overconfident_model_is_scaled_down():
    """Six copies of an attribute make naive Bayes six times as sure; the likelihood of held-out groups undoes that."""
    once, often = (md.attacks.Matching(rounds=3).run(*in_threes(apart=0.3, copies=many)) for many in (1, 6))
    assert often.fits["naive Bayes"] > 0.9 * once.fits["naive Bayes"] > 0.1
    for each in (once, often):
        values = {name: score.value for name, score in each.by_adversary.items()}
        assert values["deFinetti"] >= max(values["deFinetti, naive Bayes"], values["deFinetti, network"]) - 0.02
        assert each.fits["both"] > 0


def test_merged_values_keep_their_counts_and_get_their_scores_back():
    groups = ReleaseGroups.of(in_threes(groups=20)[0])
    merged = groups.merge_alike()
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
    with pytest.raises(
        ParameterError, match=r"several sensitive attributes\. Choose one with 'sensitive': 'ill' and 'job'"
    ):
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
    release, truth = release_of(X)
    found = md.attacks.Matching(rounds=3).run(release, truth)
    tables = as_polars(release.identifying), as_polars(release.sensitive)
    other = AnatomyRelease(tables[0], {"ill": tables[1]}, release.schema)
    again = md.attacks.Matching(rounds=3).run(other, as_polars(truth.to_frame())["ill"])
    assert again.accuracy == found.accuracy > 0.6


def test_the_same_seed_gives_the_same_bytes_and_plain_data():
    release, truth = release_of(people(600))
    first, second = (md.attacks.Matching(rounds=3, random_state=7).run(release, truth).to_dict() for _ in range(2))
    for each in (first, second):
        assert each.pop("seconds") > 0
    assert json.dumps(first) == json.dumps(second)
    assert {"accuracy", "interval", "baseline", "naive", "gain", "by_adversary", "group_sizes"} <= set(first)
    assert sum(int(size) * many for size, many in first["group_sizes"].items()) == first["records"] == 600


def test_the_order_of_the_tables_does_not_matter():
    gid = np.repeat(np.arange(300), 3)
    ill = np.tile(["a", "b", "c"], 300)
    release = AnatomyRelease.from_tables(
        pd.DataFrame({"one": ["x"] * 900, "GID": gid}), pd.DataFrame({"GID": gid, "ill": ill})
    )
    result = md.attacks.Matching().run(release, ill)
    assert result.interval[0] < 1 / 3 < result.interval[1]


@pytest.mark.parametrize(
    "change",
    [pd.Series.to_frame, lambda truth: truth.to_numpy()[:, None], lambda truth: iter(truth.tolist()), list, as_polars],
)
def test_the_truth_may_be_any_single_column(change):
    release, truth = release_of(people(300))
    attack = md.attacks.Matching(rounds=1)
    given = change(truth.to_frame()) if change is as_polars else change(truth)
    assert attack.run(release, given).accuracy == attack.run(release, truth).accuracy


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda truth: truth.sample(frac=1, random_state=0), "not those of this release"),
        (lambda truth: truth.replace({"flu": "cold"}), "not those of this release"),
        (lambda truth: truth.where(truth != "flu"), "not those of this release"),
        (lambda truth: truth[:-1], "Got 399 values"),
        (lambda truth: "flu", "Got 1 values"),
        (lambda truth: truth.to_frame().assign(more=1), "must be one column, the values of 'ill'. Got 2 columns"),
        (lambda truth: np.column_stack([truth, truth]), "must be one column, the values of 'ill'. Got 2 columns"),
        (lambda truth: None, "Got 1 values"),
    ],
)
def test_a_wrong_truth_is_refused_without_showing_its_values(change, message):
    release, truth = release_of(people(400))
    with pytest.raises(DataError, match=message) as caught:
        md.attacks.Matching().run(release, change(truth))
    assert "flu" not in str(caught.value)


def test_bad_parameters_are_refused_in_one_sentence():
    release, truth = release_of(people(400))
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
    """One value, one group, groups of one, thousands of values, attributes with unique values."""
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
