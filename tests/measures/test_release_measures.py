"""ℓ-diversity, t-closeness and the costs of groups: the papers' examples by hand, plain counts on random tables."""

import math
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import modicum as md
from modicum.errors import DataError, ParameterError
from modicum.measures import classification_metric, discernibility, k_anonymity, l_diversity, t_closeness

PAY = [3, 4, 5, 6, 8, 11, 7, 9, 10]  # thousands: Li et al. §4.1, groups of three
SALARIES = pd.DataFrame({"group": list("aaabbbccc"), "pay": PAY})
ILLNESSES = {
    **dict.fromkeys(["flu", "pneumonia", "bronchitis"], ("infection", "lungs", "any")),
    **dict.fromkeys(["oedema", "embolism"], ("vessels", "lungs", "any")),
    **dict.fromkeys(["ulcer", "stomach cancer", "gastritis"], ("stomach", "digestion", "any")),
    **dict.fromkeys(["colitis", "colon cancer"], ("colon", "digestion", "any")),
}


def groups_by_hand(frame, names, column):
    """The values of each group, by a plain loop; None is missing."""
    groups = defaultdict(list)
    for row in frame.to_dict("records"):
        key = tuple(None if pd.isna(row[name]) else row[name] for name in names)
        groups[key].append(None if pd.isna(row[column]) else row[column])
    return list(groups.values())


def least_work(p, q, distance):
    """The earth mover's distance as the linear program that defines it."""
    m = len(p)
    rows = [[float(i == k) for i in range(m) for j in range(m)] for k in range(m)]
    columns = [[float(j == k) for i in range(m) for j in range(m)] for k in range(m)]
    return linprog(np.ravel(distance), A_eq=rows + columns, b_eq=[*p, *q]).fun


def furthest(groups, values, distance):
    whole = Counter(value for group in groups for value in group)
    q = [whole[value] / sum(whole.values()) for value in values]
    return max(least_work([Counter(group)[value] / len(group) for value in values], q, distance) for group in groups)


def frames(**columns):
    return pd.DataFrame(columns), pl.DataFrame(columns)


@st.composite
def releases(draw, values=("a", "b", "c", None)):
    n = draw(st.integers(1, 14))

    def column(choices):
        return draw(st.lists(st.sampled_from(choices), min_size=n, max_size=n))

    x = pd.array(column(["u", "v", None]), dtype=object)
    return pd.DataFrame({"x": x, "z": column([1.5, math.nan, -0.0]), "s": pd.array(column(values), dtype=object)})


@pytest.mark.parametrize(("group", "expected"), [("a", 0.375), ("b", 1 / 6)])
def test_the_papers_salaries_have_the_printed_distance(group, expected):
    """{3, 4, 5} against {3, …, 11} is 0.375 and {6, 8, 11} is 0.167 (Li et al. §4.2)."""
    # The rest, twice as many, is half as far away on the other side.
    assert t_closeness(SALARIES.assign(group=SALARIES["group"] == group), ["group"], "pay") == pytest.approx(expected)


def test_closeness_of_the_salaries_is_that_of_the_furthest_group():
    assert t_closeness(SALARIES, ["group"], "pay") == pytest.approx(0.375)
    others = SALARIES.assign(group=list("abcbabacc"), pay=[3, 6, 4, 8, 5, 11, 9, 7, 10])  # Li et al. Table 5
    assert t_closeness(others, ["group"], "pay") == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("other", "expected"),
    [("bronchitis", 1 / 3), ("embolism", 2 / 3), ("stomach cancer", 1.0), (None, 1.0), ("flu", 0.0)],
)
def test_the_distance_of_values_is_the_height_of_their_nearest_common_ancestor(other, expected):
    """Li et al. §4.3: flu and bronchitis are 1/3 apart, flu and a pulmonary embolism 2/3, flu and stomach cancer 1."""
    table = pd.DataFrame({"group": ["a", "b"], "illness": ["flu", other]})
    # Each group is half as far from the whole, which is the mixture of both.
    assert t_closeness(table, ["group"], "illness", hierarchy=ILLNESSES) == pytest.approx(expected / 2)


def test_heights_count_from_the_longest_path_down():
    """The height of a node is its longest path to a value: 'x' has height 2, the root 3."""
    hierarchy = {"a": ("y", "x"), "b": ("y", "x"), "c": ("x",), "d": ("w",), "e": ()}
    expected = {("a", "b"): 1 / 3, ("a", "c"): 2 / 3, ("c", "d"): 1.0, ("d", "e"): 1.0}
    for pair, distance in expected.items():
        table = pd.DataFrame({"group": [1, 2], "s": pair})
        assert t_closeness(table, ["group"], "s", hierarchy=hierarchy) == pytest.approx(distance / 2)


