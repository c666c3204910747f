"""A2 to A8 against data with a known best adversary, and all together."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import as_polars
from test_attacks import showing

import modicum as md
from modicum.attacks import Linkability, MultiBreach, OverlapWarning, Reconstruction, SinglingOut, suite
from modicum.table.targets import Target


def world(n: int, seed: int) -> pd.DataFrame:
    """`secret` is (group + site) mod 4 for 70%, else one of the other three; `coin` depends on nothing."""
    random = np.random.default_rng(seed)
    group, site = random.integers(0, 4, n), random.integers(0, 3, n)
    likely = (group + site) % 4
    secret = np.where(random.random(n) < 0.7, likely, (likely + random.integers(1, 4, n)) % 4)
    columns = {"group": group, "site": site, "secret": secret, "coin": random.integers(0, 2, n)}
    return pd.DataFrame({name: values.astype(str) for name, values in columns.items()})


KNOWN, BREACHED = world(12_000, 1), world(12_000, 2)
SITE = showing(["site"], KNOWN)
OPTIONS = {"progress": False, "n_jobs": 1}


def best(knowledge: str) -> dict[str, float]:
    """Return the least possible errors about `secret` and `group` for an adversary who sees `site`."""
    return {
        "nothing": {"secret": 0.75, "group": 0.75},
        "non_personal": {"secret": 0.75, "group": 0.75},
        "all_but_one": {"secret": 0.3, "group": 0.3},
        "prefix": {"secret": 0.525, "group": 0.525},  # once without the other, once with it
    }[knowledge]


@pytest.mark.parametrize("knowledge", ["nothing", "non_personal", "all_but_one", "prefix"])
def test_side_knowledge_is_used_as_well_as_possible(knowledge):
    attack = Reconstruction(knowledge, personal=["secret", "group"], **OPTIONS)
    result = attack.run(SITE, known=KNOWN, breached=BREACHED)
    for name, error in best(knowledge).items():
        assert result.by_attribute[name].error == pytest.approx(error, abs=0.02), name
        assert result.by_attribute[name].naive == pytest.approx(0.75, abs=0.02)
    assert result.adversary == {"nothing": "A1", "non_personal": "A3", "all_but_one": "A4", "prefix": "A5"}[knowledge]
    assert result.raw == 0
    assert result.interval[0] < result.error < result.interval[1]


def test_a3_knows_attributes_that_are_not_personal():
    attack = Reconstruction("non_personal", personal=["secret", "coin"], **OPTIONS)
    result = attack.run(showing([], KNOWN), known=KNOWN, breached=BREACHED)
    assert result.by_attribute["secret"].error == pytest.approx(0.3, abs=0.02)
    assert result.by_attribute["coin"].error == pytest.approx(0.5, abs=0.02)
    assert result.worst == "secret"


def test_a_number_known_in_full_reveals_more_than_its_buckets():
    random = np.random.default_rng(0)
    age = random.integers(18, 90, 8_000)
    X = pd.DataFrame({"age": age.astype(float), "odd": np.where(age % 2, "odd", "even")})
    X.loc[::50, "age"] = np.nan
    g = showing([], X)
    known, breached = X[:4_000], X[4_000:]
    blind = Reconstruction(personal=["odd"], **OPTIONS).run(g, known, breached)
    knows = Reconstruction("non_personal", personal=["odd"], **OPTIONS).run(g, known, breached)
    assert blind.error == pytest.approx(0.5, abs=0.03)
    assert knows.error == pytest.approx(0.01, abs=0.02)  # half of the fiftieth whose age is missing


def test_two_numbers_together_reveal_the_secret():
    random = np.random.default_rng(0)
    a, b = random.integers(0, 24, (2, 20_000)).astype(float)
    X = pd.DataFrame({"a": a, "b": b, "secret": np.where((a + b) % 2, "odd", "even")})
    result = Reconstruction("non_personal", personal=["secret"], **OPTIONS).run(showing([], X), X[:12_000], X[12_000:])
    assert result.error < 0.02


def test_values_named_by_the_artifact_can_be_guessed_without_known_records():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"zip": random.integers(0, 600, 3_000).astype(str), "b": "x"})
    g = showing(["zip"], X)
    known, breached = X[:600], X[600:].copy()
    breached.iloc[::10, 0] = None
    result = Reconstruction(personal=["zip"], **OPTIONS).run(g, known, breached)
    assert result.error == 0  # missing values are visible, too
    assert result.naive > 0.9


def test_weights_and_aggregators():
    attack = Reconstruction(personal=["secret", "site"], weights={"secret": 3}, **OPTIONS)
    result = attack.run(showing(["site"], KNOWN), known=KNOWN, breached=BREACHED)
    secret, site = result.by_attribute["secret"].error, result.by_attribute["site"].error
    assert site == 0
    assert result.weights == {"secret": 0.75, "site": 0.25}
    assert result.error == pytest.approx(0.75 * secret)
    assert result.interval[0] < result.error < result.interval[1]
    assert result.aggregates["max"] == pytest.approx(
        {"error": secret, "naive": result.by_attribute["secret"].naive, "attribute": "secret"}
    )
    assert result.aggregates["min"]["attribute"] == "site"
    assert result.aggregates["mean"]["error"] == result.error


# A2


def certain_for_some(n: int, seed: int) -> pd.DataFrame:
    """A tenth of the people have a certain secret; for the others it is a coin."""
    random = np.random.default_rng(seed)
    kind = np.where(random.random(n) < 0.1, "sure", "open")
    secret = np.where(kind == "sure", "yes", random.choice(["yes", "no"], n))
    return pd.DataFrame({"kind": kind, "secret": secret, "coin": random.choice(["h", "t"], n)})


def test_the_most_confident_guesses_are_as_good_as_possible():
    known, breached = certain_for_some(20_000, 1), certain_for_some(20_000, 2)
    result = Reconstruction(personal=["secret"], **OPTIONS).run(showing(["kind"], known), known, breached)
    levels = {level.percent: level for level in result.confident([5, 10, 20, 100])}
    expected = {5: 0.0, 10: 0.0, 20: 0.25, 100: 0.45}
    for percent, error in expected.items():
        assert levels[percent].error == pytest.approx(error, abs=0.02)
        assert levels[percent].records == 200 * percent
        low, high = levels[percent].interval
        assert low <= levels[percent].error <= high
        assert low < high
    assert levels[100].error == result.error
    assert levels[100].interval == result.interval
    assert levels[5].naive == 0  # the naive guess is judged on the same records, where all secrets are yes


def test_only_python_names_the_most_exposed_people():
    known, breached = certain_for_some(5_000, 1), certain_for_some(5_000, 2)
    result = Reconstruction(personal=["secret", "coin"], **OPTIONS).run(showing(["kind"], known), known, breached)
    exposed = result.exposed(20, attribute="secret")
    assert (breached["kind"].iloc[exposed["row"]] == "sure").all()
    assert exposed["right"].all()
    assert exposed["chance"].min() > 0.9
    assert exposed["percent"].tolist() == pytest.approx([100 * (breached["kind"] == "sure").mean()] * 20)
    assert len(result.exposed(7)) == 7
    assert "guesses" not in result.to_dict()
    assert "row" not in json.dumps(result.to_dict())
    with pytest.raises(md.errors.ParameterError, match="'kind' was not attacked"):
        result.exposed(attribute="kind")
    for bad in ([0], [101], []):
        with pytest.raises(md.errors.ParameterError, match="'percent' parameter"):
            result.confident(bad)


# A6


def test_two_breaches_reveal_more_than_each():
    """Neither group nor site alone says anything about the secret; together they say everything."""
    views = [showing(["group"], KNOWN), showing(["site"], KNOWN)]
    result = MultiBreach(["secret", "coin"], **OPTIONS).run(views, known=KNOWN, breached=BREACHED)
    assert result.by_attribute["secret"].error == pytest.approx(0.3, abs=0.02)
    assert result.by_attribute["coin"].error == pytest.approx(0.5, abs=0.02)
    assert result.alone == pytest.approx([0.6, 0.625], abs=0.02)  # sites and groups are equally likely
    assert result.by_attribute["secret"].method == "joint refinement"
    assert result.adversary == "A6"
    content = json.loads(json.dumps(result.to_dict()))
    assert content["alone"] == list(result.alone)
    assert content["alone_intervals"] == [list(ends) for ends in result.alone_intervals]


def test_each_breach_alone_has_the_interval_of_its_own_attack():
    views = [showing(["group"], KNOWN), showing(["site"], KNOWN)]
    for personal in (["secret"], ["secret", "coin"]):
        result = MultiBreach(personal, **OPTIONS).run(views, known=KNOWN, breached=BREACHED)
        own = [Reconstruction(personal=personal, **OPTIONS).run(view, KNOWN, BREACHED) for view in views]
        assert result.alone == pytest.approx([each.error for each in own], abs=0.02)
        for ends, error, single in zip(result.alone_intervals, result.alone, own, strict=True):
            assert ends[0] < error < ends[1]
            assert ends[1] - ends[0] == pytest.approx(single.interval[1] - single.interval[0], rel=0.1)


def test_breaches_that_name_different_values_have_the_same_targets():
    X = KNOWN.assign(town=np.random.default_rng(0).integers(0, 300, len(KNOWN)).astype(str))
    known, breached = X[:500], X[500:1_500]
    views = [showing(["town"], X), showing(["site"], known)]
    result = MultiBreach(["town", "secret"], **OPTIONS).run(views, known, breached)
    assert result.by_attribute["town"].error == 0  # the first breach shows it, although not every town is known


def test_masks_of_several_breaches_are_intersected():
    """Cuts at 10, 30, … and at 20, 40, … together show every bin of ten years."""
    X = pd.DataFrame({"age": np.random.default_rng(0).permutation(np.arange(0.005, 100, 0.02))})
    from modicum.generalization.build import intervals

    schema = md.Schema.infer(X)
    views = [
        md.Generalization(schema, [intervals(schema["age"], edges)])
        for edges in ([10, 30, 50, 70, 90], [20, 40, 60, 80])
    ]
    result = MultiBreach(**OPTIONS).run(views, known=X, breached=X + 0.01)
    assert result.alone == pytest.approx([0.4, 0.5], abs=0.02)
    assert result.error < 0.01


# A7


def halves(n: int, seed: int) -> pd.DataFrame:
    """Two halves that share only one of four groups; each has five values in a group."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 4, n)
    names = {"a": group * 5 + random.integers(0, 5, n), "b": group * 5 + random.integers(0, 5, n)}
    return pd.DataFrame({name: values.astype(str) for name, values in names.items()})


