"""Sensitive correlations against exhaustive search, scipy's statistics, and data with known correlations."""

import json
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars, shared_file
from data import load_bank
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, gamma
from scipy.stats.contingency import association, crosstab

import modicum as md
from modicum.errors import DataError, ParameterError
from modicum.prism import Correlation, correlations
from modicum.prism.discovery import association as kernel
from modicum.prism.discovery import learned_measures, measure
from modicum.prism.discovery.association import Null, null_chi2
from modicum.prism.discovery.attribute_codes import bin_starts
from modicum.prism.discovery.discovery import Discovery
from modicum.table.frames import as_frame as narwhals_frame


def draw_table(seed: int, n: int, sizes: list[int], values: int = 2, hidden: bool = True) -> pd.DataFrame:
    """Return categories of the given sizes and a sensitive `s`, which follows the sum of the first two if `hidden`."""
    random = np.random.default_rng(seed)
    columns = {f"a{j}": random.integers(0, size, n) for j, size in enumerate(sizes)}
    s = random.integers(0, values, n)
    if hidden:
        follows = random.random(n) < random.uniform(0.1, 0.9)
        s = np.where(follows, (columns["a0"] + columns.get("a1", 0)) % values, s)
    s[:values] = np.arange(values)
    texts = {name: np.char.add("v", codes.astype(str)) for name, codes in columns.items()}
    return pd.DataFrame({**texts, "s": np.char.add("s", s.astype(str))})


def table_of(X: pd.DataFrame, names, target) -> np.ndarray:
    """Return the counts of the joint values by the target's values."""
    joint = np.unique(X[list(names)].to_numpy().astype(str), axis=0, return_inverse=True)[1]
    return crosstab(joint, np.asarray(target)).count


def by_scipy(table: np.ndarray) -> tuple[float, float]:
    """Return Cramér's V and p, by scipy."""
    if min(table.shape) < 2:
        return 0.0, 1.0
    return association(table, method="cramer"), chi2_contingency(table, correction=False).pvalue


def by_moments(table: np.ndarray) -> float:
    """Return the p-value of χ² by a gamma distribution with its mean and variance, implemented again."""
    n, (r, k) = table.sum(), table.shape
    if r < 2 or k < 2:
        return 1.0
    mean = n * (r - 1) * (k - 1) / (n - 1)
    parts = [((n - len(m)) * (len(m) - 1) / (n - 1), (n * (1 / m).sum() - len(m) ** 2) / (n - 2))
             for m in (table.sum(axis=1), table.sum(axis=0))]  # fmt: skip
    (v, m), (w, o) = parts
    variance = 2 * n / (n - 3) * (v - m) * (w - o) + n * n / (n - 1) * m * o
    return gamma.sf(by_scipy(table)[0] ** 2 * n * (min(r, k) - 1), mean**2 / variance, scale=variance / mean)


def bergsma(table: np.ndarray) -> float:
    """Return the bias-corrected V, implemented again from the paper."""
    n, (r, k) = table.sum(), table.shape
    if r < 2 or k < 2:
        return 0.0
    phi = chi2_contingency(table, correction=False).statistic / n
    left = max(0.0, phi - (r - 1) * (k - 1) / (n - 1))
    rows, columns = r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)
    return float(np.sqrt(left / min(rows - 1, columns - 1))) if min(rows, columns) > 1 else 0.0


def minimal(sets) -> set[frozenset]:
    every = {frozenset(each) for each in sets}
    return {each for each in every if not any(other < each for other in every)}


def subsets(names, most: int):
    return [each for size in range(1, most + 1) for each in combinations(names, size)]


def by_levels(names, most: int, correlates) -> set[frozenset]:
    """Follow Figure 4 line by line, slowly."""
    found, before = set(), None
    for size in range(1, most + 1):
        level = {
            frozenset(each)
            for each in combinations(names, size)
            if before is None or all(frozenset(smaller) in before for smaller in combinations(each, size - 1))
        }
        hits = {each for each in level if correlates(sorted(each))}
        found |= hits
        before = level - hits
    return found


worlds = st.tuples(
    st.integers(0, 2**32 - 1),
    st.integers(20, 150),
    st.lists(st.integers(1, 4), min_size=2, max_size=5),
    st.booleans(),
)


@settings(max_examples=25)
@given(worlds, st.floats(0.02, 0.9), st.booleans())
def test_the_sets_found_are_exactly_the_minimal_ones(world, threshold, weighted):
    """Theorem 1, for V and a binary λ, which can only grow as attributes join."""
    X = draw_table(*world[:3], hidden=world[3])
    counts = np.random.default_rng(world[0]).integers(1, 4, len(X)) if weighted else None
    found = correlations(X, "s", threshold=threshold, p_value=1, max_size=4, sample_weight=counts)
    records = X if counts is None else X.loc[np.repeat(X.index, counts)]
    names = [name for name in X if name != "s"]
    strength = {each: by_scipy(table_of(records, each, records["s"]))[0] for each in subsets(names, 4)}
    assert set(map(frozenset, found.sets)) == minimal(each for each, v in strength.items() if v >= threshold)
    for each in found:
        assert each.strength == pytest.approx(strength[each.attributes], abs=1e-9)


