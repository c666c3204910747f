"""Bundles are loaded as they were saved, and refused if their parts do not belong together."""

import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import rule
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import modicum as md
from modicum.errors import ArtifactError, DataError, ParameterError
from modicum.export.dbt import to_dbt
from modicum.export.javascript import to_javascript
from modicum.export.model_bundle import Bundle, check_bound
from modicum.export.sql.select import to_sql
from modicum.export.stored_model import TRUSTED, model_bytes, model_of
from modicum.export.web_form import form_page
from modicum.generalization.bins import Group, Groups, Interval, Intervals
from modicum.generalization.cells import Ask, Cell
from modicum.generalization.record_format import record_format
from modicum.provenance import identity


@pytest.fixture(scope="module")
def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    return X[:3000], y[:3000]


@pytest.fixture(scope="module")
def g(adult):
    return md.PrivacyTree(max_leaves=8).fit(*adult).generalization_


@pytest.fixture(scope="module")
def model(g, adult):
    return make_pipeline(g.encoder(), LogisticRegression()).fit(g.transform(adult[0]), adult[1])


def encode_records(bundle, X):
    return [bundle.format.check(r) for r in bundle.artifact.transform(X).astype(object).to_dict("records")]


def predictions(bundle, X):
    return [each["prediction"] for each in bundle.predict(encode_records(bundle, X))]


def test_a_bundle_predicts_as_the_model_does(g, model, adult, tmp_path):
    X = adult[0][:200]
    md.save_bundle(tmp_path / "b", g, model, label="income")
    bundle = md.load_bundle(tmp_path / "b")
    assert bundle.artifact == g
    assert (bundle.label, bundle.classes, bundle.kind) == ("income", ["<=50K", ">50K"], "generalization")
    assert predictions(bundle, X) == model.predict(g.transform(X)).tolist()
    chances = [each["probabilities"][">50K"] for each in bundle.predict(encode_records(bundle, X))]
    assert chances == pytest.approx(model.predict_proba(g.transform(X))[:, 1].tolist())
    json.dumps(bundle.predict(encode_records(bundle, X)), allow_nan=False)


def dense(g):
    names = g.needed
    return make_column_transformer((OrdinalEncoder(categories=[list(g.buckets[n]) for n in names]), names))


@pytest.mark.parametrize(
    "learner",
    [
        RandomForestClassifier(5, random_state=0),
        HistGradientBoostingClassifier(max_iter=5, early_stopping=True),
        MLPClassifier(random_state=0, tol=0.1, n_iter_no_change=1),
        CalibratedClassifierCV(LinearSVC(random_state=0)),
    ],
    ids=["forest", "boosting", "network", "calibrated"],
)
def test_the_usual_models_are_among_the_trusted_types(g, adult, tmp_path, learner):
    model = make_pipeline(dense(g), learner).fit(g.transform(adult[0]), adult[1])
    md.save_bundle(tmp_path / "b", g, model)
    X = adult[0][:100]
    assert predictions(md.load_bundle(tmp_path / "b"), X) == model.predict(g.transform(X)).tolist()


def test_numbers_and_dates_in_full_detail_and_a_regression(tmp_path):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"dose": random.normal(size=300), "day": pd.to_datetime("2020-01-01")})
    X["day"] += pd.to_timedelta(random.integers(0, 900, 300), unit="D")
    X.loc[:9, "dose"] = np.nan
    schema = md.Schema.infer(X).replace("dose", locked=True).replace("day", locked=True)
    g = md.Uniform(buckets=2, schema=schema).fit(X).generalization_
    model = make_pipeline(g.encoder(), LinearRegression()).fit(g.transform(X), random.normal(size=300))
    md.save_bundle(tmp_path / "b", g, model)
    bundle = md.load_bundle(tmp_path / "b")
    assert bundle.classes is None
    sent = [{"dose": None if d != d else d, "day": str(day.date())} for d, day in zip(X["dose"], X["day"], strict=True)]
    found = [each["prediction"] for each in bundle.predict([bundle.format.check(record) for record in sent])]
    assert found == pytest.approx(model.predict(g.transform(X)).tolist())


def test_a_model_trained_on_raw_data_is_given_values(g, adult, tmp_path):
    X, y = adult
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["workclass", "marital-status"])),
        LogisticRegression(),
    ).fit(X, y)
    md.save_bundle(tmp_path / "b", g, model, inputs="values")
    found = predictions(md.load_bundle(tmp_path / "b"), X[:200])
    assert found == model.predict(g.transform(X[:200], output="values")).tolist()