def grouped(X: pd.DataFrame) -> md.Generalization:
    from modicum.generalization.build import groups

    schema = md.Schema.infer(X).replace("a", kind="category").replace("b", kind="category")
    members = [[str(5 * i + j) for j in range(5)] for i in range(4)]
    return md.Generalization(schema, [groups(schema[name], members) for name in ("a", "b")])


def test_halves_are_linked_as_well_as_possible():
    X = halves(6_000, 1)
    result = Linkability(["a"], ["b"], k=500).run(grouped(X), breached=X)
    assert result.linked == pytest.approx(1 / 5, abs=0.02)  # the group is certain, the value within it is not
    assert 1 - result.naive == pytest.approx(1 / 20, abs=0.01)
    assert result.raw == pytest.approx(0.8, abs=0.05)  # full detail adds little: that a pair is in the breach
    assert result.same_person == pytest.approx(4 / 500, abs=0.002)  # one of four groups of 125
    assert result.same_person_naive == 1 / 500
    assert (result.k, result.people) == (500, 5_000)
    assert result.interval[0] < result.error < result.interval[1]


@pytest.mark.parametrize("k", [10, 20, 200])
def test_equally_good_matchings_do_not_reveal_the_truth(k):
    """Every pair is equally frequent, or none of the people's buckets ever occurs: nothing can be known."""
    values = [str(i) for i in range(10)]
    product = pd.DataFrame([(a, b) for a in values for b in values] * 4, columns=["a", "b"])
    schema = md.Schema.infer(product).replace("a", kind="category").replace("b", kind="category")
    from modicum.generalization.build import groups

    g = md.Generalization(schema, [groups(schema[name], [[v] for v in values]) for name in ("a", "b")])
    people = pd.DataFrame({"a": values * 100, "b": values * 100})
    results = [Linkability(["a"], ["b"], k=k, random_state=seed).run(g, product, people) for seed in range(4)]
    assert np.mean([r.linked for r in results]) == pytest.approx(1 - np.mean([r.naive for r in results]), abs=0.05)
    never = product.assign(b="0")
    results = [
        Linkability(["a"], ["b"], k=k, random_state=seed).run(g, never, people[people["b"] != "0"]) for seed in range(4)
    ]
    assert np.mean([r.linked for r in results]) == pytest.approx(1 - np.mean([r.naive for r in results]), abs=0.05)