@settings(max_examples=25)
@given(worlds, st.floats(0.02, 0.6), st.sampled_from(["cramers_v", "bias_corrected"]), st.booleans())
def test_the_sets_agree_with_the_search_by_levels_if_strength_may_fall(world, threshold, measure, whole):
    X = draw_table(*world[:3], values=3, hidden=world[3])
    encoding = "whole" if whole else "both"
    found = correlations(X, "s", None, encoding, measure, threshold, max_size=4)
    targets = [X["s"]] if whole else [X["s"] == value for value in X["s"].unique()]

    def correlates(names) -> bool:
        tables = [table_of(X, names, target) for target in targets]
        strong = [bergsma(t) if measure == "bias_corrected" else by_scipy(t)[0] for t in tables]
        return any(v >= threshold and by_moments(t) <= 0.05 for v, t in zip(strong, tables, strict=True))

    names = [name for name in X if name != "s"]
    assert set(map(frozenset, found.sets)) == by_levels(names, 4, correlates)


def test_strength_agrees_with_scipy_and_so_does_the_p_value_on_dense_tables():
    for seed in range(3):
        X = draw_table(seed, 3000, [2, 3, 4, 2], values=3, hidden=False)
        discovery = Discovery(narwhals_frame(X), md.Schema.infer(X), ["s"], encoding="whole")
        for names in subsets(["a0", "a1", "a2", "a3"], 4):
            found = discovery.assess(names)
            table = table_of(X, names, X["s"])
            strength, p_value = by_scipy(table)
            assert found.strength == pytest.approx(strength, rel=1e-9), names
            assert found.p_value == pytest.approx(p_value, abs=0.002, rel=0.02), names
            assert found.p_value == pytest.approx(by_moments(table), rel=1e-6), names
            assert found.cells == len(table)
            assert found.encoding == "whole"


TABLES = {  # records of each cell, and of each class
    "dense": (np.full(12, 50), np.array([300, 300])),
    "rare class": (np.full(100, 20), np.array([4, 1996])),
    "almost identifiers": (np.array([1] * 380 + [2] * 20), np.array([200, 220])),
    "skewed cells": (np.array([1] * 50 + [2] * 30 + [5] * 10 + [40]), np.array([15, 185])),
    "many classes": (np.array([1] * 40 + [3] * 20 + [10] * 10), np.array([150, 30, 10, 5, 5])),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_null_distribution_of_chi2_agrees_with_shuffled_records(name):
    cells, classes = TABLES[name]
    n, random = cells.sum(), np.random.default_rng(1)
    of_cell, of_class = np.repeat(np.arange(len(cells)), cells), np.repeat(np.arange(len(classes)), classes)
    expected = np.outer(cells, classes) / n
    chi2 = np.empty(6000)
    for i in range(len(chi2)):
        place = of_cell * len(classes) + random.permutation(of_class)
        counts = np.bincount(place, minlength=expected.size).reshape(expected.shape)
        chi2[i] = ((counts - expected) ** 2 / expected).sum()
    null = null_chi2(n, np.array([len(cells)]), np.array([(1 / cells).sum()]), len(classes), (1 / classes).sum())
    assert null.mean[0] == pytest.approx(chi2.mean(), abs=4 * chi2.std() / np.sqrt(len(chi2)))
    assert null.mean[0] ** 2 / null.shape[0] == pytest.approx(chi2.var(), rel=0.15)
    rate = (
        Null(*(np.full(len(chi2), part[0]) for part in (null.mean, null.shape))).compute_p_values(chi2) <= 0.05
    ).mean()
    assert 0.02 <= rate <= 0.08


def test_pairs_of_equal_values_among_near_identifiers_are_evidence():
    """If nearly every record has its own value, χ² hardly varies, and a few agreeing pairs stand out."""
    random = np.random.default_rng(0)
    family = np.append(np.arange(1800), 1800 + np.repeat(np.arange(100), 2))
    s = np.append(random.integers(0, 2, 1800), np.repeat(random.integers(0, 2, 100), 2))
    X = pd.DataFrame({"family": np.char.add("f", family.astype(str)), "s": np.where(s, "ill", "well")})
    found = Discovery(narwhals_frame(X), md.Schema.infer(X), ["s"]).assess(["family"])
    assert found.p_value < 1e-6
    X["s"] = random.permutation(X["s"])
    assert Discovery(narwhals_frame(X), md.Schema.infer(X), ["s"]).assess(["family"]).p_value > 0.05


@given(worlds)
def test_strength_only_grows_as_attributes_join(world):
    X = draw_table(*world[:3], hidden=world[3])
    discovery = Discovery(narwhals_frame(X), md.Schema.infer(X), ["s"])
    names = list(discovery.attributes)
    strength = [discovery.assess(names[:size]).strength for size in range(len(names) + 1)]
    assert strength[0] == 0
    assert np.all(np.diff(strength) >= -1e-9)


@pytest.mark.parametrize(
    ("few", "small", "joint", "places"),
    [(4, 1 << 13, 1 << 11, 1 << 22), (512, 1 << 13, 1, 1 << 22), (1, 4, 4, 1 << 22), (1, 1, 1, 1)],
)
def test_every_way_to_count_gives_the_same(monkeypatch, few, small, joint, places):
    random = np.random.default_rng(2)
    codes, classes = random.integers(0, 4, (6, 300)).astype(np.uint16), random.integers(0, 3, 300).astype(np.uint8)
    weights, shares = np.ones(300, dtype=np.int64), np.bincount(classes) / 300
    sets = np.array(list(combinations(range(6), 3)), dtype=np.int32)
    expected = kernel.class_spreads(codes, np.full(6, 4), classes, shares, weights, sets)
    # Plain Python reads the limits anew; compiled code has them built in.
    for name, value in {"FEW": few, "SMALL": small, "JOINT": joint, "PLACES": places}.items():
        monkeypatch.setattr(kernel, name, value)
    for name, function in vars(kernel).copy().items():
        if hasattr(function, "py_func"):
            monkeypatch.setattr(kernel, name, function.py_func)
    found = kernel.class_spreads(codes, np.full(6, 4), classes, shares, weights, sets)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-9)
    cells = [np.unique(codes[each], axis=1, return_counts=True)[1] for each in sets]
    np.testing.assert_allclose(found[2], [(1 / counts).sum() for counts in cells], rtol=1e-9)