def test_cells_and_questionnaires_predict_without_a_model(adult, tmp_path):
    X = adult[0][["age", "hours-per-week", "capital-gain"]]
    cells = md.ModelGuided(rule, random_state=0).fit(X).cells_
    md.save_bundle(tmp_path / "cells", cells)
    bundle = md.load_bundle(tmp_path / "cells")
    assert bundle.can_predict
    expected = [cells.tree.cells[cell].prediction for cell in cells.cells(X[:100])]
    assert predictions(bundle, X[:100]) == expected
    md.save_bundle(tmp_path / "form", md.Questionnaire(cells))
    form = md.load_bundle(tmp_path / "form")
    assert form.kind == "questionnaire"
    assert form.identity != bundle.identity
    answers = form.artifact.answers_of(X.iloc[0].to_dict())
    sent = {name: [cells.detail[name].labels[c] for c in codes] for name, codes in form.artifact.least(answers).items()}
    assert form.predict([form.format.check(sent)])[0]["prediction"] == expected[0]


def save_models(folder):
    X, y = md.datasets.load_adult(return_X_y=True)
    X, y = X[["age", "sex"]][:300], y[:300]
    g = md.Uniform(buckets=3).fit(X).generalization_
    for name, learner in (("logistic", LogisticRegression()), ("forest", RandomForestClassifier(5, random_state=0))):
        model = make_pipeline(g.encoder(), learner).fit(g.transform(X), y)
        learner.seen_ = set("abcdefghij")  # in an order that differs from process to process
        for i in "12":
            md.save_bundle(Path(folder, name + i), g, model)


@pytest.mark.slow
def test_the_same_model_is_the_same_bytes_in_every_process(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    save_models(tmp_path / "here")
    code = "import sys; from test_bundle import save_models; save_models(sys.argv[1])"
    here = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(here), str(here.parent)])}
    subprocess.run([sys.executable, "-c", code, tmp_path / "there"], check=True, env=environment)
    for name in ("logistic", "forest"):
        folders = [tmp_path / where / (name + i) for where in ("here", "there") for i in "12"]
        saved = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders]
        assert sorted(saved[0]) == ["artifact.json", "manifest.json", "model.skops"]
        for i, each in enumerate(saved[1:], 1):
            assert [file for file in each if each[file] != saved[0][file]] == [], (name, i)
    assert md.load_bundle(folders[-1]).model.steps[-1][1].seen_ == set("abcdefghij")


def test_an_object_that_a_model_holds_twice_is_loaded_once():
    shared = np.arange(3.0)
    model = LinearRegression().fit([[0], [1]], [0, 1])
    model.first_, model.second_, model.equal_, model.file = shared, shared, shared.copy(), "1.npy"
    found = model_of(*model_bytes(model))
    assert found.first_ is found.second_
    assert found.equal_ is not found.first_
    assert (found.first_.tolist(), found.equal_.tolist(), found.file) == ([0, 1, 2], [0, 1, 2], "1.npy")


def test_a_bundle_without_a_model_says_so(g, tmp_path):
    md.save_bundle(tmp_path / "b", g)
    bundle = md.load_bundle(tmp_path / "b")
    assert not bundle.can_predict
    with pytest.raises(ArtifactError, match="no model"):
        bundle.predict([])


def test_an_onnx_model_predicts_the_same(g, model, adult, tmp_path):
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    from skl2onnx.common.data_types import StringTensorType

    columns = [(name, StringTensorType([None, 1])) for name in g.needed]
    for zipmap in (True, False):
        converted = skl2onnx.convert_sklearn(
            model, initial_types=columns, options={id(model.steps[-1][1]): {"zipmap": zipmap}}
        )
        md.save_bundle(tmp_path / "b", g, converted, classes=model.classes_)
        bundle = md.load_bundle(tmp_path / "b")
        assert sorted(path.name for path in (tmp_path / "b").iterdir())[-1] == "model.onnx"
        X = adult[0][:100]
        assert predictions(bundle, X) == model.predict(g.transform(X)).tolist()
        chances = [each["probabilities"][">50K"] for each in bundle.predict(encode_records(bundle, X))]
        assert chances == pytest.approx(model.predict_proba(g.transform(X))[:, 1].tolist(), abs=1e-4)


