"""Anatomy: groups of different sensitive values, the two released tables, and their files."""

import hashlib
import itertools
import json
import resource
import shutil
import signal
import warnings
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import as_polars
from hypothesis import given, settings
from hypothesis import strategies as st

import modicum as md
from modicum.anatomy.anatomy import build_release, value_order
from modicum.anatomy.checks import build_task, determining
from modicum.anatomy.grouping import bucketize, largest_l, most_of_a_value, random_groups
from modicum.errors import ArtifactError, DataError, ModicumError, ParameterError, PrivacyWarning, SchemaError
from modicum.table.frames import as_frame as narwhals_frame

GROUPINGS = ("bucketize", "random")
# A fit takes a while: fewer examples than elsewhere by default, as many in a thorough run.
few = settings(max_examples=max(12, settings().max_examples // 5))


@st.composite
def sick(draw, max_rows=40):
    """Records with up to eight kinds of illness, in any order, and a number unique to each record."""
    weights = draw(st.lists(st.integers(1, 12), min_size=2, max_size=8))
    values = [f"v{i}" for i, weight in enumerate(weights) for _ in range(weight)]
    values = draw(st.permutations(values[:max_rows]))
    ages = draw(st.lists(st.integers(20, 30), min_size=len(values), max_size=len(values)))
    return pd.DataFrame({"age": ages, "who": range(len(values)), "illness": list(values)})


def quiet(anatomy, X, y=None):
    """Fit without the warnings that small random tables cause."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return anatomy.fit(X, y)


def feasible(X, l):
    """Return whether no value makes up more than 1/ℓ of the records."""
    counts = Counter(X["illness"])
    return max(counts.values()) * l <= sum(counts.values())


def values_by_group(table, name="illness", gid="GID"):
    values = defaultdict(list)
    for group, value in zip(table[gid].to_list(), table[name].to_list(), strict=True):
        values[group].append(value)
    return values


@few
@given(sick(), st.integers(2, 5), st.sampled_from(GROUPINGS), st.integers(0, 2**32))
def test_every_group_is_diverse_and_no_record_is_lost_or_doubled(X, l, grouping, seed):
    anatomy = md.Anatomy(l, "illness", grouping=grouping, max_suppressed=1.0, random_state=seed)
    if X["illness"].nunique() < l:
        with pytest.raises(DataError, match="different value"):
            quiet(anatomy, X)
        return
    release = quiet(anatomy, X).release_
    for values in values_by_group(release.sensitive).values():
        assert max(Counter(values).values()) * l <= len(values)
    released = release.identifying
    own = X.iloc[anatomy.rows_].reset_index(drop=True)
    assert released[["age", "who"]].equals(own[["age", "who"]])
    assert len(set(anatomy.rows_)) == len(anatomy.rows_) == len(X) - release.suppressed
    assert sorted([*anatomy.rows_, *anatomy.suppressed_]) == list(range(len(X)))
    truth = Counter(zip(released["GID"], own["illness"], strict=True))
    assert truth == Counter(zip(release.sensitive["GID"], release.sensitive["illness"], strict=True))
    assert (release.suppressed == 0) == feasible(X, l)
    assert release.l >= l


@few
@given(sick(), st.integers(2, 5))
def test_error_names_the_largest_possible_l_without_suppression(X, l):
    anatomy = md.Anatomy(l, "illness", random_state=0)
    if feasible(X, l):
        assert quiet(anatomy, X).release_.suppressed == 0
        return
    most = len(X) // max(Counter(X["illness"]).values())
    pattern = "different value" if X["illness"].nunique() < l else f"largest possible l is {most},.*'max_suppressed'"
    with pytest.raises(DataError, match=pattern):
        quiet(anatomy, X)
    if most >= 2:
        assert quiet(md.Anatomy(most, "illness", random_state=0), X).release_.l >= most


def fewest_left_out(counts, l):
    """Try every number of records per value that could stay."""
    remaining = (k for k in itertools.product(*(range(c + 1) for c in counts)) if max(k) * l <= sum(k))
    return sum(counts) - max(map(sum, remaining))


@few
@given(st.lists(st.integers(1, 6), min_size=2, max_size=5), st.integers(2, 5))
def test_the_fewest_records_are_left_out(counts, l):
    most = most_of_a_value(np.array(counts), l)
    assert sum(counts) - sum(min(c, most) for c in counts) == fewest_left_out(counts, l)
    if len(counts) < l:
        assert most == 0
        return
    X = pd.DataFrame({"age": range(sum(counts)), "illness": np.repeat([f"v{i}" for i in range(len(counts))], counts)})
    release = quiet(md.Anatomy(l, "illness", max_suppressed=1.0, random_state=1), X).release_
    fewest = fewest_left_out(counts, l)
    assert release.suppressed == fewest
    for grouping in ("bucketize", "dealt"):
        given = {"grouping": grouping, "random_state": 1}
        share = md.Anatomy(l, "illness", max_suppressed=fewest / len(X), **given)
        assert quiet(share, X).release_.suppressed == fewest
        if fewest:
            less = md.Anatomy(l, "illness", max_suppressed=(fewest - 0.5) / len(X), **given)
            with pytest.raises(DataError, match=f"{fewest} of {len(X)} records would have to be left out"):
                quiet(less, X)


@given(sick(), st.integers(2, 4), st.integers(0, 2**32))
def test_each_group_takes_the_values_that_are_left_most_often(X, l, seed):
    codes = pd.factorize(X["illness"])[0]
    if largest_l(np.bincount(codes)) < l:
        return
    groups = bucketize(codes, l, np.random.default_rng(seed))
    left, residue = Counter(codes.tolist()), 0
    for group in range(groups.max() + 1):
        values = codes[groups == group].tolist()
        assert len(set(values)) == len(values) >= l
        residue += len(values) - l
    assert residue == len(codes) - l * (groups.max() + 1) < l
    if residue:  # the result does not say which of a group's records came last
        return
    for group in range(groups.max() + 1):
        taken = set(codes[groups == group].tolist())
        assert min(left[v] for v in taken) >= max((n for v, n in left.items() if v not in taken), default=0)
        left -= Counter(taken)


def test_equally_frequent_values_are_grouped_by_chance():
    partner = Counter()
    for seed in range(900):
        groups = bucketize(np.arange(4), 2, np.random.default_rng(seed))
        partner[int(np.flatnonzero(groups[1:] == groups[0])[0])] += 1
    assert all(240 < count < 360 for count in partner.values())
    assert len(partner) == 3


def test_random_groups_are_about_uniform_among_all_that_are_possible():
    codes = np.array([0, 0, 0, 1, 1, 2, 2, 3])

    def kind(groups):
        return tuple(sorted(tuple(sorted(codes[np.array(groups) == g].tolist())) for g in range(4)))

    every = set(itertools.permutations([0, 0, 1, 1, 2, 2, 3, 3]))
    possible = Counter(kind(g) for g in every if all(len(set(pair)) == 2 for pair in kind(g)))
    drawn = Counter(kind(random_groups(codes, 2, np.random.default_rng(seed))) for seed in range(1_500))
    assert set(drawn) == set(possible)
    assert len(possible) > 2
    for each, count in possible.items():
        expected = float(Fraction(count, possible.total())) * 1_500
        assert abs(drawn[each] - expected) < 4.5 * expected**0.5


@few
@given(sick(), st.sampled_from(GROUPINGS))
def test_sensitive_table_does_not_depend_on_record_order(X, grouping):
    anatomy = md.Anatomy(2, "illness", grouping=grouping, max_suppressed=1.0, random_state=0)
    table = quiet(anatomy, X).release_.sensitive
    assert table.equals(table.sort_values(["GID", "illness"], ignore_index=True))
    # The same groups of the same records in another order give the same table.
    groups, rows = anatomy.release_.identifying["GID"].to_numpy() - 1, anatomy.rows_
    order = np.random.default_rng(1).permutation(len(X))
    frame = narwhals_frame(X.iloc[order].reset_index(drop=True))
    task = build_task(anatomy, frame, md.Schema.infer(X), None)
    new_rows = np.argsort(order)[rows]
    again = build_release(task, {"illness": value_order(task, "illness")}, {"illness": groups}, new_rows, 2, "any")
    assert again.sensitive.equals(table)


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_row_order_and_group_numbers_do_not_reveal_record_order(grouping):
    X = pd.DataFrame(
        {"who": range(2_000), "illness": np.repeat(list("abcde"), [500, 500, 400, 350, 250])}, index=[7] * 2_000
    )
    places = []
    for seed in range(4):
        release = quiet(md.Anatomy(3, "illness", grouping=grouping, random_state=seed), X).release_
        assert release.identifying.index.tolist() == list(range(2_000))
        who, gid = release.identifying["who"], release.identifying["GID"]
        frequent = (release.sensitive["illness"] == "a").groupby(release.sensitive["GID"]).sum()
        for one, other in ((who, who.index), (gid, gid.index), (who, gid), (frequent, frequent.index)):
            assert abs(np.corrcoef(one, other)[0, 1]) < 0.13
        places.append(who.tolist())
    assert abs(np.corrcoef(places)[np.triu_indices(4, 1)]).max() < 0.13


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_same_seed_gives_same_bytes_and_no_seed_gives_different_ones(people, tmp_path, grouping, format):
    X, y = people
    for name, seed in [("one", 3), ("same", 3), ("other", 4), ("free", None), ("freer", None)]:
        anatomy = md.Anatomy(2, "school", grouping=grouping, max_suppressed=1.0, random_state=seed)
        quiet(anatomy, X[:60], y[:60]).release_.save(tmp_path / name, format=format)
    files = {folder.name: {f.name: f.read_bytes() for f in folder.iterdir()} for folder in tmp_path.iterdir()}
    assert files["one"] == files["same"]
    assert len({files[name][f"identifying.{format}"] for name in ("one", "other", "free", "freer")}) == 4


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_polars_and_pandas_give_the_same_release(people, grouping):
    X, y = people
    releases = [
        md.Anatomy(2, "job", grouping=grouping, random_state=0).fit(frame, label).release_
        for frame, label in ((X.dropna(), y[X.notna().all(axis=1)]), (as_polars(X).drop_nulls(), None))
    ]
    assert isinstance(releases[1].identifying, pl.DataFrame)
    assert isinstance(releases[1].sensitive, pl.DataFrame)
    names = ["age", "income", "sex", "GID"]
    for name in names:
        assert releases[0].identifying[name].tolist() == releases[1].identifying[name].to_list()
    assert releases[0].sensitive["job"].tolist() == releases[1].sensitive["job"].to_list()
    with_class = md.Anatomy(2, "school", max_suppressed=1.0, random_state=0).fit(as_polars(X), y).release_
    assert with_class.identifying["bought"].dtype == pl.String
    assert with_class.label == "bought"


def test_identifiers_are_not_released(as_frame):
    X = as_frame(
        {
            "name": [f"n{i}" for i in range(8)],
            "person": list(range(8)),
            "secret": ["x", "y"] * 4,
            "age": [31, 32, 33, 34] * 2,
            "illness": ["a", "b", "c", "d"] * 2,
        }
    )
    schema = md.Schema.infer(X, identifiers=["name"], person="person", sensitive=["illness"])
    schema = schema.replace("secret", forbidden=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        release = md.Anatomy(2, schema=schema, random_state=0).fit(X, [0, 1] * 4).release_
    assert list(release.identifying.columns) == ["age", "class", "GID"]
    assert (release.label, release.identifying_names, release.sensitive_names) == ("class", ["age"], ["illness"])
    assert release.schema.names == ["age", "class", "illness"]
    assert "n0" not in str(release.to_dict())


def test_the_class_is_found_where_the_schema_says(people):
    X, y = people
    joined = X.assign(bought=y)
    schema = md.Schema.infer(joined, label="bought", sensitive=["school"])
    release = md.Anatomy(2, schema=schema, random_state=0, max_suppressed=1.0).fit(joined).release_
    assert release.label == "bought"
    assert "bought" not in release.identifying_names
    separate = md.Anatomy(2, schema=schema, random_state=0, max_suppressed=1.0).fit(X, y.to_numpy()).release_
    assert separate.label == "bought"  # an array has no name, but the schema has one
    typed = md.Anatomy(2, "school", random_state=0, max_suppressed=1.0).fit(X, y.astype("category")).release_
    assert typed.identifying["bought"].dtype == "category"


def test_equal_values_are_written_the_same_and_keep_their_type():
    X = pd.DataFrame({"age": range(6), "illness": pd.Categorical(["é", "e\u0301", "b", "b", "c", "c"])})
    release = quiet(md.Anatomy(2, "illness", random_state=0), X).release_
    assert release.sensitive["illness"].dtype == "category"
    assert sorted(Counter(release.sensitive["illness"]).values()) == [2, 2, 2]
    X["illness"] = pd.Categorical(list("xyxyzz"), categories=["z", "y", "x"], ordered=True)
    table = quiet(md.Anatomy(3, "illness", random_state=0), X).release_.sensitive
    assert table["illness"].tolist() == ["z", "y", "x"] * 2  # in the order of the values, not by name


def with_towns(kind):
    """Return 50 people with two illnesses in one town, and 150 with one illness, each in a town of their own."""
    towns = [f"t{i}" for i in range(150)] + ["u"] * 50
    names = sorted(set(towns), reverse=True)
    columns = {"age": range(200), "illness": ["a"] * 150 + ["b"] * 25 + ["c"] * 25}
    if kind.startswith("polars"):
        dtype = pl.Enum(names) if kind == "polars enum" else pl.Categorical
        return pl.DataFrame(columns | {"town": pl.Series(towns, dtype=dtype)})
    return pd.DataFrame(columns | {"town": pd.Categorical(towns, names, ordered=kind == "pandas ordered")})


@pytest.mark.parametrize("kind", ["pandas", "pandas ordered", "polars", "polars enum"])
@pytest.mark.parametrize("target", ["town in the identifying table", "town in the class"])
def test_release_holds_no_values_of_suppressed_records(tmp_path, kind, target):
    X, y = with_towns(kind), None
    if "class" in target:
        X, y = (X.drop("town"), X["town"]) if isinstance(X, pl.DataFrame) else (X.drop(columns="town"), X["town"])
    anatomy = quiet(md.Anatomy(2, "illness", max_suppressed=1.0, random_state=0), X, y)
    released, gone = anatomy.release_.identifying["town"], {f"t{i}" for i in anatomy.suppressed_}
    assert len(gone) == 100
    dtype = released.dtype
    if kind != "polars":
        assert len(dtype.categories) == 51
        assert not set(dtype.categories) & gone
    domain = anatomy.release_.schema["town"].domain
    assert domain is None or set(domain) == set(released.to_list())
    if domain:  # in their old order
        assert list(domain) == sorted(domain, reverse=True)
    for format in ("csv", "parquet"):
        anatomy.release_.save(tmp_path / format, format=format)
        text = b"".join(path.read_bytes() for path in (tmp_path / format).iterdir()).decode("latin-1")
        assert not [town for town in gone if f'"{town}"' in text]


def test_unused_sensitive_values_are_released_only_if_the_schema_declares_them():
    X = table(illness=pd.Categorical(["b", "a", "c", "a"], ["d", "c", "b", "a"], ordered=True))
    release = quiet(md.Anatomy(2, "illness", random_state=0), X).release_
    assert release.sensitive["illness"].dtype.categories.tolist() == ["c", "b", "a"]
    assert release.schema["illness"].domain == ("c", "b", "a")
    declared = quiet(md.Anatomy(2, "illness", random_state=0, schema=md.Schema.infer(X)), X).release_
    assert declared.schema["illness"].domain == ("d", "c", "b", "a")


def test_pandas_metadata_is_not_released():
    X = table()
    X.columns.name, X.index.name, X.attrs = "ward 7", "who", {"source": "ward 7"}
    release = quiet(md.Anatomy(2, "illness", random_state=0), X).release_
    for each in (release.identifying, release.sensitive):
        assert (each.columns.name, each.index.name, each.attrs) == (None, None, {})
    assert X.columns.name == "ward 7"


def test_an_array_gets_names():
    X = np.random.default_rng(0).integers(0, 4, (60, 3))
    release = quiet(md.Anatomy(2, "x1", random_state=0), X).release_
    assert (list(release.identifying.columns), list(release.sensitive.columns)) == (["x0", "x2", "GID"], ["GID", "x1"])


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_several_sensitive_attributes_have_groups_of_their_own(people, tmp_path, grouping):
    X, y = people
    X = X.drop(columns="job").assign(job=X["job"].fillna("none"))
    anatomy = md.Anatomy(3, ["school", "job"], grouping=grouping, max_suppressed=1.0, random_state=0).fit(X, y)
    release = anatomy.release_
    assert [c for c in release.identifying.columns if c.startswith("GID")] == ["GID school", "GID job"]
    released = X.iloc[anatomy.rows_]
    for name, table in release.sensitive_tables.items():
        gid = f"GID {name}"
        assert all(max(Counter(v).values()) * 3 <= len(v) for v in values_by_group(table, name, gid).values())
        own = Counter(zip(release.identifying[gid], released[name], strict=True))
        assert own == Counter(zip(table[gid], table[name], strict=True))
    assert release.suppressed == len(X) - len(released) == len(anatomy.suppressed_) > 0
    with pytest.raises(DataError, match="use one of `sensitive_tables`"):
        _ = release.sensitive
    release.save(tmp_path / "r")
    assert {f.name for f in (tmp_path / "r").iterdir()} == {
        *("identifying.csv", "release.json", "sensitive-1.csv", "sensitive-2.csv")
    }
    assert md.AnatomyRelease.load(tmp_path / "r").to_dict() == release.to_dict()


def most_that_can_stay(columns, l):
    """Try every set of records."""
    subsets = (np.array([list(map(int, f"{i:0{len(columns[0])}b}")) for i in range(1, 2 ** len(columns[0]))])) > 0
    sizes = subsets.sum(axis=1)
    allowed = np.ones(len(subsets), dtype=bool)
    for own in columns:
        for value in set(own):
            allowed &= l * (subsets & (np.array(own) == value)).sum(axis=1) <= sizes
    return int(sizes[allowed].max(initial=0))


def test_several_attributes_lose_no_more_records_than_they_must():
    random, outcomes = np.random.default_rng(3), Counter()
    tables = [[list("xxxxxxyzxyzz"), list("pqpqppppqppp")], [list("abcc"), list("ppqr")]]
    for _ in range(25):
        n = int(random.integers(4, 12))
        tables.append([random.choice(list("abc"), n, p=p).tolist() for p in ([0.6, 0.3, 0.1], [0.4, 0.4, 0.2])])
    for seed, (s, t) in enumerate(tables):
        l = 2 + (seed % 3 == 1)
        most, few = most_that_can_stay([s, t], l), min(len(set(s)), len(set(t))) < l
        anatomy = md.Anatomy(l, ["s", "t"], max_suppressed=1.0, random_state=seed)
        X = pd.DataFrame({"age": range(len(s)), "s": s, "t": t})
        if most:
            release = quiet(anatomy, X).release_
            assert (release.rows, release.l >= l) == (most, True)
            outcomes["fewer" if release.suppressed else "all"] += 1
        else:
            with pytest.raises(
                DataError, match="different values, fewer" if few else "No selection of records has groups"
            ):
                quiet(anatomy, X)
            outcomes["few" if few else "none"] += 1
    assert min(outcomes[each] for each in ("fewer", "all", "few", "none")) > 0, outcomes


def test_attributes_of_very_many_combinations_lose_records_in_turn():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": range(6_000), "s": random.integers(0, 90, 6_000), "t": random.integers(0, 90, 6_000)})
    X.loc[: len(X) // 2, "s"] = -1
    anatomy = quiet(md.Anatomy(3, ["s", "t"], max_suppressed=1.0, random_state=0), X.astype(str))
    assert anatomy.release_.l >= 3
    assert 0 < anatomy.release_.suppressed < 2_000
    X = pd.DataFrame({"age": range(6_000), "s": ["a"] * 5_998 + ["b", "c"], "t": [*map(str, range(5_998)), "0", "0"]})
    anatomy = md.Anatomy(2, ["s", "t"], max_suppressed=1.0, random_state=0)
    assert quiet(anatomy, X).release_.rows in (2, 4)


def test_adult_needs_suppression_from_l_4():
    X, y = md.datasets.load_adult(return_X_y=True)
    assert md.Anatomy(3, "education", random_state=0).fit(X, y).release_.to_dict()["l"] == 3
    with pytest.raises(DataError, match=r"'education'.*largest possible l is 3"):
        md.Anatomy(4, "education").fit(X, y)
    release = md.Anatomy(4, "education", max_suppressed=1.0, random_state=0).fit(X, y).release_
    counts = X["education"].value_counts().to_numpy()
    most = max(m for m in range(1, len(X)) if np.minimum(counts, m).sum() >= 4 * m)
    assert release.suppressed == len(X) - np.minimum(counts, most).sum() > 0


def table(**changes):
    columns = {"age": [31, 45, 62, 27], "illness": ["flu", "cold", "gout", "flu"], "town": ["a", "b", "a", "b"]}
    return pd.DataFrame({name: values for name, values in (columns | changes).items() if values is not None})


BAD = {
    "missing": (
        md.Anatomy(2, "illness"),
        table(illness=["flu", None, "gout", None]),
        None,
        DataError,
        "'illness' has 2 missing values",
    ),
    "missing number": (
        md.Anatomy(2, "illness"),
        table(illness=[1.0, np.nan, 2.0, 3.0]),
        None,
        DataError,
        "'illness' has 1 missing values",
    ),
    "class": (
        md.Anatomy(2, "illness"),
        table(),
        pd.Series([0, 1, 0, 1], name="illness"),
        DataError,
        "'illness' is the class",
    ),
    "label": (
        md.Anatomy(2, "illness", schema=md.Schema.infer(table(), label="illness")),
        table(),
        None,
        DataError,
        "'illness' is the class",
    ),
    "l": (md.Anatomy(1, "illness"), table(), None, ParameterError, "'l' parameter .* int ≥ 2. Got 1"),
    "l no int": (md.Anatomy(2.0, "illness"), table(), None, ParameterError, "'l' parameter .* int ≥ 2. Got 2.0"),
    "l too large": (
        md.Anatomy(4, "illness", max_suppressed=1.0),
        table(),
        None,
        DataError,
        "3 different values, fewer",
    ),
    "grouping": (md.Anatomy(2, "illness", grouping="any"), table(), None, ParameterError, "'grouping' parameter"),
    "share": (
        md.Anatomy(2, "illness", max_suppressed=1.5),
        table(),
        None,
        ParameterError,
        "'max_suppressed' parameter",
    ),
    "random_state": (md.Anatomy(2, "illness", random_state=-1), table(), None, ParameterError, "'random_state'"),
    "unknown": (md.Anatomy(2, "ilness"), table(), None, DataError, "'ilness' is not in the data"),
    "none": (md.Anatomy(2), table(), None, ParameterError, "'sensitive' parameter"),
    "no name": (md.Anatomy(2, 3), table(), None, ParameterError, "'sensitive' parameter"),
    "twice": (md.Anatomy(2, ["illness", "illness"]), table(), None, ParameterError, "names a column twice"),
    "GID": (md.Anatomy(2, "illness"), table().rename(columns={"town": "gid"}), None, DataError, "'gid' has the name"),
    "no rows": (md.Anatomy(2, "illness"), table()[:0], None, DataError, "0 rows"),
    "nothing left": (md.Anatomy(2, "illness"), table()[["illness"]], [0, 1, 0, 1], DataError, "needs a column besides"),
    "y too short": (md.Anatomy(2, "illness"), table(), [0, 1], DataError, "for each of the 4 rows"),
    "y is a column": (
        md.Anatomy(2, "illness"),
        table(),
        pd.Series([0] * 4, name="age"),
        DataError,
        "has the name of a column of the data, 'age'",
    ),
    "y missing": (md.Anatomy(2, "illness"), table(), [0, 1, None, 1], DataError, "missing values"),
    "two classes": (
        md.Anatomy(2, "illness", schema=md.Schema.infer(table(), label="town")),
        table(),
        [0, 1, 0, 1],
        DataError,
        "given twice",
    ),
    "identifier": (
        md.Anatomy(2, "illness", schema=md.Schema.infer(table(), identifiers=["illness"])),
        table(),
        None,
        SchemaError,
        "'illness' has the role 'identifier'",
    ),
    "forbidden": (
        md.Anatomy(2, "illness", schema=md.Schema.infer(table()).replace("illness", forbidden=True)),
        table(),
        None,
        SchemaError,
        "'illness' is forbidden",
    ),
    "generator": (
        md.Anatomy(2, "illness", random_state=np.random.default_rng(0)),
        table(),
        None,
        ParameterError,
        "'random_state' parameter .* int ≥ 0 or None",
    ),
    "class is elsewhere": (
        md.Anatomy(2, "lab"),
        table(),
        pd.Series([0, 1, 0, 1], name="lab"),
        DataError,
        "'lab' is the class",
    ),
    "classes of one text": (
        md.Anatomy(2, "illness"),
        table(),
        ["\u00e9", "e\u0301", "x", "x"],
        DataError,
        "class 'class' has different values that are the same text",
    ),
    "domain too small": (
        md.Anatomy(2, "town", schema=md.Schema.infer(table()).replace("town", kind="ordered", domain=["a"])),
        table(),
        None,
        DataError,
        "'town' holds 1 different values that its domain does not name",
    ),
    "durations": (
        md.Anatomy(2, "illness"),
        table(illness=pd.to_timedelta([1, 2, 3, 4], unit="D")),
        None,
        DataError,
        "'illness' holds durations",
    ),
    "bytes": (md.Anatomy(2, "illness"), table(town=[b"a", b"b"] * 2), None, DataError, "'town' holds bytes"),
    "complex": (md.Anatomy(2, "illness"), table(town=[1j, 2j] * 2), None, DataError, "'town' holds complex"),
    "half a character": (
        md.Anatomy(2, "illness"),
        table(illness=pd.Series(["\ud800", "b", "c", "d"], dtype=object)),
        None,
        DataError,
        "'illness' holds text that is not valid Unicode",
    ),
    "schema": (md.Anatomy(2, "illness", schema=3), table(), None, ParameterError, "'schema' parameter"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_a_one_sentence_error(case):
    anatomy, X, y, error, message = BAD[case]
    with pytest.raises(error, match=message) as caught:
        anatomy.fit(X, y)
    assert "\n" not in str(caught.value)
    assert not {"flu", "gout", "31"} & set(str(caught.value).replace("'", " ").split())
    assert not hasattr(anatomy, "release_")


def grades(n=400):
    random = np.random.default_rng(0)
    grade = random.integers(0, 6, n)
    half = random.integers(0, 2, n)
    return pd.DataFrame(
        {
            "grade": pd.Series(list("abcdef"))[grade].to_numpy(),
            "points": grade * 10.0 + random.integers(0, 10, n) * (random.random(n) < 0.02),
            "score": grade + random.random(n) * 0.999,  # all different, but still revealing
            "half": half,
            "third": (grade + half) % 6,
            "shoe": random.integers(36, 46, n),
        }
    )


def test_columns_that_reveal_the_sensitive_value_are_named():
    X = grades()
    with pytest.warns(PrivacyWarning, match=r"reveals 'grade' by 'points' and 'score' and by 'half' with 'third'"):
        md.Anatomy(3, "grade", random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        md.Anatomy(3, "grade", random_state=0).fit(X[["grade", "half", "shoe"]])
    with pytest.warns(PrivacyWarning, match="reveals 'grade' by 'class'"):
        md.Anatomy(3, "grade", random_state=0).fit(X[["grade", "shoe"]], X["grade"].to_numpy())


def test_determining_agrees_with_guessing_record_by_record():
    random = np.random.default_rng(0)
    for share in (0.0, 0.02, 0.04, 0.06, 0.08, 0.5):
        key = random.integers(0, 30, 300)
        value = np.where(random.random(300) < share, random.integers(0, 5, 300), key % 5)
        wrong = 0
        for i in range(300):
            others = Counter(v for j, (k, v) in enumerate(zip(key, value, strict=True)) if j != i and k == key[i])
            best = [v for v, n in others.items() if n == max(others.values())]
            wrong += best != [value[i]]
        X = pd.DataFrame({"key": key.astype(str)})
        found = determining(narwhals_frame(X), md.Schema.infer(X), ["key"], value)
        naive = 300 - np.bincount(value).max()
        assert found == ([("key",)] if wrong <= 0.05 * naive else [])


def test_revealing_columns_are_found_among_many_records():
    random = np.random.default_rng(0)
    value = random.integers(0, 5, 60_000)
    X = pd.DataFrame({"tells": value * 2 + 1, "close": value + random.random(60_000) * 0.9, "other": value[::-1]})
    X["nearly"] = np.where(random.random(60_000) < 0.06, random.integers(0, 5, 60_000), value)
    X["hardly"] = np.where(random.random(60_000) < 0.08, random.integers(0, 5, 60_000), value)
    found = determining(narwhals_frame(X), md.Schema.infer(X), list(X.columns), value)
    assert {("tells",), ("close",)} <= set(found)
    assert not {("other",), ("nearly",), ("hardly",)} & set(found)


def test_warning_on_adult_says_that_school_years_reveal_education():
    X, _ = md.datasets.load_adult(return_X_y=True)
    X = X[:5_000][["age", "sex", "education"]]
    X["education-num"] = pd.factorize(X["education"])[0]
    with pytest.warns(PrivacyWarning, match="reveals 'education' by 'education-num'"):
        md.Anatomy(3, "education").fit(X)


def test_sensitive_numbers_cause_a_warning():
    with pytest.warns(PrivacyWarning, match="'shoe' is a number"):
        md.Anatomy(3, "shoe").fit(grades()[["half", "shoe"]])


def test_persons_with_several_records_cause_a_warning():
    X = grades()[["grade", "half"]].assign(who=np.arange(400) // 2)
    schema = md.Schema.infer(X, person="who", sensitive=["grade"])
    with pytest.warns(PrivacyWarning, match="several records"):
        md.Anatomy(3, schema=schema).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        md.Anatomy(3, schema=schema).fit(X[::2])


def test_sensitive_attributes_that_reveal_each_other_cause_a_warning():
    X = grades()[["grade", "shoe"]]
    X["mark"] = X["grade"].str.upper()
    with (
        pytest.warns(PrivacyWarning, match="'grade' is revealed by another sensitive one"),
        pytest.warns(PrivacyWarning, match="'mark' is revealed by another sensitive one"),
    ):
        md.Anatomy(2, ["grade", "mark"]).fit(X)


HARD = {
    'a,b\n"c': ["", None, "x,y", 'q"u\r\nz', "007", "NULL", " s ", "1.0"],
    "float": [1.5, None, 0.1, 1e300, -0.0, 3.0, 1 / 3, 2**60 + 0.0],
    "whole": [*range(7), 2**53 + 1],
    "truth": [True, False] * 4,
    "maybe": [True, None, False, None] * 2,
    "day": list(pd.date_range("2020-02-27", periods=8)),
    "moment": [None, *pd.date_range("2020-01-01 10:00:01.5", periods=7, freq="h")],
    "count": [1, None, 2, 3, 4, 5, 6, 7],
    "'; DROP TABLE": ["1", "02", "", "a,\n\"b'", "1", "02", "", "a,\n\"b'"],
}


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_release_is_read_back_as_it_was_saved(as_frame, tmp_path, format):
    X = as_frame(HARD)
    release = quiet(md.Anatomy(2, "'; DROP TABLE", random_state=0), X, ["no", "yes"] * 4).release_
    folder = tmp_path / "it's [new] & 'odd'"
    release.save(folder, format=format)
    read = md.AnatomyRelease.load(folder)
    assert (read.schema, read.to_dict()) == (release.schema, release.to_dict())
    for before, after in ((release.identifying, read.identifying), (release.sensitive, read.sensitive)):
        assert list(before.columns) == list(after.columns)
        for name in before.columns:
            old, new = (pd.Series(frame[name].to_list(), dtype=object) for frame in (before, after))
            assert old.isna().tolist() == new.isna().tolist()
            assert old.dropna().tolist() == new.dropna().tolist()
    assert read.identifying["whole"].dtype == np.int64
    assert read.identifying["truth"].dtype == bool
    assert read.identifying["day"].dtype.kind == "M"


LABELS = {
    "categories that are numbers": pd.Series([1, 2, 1, 2], dtype="category"),
    "ordered numbers": pd.Series(pd.Categorical([1, 2, 1, 2], [2, 1], ordered=True)),
    "categories that are truths": pd.Series([True, False] * 2, dtype="category"),
    "numbers as objects": pd.Series([1, 2, 1, 2], dtype=object),
    "truths as objects": np.array([True, False] * 2, dtype=object),
    "digits": pd.Series(["1", "2"] * 2, dtype="category"),
}


@pytest.mark.parametrize("case", LABELS)
def test_classes_keep_their_type_in_files(tmp_path, case):
    y, X = LABELS[case], table(town=pd.Categorical([7, 8, 7, 8]))
    release = quiet(md.Anatomy(2, "illness", random_state=0, schema=md.Schema.infer(X)), X, y).release_
    for format in ("csv", "parquet"):
        release.save(tmp_path / format, format=format)
        read = md.AnatomyRelease.load(tmp_path / format)
        for name in ("class", "town"):
            before, after = release.identifying[name].tolist(), read.identifying[name].tolist()
            assert (before, [*map(type, before)]) == (after, [*map(type, after)])


def test_a_release_whose_schema_would_change_a_type_is_not_saved(tmp_path):
    X = pd.DataFrame({"y": pd.Categorical([1, 2, 1, 2]), **IT})
    schema = md.Schema.infer(X.drop(columns="GID").assign(illness="a")).replace("y", storage="text")
    release = md.AnatomyRelease.from_tables(X, pd.DataFrame(ST), label="y", schema=schema)
    with pytest.raises(DataError, match="'y' changes when it is read back"):
        release.save(tmp_path / "r")
    assert not list(tmp_path.iterdir())


def test_an_unnamed_class_gets_a_free_name():
    X = table().rename(columns={"town": "class", "age": "CLASS_2"})
    release = quiet(md.Anatomy(2, "illness", random_state=0), X, ["n", "y"] * 2).release_
    assert (release.label, release.identifying_names) == ("class_3", ["CLASS_2", "class"])


@pytest.mark.parametrize("folder", [None, 3, "", "a\0b"])
def test_a_bad_folder_gets_a_one_sentence_error(folder):
    release = md.AnatomyRelease.from_tables(pd.DataFrame(IT), pd.DataFrame(ST))
    with pytest.raises(ParameterError, match="'folder' parameter of save must be a path"):
        release.save(folder)
    with pytest.raises(ParameterError, match="'folder' parameter of load must be a path"):
        md.AnatomyRelease.load(folder)


def test_a_full_disk_gets_a_one_sentence_error_and_leaves_no_file(tmp_path):
    release = md.AnatomyRelease.from_tables(pd.DataFrame(IT), pd.DataFrame(ST))
    handler, limits = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        for format in ("csv", "parquet"):
            with pytest.raises(DataError, match="cannot be written") as caught:
                release.save(tmp_path / "r", format=format)
            assert "\n" not in str(caught.value)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert not list(tmp_path.iterdir())


def test_save_refuses_names_and_texts_that_files_cannot_hold(tmp_path):
    named = pd.DataFrame(IT).rename(columns={"age": "a\0b"})
    written = pd.DataFrame(IT).assign(town=pd.Series(["\ud800", "b", "c", "d"], dtype=object))
    for identifying, message in ((named, "NUL"), (written, "not valid Unicode")):
        release = md.AnatomyRelease.from_tables(identifying, pd.DataFrame(ST))
        with pytest.raises(DataError, match=message):
            release.save(tmp_path / "r")
    assert not list(tmp_path.iterdir())


def test_a_release_consists_of_tables_and_a_schema():
    identifying, sensitive = pd.DataFrame(IT), pd.DataFrame(ST)
    release = md.AnatomyRelease.from_tables(identifying, sensitive)
    assert release == release
    assert release != md.AnatomyRelease.from_tables(identifying, sensitive)
    with pytest.raises(ParameterError, match=r"'schema' parameter must be a Schema. Got int"):
        md.AnatomyRelease.from_tables(identifying, sensitive, schema=3)
    with pytest.raises(ParameterError, match=r"'schema' parameter must be a Schema. Got NoneType"):
        md.AnatomyRelease(identifying, {"illness": sensitive}, None)
    with pytest.raises(ParameterError, match=r"must be a dict of tables. Got DataFrame"):
        md.AnatomyRelease(identifying, sensitive, release.schema)


def test_a_release_that_fails_its_check_is_refused():
    X = pd.DataFrame({"age": range(6), "illness": list("aabbcc")})
    task = build_task(md.Anatomy(2, "illness"), narwhals_frame(X), md.Schema.infer(X), None)
    order, right, rows = value_order(task, "illness"), np.array([0, 1, 0, 2, 1, 2]), np.arange(6)

    def build(groups=right, rows=rows, order=order):
        return build_release(task, {"illness": order}, {"illness": groups}, rows, 2, "any")

    assert build().l == 2
    codes = order[0]
    wrong = {
        "groups": {"groups": np.array([0, 0, 1, 1, 2, 2])},
        "a doubled row": {"rows": np.array([0, 1, 2, 3, 4, 4])},
        "changed values": {
            "order": (np.where(codes == 0, 2, np.where(codes == 2, 0, codes))[[0, 2, 2, 3, 4, 5]], order[1])
        },
        "another value's record": {"order": (codes, order[1][[0, 1, 1]])},
    }
    for change in wrong.values():
        with pytest.raises(DataError, match="failed the check of l or of the records, so nothing is released"):
            build(**change)


def save_release(folder, seed=0, format="csv"):
    release = quiet(md.Anatomy(2, "illness", random_state=seed), table(), pd.Series([0, 1, 0, 1], name="y")).release_
    release.save(folder, format=format)
    return folder


def test_a_used_folder_is_not_changed_and_a_failure_leaves_nothing(tmp_path, monkeypatch):
    save_release(tmp_path / "a")
    before = (tmp_path / "a" / "release.json").read_bytes()
    with pytest.raises(DataError, match="not empty"):
        save_release(tmp_path / "a", seed=1)
    assert (tmp_path / "a" / "release.json").read_bytes() == before
    (tmp_path / "empty").mkdir()
    assert md.AnatomyRelease.load(save_release(tmp_path / "empty")).l == 2
    with pytest.raises(DataError, match="cannot be written"):
        save_release(tmp_path / "not" / "there")
    with pytest.raises(ParameterError, match="'format' parameter"):
        save_release(tmp_path / "b", format="xlsx")
    clash = quiet(md.Anatomy(2, "illness"), table().assign(AGE=1)).release_
    with pytest.raises(DataError, match="'age' and 'AGE' differ only in case"):
        clash.save(tmp_path / "c")
    assert {path.name for path in tmp_path.iterdir()} == {"a", "empty"}


def test_save_refuses_values_that_change_when_read_back(tmp_path):
    big = quiet(md.Anatomy(2, "illness"), pl.from_pandas(table()).with_columns(n=pl.Series([2**62 + 1, None, 3, 4])))
    with pytest.raises(DataError, match="'n' changes when it is read back"):
        big.release_.save(tmp_path / "big")
    assert not list(tmp_path.iterdir())


def test_files_that_were_changed_or_belong_elsewhere_are_refused(tmp_path):
    one, other = save_release(tmp_path / "one"), save_release(tmp_path / "other", seed=5)
    assert md.AnatomyRelease.load(one).rows == 4
    original = (one / "sensitive.csv").read_bytes()
    (one / "sensitive.csv").write_bytes(original.replace(b"gout", b"cold"))
    with pytest.raises(ArtifactError, match=r"'sensitive.csv' was changed or does not belong"):
        md.AnatomyRelease.load(one)
    (one / "sensitive.csv").unlink()
    with pytest.raises(ArtifactError, match=r"'sensitive.csv' cannot be read"):
        md.AnatomyRelease.load(one)
    (one / "sensitive.csv").write_bytes(original)
    shutil.copy(other / "identifying.csv", one / "identifying.csv")
    with pytest.raises(ArtifactError, match=r"'identifying.csv' was changed or does not belong"):
        md.AnatomyRelease.load(one)
    with pytest.raises(ArtifactError, match="cannot be read"):
        md.AnatomyRelease.load(tmp_path / "nowhere")


def test_tables_that_do_not_belong_together_are_refused_even_with_right_hashes(tmp_path):
    folder = save_release(tmp_path / "r")
    path = folder / "sensitive.csv"
    path.write_bytes(path.read_bytes().replace(b"\n1,", b"\n7,"))
    content = json.loads((folder / "release.json").read_text())
    content["sensitive"][0]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "release.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match="do not belong together"):
        md.AnatomyRelease.load(folder)


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("file", ["identifying", "sensitive"])
def test_swapped_columns_in_the_description_are_refused(tmp_path, format, file):
    X = table(height=[1, 2, 3, 4], illness=[5, 6, 7, 8])
    quiet(md.Anatomy(2, "illness", random_state=0), X).release_.save(tmp_path / "r", format=format)
    path = tmp_path / "r" / "release.json"
    content = json.loads(path.read_text())
    columns = (content["identifying"] if file == "identifying" else content["sensitive"][0])["columns"]
    one, other = ("age", "height") if file == "identifying" else ("GID", "illness")
    places = columns.index(one), columns.index(other)
    columns[places[0]], columns[places[1]] = other, one
    path.write_text(json.dumps(content))
    with pytest.raises(ArtifactError, match=f"'{file}.{format}' does not have the columns"):
        md.AnatomyRelease.load(tmp_path / "r")


HOSTILE = {
    "not JSON": lambda content: "{",
    "a list": lambda content: "[1]",
    "NaN": lambda content: json.dumps(content | {"suppressed": float("nan")}),
    "no artifact": lambda content: "{}",
    "another kind": lambda content: json.dumps(content | {"modicum": "cells"}),
    "a kind that is a list": lambda content: json.dumps(content | {"modicum": ["anatomy"]}),
    "a newer version": lambda content: json.dumps(content | {"version": 99}),
    "no schema": lambda content: json.dumps({k: v for k, v in content.items() if k != "schema"}),
    "a wrong schema": lambda content: json.dumps(content | {"schema": {"attributes": [{"name": 3}]}}),
    "a number as label": lambda content: json.dumps(content | {"label": 3}),
    "another label": lambda content: json.dumps(content | {"label": "age"}),
    "negative": lambda content: json.dumps(content | {"suppressed": -1}),
    "more than there are": lambda content: json.dumps(content | {"suppressed": 10**30}),
    "true as count": lambda content: json.dumps(content | {"suppressed": True}),
    "no tables": lambda content: json.dumps(content | {"sensitive": []}),
    "tables as text": lambda content: json.dumps(content | {"sensitive": ["sensitive.csv"]}),
    "a path": lambda content: json.dumps(
        content | {"identifying": content["identifying"] | {"file": "../other/identifying.csv"}}
    ),
    "an absolute path": lambda content: json.dumps(
        content | {"sensitive": [content["sensitive"][0] | {"file": "/etc/passwd"}]}
    ),
    "columns as text": lambda content: json.dumps(
        content | {"identifying": content["identifying"] | {"columns": "age"}}
    ),
    "columns twice": lambda content: json.dumps(
        content | {"identifying": content["identifying"] | {"columns": ["age", "AGE"]}}
    ),
    "fewer columns": lambda content: json.dumps(
        content | {"identifying": content["identifying"] | {"columns": ["age", "GID"]}}
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_description_is_refused_in_one_sentence(tmp_path, case):
    folder = save_release(tmp_path / "r", format="parquet" if "column" in case else "csv")
    path = folder / "release.json"
    path.write_text(HOSTILE[case](json.loads(path.read_text())))
    with pytest.raises(ModicumError) as caught:
        md.AnatomyRelease.load(folder)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ArtifactError) or case == "fewer columns"


IT = {"age": [1, 2, 3, 4], "GID": [1, 1, 2, 2]}
ST = {"GID": [1, 1, 2, 2], "illness": ["a", "b", "a", "c"]}
APART = {
    "no GID": ({"age": [1, 2, 3, 4]}, ST, "need the column 'GID'"),
    "two values": (IT, ST | {"more": [1, 2, 3, 4]}, "exactly one other column"),
    "missing GID": (IT | {"GID": [1, 1, None, 2]}, ST, "'GID' has 1 missing values"),
    "missing GID in ST": (IT, ST | {"GID": [1, None, None, 2]}, "'GID' has 2 missing values"),
    "text GID": (IT | {"GID": ["1", "1", "2", "2"]}, ST, "'GID' must hold whole numbers"),
    "broken GID": (IT | {"GID": [1.0, 1.5, 2.0, 2.0]}, ST, "'GID' must hold whole numbers"),
    "other groups": (IT | {"GID": [1, 1, 2, 3]}, ST, "do not belong together"),
    "other sizes": (IT | {"GID": [1, 2, 2, 2]}, ST, "do not belong together"),
    "missing value": (IT, ST | {"illness": ["a", None, "b", "c"]}, "1 rows without a value of 'illness'"),
    "sensitive in IT": (IT | {"illness": ["a", "b", "a", "c"]}, ST, "hides nothing"),
    "no rows": ({"age": [], "GID": []}, ST, "no rows"),
}


@pytest.mark.parametrize("case", APART)
def test_external_tables_are_checked(as_frame, case):
    identifying, sensitive, message = APART[case]
    with pytest.raises(DataError, match=message):
        md.AnatomyRelease.from_tables(as_frame(identifying), as_frame(sensitive))


def test_external_tables_make_a_release(as_frame):
    identifying = as_frame({"age": [1, 2, 3, 4, 5], "ill": list("nynyn"), "GID": [-7, 40, -7, 40, 40]})
    sensitive = as_frame({"GID": [40, -7, 40, -7, 40], "illness": ["a", "a", "b", "c", "d"]})
    release = md.AnatomyRelease.from_tables(identifying, sensitive, label="ill")
    assert (release.label, release.l, release.n_groups, release.rows) == ("ill", 2, 2, 5)
    found = release.candidates()
    assert found.groups.tolist() == [0, 1, 0, 1, 1]
    assert found.sizes.tolist() == [2, 3]
    assert [found.values[code] for code in found.codes] == ["a", "c", "a", "b", "d"]
    assert found.rows.tolist() == [1, 3, 0, 2, 4]
    with pytest.raises(DataError, match="no sensitive attribute 'age'"):
        release.candidates("age")
    with pytest.raises(SchemaError, match=r"'age'.*does not allow to publish"):
        md.AnatomyRelease.from_tables(
            *(identifying, sensitive),
            label="ill",
            schema=md.Schema(attributes=release.schema.attributes).with_roles(identifiers=["age"]),
        )


@few
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_the_share_of_the_most_frequent_value_is_measured(pairs):
    frame = pd.DataFrame(pairs, columns=["group", "value"])
    expected = min(len(v) // max(Counter(v).values()) for v in values_by_group(frame, "value", "group").values())
    assert md.measures.l_diversity(frame, ["group"], "value", kind="frequency") == expected
    assert expected <= md.measures.l_diversity(frame, ["group"], "value")


@pytest.mark.slow
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_a_million_records_are_split(grouping):
    X, y = md.datasets.load_adult(return_X_y=True)
    rows = np.random.default_rng(0).integers(0, len(X), 1_000_000)
    X, y = X.take(rows).reset_index(drop=True), y.take(rows).reset_index(drop=True)
    anatomy = md.Anatomy(3, "education", grouping=grouping, random_state=0).fit(X, y)
    release = anatomy.release_
    assert (release.rows, release.suppressed, release.l) == (1_000_000, 0, 3)
    assert np.array_equal(np.sort(anatomy.rows_), np.arange(1_000_000))
    shares = release.sensitive.groupby(["GID", "education"]).size()
    assert (
        shares * 3 <= release.sensitive["GID"].value_counts().loc[shares.index.get_level_values(0)].to_numpy()
    ).all()