def test_a_category_with_many_values_is_counted_too():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"town": random.integers(0, 3000, 5000).astype(str), "a": random.integers(0, 2, 5000).astype(str)})
    X["s"] = np.where(random.random(5000) < 0.8, X["town"].astype(int) % 2, random.integers(0, 2, 5000)).astype(str)
    found = correlations(X, "s", threshold=0.5)
    assert found.sets == [("town",)]
    assert found[0].strength == pytest.approx(by_scipy(table_of(X, ["town"], X["s"]))[0])


def repeated(rows, times: int = 30) -> pd.DataFrame:
    return pd.DataFrame(rows * times, columns=["a1", "a2", "s"])


def test_critical_values_together_reveal_more_than_each_alone():
    """Figure 3(a): it is clear whether a value is critical, but not which critical value it is."""
    mixed = [("0", "0", "α"), ("0", "0", "γ"), ("0", "1", "α"), ("0", "1", "γ")]
    plain = [("1", "0", "other"), ("1", "1", "other"), ("1", "0", "other"), ("1", "1", "other")]
    X = repeated(mixed + plain)
    single = correlations(X, "s", ["α", "γ"], "single", threshold=0.9)
    assert [(c.attributes, c.encoding, c.strength) for c in single] == [(("a1",), "single", pytest.approx(1))]
    assert len(correlations(X, "s", ["α", "γ"], "multiple", threshold=0.9)) == 0
    assert correlations(X, "s", ["α", "γ"], threshold=0.9).sets == single.sets


def test_each_critical_value_alone_reveals_more_than_all_together():
    """Figure 3(b): one critical value lies apart, but critical and not critical are mixed everywhere."""
    X = repeated([("0", "0", "α")] * 2 + [("0", "0", "other")] * 2 + [("1", "0", "γ")] * 2 + [("1", "0", "other")] * 2)
    multiple = correlations(X, "s", ["α", "γ"], "multiple", threshold=0.5)
    assert [(c.attributes, c.encoding, c.value) for c in multiple] == [(("a1",), "multiple", "α")]
    assert len(correlations(X, "s", ["α", "γ"], "single", threshold=0.01)) == 0
    assert correlations(X, "s", ["α", "γ"], threshold=0.5).sets == multiple.sets


def test_the_null_value_is_the_mean_for_independent_attributes():
    squares, corrected, expected = [], [], []
    for seed in range(150):
        X = draw_table(seed, 200, [3, 3], hidden=False)
        schema = md.Schema.infer(X)
        plain = Discovery(narwhals_frame(X), schema, ["s"]).assess(["a0", "a1"])
        fair = Discovery(narwhals_frame(X), schema, ["s"], measure="bias_corrected").assess(["a0", "a1"])
        squares.append(plain.strength**2)
        corrected.append(fair.strength**2)
        expected.append((plain.by_chance**2, fair.by_chance**2, (plain.cells - 1) / 200))
    plain_null, fair_null, rule = np.mean(expected, axis=0)
    assert plain_null == pytest.approx(rule, rel=0.01)
    assert np.mean(squares) == pytest.approx(plain_null, rel=0.08)
    assert np.mean(corrected) == pytest.approx(fair_null, rel=0.15)
    assert fair_null < plain_null / 2


