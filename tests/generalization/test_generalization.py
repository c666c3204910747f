"""The artifact: outputs, labels, edits by hand and by method, files, errors."""

import datetime as dt
import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import as_polars
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import modicum as md
from modicum.errors import ArtifactError, DataError, ParameterError
from modicum.generalization.bins import Dropped, FullDetail, Intervals
from modicum.generalization.build import groups, intervals

AGE = md.Attribute(name="age", kind="number", storage="integer", roles=["personal"])
JOB = md.Attribute(name="job", kind="category", roles=["personal"])
ZIP = md.Attribute(name="zip", kind="category", roles=["personal"])
DOSE = md.Attribute(name="dose", kind="number", storage="float")


@pytest.fixture
def g() -> md.Generalization:
    return md.Generalization(
        md.Schema(attributes=(AGE, JOB, ZIP, DOSE)),
        [
            intervals(AGE, [19.5, 63.5], values=[17, 40, 70], usual=40),
            groups(JOB, [["nurse", "doctor"], ["clerk"]], values=["nurse", "clerk"], usual="nurse"),
            Dropped(attribute=ZIP, value="10115"),
            FullDetail(attribute=DOSE, value=1.5),
        ],
    )


RECORDS = {"age": [18, 40, None], "job": ["doctor", "smith", None], "dose": [0.5, 1.5, 2.5]}


def test_labels_for_people(g):
    assert g.buckets == {
        "age": ("≤ 19", "20–63", "≥ 64", "(missing)"),
        "job": ("nurse | doctor", "clerk", "(other)", "(missing)"),
        "dose": (),
    }
    assert g.n_buckets == 3 + 2 + 1 + 1
    assert [p.action for p in g.partitions] == ["coarsened", "coarsened", "dropped", "kept"]


def test_transform_reads_and_returns_only_needed_attributes(g, as_frame):
    X = as_frame({**RECORDS, "secret": ["a", "b", "c"]})
    Z = g.transform(X)
    assert type(Z) is type(X)
    assert list(Z.columns) == ["age", "job", "dose"]
    assert list(Z["age"]) == ["≤ 19", "20–63", "(missing)"]
    assert list(Z["job"]) == ["nurse | doctor", "(other)", "(missing)"]
    assert list(Z["dose"]) == [0.5, 1.5, 2.5]


def test_labels_are_ordered_categoricals_of_all_buckets(g):
    Z = g.transform(pd.DataFrame(RECORDS, index=[7, 8, 9]))
    assert Z["age"].cat.ordered
    assert tuple(Z["age"].cat.categories) == g.buckets["age"]
    assert Z.index.tolist() == [7, 8, 9]
    P = g.transform(pl.DataFrame(RECORDS))
    assert P["age"].dtype == pl.Enum(list(g.buckets["age"]))


def test_codes(g, as_frame):
    codes = g.transform(as_frame(RECORDS), output="codes")
    assert list(codes["age"]) == [0, 1, 3]
    assert list(codes["job"]) == [0, 2, 3]
    assert g.codes(as_frame(RECORDS))[:, 2].tolist() == [0, 0, 0]
    order = g.codes(pd.DataFrame({**RECORDS, "dose": [-2.0, 0.0, np.inf]}))[:, 3]
    assert (np.diff(order) > 0).all()


def test_values_fit_a_model_of_raw_records(g, as_frame):
    V = g.transform(as_frame(RECORDS), output="values")
    assert list(V.columns) == ["age", "job", "zip", "dose"]
    assert list(V["job"])[:2] == ["nurse", "nurse"]
    assert list(V["zip"]) == ["10115"] * 3
    assert list(V["age"])[:2] == [17, 40]
    assert pd.isna(list(V["age"])[2]) or list(V["age"])[2] is None


def test_values_keep_the_dtypes_of_the_data():
    X = pd.DataFrame(
        {"n": np.array([1, 2, 3, 4], dtype="int8"), "b": [True, False, True, True], "c": pd.Categorical(list("aabb"))}
    )
    g = md.Uniform(buckets=2).fit(X).generalization_
    assert g.transform(X, output="values").dtypes.tolist() == X.dtypes.tolist()