def test_an_onnx_model_of_numbers_is_given_codes(g, adult, tmp_path):
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    codes = g.transform(adult[0], output="codes").to_numpy().astype(np.float32)
    model = LogisticRegression().fit(codes, (adult[1] == ">50K").astype(int))
    (tmp_path / "m.onnx").write_bytes(skl2onnx.to_onnx(model, codes[:1]).SerializeToString())
    md.save_bundle(tmp_path / "b", g, tmp_path / "m.onnx", inputs="codes", classes=[0, 1])
    assert predictions(md.load_bundle(tmp_path / "b"), adult[0][:100]) == model.predict(codes[:100]).tolist()


# What is refused


def test_a_model_of_another_generalization_is_refused_when_saved(g, model, adult, tmp_path):
    name = next(name for name in g.needed if len(g.buckets[name]) > 3)
    with pytest.raises(ArtifactError, match="belongs to another generalization"):
        md.save_bundle(tmp_path / "b", g.merge(name, g.buckets[name][:2]), model)
    with pytest.raises(ArtifactError, match="other attributes"):
        md.save_bundle(tmp_path / "b", g.drop(name), model)
    finer = md.Uniform(buckets=7).fit(adult[0]).generalization_
    with pytest.raises(ArtifactError, match="other attributes"):
        md.save_bundle(tmp_path / "b", finer, model)
    assert list(tmp_path.iterdir()) == []


def test_an_exchanged_artifact_is_refused_even_with_a_changed_manifest(g, model, tmp_path):
    name = next(name for name in g.needed if len(g.buckets[name]) > 3)
    folder = tmp_path / "b"
    md.save_bundle(folder, g, model)
    other = g.merge(name, g.buckets[name][:2])
    other.save(folder / "artifact.json")
    with pytest.raises(ArtifactError, match="not the one that its manifest names"):
        md.load_bundle(folder)
    md.save_bundle(tmp_path / "other", other)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["artifact"] = json.loads((tmp_path / "other" / "manifest.json").read_text())["artifact"]
    (folder / "artifact.json").write_bytes((tmp_path / "other" / "artifact.json").read_bytes())
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ArtifactError, match="model in this bundle belongs to another generalization"):
        md.load_bundle(folder)
    manifest["model"]["artifact"] = manifest["artifact"]["identity"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ArtifactError, match="knows the bucket"):
        md.load_bundle(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: (f / "model.skops").write_bytes(b"PK" + bytes(100)), "not the one that its manifest names"),
        (lambda f: (f / "model.skops").unlink(), "'model.skops' cannot be read"),
        (lambda f: (f / "artifact.json").unlink(), "'artifact.json' cannot be read"),
        (lambda f: (f / "manifest.json").unlink(), "cannot be read"),
        (lambda f: (f / "manifest.json").write_text("{"), "not valid JSON"),
        (lambda f: edit(f, lambda m: m.pop("artifact")), "'artifact' must have"),
        (lambda f: edit(f, lambda m: m["artifact"].update(kind="cells")), "another kind"),
        (lambda f: edit(f, lambda m: m["artifact"].update(identity="0" * 64)), "names another artifact"),
        (lambda f: edit(f, lambda m: m["model"].update(format="pickle")), "does not know"),
        (lambda f: edit(f, lambda m: m.update(version=99)), "Install a newer modicum"),
        (lambda f: edit(f, lambda m: m.update(modicum="cells")), "does not describe a bundle"),
        (lambda f: edit(f, lambda m: m.update(classes="x")), "'classes' and 'label'"),
    ],
)
def test_a_damaged_bundle_is_refused_in_one_sentence(g, model, tmp_path, change, message):
    md.save_bundle(tmp_path / "b", g, model)
    change(tmp_path / "b")
    with pytest.raises(ArtifactError, match=message):
        md.load_bundle(tmp_path / "b")