def test_a_breach_that_shows_nothing_links_no_better_than_chance():
    X = halves(2_000, 1)
    result = Linkability(["a"], ["b"], k=200).run(grouped(X).drop("a"), breached=X)
    assert result.error == pytest.approx(result.naive, abs=1e-9)


def test_people_outside_the_breach_and_buckets_that_never_occur():
    """The breach lacks group 3: its people get the overall shares of the buckets."""
    X = halves(8_000, 1)
    g = grouped(X)
    is_last = g.codes(X)[:, 0] == 3
    breached, people = X[~is_last][:3_000], X[4_000:6_000]
    result = Linkability(["a"], ["b"], k=400).run(g, breached=breached, people=people)
    assert result.linked == pytest.approx(1 / 5, abs=0.03)  # people who fit no other group remain for the last one


def test_linking_rises_with_granularity():
    X, y = md.datasets.load_adult(return_X_y=True)
    X, y = X[:20_000], y[:20_000]
    path = md.PrivacyTree(max_leaves=200, privacy=0.1).fit(X[:10_000], y[:10_000]).path([2, 20, 200])
    linked = [Linkability(["education"], ["occupation"]).run(g, breached=X[10_000:]).linked for g in path]
    assert linked == sorted(linked)
    assert linked[-1] > linked[0]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"a": ["a"], "b": ["a", "b"]}, "'a' is in both halves"),
        ({"a": ["a"], "b": ["shoe size"]}, "names 'shoe size', which the generalization does not have"),
        ({"a": [], "b": ["b"]}, "'a' parameter of Linkability must list"),
        ({"a": "a", "b": ["b"]}, "'a' parameter of Linkability must list"),
        ({"a": ["a"], "b": ["b"], "k": 1}, "'k' parameter .* from 2 to 3,000"),
        ({"a": ["a"], "b": ["b"], "k": 3_001}, "'k' parameter .* from 2 to 3,000"),
        ({"a": ["a"], "b": ["b"], "k": 500}, "has 400 people, so 500"),
    ],
)
def test_linking_refuses_bad_parameters(arguments, complaint):
    X = halves(400, 1)
    with pytest.raises(md.errors.ModicumError, match=complaint):
        Linkability(**arguments).run(grouped(X), breached=X)