def test_the_p_value_rejects_sets_that_pass_the_papers_threshold_by_chance():
    X = draw_table(3, 40_000, [3] * 6, hidden=False)
    by_strength = correlations(X, "s", p_value=1, max_size=3)
    assert sum(len(each) == 3 for each in by_strength.sets) > 15  # of 20 triples
    assert len(correlations(X, "s", max_size=3)) < 10


def test_known_sets_join_and_the_whole_stays_minimal():
    X = draw_table(4, 500, [2, 2, 3, 3], hidden=True)
    plain = correlations(X, "s", threshold=0.3)
    assert plain.sets == [("a0", "a1")]
    joined = correlations(X, "s", threshold=0.3, known=[["a2", "a3"], ("a3", "a2"), {"a0", "a1", "a2"}])
    assert set(joined.sets) == {("a0", "a1"), ("a2", "a3")}  # the third contains a found set
    assert {c.attributes: c.encoding for c in joined} == {("a0", "a1"): "single", ("a2", "a3"): "given"}
    assert sum(joined.tested) < sum(plain.tested)
    smaller = correlations(X, "s", threshold=0.3, known=["a0"])
    assert smaller.sets == [("a0",)]  # the set found before contains it
    assert smaller[0].strength == Discovery(narwhals_frame(X), md.Schema.infer(X), ["s"]).assess(["a0"]).strength


@pytest.mark.parametrize("correction", ["bonferroni", "fdr"])
def test_a_correction_forbids_fewer_sets_as_defined(correction):
    X = draw_table(5, 300, [2] * 12, hidden=True)
    X = X.assign(a2=np.where(np.arange(300) % 3 == 0, X["s"], X["a2"]))
    plain = correlations(X, "s", threshold=0, p_value=0.4, max_size=1)
    corrected = correlations(X, "s", threshold=0, p_value=0.4, max_size=1, correction=correction)
    names = [name for name in X if name != "s"]
    p = np.array([by_moments(table_of(X, [name], X["s"])) for name in names])
    order, m = np.sort(p), len(p)
    good = order[order <= 0.4 * np.arange(1, m + 1) / m]
    cutoff = 0.4 / m if correction == "bonferroni" else good.max()
    assert set(corrected.sets) == {(name,) for name, each in zip(names, p, strict=True) if each <= cutoff}
    assert set(corrected.sets) < set(plain.sets)


def test_weighted_rows_count_as_repeated_rows(people):
    X, _ = people
    counts = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = correlations(X, "sex", threshold=0.05, p_value=0.5, max_size=3, sample_weight=counts)
    rows = correlations(X.loc[np.repeat(X.index, counts)], "sex", threshold=0.05, p_value=0.5, max_size=3)
    assert weighted.to_dict() == rows.to_dict()
    assert weighted.records == counts.sum()


@pytest.mark.parametrize("measure", ["cramers_v", "bias_corrected", "pearson"])
def test_polars_and_pandas_give_the_same_correlations(people, measure):
    X, _ = people
    X = X.assign(school=X["school"].astype(str))
    settings = {"measure": measure, "threshold": 0.01, "p_value": 0.4, "max_size": 3}
    found = [correlations(frame, "job", **settings).to_dict() for frame in (X, as_polars(X))]
    assert found[0] == found[1]
    assert found[0]["found"]


def test_an_arrays_columns_are_numbered():
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (300, 3))
    X[:, 2] = X[:, 0]
    assert correlations(X, "x2", threshold=0.5).sets == [("x0",)]


def test_one_hot_columns_represent_their_attribute_on_both_sides():
    random = np.random.default_rng(0)
    job, site = random.integers(0, 3, 400), random.integers(0, 2, 400)
    X = pd.DataFrame({f"job={word}": (job == j).astype(int) for j, word in enumerate(["clerk", "nurse"])})
    X = X.assign(site=site, **{"ill=flu": (job == 0).astype(int), "ill=gout": (job == 1).astype(int)})
    found = correlations(X, "ill=gout", threshold=0.5)
    assert found.sets == [("job",)]
    assert set(found.critical_values) == {"ill"}
    critical = correlations(X, "ill", ["gout"], threshold=0.5, known=[["job=nurse", "site"]])
    assert critical.sets == [("job",)]
    assert correlations(X, "ill", ["(none)"], threshold=0.5).sets == [("job",)]
    columns = correlations(X, "ill=gout", threshold=0.99, groups="column", max_size=1)
    assert columns.sets == [("job=nurse",)]
    declared = correlations(X, "ill", threshold=0.5, groups={"ill": ["ill=flu", "ill=gout"], "work": ["job=clerk"]})
    assert ("work",) in declared.sets


def ill(groups: str, change: str) -> dict:
    random = np.random.default_rng(0)
    kind = random.integers(0, 5, 400)
    X = pd.DataFrame({f"ill={word}": (kind == j).astype(float) for j, word in enumerate(["flu", "gout", "cold"])})
    if change == "one is missing":
        X.loc[0, "ill=cold"] = np.nan
    if change == "two at once":
        X.loc[:1, ["ill=flu", "ill=gout"]] = 1
    return {"X": X.assign(a=random.integers(0, 3, 400)), "groups": groups}