def test_engines_give_the_same_buckets(g):
    frame = pl.DataFrame(RECORDS)
    expected = [
        (a, j, d) for a, j, d in zip(*(g.transform(frame)[c].to_list() for c in ("age", "job", "dose")), strict=True)
    ]
    assert g.transform(duckdb.from_arrow(frame.to_arrow())).fetchall() == expected
    assert g.transform(frame.lazy()).collect().rows() == expected
    values = g.transform(frame.lazy(), output="values").collect()
    assert values.rows() == g.transform(frame, output="values").rows()
    with pytest.raises(DataError, match="'dose' is kept in full detail, so it has no bucket codes"):
        g.transform(frame.lazy(), output="codes")
    with pytest.raises(DataError, match="'job' is not in the data"):
        g.transform(frame.drop("job").lazy())


def test_numbers_as_categories_are_the_same_in_every_type():
    code = md.Attribute(name="code", kind="category", storage="integer")
    g = md.Generalization(md.Schema(attributes=(code,)), [groups(code, [["1", "2"], ["10"]])])
    expected = ["1 | 2", "10", "(missing)", "(other)"]
    for values in ([1, 10, None, 7], [1.0, 10.0, None, 7.5], ["1", "10", None, "1.0"]):
        for X in (pd.DataFrame({"code": values}), pl.DataFrame({"code": values})):
            assert list(g.transform(X)["code"]) == expected
        lazy = pl.DataFrame({"code": values})
        assert g.transform(lazy.lazy()).collect()["code"].to_list() == expected
        assert [row[0] for row in g.transform(duckdb.from_arrow(lazy.to_arrow())).fetchall()] == expected


def test_dates():
    born = md.Attribute(name="born", kind="date", storage="date")
    g = md.Generalization(
        md.Schema(attributes=(born,)), [intervals(born, [dt.datetime(1990, 6, 1, 12, tzinfo=dt.UTC).timestamp()])]
    )
    assert g.buckets["born"][:2] == ("≤ 1990-06-01", "≥ 1990-06-02")
    expected = ["≤ 1990-06-01", "≥ 1990-06-02", "(missing)"]
    days = [dt.date(1990, 6, 1), dt.date(1990, 6, 2), None]
    for X in (
        pd.DataFrame({"born": pd.to_datetime(pd.Series(days))}),
        pd.DataFrame({"born": ["1990-06-01", "1990-06-02", None]}),
        pl.DataFrame({"born": days}),
    ):
        assert list(g.transform(X)["born"]) == expected
    assert g.transform(pl.DataFrame({"born": days}).lazy()).collect()["born"].to_list() == expected
    assert [
        r[0] for r in g.transform(duckdb.from_arrow(pl.DataFrame({"born": days}).to_arrow())).fetchall()
    ] == expected


def test_training_on_minimized_data(people):
    X, y = people
    for method in (md.PrivacyTree(max_leaves=8, min_leaf=20, privacy=0.1), md.FeatureSelection(k=3), md.Uniform()):
        g = method.fit(X, y).generalization_
        Z = g.transform(X)
        model = make_pipeline(g.encoder(), LogisticRegression(max_iter=1000)).fit(Z.iloc[:400], y.iloc[:400])
        assert model.score(Z.iloc[400:], y.iloc[400:]) > y.iloc[400:].value_counts(normalize=True).max() + 0.03
        assert np.array_equal(model.predict(g.transform(as_polars(X))), model.predict(Z))


def test_an_encoder_without_attributes_gives_a_constant(people):
    X, y = people
    g = md.PrivacyTree(max_leaves=1).fit(X, y).generalization_
    assert g.needed == []
    assert make_pipeline(g.encoder(), LogisticRegression()).fit(g.transform(X), y).predict(g.transform(X)).shape == (
        600,
    )


def test_describe_without_and_with_records(g):
    text = str(g.describe())
    assert "age   coarsened      ≤ 19 · 20–63 · ≥ 64" in text
    assert "zip   not collected" in text
    assert "1 of 4 attributes not collected; 6 buckets for the others." in text
    described = g.describe(pd.DataFrame({**RECORDS, "dose": [1.0, 1.0, 1.0]}))
    assert described.smallest_group == 1
    assert described.groups == 3
    first = described.to_dict()["attributes"][0]["buckets"][0]
    assert first == {"label": "≤ 19", "takes": (), "share": 0.333333, "persons": 1}
    assert "fewer than 10 records" in str(described)