# A8


def test_the_rarest_records_are_found_and_described():
    X = pd.DataFrame({"job": ["nurse"] * 40 + ["smith"] * 3 + ["pilot", "judge"], "age": [30.0] * 44 + [99.0]})
    g = md.Uniform(buckets=50).fit(X).generalization_
    result = SinglingOut().run(g, X)
    assert (result.least, result.rarest, result.groups, result.unique) == (1, 2, 4, 2)
    assert result.sizes == {"1": 2, "2–4": 1, "5–9": 0, "10–19": 0, "20–49": 1}
    assert result.error == pytest.approx(43 / 45)
    assert result.predicate == "job is judge and age is ≥ 61"  # the first of two, in the order of buckets
    assert result.interval[0] < result.error < result.interval[1]
    assert (result.naive, result.raw) == (1.0, pytest.approx(43 / 45))
    assert "pilot" not in json.dumps(result.to_dict())
    coarse = SinglingOut().run(g.drop("age").merge("job", ["pilot", "judge"]), X)
    assert (coarse.least, coarse.rarest, coarse.unique) == (2, 1, 0)
    assert coarse.predicate == "job is one of judge, pilot"


def test_the_least_group_is_k_anonymity():
    X, y = md.datasets.load_adult(return_X_y=True)
    for g in md.PrivacyTree(max_leaves=50, privacy=0.2).fit(X[:9_000], y[:9_000]).path([2, 4, 50]):
        for frame in (X[9_000:12_000], as_polars(X[9_000:12_000])):
            assert SinglingOut().run(g, frame).least == md.measures.k_anonymity(g.transform(frame))


def test_persons_are_counted_not_rows():
    X = pd.DataFrame({"job": ["nurse"] * 6 + ["smith"] * 3, "who": [1, 1, 2, 2, 3, 3, 4, 4, 4]})
    schema = md.Schema.infer(X, person="who")
    g = md.Uniform(buckets=9, schema=schema).fit(X).generalization_
    result = SinglingOut().run(g, X)
    assert (result.least, result.rarest, result.people, result.unique) == (1, 1, 4, 1)
    assert result.error == 0.75
    released = g.transform(X).assign(who=X["who"])
    assert md.measures.k_anonymity(released, person="who") == 1
    assert md.measures.k_anonymity(released, ["job"]) == 3