@pytest.mark.parametrize("groups", ["attribute", "column"])
@pytest.mark.parametrize("change", ["one is missing", "two at once", "none"])
@pytest.mark.parametrize("name", ["ill=flu", "ill"])
def test_no_sibling_of_a_sensitive_one_hot_column_is_a_candidate(groups, change, name):
    data = ill(groups, change)
    X = data["X"]
    discovery = Discovery(narwhals_frame(X), md.Schema.infer(X), [name], groups=groups)
    assert list(discovery.attributes) == ["a"]
    assert {each for columns in discovery.sensitive.values() for each in columns} == {"ill=flu", "ill=gout", "ill=cold"}
    assert correlations(X, name, groups=groups, threshold=0, p_value=1).sets == [("a",)]
    with pytest.raises(ParameterError, match="sensitive itself"):
        correlations(X, name, groups=groups, known=[["ill=gout"]])
    if name == "ill=flu" and (groups == "column" or change != "none"):  # its own values are used
        own = X["ill=flu"].to_numpy().astype(int)
        np.testing.assert_array_equal(discovery.sensitive_codes()["ill=flu"], own)


def test_siblings_of_the_schemas_sensitive_columns_are_no_candidates():
    X = ill("column", "none")["X"].assign(s=lambda X: X["a"] > 1, b=0)
    schema = md.Schema.infer(X, sensitive=["ill=gout"])
    discovery = Discovery(narwhals_frame(X), schema, ["s"], groups="column")
    assert list(discovery.attributes) == ["a", "b"]
    assert list(discovery.sensitive) == ["s"]


def test_several_sensitive_attributes_each_have_their_correlations():
    X = draw_table(6, 400, [2, 2, 3, 3]).assign(t=lambda X: X["a2"])
    found = correlations(X, ["s", "t"], {"t": ["v0"]}, threshold=0.3)
    assert {c.attributes: (c.sensitive, c.encoding) for c in found} == {
        ("a2",): ("t", "single"),
        ("a0", "a1"): ("s", "single"),
    }
    assert found.critical_values == {"s": None, "t": ("v0",)}


def test_a_sensitive_number_is_used_by_its_values_or_in_bins():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.integers(20, 80, 800), "a": random.integers(0, 2, 800)})
    X = X.assign(tens=X["age"] // 10, few=np.where(random.random(800) < 0.1, np.nan, X["a"]))
    binned = correlations(X[["age", "tens", "a"]], "age", threshold=0.5)
    assert binned.sets == [("tens",)]
    assert re.search(r"\d", binned[0].value)
    missing = correlations(X[["few", "a"]], "few", ["(missing)"], "multiple", p_value=1, threshold=0)
    assert missing[0].value == "(missing)"
    assert correlations(X[["few", "a"]], "few", [1], threshold=0.5).sets == [("a",)]
    with pytest.raises(ParameterError, match="Bin it first"):
        correlations(X, "age", [30])


def spiked(place: str, n: int = 2000) -> pd.DataFrame:
    """Return a number that reveals who is ill, although nine in ten have the same value."""
    random = np.random.default_rng(0)
    ill = random.random(n) < 0.08
    usual = np.where((random.random(n) < 0.02) & (place == "middle"), random.integers(1, 50, n), 0)
    sign = 1 if place == "lowest" else -1
    paid = np.where(ill, sign * random.integers(1, 60, n), usual)
    return pd.DataFrame({"paid": paid, "b": random.integers(0, 3, n), "s": np.where(ill, "ill", "well")})


@pytest.mark.parametrize("place", ["lowest", "middle", "highest"])
@pytest.mark.parametrize("bins", [2, 10])
def test_a_number_with_one_frequent_value_is_tested(place, bins):
    X = spiked(place)
    found = correlations(X, "s", threshold=0.5, bins=bins)
    assert found.sets == [("paid",)]
    assert found.tested[0] == 2
    assert found[0].strength > 0.8


def test_a_sensitive_number_with_one_frequent_value_is_no_constant():
    X = spiked("highest").rename(columns={"paid": "s", "s": "a"})
    assert correlations(X, "s", threshold=0.5).sets == [("a",)]


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=60), st.integers(2, 20))
def test_frequent_values_have_their_own_bin_and_the_others_share_few(counts, bins):
    counts = np.array(counts)
    starts = bin_starts(counts, bins)
    sizes = np.diff(np.append(np.flatnonzero(starts), len(counts)))
    alone = counts * bins >= counts.sum()
    assert starts[0]
    assert 2 <= len(sizes) <= 2 * bins + 1
    assert (np.repeat(sizes, sizes)[alone] == 1).all()


