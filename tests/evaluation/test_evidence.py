"""All evidence about a generalization in one call agrees with each part alone and states its sources."""

import hashlib
import json
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import modicum as md
from modicum.errors import ModicumError, ParameterError
from modicum.evaluation.evidence.generalization_evidence import MOST_COLUMNS, default_groups
from modicum.provenance import data_hash, estimator_settings, generalization_provenance, model_file
from modicum.table.frames import as_frame as as_our_frame

PERSONAL = ["job", "school"]
OPTIONS = {"personal": PERSONAL, "weights": {"job": 2}, "confidence": 0.95}


def halves(people):
    X, y = people
    return X[:400], y[:400], X[400:], y[400:]


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": np.where(random.random(600) < 0.05, np.nan, random.integers(17, 91, 600)),
            "job": np.where(random.random(600) < 0.05, None, random.choice(["nurse", "clerk", "smith"], 600)),
            "school": random.choice(["none", "basic", "higher"], 600),
            "sex": random.choice(["f", "m"], 600),
        }
    )
    odds = (X["age"] > 40) * 1.5 + (X["school"] == "higher") * 1.5 - 1
    return X, pd.Series(np.where(random.logistic(size=600) < odds, "yes", "no"), name="bought")


@pytest.fixture(scope="module")
def g(table):
    return md.Uniform(buckets=3).fit(table[0][:400]).generalization_.drop("sex")


@pytest.fixture(scope="module")
def found(g, table):
    return md.evidence(g, *halves(table), population=100_000, alternatives="what else", progress=False, **OPTIONS)


def without_time(result):
    return replace(result, seconds=0.0)


def test_quick_evidence_is_the_first_part_of_the_full(g, table, found):
    alone = md.evidence(g, *halves(table), by=PERSONAL, depth="quick", progress=False, **OPTIONS)
    assert without_time(found.attack) == without_time(alone.attack)
    later = {"attacks": None, "necessity": None, "alternatives": None, "provenance": None}
    assert replace(found, attack=alone.attack, **later) == alone
    assert found.label == "bought"


def test_attacks_and_necessity_agree_with_their_own_functions(g, table, found):
    X_train, y_train, X_test, y_test = halves(table)
    suite = md.attacks.suite(g, X_train, X_test, population=100_000, progress=False, **OPTIONS)
    assert list(found.attacks.reconstruction) == list(suite.reconstruction)
    for name, attack in suite.reconstruction.items():
        assert without_time(found.attacks.reconstruction[name]) == without_time(attack)
    assert without_time(found.attacks.singling_out) == without_time(suite.singling_out)
    assert found.attacks.certificates == suite.certificates
    options = {"personal": PERSONAL, "weights": {"job": 2}}
    assert found.necessity == md.evaluation.necessity(g, X_train, y_train, X_test, y_test, **options)
    assert found.alternatives == "what else"


def test_by_default_scores_are_shown_by_personal_attributes(found):
    named = {name.split(":")[0] for name in found.utility.by_group}
    assert named == {"job", "school"}
    assert found.provenance["settings"]["by"] == PERSONAL
    assert found.utility.worst_group in found.utility.by_group


def test_personal_attributes_with_the_fewest_groups_are_shown():
    random = np.random.default_rng(0)
    X = pd.DataFrame({f"x{i}": random.integers(0, i + 2, 400).astype(str) for i in range(12)})
    X["many"] = random.integers(0, 300, 400).astype(str)
    g = md.Uniform(buckets=2).fit(X).generalization_
    names = list(X.columns[::-1])
    assert default_groups(g, as_our_frame(X), names) == [f"x{i}" for i in range(MOST_COLUMNS)][::-1]
    assert default_groups(g, as_our_frame(X), ["many"]) == []


def test_provenance_lists_versions_settings_and_hashes(g, table, found):
    X_train, y_train, X_test, y_test = halves(table)
    provenance = found.provenance
    assert provenance == generalization_provenance(g, (X_train, y_train), (X_test, y_test), provenance["settings"])
    assert json.loads(json.dumps(provenance)) == provenance
    assert provenance["versions"]["modicum"] == md.__version__
    assert provenance["versions"]["numpy"] == np.__version__
    assert provenance["settings"]["training_records"] == 400
    assert provenance["settings"]["random_state"] == 0
    assert provenance["settings"]["population"] == 100_000
    assert set(provenance["hashes"]) == {"training records", "test records", "schema", "artifact", "buckets"}


def test_other_data_artifact_and_model_have_other_hashes(g, table, found, tmp_path):
    X_train, y_train, X_test, y_test = halves(table)
    first = found.provenance["hashes"]
    other = generalization_provenance(g.drop("age"), (X_train, y_train[::-1]), (X_test, y_test), {}, b"weights")[
        "hashes"
    ]
    assert other["model"] == hashlib.sha256(b"weights").hexdigest()
    alike = {name for name in first if first[name] == other[name]}
    assert alike == {"test records", "schema"}
    (tmp_path / "model.onnx").write_bytes(b"weights")
    assert model_file(tmp_path / "model.onnx") == model_file(b"weights") == b"weights"


def test_the_hash_of_the_artifact_is_the_hash_of_its_file(g, found, tmp_path):
    g.save(tmp_path / "g.json")
    written = hashlib.sha256((tmp_path / "g.json").read_bytes()).hexdigest()
    assert found.provenance["hashes"]["artifact"] == written