def test_people_with_several_records_are_counted_once():
    """20 people have ten different records each: every record is unique, but there are only 20 people."""
    X = pd.DataFrame({"job": [str(i) for i in range(200)], "who": np.repeat(np.arange(20), 10)})
    g = md.Uniform(buckets=200, schema=md.Schema.infer(X, person="who").replace("job", kind="category")).fit(X)
    result = SinglingOut(population=1_000).run(g.generalization_, X)
    assert (result.people, result.unique, result.error, result.rarest) == (20, 20, 0.0, 200)
    assert result.population.fraction == 0.02
    assert result.population.of_sample <= 20
    nobody = SinglingOut().run(g.generalization_, X.assign(who=None))
    assert nobody.people == 200  # a row without an ID counts as one person


def test_a_whole_population_needs_no_model():
    for sizes in ([2] * 500, [1] * 50 + [500] * 10, [1] * 30, [77]):
        found = md.measures.expected_uniques(sizes, population=sum(sizes))
        assert found.unique == found.of_sample == sizes.count(1)
        assert found.interval == (sizes.count(1), sizes.count(1))


def test_the_interval_of_singling_out_covers_the_truth():
    """2,000 people of 20,000 kinds lose uniqueness in pairs, which a plain Wilson interval ignores."""
    truth = (1 - 1 / 20_000) ** 1_999
    covered = 0
    for seed in range(60):
        kinds = np.random.default_rng(seed).integers(0, 20_000, 2_000)
        X = pd.DataFrame({"kind": kinds.astype(float)})
        low, high = SinglingOut().run(showing(["kind"], X), X).interval
        covered += low <= 1 - truth <= high
    assert covered >= 52


def test_expected_uniques_come_near_the_truth():
    """Adult is the population, a part of it the sample."""
    X, y = md.datasets.load_adult(return_X_y=True)
    g = md.PrivacyTree(max_leaves=100, privacy=0.2).fit(X, y).generalization_
    truth = SinglingOut().run(g, X).unique
    assert truth > 200
    for fraction in (0.1, 0.3):
        sample = X.sample(frac=fraction, random_state=1)
        found = SinglingOut(population=len(X)).run(g, sample).population
        assert truth / 2 < found.unique < 2 * truth
        assert found.fraction == pytest.approx(fraction, abs=0.001)
        assert found.interval[0] < found.unique < found.interval[1]
        assert found.of_sample < found.unique
    assert SinglingOut(population=len(X)).run(g, X).population.of_sample == truth


def test_infinite_numbers_are_attacked_too():
    X = KNOWN[:600].assign(height=np.random.default_rng(0).normal(size=600))
    breached = BREACHED[:600].assign(height=np.inf)
    found = suite(showing(["site"], X), X, breached, personal=["secret", "height"], progress=False)
    assert found.singling_out.people == 600


def test_one_person_cannot_be_linked_but_the_rest_runs():
    X = KNOWN[:400].assign(who=0)
    g = md.Uniform(buckets=2, schema=md.Schema.infer(X, person="who")).fit(X).generalization_
    found = suite(g, KNOWN[400:900].assign(who=1), X, personal=["secret"], progress=False)
    assert found.skipped["A7"] == "linking needs at least two attributes and two people"


@pytest.mark.parametrize("population", [10, 2.5, "many"])
def test_a_population_smaller_than_its_sample_is_refused(population):
    with pytest.raises(md.errors.ParameterError, match="at least the 12,000 people"):
        SinglingOut(population=population).run(SITE, BREACHED)


def test_k_anonymity_refuses_bad_input():
    with pytest.raises(md.errors.DataError, match="'shoe size' is not in the data"):
        md.measures.k_anonymity(BREACHED, ["shoe size"])
    with pytest.raises(md.errors.ParameterError, match="list of names"):
        md.measures.k_anonymity(BREACHED, "site")
    with pytest.raises(md.errors.DataError, match="no rows"):
        md.measures.k_anonymity(BREACHED[:0])
    assert md.measures.k_anonymity(BREACHED, ["site", "site"]) == md.measures.k_anonymity(BREACHED, ["site"])
    gone = pd.DataFrame({"a": [1.0, np.nan, np.nan, 1.0]})
    assert md.measures.k_anonymity(gone) == md.measures.k_anonymity(pl.DataFrame({"a": [1.0, None, np.nan, 1.0]})) == 2
    for sizes in ([], [0, 3], [1.5], [[1, 2]], "ab"):
        with pytest.raises(md.errors.ParameterError, match="'sizes' parameter"):
            md.measures.expected_uniques(sizes, 100)


