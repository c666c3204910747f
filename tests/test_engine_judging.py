"""What is judged where the data lives is what is judged in memory."""

from dataclasses import is_dataclass

import numpy as np
import pandas as pd
import pytest
from engines import LAZY

import modicum as md

PERSONAL = ["age", "race", "sex"]


@pytest.fixture(scope="module")
def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    return X.assign(income=y)[:6_000]


@pytest.fixture(scope="module")
def g(adult):
    X = adult.drop(columns="income")
    return md.PrivacyTree(max_leaves=8, personal=PERSONAL).fit(X, adult["income"]).generalization_


@pytest.fixture(scope="module")
def visits():
    """Records with missing values of every kind, -0, and persons of whom some have several and some no name."""
    random = np.random.default_rng(0)
    n = 900
    who = random.integers(0, 500, n).astype(object)
    who[::50] = None
    return pd.DataFrame(
        {
            "who": pd.Series(who, dtype="Int64"),
            "dose": np.where(random.random(n) < 0.1, np.nan, random.choice([-0.0, 0.0, 1.5, 2.0, 40.25], n)),
            "ward": pd.Series(random.choice(["A", "B", "C", None], n), dtype=object),
            "day": pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 30, n), unit="D")),
            "flag": random.random(n) < 0.3,
            "ill": random.choice(["flu", "cold", "gout"], n),
        }
    )


@pytest.fixture(scope="module")
def of_visits(visits):
    schema = md.Schema.infer(visits.drop(columns="ill"), person="who")
    return md.Uniform(buckets=2, schema=schema).fit(visits.drop(columns="ill")).generalization_


def same(found, expected):
    """Equal but for how long it took, floats but for the order in which they were added up."""
    if is_dataclass(expected):
        found, expected = ({k: v for k, v in vars(one).items() if k != "seconds"} for one in (found, expected))
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for name, value in expected.items():
            same(found[name], value)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for pair in zip(found, expected, strict=True):
            same(*pair)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)
    else:
        assert found == expected


@pytest.mark.parametrize("place", LAZY)
def test_an_engine_counts_who_is_alike_as_memory_does(place, held, adult, visits):
    names = ["education", "race", "sex"]
    assert md.measures.k_anonymity(held(place, adult), names) == md.measures.k_anonymity(adult, names)
    table = held(place, visits)
    for measured in (md.measures.k_anonymity, md.measures.disclosure_risk, md.measures.discernibility):
        assert measured(table, ["dose", "ward", "day"]) == measured(visits, ["dose", "ward", "day"])
    assert md.measures.k_anonymity(table, ["dose", "ward"], "who") == md.measures.k_anonymity(
        visits, ["dose", "ward"], "who"
    )
    assert md.measures.k_anonymity(table, []) == len(visits)


@pytest.mark.parametrize("place", LAZY)
def test_an_engine_singles_out_as_memory_does(place, held, adult, g, visits, of_visits):
    attack = md.attacks.SinglingOut(population=100_000)
    same(attack.run(g, held(place, adult)), attack.run(g, adult))
    attack = md.attacks.SinglingOut()
    same(attack.run(of_visits, held(place, visits)), attack.run(of_visits, visits))
    kept = md.FeatureSelection(keep=2).fit(adult[["age", "hours-per-week", "sex"]], adult["income"]).generalization_
    same(attack.run(kept, held(place, adult)), attack.run(kept, adult))


@pytest.mark.parametrize("place", LAZY)
def test_an_engine_certifies_as_memory_does(place, held, adult, g, visits, of_visits):
    known, holdout = adult[:2_000], adult[2_000:]
    table = held(place, holdout)
    for knowledge in ("nothing", "non_personal", "all_but_one"):
        options = {"known": known, "knowledge": knowledge}
        same(md.certify(g, table, **options), md.certify(g, holdout, **options))
    same(md.certify(of_visits, held(place, visits), known=visits), md.certify(of_visits, visits, known=visits))


@pytest.mark.parametrize("place", LAZY)
def test_an_engine_reconstructs_as_memory_does(place, held, adult, g):
    known, breached = adult[:4_000].reset_index(drop=True), adult[4_000:].reset_index(drop=True)
    attack = md.attacks.Reconstruction(personal=PERSONAL, members=["counts", "boosted trees"], n_jobs=1, progress=False)
    found = attack.run(g, held(place, known), held(place, breached))
    same(found.to_dict() | {"seconds": 0}, attack.run(g, known, breached).to_dict() | {"seconds": 0})


@pytest.mark.parametrize("place", LAZY)
def test_an_engine_links_as_memory_does(place, held, adult, g, visits, of_visits):
    attack = md.attacks.Linkability(["age", "education"], ["occupation"], k=60)
    same(attack.run(g, held(place, adult)), attack.run(g, adult))
    people = adult[:500]
    same(attack.run(g, held(place, adult[500:]), held(place, people)), attack.run(g, adult[500:], people))
    attack = md.attacks.Linkability(["dose", "day"], ["ward"], k=60)
    nameless = visits.drop(columns="who")
    same(attack.run(of_visits, held(place, nameless)), attack.run(of_visits, nameless))


@pytest.mark.parametrize("place", LAZY)
def test_an_engine_measures_a_release_as_memory_does(place, held, visits):
    table, names = held(place, visits), ["dose", "ward"]
    for kind in ("distinct", "entropy", "frequency", "recursive"):
        options = {"kind": kind, "c": 3 if kind == "recursive" else None}
        in_memory = md.measures.l_diversity(visits, names, "ill", **options)
        assert md.measures.l_diversity(table, names, "ill", **options) == in_memory
    for sensitive, options in (("ill", {}), ("dose", {}), ("day", {}), ("ill", {"order": ["cold", "flu", "gout"]})):
        in_memory = md.measures.t_closeness(visits, ["ward", "flag"], sensitive, **options)
        assert md.measures.t_closeness(table, ["ward", "flag"], sensitive, **options) == in_memory
    in_memory = md.measures.classification_metric(visits, names, "ill", suppressed=7)
    assert md.measures.classification_metric(table, names, "ill", suppressed=7) == in_memory


@pytest.mark.parametrize("place", LAZY)
def test_an_engine_measures_lost_detail_as_memory_does(place, held, visits, of_visits, adult, g):
    same(md.measures.ncp(of_visits, held(place, visits)), md.measures.ncp(of_visits, visits))
    same(md.measures.ncp(g, held(place, adult)), md.measures.ncp(g, adult))