@pytest.mark.parametrize("label", [5, "caf\udce9"])
def test_the_label_of_merged_buckets_must_be_text(g, label):
    name = next(name for name in g.names if len(g[name].labels) > 1)
    with pytest.raises(ParameterError, match="The 'label' parameter must be text"):
        g.merge(name, g[name].labels[:2], label=label)


def test_merge_refine_drop_and_diff(g):
    merged = g.merge("age", ["20–63", "≥ 64"], label="adult")
    assert merged.buckets["age"] == ("≤ 19", "adult", "(missing)")
    assert g.merge("age", ["≤ 19", "(missing)"]).buckets["age"] == ("≤ 19", "20–63", "≥ 64")
    assert g.merge("job", ["clerk", "(other)"]).codes(pd.DataFrame(RECORDS))[1, 1] == 1
    refined = g.refine("age", 40.5)
    assert refined.buckets["age"] == ("≤ 19", "20–40", "41–63", "≥ 64", "(missing)")
    split = g.refine("job", ["doctor"])
    assert split.buckets["job"][:3] == ("nurse", "doctor", "clerk")
    assert [c.relation for c in g.diff(merged).changes] == ["coarser"]
    assert [c.relation for c in g.diff(refined).changes] == ["finer"]
    assert str(g.diff(split)) == (
        "job (finer): nurse | doctor · clerk · (other) · (missing) → nurse · doctor · clerk · (other) · (missing)"
    )
    assert not g.diff(g)
    assert g.diff(g.drop("age")).changes[0].relation == "coarser"
    assert refined.merge("age", ["20–40", "41–63"]).diff(g).changes == ()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda g: g.merge("age", ["≤ 19", "≥ 64"]), "Only neighbouring buckets of 'age'"),
        (lambda g: g.merge("age", ["≤ 20"]), "'age' has no bucket '≤ 20'"),
        (lambda g: g.merge("zip", ["x"]), "'zip' has no buckets to merge; it is dropped"),
        (lambda g: g.refine("age", 19.5), "'age' cannot be changed in this way: the values of 'up_to' must rise"),
        (lambda g: g.refine("job", ["smith"]), "must all be in one of its buckets"),
        (lambda g: g.refine("dose", 1.0), "'dose' has no buckets to split"),
        (lambda g: g["height"], "no attribute 'height'"),
        (
            lambda g: g.intersect(md.Uniform().fit(pd.DataFrame({"a": [1, 2]})).generalization_),
            "differ in their attributes",
        ),
    ],
)
def test_an_impossible_change_is_refused(g, change, complaint):
    with pytest.raises(ArtifactError, match=complaint):
        change(g)


def test_refusing_unseen_and_missing_values():
    content = {
        "modicum": "generalization",
        "version": 1,
        "schema": {"attributes": [{"name": "job", "kind": "category"}]},
        "attributes": [
            {"name": "job", "unseen": "refuse", "missing": "refuse", "buckets": [{"values": ["a"]}, {"values": ["b"]}]}
        ],
    }
    g = md.Generalization.from_dict(content)
    assert g.buckets["job"] == ("a", "b")
    for wrap in (pd.DataFrame, pl.DataFrame, lambda c: pl.DataFrame(c).lazy()):
        assert g.transform(wrap({"job": ["a", "b"]})) is not None
        with pytest.raises(DataError, match=r"'job' has 1 .*unseen values, which this artifact refuses"):
            g.transform(wrap({"job": ["a", "x"]}))
        with pytest.raises(DataError, match=r"'job' has 1 .*missing .*which this artifact refuses"):
            g.transform(wrap({"job": ["a", None]}))


def test_a_file_is_readable_and_can_be_edited(g, tmp_path):
    path = tmp_path / "g.json"
    g.save(path)
    text = path.read_text(encoding="utf-8")
    assert (
        '        {"up_to": 19.5, "value": 17},\n        {"up_to": 63.5, "value": 40},\n        {"value": 70}\n' in text
    )
    assert md.load(path) == g
    edited = text.replace('        {"up_to": 19.5, "value": 17},\n', "").replace(
        '"up_to": 63.5', '"up_to": 65, "label": "young"'
    )
    path.write_text(edited, encoding="utf-8")
    assert md.load(path).buckets["age"] == ("young", "≥ 66", "(missing)")