def test_missing_values_can_be_revealing():
    X = draw_table(7, 400, [2, 2], hidden=False)
    X["a1"] = X["a1"].where(X["s"] == "s0", None)
    assert correlations(X, "s", threshold=0.9).sets == [("a1",)]


def test_multiple_r_agrees_with_least_squares():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"x": random.normal(size=200), "z": random.normal(size=200), "c": random.choice(list("pqr"), 200)})
    X["s"] = np.where(X["x"] + X["z"] + (X["c"] == "p") + random.normal(size=200) > 0, "yes", "no")
    discovery = Discovery(narwhals_frame(X), md.Schema.infer(X), ["s"], measure="pearson")
    target = (X["s"] == "yes").to_numpy().astype(float)
    assert discovery.assess(["x"]).strength == pytest.approx(abs(np.corrcoef(X["x"], target)[0, 1]))
    design = np.column_stack([np.ones(200), X[["x", "z"]], pd.get_dummies(X["c"]).to_numpy()[:, 1:].astype(float)])
    left = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    explained = 1 - left.var() / target.var()
    found = discovery.assess(["x", "z", "c"])
    assert found.strength == pytest.approx(np.sqrt(explained))
    from scipy.stats import f

    assert found.p_value == pytest.approx(f.sf(explained / 4 / ((1 - explained) / 195), 4, 195), rel=1e-6)
    assert found.by_chance == pytest.approx(np.sqrt(4 / 199))
    assert discovery.search(0.99, 3).tested == (3, 3, 1)


def test_a_classifier_finds_an_interaction_and_nothing_in_noise(monkeypatch):
    monkeypatch.setattr(learned_measures, "PERMUTATIONS", 39)
    X = draw_table(8, 3000, [2, 2, 3], hidden=True)
    found = correlations(X, "s", measure="classifier", threshold=0.55, max_size=2)
    assert found.sets == [("a0", "a1")]
    best = max((X["s"] == value).groupby([X["a0"], X["a1"]]).mean().sub(0.5).abs().mean() for value in ["s0", "s1"])
    assert found[0].strength == pytest.approx(0.5 + best, abs=0.02)
    assert found[0].by_chance == pytest.approx(0.5, abs=0.01)
    assert found[0].p_value == 1 / 40
    noise = Discovery(narwhals_frame(X), md.Schema.infer(X), ["s"], measure="classifier").assess(["a2"])
    assert noise.strength == pytest.approx(0.5, abs=0.03)
    with pytest.raises(ParameterError, match=r"must be above its chance level 0\.5"):
        correlations(X, "s", measure="classifier", threshold=0.02)


def test_a_classifier_on_noise_is_at_chance_with_a_fair_p_value(monkeypatch):
    """With 64 joint values of about 5 records, stratified folds would reveal the held-out values to the trees."""
    monkeypatch.setattr(learned_measures, "PERMUTATIONS", 19)
    found = []
    for seed in range(15):
        X = draw_table(seed, 300, [4, 4, 4], hidden=False)
        discovery = Discovery(narwhals_frame(X), md.Schema.infer(X), ["s"], measure="classifier")
        found.append(discovery.assess(["a0", "a1", "a2"]))
    strength = np.array([each.strength for each in found])
    assert strength.mean() == pytest.approx(0.5, abs=4 * strength.std() / np.sqrt(len(strength)))
    assert sum(each.p_value <= 0.05 for each in found) <= 3  # 1 is expected of 15
    assert 0.2 < np.mean([each.p_value for each in found]) < 0.8


def test_any_function_can_measure_and_is_tested_by_permutation():
    X = draw_table(9, 200, [2, 2, 2])

    def gap(codes, sign):
        key = codes @ (2 ** np.arange(codes.shape[1]))
        return max(abs(sign[key == k].mean() - sign.mean()) for k in np.unique(key))

    found = correlations(X, "s", measure=gap, threshold=0.25, max_size=2)
    assert found.measure == "gap"
    assert found.sets == [("a0", "a1")]
    assert found[0].p_value == 1 / 200
    assert 0 < found[0].by_chance < found[0].strength
    assert found == correlations(X, "s", measure=gap, threshold=0.25, max_size=2)
    with pytest.raises(ParameterError, match="must return a number"):
        correlations(X, "s", measure=lambda codes, sign: "much")


@pytest.mark.parametrize("correction", ["bonferroni", "fdr"])
def test_a_correction_that_permutations_can_never_pass_is_refused(correction):
    def absolute_correlation(codes, sign):
        return abs(np.corrcoef(codes[:, 0], sign)[0, 1])

    X = draw_table(9, 200, [2] * 12, hidden=False).assign(s=lambda X: X["a0"])
    settings = {"measure": absolute_correlation, "threshold": 0.5, "max_size": 1, "correction": correction}
    with pytest.raises(ParameterError, match=r"of 12 tests needs p-values of 0\.0042 or less.* give 0\.005 or more"):
        correlations(X, "s", **settings)
    assert correlations(X, "s", p_value=0.1, **settings).sets == [("a0",)]
    assert correlations(X, "s", **{**settings, "measure": "cramers_v"}).sets == [("a0",)]


