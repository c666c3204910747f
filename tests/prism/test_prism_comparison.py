"""PriSM compared with a plain and a parsimonious classifier: what the adversary attacks and intervals count."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars

import modicum as md
from modicum.errors import DataError, ParameterError
from modicum.evaluation.evidence.prism_cost import _sensitive, compute_balanced_interval, scores
from modicum.table.frames import as_frame
from modicum.table.splits import split_rows

ILLS = np.array(["flu", "gout", "hiv"])


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The adversary with fewer folds, in this process."""
    attack = partial(md.attacks.SensitiveInference, folds=2, inner_folds=2, n_jobs=1)
    monkeypatch.setattr("modicum.evaluation.evidence.prism_cost.SensitiveInference", attack)


def people(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, pd.Series, np.ndarray]:
    """Return people with an illness, a cure that reveals it, and a label that depends on cure and town."""
    random = np.random.default_rng(seed)
    ill = random.integers(0, 3, n)
    X = pd.DataFrame({"cure": ill, "town": random.integers(0, 2, n)})
    label = np.where(random.random(n) < 0.5, X["town"], X["cure"] == 2).astype(int)
    return X, pd.Series(label, name="y"), ILLS[ill]


def model(sensitive: object, **options: object) -> md.PrismClassifier:
    return md.PrismClassifier(sensitive, **{"threshold": 0.3, "max_predictors": 2, "progress": False, **options})


def cost(X: object, y: object, one: md.PrismClassifier, **options: object) -> md.evaluation.PrismCost:
    return md.evaluation.prism_cost(X, y, one, progress=False, **options)


@pytest.mark.filterwarnings("ignore:At most")
def test_one_hot_columns_are_attacked_as_one_attribute():
    X, y, ill = people(150)
    hot = X.assign(**{f"ill={value}": (ill == value).astype(int) for value in ILLS})
    found = cost(hot, y, model("ill=hiv"))
    assert set(found.of("SVM").predictors) == {"cure", "town"}
    attack = found.of("SVM").adversaries["ill"]
    assert attack.values == 3
    assert attack.accuracy.value == attack.mcc.value == 1
    assert found.of("PriSM").predictors == ["town"]
    assert found.of("PriSM").adversaries["ill"].mcc.interval[0] < 0.1
    for name in ("ill", "ill=hiv"):
        values, critical = _sensitive(model(name), as_frame(hot))["ill"]
        assert (pd.factorize(values)[0] == pd.factorize(ill)[0]).all()
        assert critical is None


@pytest.mark.filterwarnings("ignore:At most")
@pytest.mark.parametrize(
    ("critical", "named"),
    [("hiv", [("hiv",)]), ({"ill": [None]}, [("(missing)",)]), (["flu", "hiv"], [("flu",), ("hiv",), ("flu", "hiv")])],
)
def test_critical_values_are_attacked_as_the_search_reads_them(critical, named):
    X, y, ill = people(150)
    X["ill"] = np.where(np.arange(150) % 3 == 0, None, ill) if named == [("(missing)",)] else ill
    attack = cost(X, y, model("ill", critical_values=critical)).of("PriSM").adversaries["ill"]
    assert [each.critical for each in attack.by_contrast or [attack]] == named
    assert attack.values == 2


def test_a_number_is_attacked_in_the_classes_of_the_search():
    X, _, _ = people()
    for values, classes in ((np.arange(300) % 15, 15), (np.arange(300) + 0.5, 4)):
        given, _ = _sensitive(model("age", bins=4), as_frame(X.assign(age=values)))["age"]
        assert len(set(given)) == classes


def test_intervals_count_people_not_their_records():
    X, y, _ = people(120)
    ids = np.repeat(np.arange(120), 10)
    many, label = X.assign(sex=np.arange(120) % 2).iloc[ids].reset_index(drop=True), y[ids].reset_index(drop=True)
    alone = cost(many, label, model("sex"), adversary=False).of("PriSM")
    by_person = cost(many, label, model("sex"), adversary=False, persons=ids).of("PriSM")
    schema = md.Schema.infer(many.assign(who=ids), person="who")
    known = cost(many.assign(who=ids), label, model("sex", schema=schema), adversary=False).of("PriSM")
    for figure in ("accuracy", "balanced_accuracy"):
        low, high = getattr(alone, figure).interval
        wide = getattr(by_person, figure).interval
        assert wide[1] - wide[0] > 2 * (high - low)
        assert getattr(known, figure) == getattr(by_person, figure)


def test_intervals_of_few_people_or_without_errors_have_a_width():
    labels = np.arange(40) % 2
    low, high = compute_balanced_interval(labels, np.ones(40), None, 0)
    assert low < 0.9 < high == 1
    low, high = compute_balanced_interval(np.arange(1_000) % 2, np.ones(1_000), None, 0)
    assert 0.98 < low < high == 1
    found = scores(labels == 0, labels, None, 0)
    assert found["balanced_accuracy"].value == found["balanced_accuracy"].naive == 0.5


def test_the_same_people_in_another_frame_give_the_same_result():
    X, y, _ = people(200)
    X["sex"] = np.arange(200) % 2
    pandas, polars = (cost(frame, y, model("sex"), adversary=False).to_dict() for frame in (X, as_polars(X)))
    for each in (*pandas["models"], *polars["models"]):
        each.pop("seconds")
    assert pandas == polars


@pytest.mark.parametrize("max_predictors", [[], 3, "3", [0], ["many"]])
def test_bad_numbers_of_predictors_are_refused(max_predictors):
    X, y, ill = people(60)
    with pytest.raises(ParameterError, match="'max_predictors' parameter"):
        cost(X.assign(ill=ill), y, model("ill"), max_predictors=max_predictors)


def test_a_label_that_leaves_nothing_to_train_on_is_refused():
    X, _, ill = people(60)
    y = pd.Series(np.arange(60) == 0, name="bought")
    seed = next(each for each in range(50) if 0 in split_rows(y, validation=0.0, test=0.3, random_state=each).test)
    with pytest.raises(DataError, match="label 'bought' has so few records"):
        cost(X.assign(ill=ill), y, model("ill"), random_state=seed)
    with pytest.raises(DataError, match="No record is left for testing"):
        cost(X.assign(ill=ill), np.arange(60) % 2, model("ill"), persons=["ann"] * 60)