# Certificates with side knowledge


@pytest.mark.parametrize("knowledge", ["nothing", "non_personal", "all_but_one"])
def test_the_certificate_bounds_the_best_adversary_with_that_knowledge(knowledge):
    bound = md.certify(SITE, BREACHED, ["secret", "group"], knowledge=knowledge)
    for name, error in best(knowledge).items():
        assert 1 - error <= bound.bounds[name] <= 1 - error + 0.06
    assert bound.note is None
    result = Reconstruction(knowledge, ["secret", "group"], **OPTIONS).run(SITE, KNOWN, BREACHED)
    assert all(1 - result.by_attribute[name].error <= bound.bounds[name] for name in bound.bounds)


def test_a_certificate_says_when_its_cells_are_too_small():
    random = np.random.default_rng(0)
    X = BREACHED.assign(height=random.normal(size=len(BREACHED)))
    g = showing(["site"], X)
    bound = md.certify(g, X, ["secret"], knowledge="non_personal")
    assert bound.vacuous == ["secret"]
    assert "a cell holds only 1.0 holdout records" in bound.note
    assert bound.sentence("secret").startswith("With 99% confidence")
    assert md.certify(g, X, ["secret"], 0.9995).sentence("secret").startswith("With 99.95% confidence")
    shown = md.certify(showing(["secret"], X), X, ["secret"])
    assert "the visible data may reveal it" in shown.note
    assert "and all attributes that are not personal" in bound.sentence("secret")
    with pytest.raises(md.errors.ParameterError, match="'knowledge' parameter"):
        md.certify(g, X, knowledge="prefix")


def test_the_mean_of_a_certificate_is_weighted():
    bound = md.certify(SITE, BREACHED, ["secret", "site"], weights={"site": 3})
    assert bound.mean == pytest.approx(0.25 * bound.bounds["secret"] + 0.75 * bound.bounds["site"])
    assert bound.worst == "site"


# The suite


def test_the_suite_runs_all_adversaries_that_apply():
    results = suite(SITE, KNOWN, BREACHED, personal=["secret", "group"], population=1_000_000, progress=False)
    assert list(results.reconstruction) == ["A1", "A3", "A4", "A5"]
    assert list(results.certificates) == ["A1", "A3", "A4"]
    assert set(results.skipped) == {"A6"}
    expected = {"A1": 0.75, "A3": 0.75, "A4": 0.3, "A5": 0.525}
    assert {name: result.error for name, result in results.reconstruction.items()} == pytest.approx(expected, abs=0.02)
    assert {result.records for result in results.reconstruction.values()} == {12_000}
    assert results.linkability.a == ("secret", "group")
    assert results.linkability.b == ("site", "coin")
    assert results.singling_out.population.population == 1_000_000
    assert json.loads(json.dumps(results.to_dict()))["skipped"]["A6"] == "only one generalization was given"


def test_the_suite_agrees_with_each_adversary_for_any_number_of_cores():
    options = {"personal": ["secret", "group"], "progress": False, "random_state": 4}
    whole = [suite(SITE, KNOWN[:3_000], BREACHED[:3_000], n_jobs=n, **options) for n in (1, 2)]
    for knowledge, name in (("nothing", "A1"), ("non_personal", "A3"), ("all_but_one", "A4"), ("prefix", "A5")):
        alone = Reconstruction(knowledge, **options).run(SITE, KNOWN[:3_000], BREACHED[:3_000])
        for one in whole:
            assert _timeless(one.reconstruction[name].to_dict()) == _timeless(alone.to_dict())
    assert _timeless(whole[0].to_dict()) == _timeless(whole[1].to_dict())


def _timeless(content):
    if isinstance(content, dict):
        return {key: _timeless(value) for key, value in content.items() if key != "seconds"}
    return [_timeless(value) for value in content] if isinstance(content, list) else content


def test_the_suite_with_several_breaches_and_chosen_halves():
    found = suite(
        SITE, KNOWN, BREACHED, personal=["secret"], others=[showing(["group"], KNOWN)], link=(["site"], ["group"]),
        k=100, percent=[50], progress=False,
    )  # fmt: skip
    assert found.reconstruction["A6"].error == pytest.approx(0.3, abs=0.02)
    assert found.linkability.k == 100
    assert [level.percent for level in found.confident] == [50]
    assert found.skipped == {}


