"""The certificate holds as often as stated, and is tight where possible (docs/concepts/certificate.md)."""

import math

import numpy as np
import pandas as pd
import pytest

import modicum as md
from modicum.measures import Resampling, mean_interval, share_interval


def population(cells: int, values: int, lead: float, random: np.random.Generator) -> np.ndarray:
    """P(value | cell), one row per cell: the first value of each leads by `lead`, the others are random."""
    rest = random.dirichlet(np.ones(values), cells) * (1 - lead)
    top = rest.max(axis=1)
    favourite = random.integers(0, values, cells)
    chances = rest.copy()
    chances[np.arange(cells), favourite] = top + lead
    return chances / chances.sum(axis=1, keepdims=True)


def draw(chances: np.ndarray, n: int, random: np.random.Generator) -> pd.DataFrame:
    cells = random.integers(0, len(chances), n)
    steps = np.cumsum(chances, axis=1)[cells]
    values = (random.random(n)[:, None] > steps).sum(axis=1).clip(max=chances.shape[1] - 1)
    return pd.DataFrame({"cell": cells.astype(str), "secret": values.astype(str)})


def showing_only_the_cell(X: pd.DataFrame) -> md.Generalization:
    keep = md.FeatureSelection(k=1).fit(X, X["cell"]).generalization_
    assert keep.needed == ["cell"]
    return keep


def best_accuracy(chances: np.ndarray) -> float:
    return float(chances.max(axis=1).mean())


def test_over_many_draws_the_bound_holds_at_its_stated_confidence():
    random = np.random.default_rng(1)
    chances = population(50, 6, 0.1, random)
    g = showing_only_the_cell(draw(chances, 5_000, random))
    truth = best_accuracy(chances)
    held = [
        md.certify(g, draw(chances, 500, random), ["secret"], confidence=0.9).bounds["secret"] >= truth
        for _ in range(200)
    ]
    # At exactly 90%, fewer than 167 of 200 draws have a chance of about one in a thousand.
    assert sum(held) >= 167


def test_it_is_tight_if_every_cell_has_a_clear_majority():
    random = np.random.default_rng(2)
    for values in (2, 5, 20):
        chances = population(50, values, 0.1, random)
        g = showing_only_the_cell(draw(chances, 5_000, random))
        certificate = md.certify(g, draw(chances, 10_000, random), ["secret"])
        gap = certificate.bounds["secret"] - best_accuracy(chances)
        assert 0 <= gap <= 0.03, values


def test_uniform_values_cost_most(capsys):
    """Nothing can be guessed, but hindsight still sees patterns: the gap is printed and shrinks with n."""
    random = np.random.default_rng(3)
    chances = np.full((50, 10), 0.1)
    g = showing_only_the_cell(draw(chances, 5_000, random))
    gaps = {}
    for n in (1_000, 10_000, 100_000):
        gaps[n] = md.certify(g, draw(chances, n, random), ["secret"]).bounds["secret"] - 0.1
    with capsys.disabled():
        print("\ncertificate minus truth, uniform values, 50 cells:", {n: round(gap, 3) for n, gap in gaps.items()})  # noqa: T201
    assert gaps[1_000] > gaps[10_000] > gaps[100_000] > 0
    assert gaps[100_000] < 0.03


def test_the_formula_is_the_documented_one():
    X = pd.DataFrame({"cell": list("aaabbb"), "secret": list("xxyxyz")})
    g = showing_only_the_cell(X)
    certificate = md.certify(g, X, ["secret"], confidence=0.9)
    assert certificate.observed["secret"] == pytest.approx((2 + 1) / 6)
    assert certificate.naive["secret"] == pytest.approx(3 / 6)
    assert certificate.margin == pytest.approx(math.sqrt(math.log(10) / 12))
    joint = md.certify(g, X, ["secret", "cell"], confidence=0.9, candidates=3)
    assert joint.margin == pytest.approx(math.sqrt(math.log(60) / 12))
    assert joint.bounds["cell"] == 1.0
    assert "cell" in joint.vacuous
    assert "no adversary" in certificate.sentence("secret")


