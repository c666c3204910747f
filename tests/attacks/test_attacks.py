"""Adversaries against data with a known best adversary, and against all kinds of artifacts."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars

import modicum as md
from modicum.attacks import OverlapWarning, Reconstruction
from modicum.learners.inputs import Inputs, count_table
from modicum.learners.network import Network, NetworkAnswers, gradients, target_shares
from modicum.learners.portfolio import MEMBERS
from modicum.table.targets import Target


def world(n: int, seed: int) -> pd.DataFrame:
    """Known joint distribution: `secret` depends on `group` and on `site` together, `coin` on nothing."""
    random = np.random.default_rng(seed)
    group, site = random.integers(0, 4, n), random.integers(0, 3, n)
    likely = (group + site) % 4
    secret = np.where(random.random(n) < 0.6, likely, random.integers(0, 4, n))
    coin = random.integers(0, 2, n)
    age = 10.0 * group + random.uniform(0, 10, n)
    return pd.DataFrame(
        {
            "group": group.astype(str),
            "site": site.astype(str),
            "secret": secret.astype(str),
            "coin": coin.astype(str),
            "age": age,
        }
    )


def showing(names: list[str], X: pd.DataFrame) -> md.Generalization:
    """Return a generalization that shows the named attributes in full and nothing else."""
    schema = md.Schema.infer(X)
    for name in X.columns:
        schema = schema.replace(name, **({"locked": True} if name in names else {"forbidden": True}))
    return md.Uniform(buckets=1, schema=schema).fit(X).generalization_


KNOWN, BREACHED = world(20_000, 1), world(20_000, 2)


@pytest.mark.parametrize("members", [MEMBERS, *((name,) for name in MEMBERS)], ids=lambda m: "+".join(m))
def test_every_member_comes_close_to_the_best_possible_adversary(members):
    g = showing(["group", "site"], KNOWN)
    attack = Reconstruction(personal=["secret", "coin", "age", "group"], members=members)
    result = attack.run(g, known=KNOWN, breached=BREACHED)
    best = {"secret": 1 - (0.6 + 0.4 / 4), "coin": 0.5, "age": 0.6, "group": 0.0}
    for name, error in best.items():
        assert result.by_attribute[name].error == pytest.approx(error, abs=0.02), name
    assert result.error == pytest.approx(np.mean(list(best.values())), abs=0.02)


def test_baselines_and_intervals_refer_to_the_same_targets():
    g = showing(["group", "site"], KNOWN)
    result = Reconstruction(personal=["secret", "coin"]).run(g, known=KNOWN, breached=BREACHED)
    secret = result.by_attribute["secret"]
    assert secret.naive == pytest.approx(0.75, abs=0.02)
    assert secret.interval[0] < secret.error < secret.interval[1]
    assert result.interval[0] < result.error < result.interval[1]
    assert result.interval[1] - result.interval[0] < 0.02
    assert (result.raw, result.records, result.known) == (0.0, 20_000, 20_000)
    assert result.worst == "secret"
    assert json.loads(json.dumps(result.to_dict()))["by_attribute"]["coin"]["values"] == 2


def test_nothing_shown_leaves_the_naive_guess():
    g = showing([], KNOWN)
    result = Reconstruction().run(g, known=KNOWN, breached=BREACHED)
    assert result.error == pytest.approx(result.naive, abs=1e-9)


def test_everything_shown_leaves_nothing_to_guess():
    g = showing(list(KNOWN.columns), KNOWN)
    result = Reconstruction().run(g, known=KNOWN, breached=BREACHED)
    assert result.error == 0


def test_a_guess_is_always_possible():
    """With one known record per bucket the marginal would name the wrong value; the mask prevents that."""
    known = pd.DataFrame({"a": ["x"] * 50 + ["y", "z"], "b": ["0"] * 52})
    schema = md.Schema.infer(known)
    keep_y = md.Uniform(buckets=1, schema=schema.replace("a", locked=True)).fit(known).generalization_
    g = keep_y.merge("a", ["x", "z"])
    breached = pd.DataFrame({"a": ["y"] * 20, "b": ["0"] * 20})
    for member in MEMBERS:
        result = Reconstruction(personal=["a"], members=(member,)).run(g, known=known, breached=breached)
        assert result.error == 0, member


def test_missing_and_unknown_values_are_counted():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.choice(["x", "y", None], 900), "n": random.choice([1.0, 2.0, np.nan], 900)})
    g = md.Uniform(buckets=1).fit(X).generalization_
    breached = X.assign(a="never seen")
    result = Reconstruction().run(g, known=X, breached=breached)
    assert result.by_attribute["a"].error == result.by_attribute["a"].naive == 1
    shown = showing(["a", "n"], X)
    with pytest.warns(OverlapWarning, match="900 of the 900 breached rows"):
        assert Reconstruction().run(shown, known=X, breached=X[::-1]).error == 0


def test_the_same_seed_gives_the_same_result_on_both_frames(people):
    X, y = people
    g = md.PrivacyTree(max_leaves=4, min_leaf=50).fit(X, y).generalization_
    results = [
        Reconstruction(random_state=3).run(g, known=frame(X[:400]), breached=frame(X[400:])).to_dict()
        for frame in (pd.DataFrame, pd.DataFrame, as_polars)
    ]
    for result in results:
        result.pop("seconds")
    assert results[0] == results[1]
    assert results[2]["error"] == pytest.approx(results[0]["error"], abs=1e-12)


def test_one_person_s_rows_stay_together():
    """Each person's rows repeat: an interval over rows would be too narrow."""
    rows = BREACHED[:1000].loc[np.repeat(np.arange(1000), 8)].reset_index(drop=True)
    schema = md.Schema.infer(rows.assign(who=0), person="who")
    g = md.Uniform(buckets=1, schema=schema).fit(rows.assign(who=0)).generalization_
    alone = Reconstruction().run(g, known=KNOWN, breached=rows)
    together = Reconstruction().run(g, known=KNOWN, breached=rows.assign(who=np.repeat(np.arange(1000), 8)))
    width = [r.interval[1] - r.interval[0] for r in (alone, together)]
    assert width[1] > 2 * width[0]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"knowledge": "everything"}, "'knowledge' parameter"),
        ({"members": ["oracle"]}, "'members' parameter"),
        ({"members": []}, "'members' parameter"),
        ({"personal": ["shoe size"]}, "'shoe size'"),
        ({"bins": 0}, "'bins' parameter"),
    ],
)
def test_bad_arguments(arguments, complaint):
    with pytest.raises(md.errors.ParameterError, match=complaint):
        Reconstruction(**arguments).run(showing(["site"], KNOWN), known=KNOWN, breached=BREACHED)