def test_adversaries_that_do_not_apply_are_skipped_with_a_reason():
    everything = suite(SITE, KNOWN[:1_000], BREACHED[:1_000], progress=False)
    assert "every attribute is personal" in everything.skipped["A3"]
    assert everything.linkability.a == ("group", "secret")
    one = pd.DataFrame({"job": ["nurse", "smith"] * 100})
    g = md.Uniform(buckets=1).fit(one).generalization_
    found = suite(g, one[:100].reset_index(drop=True), one[100:].replace("smith", "judge"), progress=False)
    assert set(found.skipped) == {"A3", "A4", "A5", "A6", "A7"}


class Cells:
    """Local recoding: people in group 0 show their site, all others nothing. One column of cells, no partitions."""

    def __init__(self, schema: md.Schema) -> None:
        self.schema = schema
        self.names = schema.features
        self.sizes = (4,)

    def codes(self, X):
        X = X.to_native() if hasattr(X, "to_native") else X
        return np.where(X["group"] == "0", X["site"].astype(int), 3).astype(np.int64)[:, None]

    def possible(self, attribute: str, target: Target, codes):
        mask = np.ones((len(codes), target.size), dtype=bool)
        values = target.coding.values
        if attribute == "group":
            mask[:, values.index("0")] = codes[:, 0] != 3
            mask[codes[:, 0] != 3] = np.array(values) == "0"
        if attribute == "site":
            for code in range(3):
                mask[codes[:, 0] == code] = np.array(values) == str(code)
        return mask


def test_another_kind_of_artifact_is_judged_too():
    found = suite(Cells(SITE.schema), KNOWN, BREACHED, personal=["group", "secret"], progress=False)
    assert set(found.skipped) == {"A6", "A7"}
    assert found.reconstruction["A1"].by_attribute["group"].error == pytest.approx(0.5, abs=0.02)
    assert found.reconstruction["A4"].by_attribute["secret"].error == pytest.approx(0.3, abs=0.02)
    assert found.singling_out.groups == 4
    assert 0.5 <= found.certificates["A1"].bounds["group"] < 0.55


# Bad input


def test_people_on_both_sides_are_counted():
    X = world(4_000, 3).assign(height=np.random.default_rng(0).normal(size=4_000).round(6))
    g = showing(["site"], X)
    attack = Reconstruction(personal=["coin"], members=("counts",), **OPTIONS)
    for frame in (pd.DataFrame, as_polars):
        with pytest.warns(OverlapWarning, match="500 of the 2,000 breached rows"):
            attack.run(g, known=frame(X[:2_000]), breached=frame(X[1_500:3_500]))
    with pytest.warns(OverlapWarning, match="500 of the"):
        MultiBreach(["coin"], members=("counts",), **OPTIONS).run([g, g.drop("site")], X[:2_000], X[1_500:3_500])
    with pytest.warns(OverlapWarning, match="500 of the"):
        suite(g, X[:2_000], X[1_500:3_500], personal=["coin"], members=("counts",), progress=False)


def test_overlap_is_found_by_the_index_even_if_all_rows_have_twins():
    attack = Reconstruction(personal=["coin"], members=("counts",), **OPTIONS)
    with pytest.warns(OverlapWarning, match="300 of the 1,000 breached rows"):
        attack.run(SITE, known=KNOWN[:1_000], breached=KNOWN[700:1_700])
    attack.run(SITE, known=KNOWN[:1_000], breached=BREACHED[:1_000])  # the same labels, other people: no warning
    common = pd.DataFrame(np.random.default_rng(0).choice(["x", "y"], (2_000, 2), p=[0.9, 0.1]), columns=["coin", "b"])
    attack.run(showing([], common), common[:1_000], common[1_000:].reset_index(drop=True))  # equal by chance