def test_a_failed_save_leaves_the_old_file(g, tmp_path, monkeypatch):
    path = tmp_path / "g.json"
    path.write_text("old")
    monkeypatch.setattr("modicum.generalization.storage.lines", lambda document: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        g.save(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(DataError, match="cannot be written"):
        g.save(tmp_path / "no" / "g.json")


def _edit(**changes):
    def edit(content):
        content.update(changes)

    return edit


def _bucket(index, **changes):
    def edit(content):
        content["attributes"][0]["buckets"][index].update(changes)

    return edit


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (_edit(version=2), "'version' is 2; this modicum reads up to 1"),
        (_edit(version="x"), "'version' must be a whole number"),
        (_edit(modicum="release"), "unknown kind of artifact: 'release'"),
        (_edit(schema={"attributes": []}), "no attribute 'age'"),
        (_edit(schema=[]), "mapping with the key 'attributes'"),
        (_edit(extra=1), "unknown field 'extra'"),
        (_edit(attributes=[]), "has no partition for the attribute 'age'"),
        (_bucket(0, up_to=99), "'age' is not valid: .*must rise"),
        (_bucket(0, up_to=None), "'age' is not valid: .*except the last needs 'up_to'"),
        (_bucket(0, value=30), "'age' is not valid: .*bucket 1 lies outside"),
        (_bucket(0, colour="red"), "'age' is not valid: .*field 'colour'"),
        (lambda c: c["attributes"][1]["buckets"][0]["values"].append("clerk"), "'clerk' is in more than one bucket"),
        (lambda c: c["attributes"].append(c["attributes"][0]), "describes the attribute 'age' twice"),
        (lambda c: c["attributes"][1].update(unseen="guess"), "'job' is not valid: .*field 'unseen'"),
        (lambda c: c["attributes"][3].update(name="weight"), "no attribute 'weight'"),
        (lambda c: c["attributes"][1]["buckets"][0].update(value="clerk"), "is not one of its values"),
        (lambda c: c["attributes"][1]["buckets"][0].update(values=[]), "'job' is not valid"),
    ],
)
def test_a_wrong_edit_is_refused_in_one_sentence(g, tmp_path, edit, complaint):
    content = g.to_dict()
    content = json.loads(json.dumps(content))
    edit(content)
    (tmp_path / "g.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=complaint) as caught:
        md.load(tmp_path / "g.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe", b"[1, 2]", b'{"modicum": NaN}', b"[" * 100_000])
def test_a_damaged_file_is_refused_in_one_sentence(tmp_path, damage):
    (tmp_path / "g.json").write_bytes(damage)
    with pytest.raises(ArtifactError) as caught:
        md.load(tmp_path / "g.json")
    assert "\n" not in str(caught.value)


def test_output_must_be_known(g):
    with pytest.raises(ParameterError, match="'output' parameter must be"):
        g.transform(pd.DataFrame(RECORDS), output="words")


def test_hierarchy_names_a_group():
    land = md.Attribute(name="land", kind="category", hierarchy={"fr": ["Europe"], "de": ["Europe"], "jp": ["Asia"]})
    assert groups(land, [["de", "fr"], ["jp"]]).labels[:2] == ("Europe", "jp")


def test_a_long_group_has_a_short_label():
    word = md.Attribute(name="word", kind="category")
    partition = groups(word, [[f"category number {i}" for i in range(40)], ["(other)"]])
    assert partition.labels[0].endswith("more")
    assert len(partition.labels[0]) <= 60
    assert partition.labels[1:3] == ("(other) (2)", "(other)")


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({"name": "x", "buckets": [{"up_to": "inf"}, {}]}, "'x' is not valid: .*a finite number is expected"),
        ({"name": "d", "buckets": [{"up_to": 1e20}, {}]}, "'d' is not valid: .*a date is written as text"),
        ({"name": "d", "buckets": [{"up_to": "garbage"}, {}]}, "'d' is not valid"),
        ({"name": "d", "collected": False, "value": "garbage"}, "'d' is not valid"),
        ({"name": "x", "collected": False, "value": "abc"}, "'x' is not valid: a finite number is expected"),
        ({"name": "c", "buckets": [{"values": [None]}]}, "'c' is not valid: .*a list of texts or numbers"),
        ({"name": "c", "buckets": [{"values": ["a"], "label": "l"}, {"values": ["b"], "label": "l"}]}, "called 'l'"),
    ],
)
def test_invalid_hand_written_entries_are_refused(entry, complaint):
    kinds = {"x": "number", "d": "date", "c": "category"}
    content = {
        "modicum": "generalization",
        "version": 1,
        "schema": {"attributes": [{"name": entry["name"], "kind": kinds[entry["name"]]}]},
        "attributes": [entry],
    }
    with pytest.raises(ArtifactError, match=complaint) as caught:
        md.Generalization.from_dict(content)
    assert "\n" not in str(caught.value)