def test_attributes_with_other_roles_are_no_candidates():
    X = draw_table(10, 200, [2, 2, 1, 2]).assign(y=lambda X: X["s"], who=[f"p{i}" for i in range(200)])
    schema = md.Schema.infer(X, label="y", person="who", sensitive=["s"])
    discovery = Discovery(narwhals_frame(X), schema, ["s"], exclude=["a3"])
    assert list(discovery.attributes) == ["a0", "a1", "a2"]
    assert discovery.search(1, 2).tested == (2, 1)  # the constant one is never tested
    assert correlations(X, None, schema=schema, threshold=0.01, p_value=1).sets


def test_forbidden_attributes_are_no_candidates():
    X = draw_table(10, 200, [2, 2, 2])
    schema = md.Schema.infer(X)
    attributes = [a.model_copy(update={"forbidden": a.name == "a1"}) for a in schema.attributes]
    schema = md.Schema(attributes=tuple(attributes))
    assert list(Discovery(narwhals_frame(X), schema, ["s"]).attributes) == ["a0", "a2"]
    with pytest.raises(ParameterError, match="is not a candidate attribute"):
        correlations(X, "s", schema=schema, known=["a1"])


def test_sensitive_codes_returns_the_classes():
    X = draw_table(6, 400, [2, 2, 3, 3], values=3).assign(t=lambda X: X["a2"], age=np.arange(400))
    codes = Discovery(
        narwhals_frame(X), md.Schema.infer(X), ["s", "t", "age"], critical_values={"s": ["s2", "s0"]}
    ).sensitive_codes()
    np.testing.assert_array_equal(codes["s"], X["s"].map({"s2": 0, "s0": 1, "s1": 2}))
    np.testing.assert_array_equal(codes["t"], X["t"].str[1].astype(int))
    np.testing.assert_array_equal(codes["age"], np.arange(400) // 40)


def test_unique_values_are_strong_but_no_evidence():
    X = draw_table(10, 200, [2], hidden=False).assign(who=[f"p{i}" for i in range(200)])
    discovery = Discovery(narwhals_frame(X), md.Schema.infer(X), ["s"])
    who = discovery.assess(["who"])
    assert (who.strength, who.by_chance) == pytest.approx((1, 1))
    assert who.p_value == 1  # every permutation of the values has the same strength
    assert ("who",) not in discovery.search(0.9, 1).sets


def test_the_result_can_be_read_written_and_counted():
    X = draw_table(11, 300, [2] * 9, hidden=False)
    found = correlations(X, "s", threshold=0, p_value=1, max_size=1)
    assert (len(found), found[0] is found.found[0], list(found) == list(found.found)) == (9, True, True)
    assert [c.strength for c in found] == sorted((c.strength for c in found), reverse=True)
    content = json.loads(json.dumps(found.to_dict()))
    assert content["found"][0]["attributes"] == list(found[0].attributes)
    assert (content["tested"], content["records"], content["measure"]) == ([9], 300, "cramers_v")
    assert list(found.to_frame()["strength"]) == [c.strength for c in found]
    assert list(correlations(X, "s", threshold=1).to_frame()) == list(Correlation.__dataclass_fields__)
    many = correlations(draw_table(12, 300, [2] * 20, hidden=False), "s", threshold=0, p_value=1, max_size=1)
    assert str(many).splitlines()[-1] == "… and 5 more"
    assert len(str(many).splitlines()) == 18
    assert str(correlations(X, "s", threshold=1, max_size=1)).startswith("0 minimal correlations with s (")


def test_the_same_seed_gives_the_same_result(monkeypatch):
    monkeypatch.setattr(learned_measures, "PERMUTATIONS", 19)
    X = draw_table(13, 500, [2, 3, 3], hidden=False)

    def assess(seed: int) -> Correlation:
        settings = {"measure": "classifier", "random_state": seed}
        return Discovery(narwhals_frame(X), md.Schema.infer(X), ["s"], **settings).assess(["a0", "a1"])

    assert assess(0) == assess(0)
    assert assess(0).by_chance != assess(1).by_chance


def test_too_many_sets_are_refused_before_they_are_created(monkeypatch):
    monkeypatch.setattr(measure, "MOST_SETS", 10)
    with pytest.raises(ParameterError, match="Lower 'max_size' to 1"):
        correlations(draw_table(0, 50, [2] * 6, hidden=False), "s", threshold=1)


GOOD = draw_table(0, 60, [2, 2, 3], values=3)
BAD = [
    ({"sensitive": "nobody"}, DataError, "'nobody' is not in the data"),
    ({"sensitive": None}, ParameterError, "No attribute is sensitive"),
    ({"sensitive": []}, ParameterError, "No attribute is sensitive"),
    ({"X": GOOD.assign(s="one")}, DataError, "'s' has the same value in every record"),
    ({"X": GOOD[:0]}, DataError, "no rows"),
    ({"X": GOOD[["s"]]}, DataError, "no attribute other than the sensitive ones"),
    ({"threshold": 1.5}, ParameterError, "'threshold' parameter of PriSM must be a number from 0 to 1. Got 1.5"),
    ({"threshold": "high"}, ParameterError, "'threshold' parameter"),
    ({"p_value": -0.1}, ParameterError, "'p_value' parameter"),
    ({"max_size": 0}, ParameterError, "'max_size' parameter"),
    ({"max_size": 1.5}, ParameterError, "'max_size' parameter of PriSM must be an int"),
    ({"bins": 1}, ParameterError, "'bins' parameter"),
    ({"encoding": "double"}, ParameterError, "'encoding' parameter must be one of"),
    ({"measure": "feeling"}, ParameterError, "'measure' parameter must be one of"),
    ({"measure": "pearson", "encoding": "whole"}, ParameterError, "'whole' needs"),
    ({"correction": "some"}, ParameterError, "'correction' parameter"),
    ({"random_state": "x"}, ParameterError, "'random_state' parameter"),
    ({"critical_values": ["s9"]}, ParameterError, "names 's9', which does not occur in the column 's'"),
    ({"critical_values": []}, ParameterError, "names no value of 's'"),
    ({"critical_values": {"t": ["s0"]}}, ParameterError, "'t', which is not a sensitive attribute"),
    ({"sensitive": ["s", "a0"], "critical_values": ["s0"]}, ParameterError, "must map their names"),
    ({"critical_values": ["s0", "s1", "s2"], "encoding": "single"}, ParameterError, "All values of 's' are critical"),
    ({"known": [["nobody"]]}, ParameterError, "'nobody', which is not a candidate attribute"),
    ({"known": [["a0", "s"]]}, ParameterError, "'s', which is sensitive itself"),
    ({"known": [[]]}, ParameterError, "empty set"),
    ({"known": "a0"}, ParameterError, "must be a list of sets of names. Got a single name"),
    ({"known": 5}, ParameterError, "must be a list of sets of names. Got int instead"),
    ({"known": [5]}, ParameterError, "list of sets of names. Got int instead"),
    ({"known": iter([["a0"]])}, ParameterError, "list of sets of names. Got list_iterator"),
    ({"known": [iter(["a0"])]}, ParameterError, "Got list_iterator instead"),
    ({"exclude": [["a0"]]}, ParameterError, "'exclude' parameter names"),
    ({"exclude": 5}, ParameterError, "'exclude' parameter must be a list"),
    ({"groups": {"g": 3}}, ParameterError, "'groups' parameter must map 'g' to a list of columns"),
    ({"groups": {"g": [["a0"]]}}, DataError, "which is not in the data"),
    ({"bins": float("inf")}, ParameterError, "'bins' parameter of PriSM must be an int"),
    ({"bins": 2.5}, ParameterError, "'bins' parameter of PriSM must be an int"),
    ({"sample_weight": [2**60] * 60}, DataError, "more than 9,007,199,254,740,992 records"),
    ({"sample_weight": [1e300] * 60}, DataError, "cannot be counted exactly"),
    ({"sample_weight": [10**7] * 60, "measure": max}, DataError, "takes at most 100,000,000"),
    ({"measure": lambda codes, sign: codes.nosuch}, ParameterError, "'<lambda>' failed with AttributeError"),
    ({"exclude": ["nobody"]}, ParameterError, "'exclude' parameter names 'nobody'"),
    ({"exclude": ["s"]}, ParameterError, "both sensitive and excluded"),
    ({"sample_weight": [1.5] * 60}, DataError, "whole numbers"),
    ({"groups": "family"}, ParameterError, "'groups' parameter"),
    ({"schema": md.Schema.infer(GOOD, label="s")}, ParameterError, "'s' cannot be sensitive"),
]


@pytest.mark.parametrize(("change", "error", "words"), BAD, ids=[words for _, _, words in BAD])
def test_bad_input_is_refused_in_one_sentence(change, error, words):
    with pytest.raises(error, match=words.replace("(", r"\(")):
        correlations(**{"X": GOOD, "sensitive": "s", "progress": False, **change})


def test_known_and_exclude_may_be_none():
    assert correlations(GOOD, "s", known=None, exclude=None).to_dict() == correlations(GOOD, "s").to_dict()


def test_all_critical_values_are_each_tested_against_the_rest():
    found = correlations(GOOD, "s", ["s0", "s1", "s2"], threshold=0, p_value=1, max_size=1)
    assert {c.encoding for c in found} == {"multiple"}


@pytest.mark.slow
def test_bank_marketing_is_searched_completely():
    X = load_bank(binarized=True, folder=shared_file("bank/bank-binarized.csv.gz").parents[1]).X
    found = correlations(X, "default=no", threshold=1, p_value=0, max_size=3, groups="column")
    assert found.tested == (46, 1035, 15180)
    assert correlations(X, "default=no", threshold=0.02, max_size=2).sets