def test_persons_on_both_sides_are_counted():
    X = KNOWN.assign(who=np.arange(len(KNOWN)) // 2)
    schema = md.Schema.infer(X, person="who")
    g = md.Uniform(buckets=1, schema=schema).fit(X).generalization_
    attack = Reconstruction(personal=["coin"], members=("counts",), **OPTIONS)
    with pytest.warns(OverlapWarning, match="100 of the 1,000 breached rows"):
        attack.run(g, known=X[:1_000], breached=X[900:1_900])


def test_more_knowledge_does_not_weaken_the_adversary():
    """With little data and much irrelevant knowledge, the additional knowledge is ignored."""
    random = np.random.default_rng(0)
    noise = {f"n{i}": random.integers(0, 9, 1_500).astype(str) for i in range(6)}
    X = world(1_500, 5).assign(**noise)
    found = suite(showing(["group", "site"], X), X[:600], X[600:], personal=["secret"], progress=False)
    errors = {name: result.error for name, result in found.reconstruction.items()}
    assert max(errors["A3"], errors["A4"], errors["A5"]) <= errors["A1"] + 0.015


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"weights": {"shoe size": 1}}, "'shoe size', which is not a personal attribute"),
        ({"weights": {"coin": -1}}, "'weights' parameter must hold numbers"),
        ({"weights": {"coin": 0, "secret": 0, "site": 0, "group": 0}}, "at least one of them above 0"),
        ({"personal": ["shoe size"]}, "'shoe size', which the generalization does not have"),
        ({"orders": 0}, "'orders' parameter"),
        ({"members": ["oracle"]}, "'members' parameter"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
        ({"percent": [200]}, "'percent' parameter"),
        ({"confidence": 2}, "'confidence' parameter"),
        ({"population": 3}, "'population' parameter"),
        ({"link": (["site"], ["site"])}, "'site' is in both halves"),
        ({"k": 5_000}, "'k' parameter"),
        ({"weights": 5}, "'weights' parameter must map"),
        ({"weights": {"coin": None}}, "'weights' parameter must hold numbers"),
        ({"personal": 5}, "'personal' parameter must be a list"),
        ({"personal": [["x"]]}, "which the generalization does not have"),
        ({"percent": "5"}, "'percent' parameter"),
        ({"percent": [None]}, "'percent' parameter"),
        ({"link": (["site"],)}, "'link' parameter must be two lists"),
        ({"link": (5, ["site"])}, "'a' parameter of Linkability must list"),
        ({"others": 5}, "'others' parameter"),
        ({"others": [showing(["site"], KNOWN.drop(columns="coin"))]}, "differ in their attributes"),
        ({"members": 5}, "'members' parameter"),
        ({"random_state": -1}, "'random_state' parameter"),
        ({"random_state": "a"}, "'random_state' parameter"),
        ({"confidence": "a"}, "'confidence' parameter"),
        ({"population": 10**15}, "at most 1,000,000,000,000"),
    ],
)
def test_the_suite_refuses_bad_parameters(arguments, complaint):
    with pytest.raises(md.errors.ModicumError, match=complaint):
        suite(SITE, KNOWN[:500], BREACHED[:500], progress=False, **arguments)


@pytest.mark.parametrize("g", ["g.json", None, 5])
def test_only_artifacts_are_accepted(g):
    for judge in (suite, Reconstruction().run, lambda g, known, breached: SinglingOut().run(g, breached)):
        with pytest.raises(md.errors.ParameterError, match="needs a generalization"):
            judge(g, KNOWN[:100], BREACHED[:100])
    with pytest.raises(md.errors.ParameterError, match="needs a generalization"):
        md.certify(g, BREACHED)
    with pytest.raises(md.errors.ParameterError, match="A report is made of"):
        md.report(g)


def test_several_breaches_must_have_the_same_attributes():
    with pytest.raises(md.errors.ParameterError, match="at least two generalizations"):
        MultiBreach().run([SITE], KNOWN, BREACHED)
    with pytest.raises(md.errors.ParameterError, match="at least two generalizations"):
        MultiBreach().run(SITE, KNOWN, BREACHED)
    with pytest.raises(md.errors.DataError, match="known data has 6 rows"):
        MultiBreach().run([SITE, SITE], KNOWN[:6], BREACHED)
    other = showing(["site"], KNOWN.drop(columns="coin"))
    with pytest.raises(md.errors.ArtifactError, match="differ in their attributes, for example 'coin'"):
        MultiBreach().run([SITE, other], KNOWN, BREACHED)


def test_a_breached_value_outside_the_domain_is_reported_by_column():
    schema = SITE.schema.replace("site", domain=("0", "1", "2"))
    X = BREACHED.copy()
    g = md.Uniform(buckets=3, schema=schema).fit(KNOWN).generalization_
    X.loc[5, "site"] = "Narnia"
    with pytest.raises(md.errors.SchemaError, match="'site' holds 1 different values that its domain does not name"):
        suite(g, KNOWN, X, progress=False)
    content = SITE.to_dict()
    content["attributes"][1]["unseen"] = "refuse"
    with pytest.raises(md.errors.DataError, match="'site' has 1 unseen values, which this artifact refuses"):
        suite(md.Generalization.from_dict(content), KNOWN, X, progress=False)