def test_bad_data():
    g = showing(["site"], KNOWN)
    with pytest.raises(md.errors.DataError, match="breached data has 0 rows"):
        Reconstruction().run(g, known=KNOWN, breached=BREACHED[:0])
    with pytest.raises(md.errors.DataError, match="'age' is not in the data"):
        Reconstruction().run(g, known=KNOWN.drop(columns="age"), breached=BREACHED)


def test_the_network_on_cells_has_the_loss_of_the_network_on_records():
    """Its gradients on distinct rows with counts are those on the records themselves."""
    g = showing(["group", "site"], KNOWN)
    inputs = Inputs.of(g, KNOWN[:2000])
    target = Target.fit(KNOWN, g.schema["secret"])
    values = target.encode(KNOWN[:2000])
    distinct, cells = inputs.distinct()
    of_cells = count_table(cells, values, (len(distinct), target.size))
    of_rows = count_table(np.arange(2000), values, (2000, target.size))
    network = Network().fit(distinct, [of_cells])
    results = []
    for rows, table in ((distinct, of_cells), (inputs, of_rows)):
        shares, starts = target_shares([table])
        answers = NetworkAnswers(shares.indptr.astype(np.int64), shares.indices.astype(np.int64), shares.data, starts)
        portions = (np.asarray(table.sum(axis=1)) / 2000).astype(np.float32)
        results.append(gradients(network._rows(rows), answers, np.arange(len(rows)), portions, network._weights, 0.0))
    for one, other in zip(*results, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_possible_values_per_bucket():
    X = pd.DataFrame({"age": np.arange(0, 100.0), "job": ["nurse", "clerk", "smith", None] * 25})
    g = md.Uniform(buckets=2).fit(X).generalization_
    age = Target.fit(X, g.schema["age"], bins=4)
    assert g.possible("age", age).tolist() == [[True, True, False, False], [False, False, True, True], [False] * 4]
    job = Target.fit(X, g.schema["job"])
    mask = g.possible("job", job)
    codes = g.codes(X)[:, 1]
    for code, value in zip(codes, job.encode(X), strict=True):
        assert mask[code, value]
    assert mask.sum() == 4  # each of three categories and missing in one bucket
    assert g.drop("job").possible("job", job).all()
    full = showing(["age"], X)
    assert full.possible("age", age, full.codes(X)[:3, 0]).argmax(axis=1).tolist() == [0, 0, 0]
    with pytest.raises(md.errors.ParameterError, match="full detail"):
        full.possible("age", age)
