"""Evidence with unusual labels, groups or settings measures the same thing, or says why it cannot."""

import numpy as np
import pandas as pd
import pytest

import modicum as md
from modicum.errors import ParameterError
from modicum.evaluation._utility import group_names
from modicum.evaluation.evidence.prism_cost import compute_balanced_interval, compute_balanced_mean
from modicum.evaluation.evidence.prism_reasons import is_balanced
from modicum.measures.intervals import difference_interval
from modicum.table.frames import as_frame

QUASI = ["age", "sex"]
pytestmark = pytest.mark.usefixtures("no_forests")


@pytest.fixture(scope="module")
def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    X = X[[*QUASI, "education", "hours-per-week"]]
    return X[:900].reset_index(drop=True), y[:900].reset_index(drop=True)


def test_labels_of_any_type_give_the_same_errors(adult):
    X, y = adult
    earns = (y == ">50K").astype(int)
    anatomy = md.Anatomy(l=2, sensitive="education", random_state=0).fit(X[:600], earns[:600])
    split = X[:600], earns[:600], X[600:]
    as_int, as_float = (md.evidence(anatomy, *split, each).utility for each in (earns[600:], earns[600:] * 1.0))
    assert as_int.errors["raw"].error < 0.5
    assert {kind: each.error for kind, each in as_float.errors.items()} == {
        kind: each.error for kind, each in as_int.errors.items()
    }


def test_whole_numbers_are_classes_whatever_their_type(adult):
    X, y = adult
    earns = pd.Series(np.where(y == ">50K", 1.0, 0.0), name="income")
    found = md.evidence(md.Anatomy(l=2, sensitive="education", random_state=0).fit(X, earns), X, earns)
    assert "utility" not in found.skipped
    halves = earns + 0.5
    found = md.evidence(md.Anatomy(l=2, sensitive="education", random_state=0).fit(X, halves), X, halves)
    assert "fractions" in found.skipped["utility"]


def test_a_constant_label_leaves_everything_else_measured(adult):
    X, _ = adult
    y = pd.Series(["no"] * len(X), name="income")
    released = md.evidence(md.Mondrian(k=5, quasi_identifiers=QUASI).fit(X, y), X, y)
    anatomized = md.evidence(md.Anatomy(l=2, sensitive="education", random_state=0).fit(X, y), X, y)
    for found in (released, anatomized):
        assert found.utility is None
        assert "only one value" in found.skipped["utility"]
        assert found.crowds


@pytest.mark.parametrize(("rows", "tested"), [(2, 0), (4, 1)])
def test_very_few_records_only_prevent_a_test(adult, rows, tested):
    X, y = adult
    few = [*np.flatnonzero(y == ">50K")[:1], *np.flatnonzero(y != ">50K")[: rows - 1]]
    X, y = X.iloc[few], y.iloc[few]
    found = md.evidence(md.Mondrian(k=2, quasi_identifiers=QUASI).fit(X, y), X, y)
    assert found.tested == tested
    assert (found.utility is None) == (not tested)
    assert ("No records can be held out" in found.skipped.get("utility", "")) == (not tested)
    assert found.measured.k >= 2
    assert found.crowds["quasi-identifiers"]["release"].alone == 0


def test_an_unnamed_label_is_not_a_column_named_y(adult):
    X, y = adult
    X = X.assign(y=np.arange(len(X)) % 7)
    labels = y.to_numpy()
    found = md.evidence(md.Mondrian(k=10, quasi_identifiers=QUASI).fit(X, labels), X, labels)
    (guessed,) = found.inference
    assert (guessed.attribute, guessed.values) == ("the label", 2)
    assert {each.name: each.role for each in found.attributes}["y"] != "label"


def test_codes_declared_as_categories_are_guessed_one_by_one(adult):
    X, y = adult
    X = X.assign(job=np.random.default_rng(0).integers(100, 140, len(X)))
    schema = md.Schema.infer(X, quasi_identifiers=QUASI, sensitive=["job"]).replace("job", kind="category")
    found = md.evidence(md.Mondrian(k=10, schema=schema).fit(X, y), X, y)
    (guessed,) = found.inference
    assert (guessed.values, guessed.in_ranges) == (40, False)


def test_the_label_counts_as_published(adult):
    X, y = adult
    found = md.evidence(md.Mondrian(k=10, quasi_identifiers=QUASI).fit(X, y), X, y)
    everything = found.crowds["every published column"]
    assert everything["release"].columns[-1] == "income"
    alone = X.assign(income=y).value_counts(dropna=False)
    assert everything["raw"].alone == pytest.approx((alone == 1).sum() / len(X))


def test_settings_are_reported_as_given(adult):
    X, y = adult
    anonymizer = md.Mondrian(k=np.int64(7), quasi_identifiers=X.columns[:2]).fit(X, y)
    settings = md.evidence(anonymizer, X, y, by=["sex"]).provenance["settings"]
    assert (settings["k"], settings["quasi_identifiers"], settings["by"]) == (7, QUASI, ["sex"])


def test_as_many_column_names_as_records_are_still_columns(adult):
    X, _ = adult
    frame, schema = as_frame(X[:4]), md.Schema.infer(X[:4])
    assert set(group_names([*QUASI, "education", "hours-per-week"], frame, schema)) > {f"sex: {X['sex'][0]}"}
    assert set(group_names(["sex", "sex", "age", "sex"], frame, schema)) == {"sex", "age"}
    with pytest.raises(ParameterError, match="one value for each of the 4"):
        group_names([1, 2], frame, schema)


def test_all_evidence_is_plain_data(adult):
    X, y = adult
    g = md.Uniform(buckets=2).fit(X[:600]).generalization_
    found = md.evidence(g, X[:600], y[:600], X[600:], y[600:], personal=["sex"], progress=False)
    content = found.to_dict()
    assert content["label"] == "income"
    assert content["necessity"]["records"] == 300
    assert content["attacks"]["reconstruction"]["A1"]["error"] == found.attack.error


def test_balanced_changes_cover_the_truth_for_rare_labels():
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1], [970, 30])
    covered = []
    for _ in range(200):
        worse = (labels == 1) & (random.uniform(size=1_000) < 0.1)
        low, high = compute_balanced_interval(labels, worse.astype(float), None, 0, difference_interval)
        covered.append(low <= 0.05 <= high)
    assert np.mean(covered) > 0.93
    low, high = compute_balanced_interval(labels, np.zeros(1_000), None, 0, difference_interval)
    assert high - low > 0.05  # thirty records that agree prove little
    assert compute_balanced_mean(labels, (labels == 1) * 1.0) == 0.5


def test_only_balanced_labels_count_the_same():
    assert is_balanced(md.PrismClassifier("sex", class_weight="balanced"))
    assert not is_balanced(md.PrismClassifier("sex", class_weight={"a": 1, "b": 5}))
    assert not is_balanced(md.PrismClassifier("sex"))