def test_the_hash_of_data_depends_only_on_its_content(people):
    X, y = people
    schema = md.Schema.infer(X)
    found = data_hash(X, y, schema)
    in_polars = pl.DataFrame({c: [None if pd.isna(v) else v for v in X[c].tolist()] for c in X.columns}, strict=False)
    assert data_hash(in_polars, y.to_list(), schema) == found
    assert data_hash(X[X.columns[::-1]].assign(beside=1), y, schema) == found
    assert data_hash(X[::-1], y[::-1], schema) != found
    changed = X.copy()
    changed.loc[0, "income"] += 0.01
    assert data_hash(changed, y, schema) != found


def test_the_hash_depends_on_the_person_column(people):
    X, y = people
    schema = md.Schema.infer(X.assign(who=range(len(X))), person="who")
    by_one = data_hash(X.assign(who=np.arange(len(X)) // 2), y, schema)
    assert by_one != data_hash(X.assign(who=np.arange(len(X))), y, schema)


def test_an_estimator_is_described_by_plain_settings():
    settings = estimator_settings(LogisticRegression(C=3))
    assert settings["name"] == "LogisticRegression"
    assert settings["parameters"]["C"] == 3
    assert estimator_settings("boosted trees") == "boosted trees"


def test_tables_in_an_engine_are_sampled(table):
    X, y = table
    g = md.Uniform(buckets=2).fit(X[["age", "sex"]]).generalization_
    parts = [duckdb.from_df(part) for part in (X.assign(bought=y)[:400], X.assign(bought=y)[400:])]
    found = md.evidence(g, parts[0], "bought", parts[1], "bought", personal=["sex"], by="job", sample=150)
    assert found.provenance["settings"]["test_records"] == found.necessity.records == 150
    assert found.label == "bought"
    assert all(name.startswith("job: ") for name in found.utility.by_group)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"personal": ["z"]}, "names 'z'"),
        ({"weights": {"age": 1}}, "'age', which is not a personal attribute"),
        ({"confidence": 1}, "The 'confidence' parameter"),
        ({"population": 3}, "The 'population' parameter"),
        ({"estimator": "forest"}, "The 'estimator' parameter"),
        ({"by": "z"}, "The column 'z' is not in the data"),
        ({"by": 3}, "The 'by' parameter"),
        ({"label_bins": 3}, "label_bins cannot be used"),
        ({"n_jobs": 0}, "The 'n_jobs' parameter"),
        ({"random_state": -1}, "The 'random_state' parameter"),
        ({"model": LogisticRegression()}, "The 'model' parameter must be the path"),
        ({"model": "not there.onnx"}, "cannot be read"),
    ],
)
def test_bad_input_is_refused_before_any_work(g, table, options, message, monkeypatch):
    def work(*_, **__):
        pytest.fail("it worked before it looked at the input")

    monkeypatch.setattr("modicum.attacks._suite.answer_questions", work)
    monkeypatch.setattr("modicum.evaluation.evidence.generalization_evidence.utility", work)
    monkeypatch.setattr("modicum.evaluation.evidence.generalization_evidence.necessity", work)
    with pytest.raises(ModicumError, match=message):
        md.evidence(g, *halves(table), **{"personal": PERSONAL} | options)


def test_quick_evidence_refuses_options_of_full_evidence(g, table):
    X, y, X_test, y_test = halves(table)
    release = md.Mondrian(k=5, quasi_identifiers=["age", "sex"]).fit(X, y)
    anatomy = md.Anatomy(l=2, sensitive="school", random_state=0).fit(X)
    for what, records, options in (
        (g, (X, y, X_test, y_test), [{"population": 5_000}, {"model": b"weights"}]),
        (release, (X, y), [{"by": "sex"}, {"estimator": "boosted trees"}, {"label_bins": 3}, {"X_test": X_test}]),
        (anatomy, (X,), [{"by": "sex"}, {"estimator": "boosted trees"}]),
    ):
        for each in options:
            with pytest.raises(ModicumError, match=f"The '{next(iter(each))}' parameter needs depth='full'"):
                md.evidence(what, *records, depth="quick", **each)


def test_records_that_do_not_fit_are_refused(g, table):
    X_train, y_train, X_test, y_test = halves(table)
    with pytest.raises(ModicumError, match="no rows"):
        md.evidence(g, X_train, y_train, X_test[:0], y_test[:0])
    with pytest.raises(ModicumError, match="one value for each"):
        md.evidence(g, X_train, y_train, X_test, y_test[:3])
    with pytest.raises(ModicumError, match=r"'what' parameter must be a Generalization.*Got NoneType"):
        md.evidence(None, X_train, y_train, X_test, y_test)


def test_a_path_with_other_attributes_is_refused():
    X, y = md.datasets.load_adult(return_X_y=True)
    X = X[["age", "race", "sex"]]
    parts = X[:400], y[:400], X[400:800], y[400:800]
    g, other = (md.Uniform(buckets=2).fit(each[:400]).generalization_ for each in (X, X[["age", "race"]]))
    with pytest.raises(ParameterError, match="same attributes as 'g'"):
        md.evaluation.alternatives(g, *parts, path=[other])