def test_rows_of_one_person_count_as_one():
    random = np.random.default_rng(4)
    X = draw(population(5, 3, 0.2, random), 2_000, random)
    schema = md.Schema.infer(X.assign(who=np.arange(2_000) // 4), person="who")
    g = md.FeatureSelection(k=1, schema=schema).fit(X.assign(who=0), X["cell"]).generalization_
    alone = md.certify(g, X, ["secret"])
    together = md.certify(g, X.assign(who=np.arange(2_000) // 4), ["secret"])
    assert together.persons == 500
    assert together.margin == pytest.approx(2 * alone.margin)


def test_a_number_is_certified_with_ten_bins_of_other_records():
    random = np.random.default_rng(5)
    X = pd.DataFrame({"age": random.normal(50, 10, 50_000), "sex": random.choice(["f", "m"], 50_000)})
    g = md.Uniform(buckets=2).fit(X[:1000]).generalization_.drop("sex")
    given = md.certify(g, X[25_000:], ["age"], known=X[:25_000])
    assert given.observed["age"] == pytest.approx(0.2, abs=0.03)
    held_out = md.certify(g, X[25_000:], ["age"])
    assert held_out.records == 22_500
    assert held_out.observed["age"] == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"confidence": 1.0}, "'confidence' parameter must be"),
        ({"confidence": 99}, "'confidence' parameter must be"),
        ({"candidates": 0}, "'candidates' parameter must be"),
        ({"personal": ["shoe size"]}, "names 'shoe size'"),
        ({"personal": "secret"}, "must be a list of names"),
        ({"personal": []}, "nothing to guess"),
    ],
)
def test_bad_arguments(arguments, complaint):
    X = pd.DataFrame({"cell": list("aaabbb"), "secret": list("xxyxyz")})
    with pytest.raises(md.errors.ParameterError, match=complaint):
        md.certify(showing_only_the_cell(X), X, **arguments)


def test_an_empty_holdout():
    X = pd.DataFrame({"cell": list("aaabbb"), "secret": list("xxyxyz")})
    with pytest.raises(md.errors.DataError, match="no rows"):
        md.certify(showing_only_the_cell(X), X[:0])


def test_wilson_agrees_with_scipy():
    from scipy.stats import binomtest

    for hits, n in ((0, 10), (3, 10), (10, 10), (431, 1000)):
        expected = binomtest(hits, n).proportion_ci(0.95, method="wilson")
        assert share_interval(hits, n) == pytest.approx((expected.low, expected.high))


def test_resampling_keeps_a_person_together():
    values = np.repeat(np.random.default_rng(0).normal(size=100), 10)
    rows = Resampling(1000, draws=300).interval(lambda w: float(np.average(values, weights=w)))
    persons = Resampling(1000, units=np.repeat(np.arange(100), 10), draws=300).interval(
        lambda w: float(np.average(values, weights=w))
    )
    assert 2 < (persons[1] - persons[0]) / (rows[1] - rows[0]) < 4.5


def test_the_interval_of_the_mean_accounts_for_persons():
    wrong = np.array([1] * 30 + [0] * 70)
    assert mean_interval(wrong) == pytest.approx(share_interval(30, 100))
    assert mean_interval(wrong, np.zeros(100, dtype=np.int64)) == (0.0, 1.0)
    low, high = mean_interval(np.tile([1, 0, 0], 10), np.repeat(np.arange(10), 3))
    assert low < 0.2 < 0.45 < high
    low, high = mean_interval(np.zeros(50), np.repeat(np.arange(5), 10))
    assert low == 0
    assert high > 0.4


def test_the_interval_of_the_mean_covers_the_truth_with_few_persons():
    random = np.random.default_rng(0)
    covered = []
    for _ in range(400):
        rate = random.beta(4, 8, 12)
        units = np.repeat(np.arange(12), 10)
        low, high = mean_interval((random.random(120) < rate[units]).astype(float), units)
        covered.append(low <= 1 / 3 <= high)
    assert np.mean(covered) > 0.92