def edit(folder, change):
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_unlisted_types_are_refused_by_name(g, model, adult, tmp_path):
    strange = make_pipeline(FunctionTransformer(subprocess.list2cmdline), LogisticRegression())
    strange.steps[1][1].fit([[0], [1]], [0, 1])
    with pytest.raises(ArtifactError, match=r"subprocess\.list2cmdline.*a bundle must not hold"):
        md.save_bundle(tmp_path / "b", g, strange)
    assert not any("subprocess" in each or "os." in each for each in TRUSTED)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"model": 3}, ArtifactError, "method predict"),
        ({"model": "m.pkl"}, ArtifactError, r"end in \.onnx"),
        ({"model": "absent.onnx"}, ArtifactError, "cannot be read"),
        ({"model": b"nothing"}, ArtifactError, "not valid ONNX"),
        ({"inputs": "raw"}, ParameterError, "'inputs' parameter"),
        ({"artifact": {"a": 1}}, ParameterError, "'artifact' parameter.*Got dict"),
        ({"label": 5}, ParameterError, "'label' parameter"),
        ({"classes": 5}, ParameterError, "'classes' parameter"),
        ({"classes": [object()]}, ParameterError, "'classes' parameter"),
        ({"classes": "ab"}, ParameterError, "'classes' parameter"),
    ],
)
def test_invalid_arguments_are_refused(g, tmp_path, arguments, error, message):
    with pytest.raises(error, match=message):
        md.save_bundle(tmp_path / "b", **({"artifact": g} | arguments))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", [None, 3, b"b"])
def test_an_invalid_path_is_refused(g, folder):
    for call in (lambda: md.save_bundle(folder, g), lambda: md.load_bundle(folder)):
        with pytest.raises(ParameterError, match=r"'folder' parameter must be a path\. Got"):
            call()


@pytest.mark.parametrize("artifact", ["x", None, 3])
def test_an_invalid_artifact_is_refused_in_one_sentence(artifact):
    for call in (record_format, identity, Bundle, to_javascript, form_page):
        with pytest.raises(ParameterError, match=r"Generalization.*CellPartition or .*Questionnaire"):
            call(artifact)
    for call in (lambda: to_sql(artifact, "people"), lambda: to_dbt(artifact, "people", "less")):
        with pytest.raises(ParameterError, match=r"'g' parameter must be a Generalization\. Got"):
            call()