def test_a_last_day_is_a_date_like_any_other():
    day = md.Attribute(name="day", kind="date", storage="date")
    partition = intervals(day, [dt.datetime(9999, 12, 30, tzinfo=dt.UTC).timestamp()])
    assert partition.labels[0] == "≤ 9999-12-30"


def test_changes_with_invalid_values_are_refused(g):
    for change in (
        lambda: g.refine("age", float("nan")),
        lambda: g.refine("age", "forty"),
        lambda: g.refine("job", 5),
        lambda: g.merge("age", ["≤ 19", "20–63"], label=""),
    ):
        with pytest.raises(ArtifactError):
            change()


def test_a_category_called_missing_is_not_missing():
    word = md.Attribute(name="word", kind="category")
    g = md.Generalization(md.Schema(attributes=(word,)), [groups(word, [["(missing)"], ["b"]])])
    Z = g.transform(pd.DataFrame({"word": ["(missing)", None]}))
    assert list(Z["word"]) == ["(missing) (2)", "(missing)"]


def test_schemas_and_artifacts_are_hashable():
    land = md.Attribute(name="land", kind="category", hierarchy={"fr": ["Europe"]})
    schema = md.Schema(attributes=(land,))
    g = md.Generalization(schema, [groups(land, [["fr"]])])
    assert len({schema, schema}) == len({g, g}) == 1


def test_the_intersection_of_ordered_attributes_keeps_their_order():
    school = md.Attribute(name="s", kind="ordered", domain=[str(i) for i in range(7)])
    a = md.Generalization(md.Schema(attributes=(school,)), [groups(school, [["1", "2", "3"], ["4", "5", "6"]])])
    b = md.Generalization(md.Schema(attributes=(school,)), [groups(school, [["0", "1"], ["2", "3", "4", "5"], ["6"]])])
    both = a.intersect(b)
    assert md.Generalization.from_dict(both.to_dict()) == both


def test_files_keep_their_mode_and_links_stay_links(g, tmp_path):
    import os
    import stat

    old = os.umask(0o077)
    try:
        g.save(tmp_path / "g.json")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "g.json").stat().st_mode) == 0o600
    (tmp_path / "link.json").symlink_to(tmp_path / "g.json")
    g.drop("age").save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert "age" not in md.load(tmp_path / "g.json").needed


def test_coded_records_need_a_coder_with_the_same_edges(people):
    X, y = people
    pat = md.PrivacyTree(max_leaves=8, min_leaf=20, privacy=0.0).fit(X, y)
    codes = pat.coder_.encode(X)
    moved = pat.generalization_.refine("age", at=33.3)
    with pytest.raises(md.errors.ArtifactError, match="'age' has an edge that the coder lacks"):
        moved.transform_codes(codes, pat.coder_)
    kept = md.Uniform(schema=md.Schema.infer(X).replace("age", locked=True)).fit(X).generalization_
    with pytest.raises(md.errors.ArtifactError, match="'age' is kept in full detail"):
        kept.transform_codes(codes, pat.coder_)


def test_the_negative_number_closest_to_zero_is_not_missing():
    import narwhals.stable.v2 as nw

    dose = FullDetail(attribute=md.Attribute(name="dose", kind="number", storage="float"), missing="refuse")
    values = pd.Series([-5e-324, 0.0, 1.5], name="dose")
    assert dose.decode(dose.encode(nw.from_native(values, series_only=True))).tolist() == values.tolist()


def test_a_range_of_huge_numbers_has_a_representative_inside():
    pay = md.Attribute(name="pay", kind="number", storage="float")
    ranges = Intervals(attribute=pay, buckets=[{"up_to": 2.0**60}, {}], value=0.0)
    assert ranges.representatives[1] > 2.0**60