def test_a_shared_top_is_the_root_and_adds_no_height():
    named = {value: (*above, "any value") for value, above in {"a": ("x",), "b": ("x",), "c": ("y",)}.items()}
    table = pd.DataFrame({"group": [1, 2], "s": ["a", "b"]})
    unnamed = {value: above[:-1] for value, above in named.items()}
    assert t_closeness(table, ["group"], "s", hierarchy=named) == pytest.approx(1 / 4)
    assert t_closeness(table, ["group"], "s", hierarchy=unnamed) == pytest.approx(1 / 4)


@settings(max_examples=40)
@given(releases())
def test_closeness_is_the_least_work_between_distributions(table):
    groups = groups_by_hand(table, ["x", "z"], "s")
    values = [value for value in ["c", "a", "b", None] if any(value in group for group in groups)]
    places = np.arange(len(values))
    apart = np.abs(np.subtract.outer(places, places)) / max(1, len(values) - 1)
    assert t_closeness(table, ["x", "z"], "s") == pytest.approx(furthest(groups, values, apart > 0), abs=1e-7)
    found = t_closeness(table, ["x", "z"], "s", order=["c", "a", "never", "b"])
    assert found == pytest.approx(furthest(groups, values, apart), abs=1e-7)


@settings(max_examples=40)
@given(releases(values=("flu", "bronchitis", "oedema", "colitis", "gastritis", None)))
def test_closeness_in_a_hierarchy_is_the_least_work_between_distributions(table):
    groups = groups_by_hand(table, ["x", "z"], "s")
    values = ["flu", "bronchitis", "oedema", "colitis", "gastritis", None]

    def apart(first, second):
        if first == second or first is None or second is None:
            return float(first != second)
        return next(h for h in (1, 2, 3) if ILLNESSES[first][h - 1] == ILLNESSES[second][h - 1]) / 3

    expected = furthest(groups, values, [[apart(v, w) for w in values] for v in values])
    assert t_closeness(table, ["x", "z"], "s", hierarchy=ILLNESSES) == pytest.approx(expected, abs=1e-7)


@given(releases(values=(1, 2, 3, 4, None)), st.floats(0.1, 5))
def test_diversity_agrees_with_counting_each_group(table, c):
    groups = [sorted(Counter(group).values(), reverse=True) for group in groups_by_hand(table, ["x", "z"], "s")]
    assert l_diversity(table, ["x", "z"], "s") == min(len(counts) for counts in groups)
    entropies = [-sum(r / sum(counts) * math.log(r / sum(counts)) for r in counts) for counts in groups]
    assert l_diversity(table, ["x", "z"], "s", kind="entropy") == pytest.approx(math.exp(min(entropies)))

    def is_diverse(counts, level):
        return level == 1 or (level <= len(counts) and counts[0] < c * sum(counts[level - 1 :]))

    largest = max(level for level in range(1, 6) if all(is_diverse(counts, level) for counts in groups))
    assert l_diversity(table, ["x", "z"], "s", kind="recursive", c=c) == largest


@given(releases(), st.integers(0, 3))
def test_costs_agree_with_counting_each_group(table, suppressed):
    groups = groups_by_hand(table, ["x", "z"], "s")
    n = len(table)
    expected = sum(len(group) ** 2 for group in groups) + suppressed * (n + suppressed)
    assert discernibility(table, ["x", "z"], suppressed=suppressed) == expected
    wrong = sum(len(group) - max(Counter(group).values()) for group in groups) + suppressed
    assert classification_metric(table, ["x", "z"], "s", suppressed=suppressed) == wrong / (n + suppressed)
    assert k_anonymity(table, ["x", "z"]) == min(map(len, groups))


@given(releases())
def test_both_kinds_of_frames_measure_the_same(table):
    other = pl.DataFrame({name: [None if pd.isna(v) else v for v in table[name]] for name in table})
    assert l_diversity(other, ["x", "z"], "s") == l_diversity(table, ["x", "z"], "s")
    assert t_closeness(other, ["x", "z"], "s") == t_closeness(table, ["x", "z"], "s")
    assert discernibility(other, ["x", "z"]) == discernibility(table, ["x", "z"])
    assert classification_metric(other, ["x", "z"], "s") == classification_metric(table, ["x", "z"], "s")