def test_other_files_are_never_overwritten(g, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(DataError, match="holds other files"):
        md.save_bundle(tmp_path / "mine", g)
    with pytest.raises(DataError, match="a file of that name"):
        md.save_bundle(tmp_path / "mine" / "thesis.txt", g)
    with pytest.raises(DataError, match="cannot be written"):
        md.save_bundle(tmp_path / "no" / "such", g)
    md.save_bundle(tmp_path / "b", g)
    md.save_bundle(tmp_path / "b", g.drop(g.needed[0]))
    assert md.load_bundle(tmp_path / "b").artifact == g.drop(g.needed[0])
    assert sorted(os.listdir(tmp_path)) == ["b", "mine"]


def test_a_folder_that_holds_more_than_a_bundle_is_never_replaced(g, tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "manifest.json").write_text('{"name": "a page that can be installed"}')
    md.save_bundle(tmp_path / "b", g)
    (tmp_path / "b" / "store.duckdb").write_text("records of people")
    for folder in ("app", "b"):
        before = sorted(os.listdir(tmp_path / folder))
        with pytest.raises(DataError, match="holds other files"):
            md.save_bundle(tmp_path / folder, g)
        assert sorted(os.listdir(tmp_path / folder)) == before


@pytest.mark.parametrize("name", ["manifest.json", "artifact.json"])
def test_a_file_that_never_ends_is_not_read(g, tmp_path, name):
    md.save_bundle(tmp_path / "b", g)
    (tmp_path / "b" / name).unlink()
    (tmp_path / "b" / name).symlink_to(os.devnull)  # a device; one that ends, so that the test does too
    with pytest.raises(ArtifactError, match="not a regular file"):
        md.load_bundle(tmp_path / "b")


def test_the_checked_content_is_loaded_even_if_the_file_is_replaced(g, tmp_path, monkeypatch):
    md.save_bundle(tmp_path / "b", g)
    read, reads = Path.read_bytes, []

    def replaced(path):
        content = read(path)
        if path.name == "artifact.json":
            reads.append(path)
            path.write_text("{}")
        return content

    monkeypatch.setattr(Path, "read_bytes", replaced)
    assert md.load_bundle(tmp_path / "b").artifact == g
    assert len(reads) == 1


def test_a_compressed_model_is_refused_before_it_grows(g, model, tmp_path):
    md.save_bundle(tmp_path / "b", g, model)
    with zipfile.ZipFile(tmp_path / "b" / "model.skops") as parts:
        content = {name: parts.read(name) for name in parts.namelist()}
    with zipfile.ZipFile(tmp_path / "b" / "model.skops", "w", zipfile.ZIP_DEFLATED) as parts:
        for name, part in content.items():
            parts.writestr(name, part + b" " * 10**6 * (name == "schema.json"))
    hashed = hashlib.sha256((tmp_path / "b" / "model.skops").read_bytes()).hexdigest()
    edit(tmp_path / "b", lambda m: m["model"].update(sha256=hashed))
    with pytest.raises(ArtifactError, match="compressed"):
        md.load_bundle(tmp_path / "b")


def forge(content, change):
    """Return a model's bytes with changed nodes in its first tree."""
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        found = {name: parts.read(name) for name in parts.namelist()}
    for name in [name for name in found if name.endswith(".npy")]:
        nodes = np.load(io.BytesIO(found[name]))
        if nodes.dtype.names:
            change(nodes)
            np.save(changed := io.BytesIO(), nodes)
            found[name] = changed.getvalue()
            break
    with zipfile.ZipFile(written := io.BytesIO(), "w") as parts:
        for name, part in found.items():
            parts.writestr(name, part)
    return written.getvalue()


@pytest.mark.parametrize("value", [10**6, 0])
@pytest.mark.parametrize("field", ["left", "right", "column"])
@pytest.mark.parametrize(
    ("learner", "names"),
    [
        (DecisionTreeClassifier(), ("left_child", "right_child", "feature")),
        (RandomForestClassifier(3, random_state=0), ("left_child", "right_child", "feature")),
        (GradientBoostingClassifier(n_estimators=2), ("left_child", "right_child", "feature")),
        (HistGradientBoostingClassifier(max_iter=2), ("left", "right", "feature_idx")),
    ],
    ids=["tree", "forest", "boosting", "histogram"],
)
def test_a_tree_with_invalid_nodes_is_refused(adult, learner, names, field, value):
    X = adult[0][["age", "hours-per-week", "capital-gain"]][:500]
    content, _ = model_bytes(learner.fit(X, adult[1][:500]))
    name = names[["left", "right", "column"].index(field)]

    def change(nodes):
        nodes[name][0] = value

    if field == "column" and value == 0:
        assert model_of(forge(content, change), "skops").predict(X).shape == (500,)
        return
    with pytest.raises(ArtifactError, match="a tree with invalid nodes"):
        model_of(forge(content, change), "skops")


def test_a_tree_of_a_model_that_takes_fewer_columns_is_refused(adult):
    X = adult[0][["age", "hours-per-week", "capital-gain"]][:500]
    for learner in (DecisionTreeClassifier(), GradientBoostingClassifier(n_estimators=3)):
        model = learner.fit(X, adult[1][:500])
        assert model_of(*model_bytes(model)).n_features_in_ == 3
        model.n_features_in_ = 1
        with pytest.raises(ArtifactError, match="a tree with invalid nodes"):
            model_of(*model_bytes(model))


@pytest.mark.slow
def test_loading_a_bundle_reads_no_pickle(g, model, tmp_path):
    md.save_bundle(tmp_path / "b", g, model)
    code = (
        "import pickle, sys, modicum as md\n"
        "def refuse(*a, **k): raise SystemExit('pickle was read')\n"
        "pickle.loads = pickle.load = refuse\n"
        "print(md.load_bundle(sys.argv[1]).can_predict)"
    )
    found = subprocess.run([sys.executable, "-c", code, tmp_path / "b"], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "True"


class _FailsOn:
    """A model that predicts, but fails on one bucket."""

    def __init__(self, name, bucket):
        self.name, self.bucket = name, bucket

    def predict(self, X):
        if (X[self.name] == self.bucket).any():
            raise ValueError("what is this")
        return np.zeros(len(X))


def test_every_kept_bucket_of_cells_is_tried():
    job, age = md.Attribute(name="job", kind="category"), md.Attribute(name="age", kind="number", storage="integer")
    jobs = Groups(attribute=job, buckets=tuple(Group(values=(value,)) for value in "abcd"))
    ages = Intervals(attribute=age, buckets=(Interval(up_to=20), Interval()))
    detail = md.Generalization(md.Schema(attributes=(job, age)), [jobs, ages])
    entries = [Ask(ask="age", left=(0,)), Cell(values=("a", 10)), Cell(values=("a", 30))]
    cells = md.CellPartition(detail, entries, kept=[jobs])
    for artifact in (cells, md.Questionnaire(cells)):
        for name, bucket in (("job", "d"), ("age", 30)):
            bundle = Bundle(artifact, _FailsOn(name, bucket), inputs="values")
            with pytest.raises(ArtifactError, match="what is this"):
                check_bound(artifact, bundle.format, bundle.model, "values", predict=bundle.predict)
