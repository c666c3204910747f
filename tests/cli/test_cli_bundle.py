"""`modicum bundle`: from a file and an artifact to a folder that can be served."""

import json

import pytest
from typer.testing import CliRunner

import modicum as md
from modicum.cli.main import app
from modicum.errors import ModicumError


@pytest.fixture
def places(people, tmp_path):
    X, y = people
    X.assign(bought=y).to_csv(tmp_path / "people.csv", index=False)
    md.PrivacyTree(max_leaves=6, min_leaf=20).fit(X, y).generalization_.save(tmp_path / "g.json")
    numbers = X[["age", "income"]].dropna()
    md.ModelGuided(lambda X: X["age"] > 40, random_state=0).fit(numbers).cells_.save(tmp_path / "cells.json")
    return tmp_path


def bundle(*arguments):
    return CliRunner().invoke(app, ["bundle", *map(str, arguments)])


def test_a_model_is_trained_and_its_error_is_shown_with_the_naive_error(places):
    result = bundle(places / "g.json", places / "people.csv", "--label", "bought", "-o", places / "b", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert found["interval"][0] <= found["error"] <= found["interval"][1] <= 1
    assert found["error"] < found["naive"]
    loaded = md.load_bundle(places / "b")
    assert (loaded.label, loaded.classes, loaded.identity) == ("bought", ["no", "yes"], found["identity"])
    again = bundle(places / "g.json", places / "people.csv", "--label", "bought", "-o", places / "b")
    assert "always predicting the same" in " ".join(again.output.split())


def test_a_numeric_label_is_predicted_as_a_number(people, places):
    md.Uniform(buckets=2).fit(people[0][["age", "job"]]).generalization_.save(places / "two.json")
    result = bundle(places / "two.json", places / "people.csv", "--label", "income", "-o", places / "b", "--json")
    assert result.exit_code == 0, result.exception
    found = json.loads(result.output)
    assert found["measure"] == "Mean absolute error"
    assert found["interval"][0] < found["error"] < found["interval"][1]
    assert md.load_bundle(places / "b").classes is None


def test_cells_and_a_questionnaire_need_no_model(places):
    for options, kind in ((["--questionnaire"], "questionnaire"), ([], "cells")):
        assert bundle(places / "cells.json", *options, "-o", places / kind).exit_code == 0
        loaded = md.load_bundle(places / kind)
        assert (loaded.kind, loaded.can_predict) == (kind, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["g.json", "people.csv"], "name the label with --label"),
        (["g.json", "people.csv", "--label", "nothing"], "'nothing' is not in the file"),
        (["g.json", "people.csv", "--label", "age"], "'age' is an attribute"),
        (["g.json", "absent.csv", "--label", "bought"], "absent.csv"),
        (["absent.json"], "absent.json"),
        (["people.csv"], "not valid JSON"),
        (["g.json", "--questionnaire"], "A questionnaire needs cells"),
        (["cells.json", "people.csv", "--label", "bought"], "Cells include what their model predicts"),
        (["g.json", "people.csv", "--label", "bought", "--onnx", "m.onnx"], "not both"),
        (["g.json", "--onnx", "absent.onnx"], "cannot be read"),
        (["g.json", "--onnx", "people.csv"], r"end in \.onnx"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_no_folder(places, monkeypatch, arguments, message):
    monkeypatch.chdir(places)
    result = bundle(*arguments, "-o", "b")
    assert isinstance(result.exception, ModicumError)
    with pytest.raises(ModicumError, match=message):
        raise result.exception
    assert sorted(path.name for path in places.iterdir()) == ["cells.json", "g.json", "people.csv"]


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("mine", "holds other files"),
        ("people.csv", "a file of that name"),
        ("no/such", "the folder above does not exist"),
    ],
)
def test_a_folder_that_cannot_be_written_is_refused_before_training(places, monkeypatch, output, message):
    trained = []
    monkeypatch.setattr("modicum.cli.commands.bundle._train_model", lambda *given: trained.append(given) or (None, {}))
    monkeypatch.chdir(places)
    (places / "mine").mkdir()
    (places / "mine" / "thesis.txt").write_text("years of work")
    result = bundle("g.json", "people.csv", "--label", "bought", "-o", output)
    assert isinstance(result.exception, ModicumError)
    assert message in str(result.exception)
    assert trained == []