def test_l_equally_frequent_values_are_entropy_l_diverse_for_every_l():
    for level in range(1, 40):
        table = pd.DataFrame({"x": ["a"] * (3 * level), "s": list(range(level)) * 3})
        assert l_diversity(table, ["x"], "s", kind="entropy") == level


def test_recursive_diversity_needs_the_most_frequent_value_to_be_outweighed():
    """r = (5, 3, 2): 5 < c · (3 + 2) needs c > 1; 5 < c · 2 needs c > 2.5."""
    table = pd.DataFrame({"x": ["a"] * 10, "s": ["u"] * 5 + ["v"] * 3 + ["w"] * 2})
    found = [l_diversity(table, ["x"], "s", kind="recursive", c=c) for c in (0.1, 1, 1.1, 2.5, 2.6)]
    assert found == [1, 1, 2, 2, 3]


def test_the_natural_distance_follows_the_kind_of_column():
    x = [1, 1, 1, 2, 2, 2]
    pay = [1, 2, 3, 1, 1, 1]
    assert t_closeness(pd.DataFrame({"x": x, "s": pay}), ["x"], "s") == pytest.approx((1 / 3 + 1 / 6) / 2)
    words = pd.Series(pay).map({1: "low", 2: "mid", 3: "high"})
    ordered = pd.Categorical(words, categories=["low", "mid", "high", "top"], ordered=True)
    enums = pl.Series(words.tolist(), dtype=pl.Enum(["low", "mid", "high", "top"]))
    dates = pd.to_datetime(pd.Series(pay).map("2020-01-0{}".format))
    for column in (ordered, dates):
        assert t_closeness(pd.DataFrame({"x": x, "s": column}), ["x"], "s") == pytest.approx(0.25)
    assert t_closeness(pl.DataFrame({"x": x, "s": enums}), ["x"], "s") == pytest.approx(0.25)
    assert t_closeness(pd.DataFrame({"x": x, "s": words}), ["x"], "s") == pytest.approx(1 / 3)
    assert t_closeness(pd.DataFrame({"x": x, "s": [p > 1 for p in pay]}), ["x"], "s") == pytest.approx(1 / 3)


def test_categoricals_group_as_their_values_do():
    x, s = ["a", "b", None, "a", None], [1, 1, 2, 2, 3]
    plain, other = frames(x=x, s=s)
    for table in (plain.astype({"x": "category"}), other.with_columns(pl.col("x").cast(pl.Categorical)), other):
        assert discernibility(table, ["x"]) == discernibility(plain, ["x"]) == 4 + 1 + 4
        assert l_diversity(table, ["x"], "s") == 1


def test_one_text_written_in_two_ways_is_one_value_in_every_kind_of_column():
    plain, other = frames(x=["\u00e9", "e\u0301", "e"], s=[1, 2, 3])
    categories = [plain.astype({"x": "category"}), other.with_columns(pl.col("x").cast(pl.Categorical))]
    for table in (plain, plain.astype({"x": object}), other, *categories):
        assert discernibility(table, ["x"]) == 4 + 1


def test_whole_numbers_beyond_float_precision_stay_different():
    large = 2**60
    for table in frames(x=["a"] * 3, s=[large, large + 1, large + 2]):
        assert l_diversity(table, ["x"], "s") == 3
        assert t_closeness(table, ["x"], "s") == 0
    for table in frames(x=[large, large + 1, None], s=[1, 1, 1]):
        if isinstance(table, pl.DataFrame):
            assert k_anonymity(table, ["x"]) == 1


def test_without_quasi_identifiers_all_records_form_one_group():
    assert t_closeness(SALARIES, [], "pay") == 0
    assert l_diversity(SALARIES, [], "pay") == 9
    assert discernibility(SALARIES, []) == 81


def test_a_person_with_several_rows_counts_once():
    table = pd.DataFrame({"x": ["a", "a", "a", "b"], "who": [1, 1, 2, 3]})
    assert k_anonymity(table, ["x"], person="who") == 1
    assert k_anonymity(table[:3], ["x"], person="who") == 2


