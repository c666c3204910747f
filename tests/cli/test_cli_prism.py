"""`modicum prism`: what it prints and refuses."""

import json

import pytest
from prism_people import fitted, make_people
from typer.testing import CliRunner

from modicum.cli.commands.prism import describe_rule
from modicum.cli.main import app
from modicum.errors import ModicumError


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    X, y = make_people(900)
    path = tmp_path_factory.mktemp("prism") / "people.csv"
    X.assign(label=y, id=range(len(y))).to_csv(path, index=False)
    return path


def prism(*arguments):
    return CliRunner().invoke(app, ["prism", *map(str, arguments)])


OPTIONS = ["--label", "label", "--sensitive", "ill", "--identifier", "id", "--threshold", 0.3]


def test_the_output_shows_leaks_choice_and_cost(file):
    result = prism(file, *OPTIONS, "--critical", "ill")
    assert result.exit_code == 0, result.output
    for words in ("proxy", "a + b", "by chance", "asked for", "promise", "PriSM", "Parsimony", "MCC"):
        assert words in result.output
    assert " id" not in result.output


def test_json_holds_leaks_classifier_and_models(file):
    result = prism(file, *OPTIONS, "--no-adversary", "--max-predictors", 2, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert [each["attributes"] for each in found["correlations"]["found"]] == [["proxy"], ["a", "b"]]
    assert len(found["classifier"]["predictors"]) == 2
    prism_model = found["models"][-1]
    assert prism_model["model"] == "PriSM"
    assert prism_model["accuracy"]["naive"] < prism_model["accuracy"]["value"]
    assert prism_model["gap"] <= 1e-4


def test_without_predictors_the_objective_is_not_given():
    model = fitted(*make_people(900))
    assert describe_rule(model)["objective"] > 0
    model.predictors_ = []
    assert describe_rule(model)["objective"] is describe_rule(model)["bound"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--label", "nothing", "--sensitive", "ill"], "'nothing' is not in the file"),
        (["--label", "label", "--sensitive", "nothing"], "'nothing'"),
        (["--label", "label"], "No attribute is sensitive: name one with"),
        (["--label", "label", "--sensitive", "label"], "both --label and --sensitive"),
        (["--label", "label", "--sensitive", "ill", "--critical", "plague"], "'ill'"),
        (["--label", "age", "--sensitive", "ill"], "'age' is a number with many values"),
        (["--label", "label", "--sensitive", "flat"], "'flat'"),
        (["--label", "label", "--sensitive", "ill", "--known", "a,nothing"], "'nothing' is not in the file"),
        (["--label", "label", "--sensitive", "ill", "--person", "nothing"], "'nothing'"),
    ],
)
def test_bad_input_gets_one_sentence(file, options, message):
    result = prism(file, *options)
    assert isinstance(result.exception, ModicumError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)
