"""The benchmark of learning from anatomized data measures what it says."""

import numpy as np
import pytest
from conftest import shared_file
from papers import reproduce_anatomy
from papers.anatomy import data as anatomy_data
from papers.anatomy import models as anatomy_models
from papers.anatomy import tables as anatomy_tables
from papers.anatomy import variants as anatomy_variants
from scipy import stats
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.svm import LinearSVC

import modicum as md
from modicum.table.frames import as_frame

FEW = reproduce_anatomy.Size(600, 2, 20, 300)
KINDS = (*anatomy_variants.OF_RELEASE, anatomy_variants.FULL_DOMAIN, anatomy_variants.DIVERSE)


@pytest.fixture(scope="module")
def adult():
    return anatomy_data.sampled(anatomy_data.adult(), 3_000)


def test_adult_is_that_of_the_paper_and_every_value_is_in_its_hierarchy():
    table = anatomy_data.adult()
    assert table.X.shape == (45_222, 12)
    assert 1 / 4 < table.most_frequent <= 1 / 3
    for name in (*anatomy_data.HIERARCHIES, *anatomy_data.BANDS):
        counts = [
            anatomy_data.coarser(table.X[name], level).nunique(dropna=False)
            for level in range(anatomy_data.steps(name) + 1)
        ]
        assert counts == sorted(counts, reverse=True)
        assert counts[-1] == 1
        assert not anatomy_data.coarser(table.X[name], 1).isna().any()


def test_folds_are_disjoint_and_keep_the_share_of_labels(adult):
    parts = list(anatomy_data.folds(adult, 5))
    assert sum(len(fold.test_X) for fold in parts) == len(adult.X)
    shares = [float((fold.test_y == ">50K").mean()) for fold in parts]
    assert max(shares) - min(shares) < 0.005


def test_full_domain_generalization_is_k_anonymous_by_an_independent_count(adult):
    fold = next(anatomy_data.folds(adult, 5))
    known = [name for name in adult.X if name != "education"]
    found = list(anatomy_variants.full_domain(adult, fold, (2, 5)))
    assert [each.level for each in found] == [2, 5]
    for each in found:
        assert md.measures.k_anonymity(each.X, known) >= each.level
        assert each.left_out == len(fold.X) - len(each.X) <= 0.05 * len(fold.X)
        assert set(map(tuple, each.X[known].astype(str).to_numpy())) <= set(
            map(tuple, each.through(fold.X)[known].astype(str).to_numpy())
        )


def test_newtons_method_finds_what_linear_svc_finds():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 6))
    t = np.where(X[:, 0] + random.normal(size=400) > 0.3, 1.0, -1.0)
    theirs = LinearSVC(dual=False, tol=1e-9).fit(X, t)
    ours = anatomy_models.squared_hinge(X, t)
    assert np.allclose(ours, [*theirs.coef_[0], *theirs.intercept_], atol=1e-5)


def test_students_test_agrees_with_scipy_and_the_corrected_one_is_more_careful():
    random = np.random.default_rng(0)
    original, other = random.normal(0.15, 0.003, 10), random.normal(0.153, 0.003, 10)
    found = anatomy_models.compared(original, other)
    statistic = stats.ttest_rel(other, original).statistic
    # One over ten folds becomes 1/10 + 1/9: the statistic shrinks by the root of 19/9.
    expected = 2 * stats.t.sf(abs(statistic) / np.sqrt(19 / 9), 9)
    assert found["p"] == pytest.approx(stats.ttest_rel(other, original).pvalue)
    assert found["corrected_p"] == pytest.approx(expected)
    assert found["difference"] == pytest.approx((other - original).mean())
    assert anatomy_models.compared(original, original)["verdict"] == "F"
    assert anatomy_models.compared(original, original + 0.1)["verdict"] == "P"


def test_ordered_categories_are_coded_by_their_order(adult):
    design = anatomy_models.design_of(adult.X[["education"]], adult.schema.select(["education"]))
    order = adult.schema["education"].domain
    coded = design.encode(as_frame(adult.X[["education"]]))[:, 0]
    places = adult.X["education"].map({value: i for i, value in enumerate(order)})
    assert design.names == ["education"]
    assert np.corrcoef(coded, places)[0, 1] == pytest.approx(1)


def test_a_section_runs_on_a_few_records_and_its_tables_show_it():
    found = reproduce_anatomy.section(anatomy_data.TABLES["adult"], KINDS, FEW, whole=False)
    kinds = {cell["kind"] for cell in found["variants"]}
    assert kinds == {anatomy_variants.ORIGINAL, *KINDS}
    for cell in found["variants"]:
        assert len(cell["errors"]) == FEW.folds
        assert cell["mean"] == pytest.approx(np.mean(cell["errors"]))
    pruned = [cell for cell in found["variants"] if cell["kind"] == anatomy_variants.PRUNED]
    assert all(cell["rows"] + cell["left_out"] == 300 for cell in pruned)
    assert [test["paper"] for test in found["t_tests"]] == list("FFFFPPPP")
    shown = anatomy_tables.errors_table({"adult": found})
    assert f"{pruned[0]['mean']:.4f} ±" in shown
    assert "| Adult | SVC |" in anatomy_tables.tests_table({"adult": found})


@pytest.mark.slow
def test_the_other_tables_are_those_of_the_paper(monkeypatch):
    for name in ("bank/bank-full.csv.gz", "acs/ny2024.parquet"):
        shared_file(name)
    monkeypatch.setenv("MODICUM_DATA", str(shared_file(".")))
    bank, fars, acs = (anatomy_data.TABLES[name]() for name in ("bank", "fars", "acs"))
    assert (len(bank.X), len(fars.X)) == (39_922, 91_085)
    assert 1 / 4 < bank.most_frequent <= 1 / 3  # ℓ = 2 and 3 need no suppression (Appendix C.2)
    assert fars.X[fars.sensitive].nunique() == 4  # ℓ = 5 is not applicable
    few = anatomy_data.sampled(acs, 5_000)
    persons = few.persons.reset_index(drop=True)
    assert persons.duplicated().any()
    parts = StratifiedGroupKFold(5, shuffle=True, random_state=anatomy_data.SEED).split(few.X, few.y, few.persons)
    for fold, (train, test) in zip(anatomy_data.folds(few, 5), parts, strict=True):
        assert (len(fold.X), len(fold.test_X)) == (len(train), len(test))
        assert not set(persons[train]) & set(persons[test])