@pytest.mark.parametrize("measure", [l_diversity, t_closeness, classification_metric])
def test_missing_columns_and_columns_with_two_roles_are_refused(measure):
    with pytest.raises(DataError, match="'shoe size' is not in the data"):
        measure(SALARIES, ["shoe size"], "pay")
    with pytest.raises(DataError, match="'shoe size' is not in the data"):
        measure(SALARIES, ["group"], "shoe size")
    with pytest.raises(ParameterError, match="'pay' may not also be a quasi-identifier"):
        measure(SALARIES, ["group", "pay"], "pay")
    with pytest.raises(ParameterError, match="list of names"):
        measure(SALARIES, "group", "pay")
    with pytest.raises(ParameterError, match="must be a column's name"):
        measure(SALARIES, ["group"], ["pay"])
    with pytest.raises(DataError, match="no rows"):
        measure(SALARIES[:0], ["group"], "pay")


def test_discernibility_refuses_bad_numbers_of_records():
    for suppressed in (-1, 0.5, True, "two"):
        with pytest.raises(ParameterError, match="'suppressed' parameter of discernibility must be an int"):
            discernibility(SALARIES, ["group"], suppressed=suppressed)
    with pytest.raises(DataError, match="no rows"):
        discernibility(SALARIES[:0])


def test_unknown_kinds_and_misplaced_constants_are_refused():
    with pytest.raises(ParameterError, match=r"'kind' parameter of l_diversity .* Got 'many'"):
        l_diversity(SALARIES, ["group"], "pay", kind="many")
    for c in (None, 0, -1, math.inf, "2", True):
        with pytest.raises(ParameterError, match="'c' parameter of l_diversity must be a number above 0"):
            l_diversity(SALARIES, ["group"], "pay", kind="recursive", c=c)
    with pytest.raises(ParameterError, match="'c' parameter of l_diversity belongs to kind 'recursive'"):
        l_diversity(SALARIES, ["group"], "pay", c=2)


def test_an_order_or_a_hierarchy_that_lacks_a_value_is_refused_without_naming_it():
    table = pd.DataFrame({"x": [1, 1], "s": ["secret", "known"]})
    with pytest.raises(DataError, match="'order' parameter lacks 1 of the values of the column 's'") as caught:
        t_closeness(table, ["x"], "s", order=["known"])
    assert "secret" not in str(caught.value)
    with pytest.raises(DataError, match="'hierarchy' parameter lacks 1 of the values of the column 's'") as caught:
        t_closeness(table, ["x"], "s", hierarchy={"known": ["any"]})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"distance": "far"}, "'distance' parameter of t_closeness must be 'equal', 'ordered' or 'hierarchical'"),
        ({"distance": "ordered"}, "'s' has no natural order"),
        ({"distance": "hierarchical"}, "needs the 'hierarchy' parameter"),
        ({"order": ["a", "b"], "hierarchy": {}}, "'order' or 'hierarchy', not both"),
        ({"distance": "equal", "order": ["a", "b"]}, "'order' parameter of t_closeness does not apply"),
        ({"hierarchy": {"a": "any", "b": ["any"]}}, "list of its ancestors"),
        ({"hierarchy": {"a": ["u", "any"], "b": ["u", "v", "any"]}}, "'u' under more than one ancestor"),
        ({"hierarchy": {"a": ["u", "u"], "b": ["any"]}}, "twice"),
    ],
)
def test_a_distance_that_cannot_be_measured_is_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        t_closeness(pd.DataFrame({"x": [1, 1], "s": ["a", "b"]}), ["x"], "s", **options)


def test_measures_need_no_table_of_all_groups_and_values():
    """50,000 groups and 10,000 values would be 4 GB as one table."""
    n, random = 100_000, np.random.default_rng(0)
    table = pd.DataFrame({"x": np.repeat(np.arange(n // 2), 2), "s": random.integers(0, 10_000, n)})
    assert l_diversity(table, ["x"], "s") == 1
    assert t_closeness(table, ["x"], "s", distance="equal") > 0.99
    assert 0.4 < t_closeness(table, ["x"], "s") <= 0.5
    assert classification_metric(table, ["x"], "s") == pytest.approx(0.5, abs=0.01)


def test_measures_of_adult_agree_with_plain_counts():
    table = md.datasets.load_adult(return_X_y=True)[0][:6_000]
    names = ["race", "sex", "relationship"]
    groups = groups_by_hand(table, names, "occupation")
    assert l_diversity(table, names, "occupation") == min(len(set(group)) for group in groups)
    whole = Counter(value for group in groups for value in group)
    apart = [sum(abs(Counter(g)[v] / len(g) - whole[v] / 6_000) for v in whole) / 2 for g in groups]
    assert t_closeness(table, names, "occupation") == pytest.approx(max(apart))
