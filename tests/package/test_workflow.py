"""`md.minimize` from start to end: the same in Python as on the command line, for any table, with clear refusals."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars
from engine_places import held_in
from typer.testing import CliRunner

import modicum as md
from modicum.cli.main import app
from modicum.errors import DataError, ParameterError
from modicum.table.splits import Split

PERSONAL = ["age", "race", "sex"]


@pytest.fixture(scope="module")
def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    return X[["age", "education", "hours-per-week", "race", "sex"]][:4_000], y[:4_000]


def parts(train, validation, test) -> Split:
    return Split(*(np.asarray(list(rows)) for rows in (train, validation, test)))


def command(*words: object) -> str:
    """Run a command with --json and return its output."""
    result = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"keep": 0.6},
        {"max_error": 0.24, "max_leaves": 8},
        {"method": "pat", "min_leaf": 50},
        {"risk": "certificate", "min_group": 20},
        {"privacy": 0.2, "min_group": 30},
        {"sample": 1_500, "method": "merge"},
    ],
    ids=str,
)
def test_python_and_command_line_give_the_same_bytes(adult, parameters, tmp_path):
    X, y = adult
    X.assign(income=y).to_parquet(tmp_path / "people.parquet")
    minimized = md.minimize(X, y, personal=PERSONAL, progress=False, **parameters)
    minimized.generalization.save(tmp_path / "python.json")
    options = ["--label", "income", "--personal", ",".join(PERSONAL), "-o", tmp_path / "command.json"]
    options += [text for name, value in parameters.items() for text in (f"--{name.replace('_', '-')}", value)]
    found = json.loads(command("minimize", tmp_path / "people.parquet", *options))["search"]
    assert (tmp_path / "command.json").read_bytes() == (tmp_path / "python.json").read_bytes()
    assert (found is None) == (minimized.choice is None)
    for name in () if found is None else ("error", "skill_kept", "adversary_error", "considered"):
        assert found[name] == getattr(minimized.choice, name)


def test_python_and_command_line_give_the_same_report(adult, tmp_path):
    X, y = adult
    X.assign(income=y).to_parquet(tmp_path / "people.parquet")
    options = ["--label", "income", "--personal", ",".join(PERSONAL), "--keep", 0.5, "--by", "sex", "--purpose", "Help"]
    places = ["-o", tmp_path / "g.json", "--report", tmp_path / "r.html"]
    command("minimize", tmp_path / "people.parquet", *options, *places)
    written = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    minimized = md.minimize(X, y, personal=PERSONAL, keep=0.5, progress=False)
    report = minimized.report("Help", by=["sex"], progress=False).to_dict()
    assert {**report, "provenance": {**report["provenance"], "command": None}} == {
        **written,
        "provenance": {**written["provenance"], "command": None},
    }
    assert report["alternatives"]["source"] == "merge path"
    assert minimized.why in json.dumps(report["alternatives"], ensure_ascii=False)


def test_any_form_of_a_table_gives_the_same_result(adult):
    X, y = adult
    options = {"personal": PERSONAL, "keep": 0.5, "progress": False}
    minimized = md.minimize(X, y, **options)
    for other in (
        md.minimize(X.assign(income=y), "income", **options),
        md.minimize(as_polars(X.assign(income=y)), "income", **options),
        md.minimize(X.set_index(np.arange(len(X)) + 7), y.tolist(), **options),
    ):
        assert other.generalization.partitions == minimized.generalization.partitions
    numbers = X[["age", "hours-per-week"]].to_numpy()
    assert md.minimize(numbers, y, keep=0.3, progress=False).generalization.names == ["x0", "x1"]


def test_a_users_split_decides_which_rows_train_choose_and_report(adult):
    X, y = adult
    rows = np.arange(4_000)
    split = Split(train=rows[:2_000], validation=rows[2_000:2_500], test=rows[2_500:3_500])
    minimized = md.minimize(X, y, personal=PERSONAL, split=split, progress=False)
    assert minimized.split is split
    assert minimized.evidence(depth="quick", progress=False).utility.records == 1_000
    same = md.minimize(X[:3_500], y[:3_500], personal=PERSONAL, split=split, progress=False)
    assert same.generalization == minimized.generalization


def test_other_generalizations_may_be_compared_with_the_chosen_one(adult):
    minimized = md.minimize(*(part[:1_000] for part in adult), personal=PERSONAL, progress=False)
    others = [minimized.generalization, minimized.generalization.drop("age")]
    found = minimized.evidence(path=others, why="By hand.", progress=False).alternatives
    assert (found.why, found.considered) == ("By hand.", 2)
    assert minimized.evidence(progress=False).alternatives.considered == len(minimized.path)


def test_a_persons_rows_stay_together_and_count_once(adult):
    X, y = adult
    X = X.assign(who=np.arange(len(X)) // 4)
    minimized = md.minimize(X, y, personal=PERSONAL, person="who", min_group=20, progress=False)
    parts = [
        set(X["who"].iloc[rows]) for rows in (minimized.split.train, minimized.split.validation, minimized.split.test)
    ]
    assert not parts[0] & parts[1] | parts[0] & parts[2] | parts[1] & parts[2]
    assert "who" not in minimized.generalization.names
    train = X.iloc[minimized.split.train]
    cells = pd.Series(list(map(tuple, minimized.generalization.codes(train))), index=train.index)
    assert train["who"].groupby(cells).nunique().min() >= 20
    with pytest.raises(ParameterError, match="more than the 600 people of the training part"):
        md.minimize(X, y, person="who", min_group=700)


def test_an_engine_grows_the_tree_from_counts_and_draws_a_sample_for_the_rest(adult):
    X, y = adult
    table = held_in("duckdb", X.assign(income=y))
    minimized = md.minimize(table, "income", personal=PERSONAL, max_leaves=6, progress=False)
    in_memory = md.PrivacyTree(max_leaves=6, personal=PERSONAL).fit(X, y).generalization_
    assert minimized.generalization.partitions == in_memory.partitions
    assert (minimized.choice, minimized.path, minimized.split, minimized.why) == (None, (), None, None)
    with pytest.raises(DataError, match="draw some of them from the engine with the 'sample' parameter"):
        minimized.evidence()
    drawn = md.minimize(table, "income", personal=PERSONAL, sample=1_200, keep=0.3, progress=False)
    assert drawn.sample_check.records == 1_200
    assert drawn.evidence(depth="quick", progress=False).utility.records == 360


def test_options_about_columns_are_added_to_the_schema(adult):
    X, y = adult
    X = X.assign(zip=np.arange(len(X)) % 7, passport=[f"p{i}" for i in range(len(X))])
    given = md.Schema.infer(X).replace("age", locked=True)
    roles = {"categories": ["zip"], "identifiers": ["passport"], "missing": ["?"], "person": None}
    minimized = md.minimize(X, y, schema=given, personal=["sex"], keep=0.3, progress=False, **roles)
    schema = minimized.generalization.schema
    assert (schema["zip"].kind, schema.personal) == ("category", ["sex"])
    assert (schema.label, schema.missing) == ("income", ("?",))
    assert "passport" not in minimized.generalization.names
    assert "age" in minimized.generalization.needed


def test_the_seed_decides_the_split_and_the_result(adult):
    X, y = adult
    one, same, other = (md.minimize(X, y, random_state=seed, progress=False) for seed in (3, 3, 4))
    assert one.generalization == same.generalization
    assert one.choice == same.choice
    assert one.split.test.tolist() == same.split.test.tolist() != other.split.test.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "cut"}, "'method' parameter of minimize must be 'merge' or 'pat'. Got 'cut'"),
        ({"method": "merge", "max_leaves": 3}, "'max_leaves' parameter belongs to method 'pat': leave it out, or use"),
        ({"max_leaves": 3, "risk": "adversary"}, "'risk' parameter belongs to method 'merge': leave it out, or use"),
        ({"keep": 0.5, "max_error": 0.1}, "Say one of"),
        ({"keep": 90}, "'keep' parameter"),
        ({"min_group": 0}, "'min_group' parameter must be an int ≥ 1. Got 0"),
        ({"min_group": 3_000}, "more than the 2,400 records of the training part"),
        ({"personal": ["height"]}, "'height'"),
        ({"person": "who"}, "'who'"),
        ({"sample": 0}, "'sample' parameter must be an int ≥ 1"),
        ({"split": ([0], [1], [2])}, "'split' parameter must be a modicum.table.splits.Split. Got tuple"),
        ({"split": parts(range(9), range(9, 12), range(8, 20))}, "parts 'train' and 'test' share a row"),
        ({"split": parts([0, 0], [1], [2])}, "part 'train' holds a row twice"),
        ({"split": parts(range(9), [9], [4_000])}, "part 'test' must hold row numbers from 0 to 3,999"),
        ({"split": parts(range(9), [9], [])}, "part 'test' is empty"),
        ({"split": parts([0.5], [9], [1])}, "part 'train' must hold row numbers"),
        ({"split": parts(range(50), range(50, 60), range(60, 90)), "min_group": 60}, "more than the 50 records"),
        ({"split": parts([0], [1], [2]), "sample": 100}, "'split' and 'sample' parameters exclude each other"),
        ({"y": "pay"}, "The label 'pay' is not in the data; it has 'age'"),
        ({"y": [0, 1]}, "one value for each"),
        ({"schema": "people.yaml"}, "'schema' parameter must be a Schema. Got str instead"),
        ({"categories": "height"}, "no attribute 'height' to be a category"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(adult, options, message):
    X, y = adult
    given = {"y": y, "progress": False, **options}
    with pytest.raises(md.errors.ModicumError) as caught:
        md.minimize(X, given.pop("y"), **given)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_table_without_rows_is_refused(adult):
    X, y = adult
    with pytest.raises(DataError, match="The data has 0 rows"):
        md.minimize(X[:0], y[:0])


def test_a_label_that_is_also_a_column_is_refused(adult):
    X, y = adult
    with pytest.raises(DataError, match="'income' is also a column of X"):
        md.minimize(X.assign(income=y), y)
    with pytest.raises(DataError, match=r"X has a column 'y', and the label has no name: give it one"):
        md.minimize(X.assign(y=1), y.tolist())


def test_a_label_without_a_name_takes_the_schemas(adult):
    X, y = adult
    schema = md.Schema.infer(X.assign(income=y), label="income", personal=PERSONAL)
    minimized = md.minimize(X, y.to_numpy(), schema=schema, keep=0.3, progress=False)
    assert minimized.generalization == md.minimize(X, y, schema=schema, keep=0.3, progress=False).generalization
    assert minimized.schema.label == "income"


def test_one_text_that_means_missing_is_not_split_into_letters(adult):
    minimized = md.minimize(*adult, keep=0.3, missing="NA", categories="sex", progress=False)
    assert minimized.generalization.schema.missing == ("NA",)


def test_a_report_on_too_few_people_is_refused_before_the_work(adult, monkeypatch):
    X, y = (part[:250] for part in adult)
    minimized = md.minimize(X, y, progress=False)
    monkeypatch.setattr("modicum.workflow.gather_evidence", None)
    with pytest.raises(DataError, match="a report needs at least 100"):
        minimized.report("Help")


@pytest.mark.parametrize("parameters", [{}, {"sample": 333, "method": "pat"}], ids=str)
def test_too_few_people_for_a_report_are_refused_before_learning(adult, parameters, tmp_path, monkeypatch):
    X, y = adult
    X = X.assign(who=np.arange(len(X)) // 4)
    if not parameters:
        X, y = X[:1_200], y[:1_200]
    X.assign(income=y).to_parquet(tmp_path / "people.parquet")
    for fit in ("MergePath.fit", "PrivacyTree.fit"):
        monkeypatch.setattr(f"modicum.minimizers.{fit}", None)
    with pytest.raises(DataError, match=r"There are \d\d people in the test records.*at least 100"):
        md.minimize(X, y, person="who", for_report=True, **parameters)
    options = ["--label", "income", "--person", "who", "-o", tmp_path / "g.json", "--report", tmp_path / "r.html"]
    options += [text for name, value in parameters.items() for text in (f"--{name}", value)]
    result = CliRunner().invoke(app, ["minimize", str(tmp_path / "people.parquet"), *map(str, options)])
    assert "people in the test records" in str(result.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]


@pytest.mark.filterwarnings("ignore:A sample of")
def test_a_sample_with_just_enough_people_is_accepted_for_a_report(adult, tmp_path):
    X, y = adult
    minimized = md.minimize(X, y, sample=333, method="pat", for_report=True, progress=False)
    assert len(minimized.split.test) == 100
    with pytest.raises(ParameterError, match="'sample' parameter must be an int ≥ 1"):
        md.minimize(X, y, sample=0, for_report=True)
    with pytest.raises(ParameterError, match="A report needs the records in memory"):
        md.minimize(held_in("duckdb", X.assign(income=y)), "income", for_report=True)


@pytest.mark.filterwarnings("ignore:A sample of")
def test_a_sample_is_drawn_from_any_form_of_records(adult):
    X, y = adult
    options = {"personal": ["age"], "sample": 1_500, "method": "pat", "progress": False}
    minimized = md.minimize(X, y, **options)
    by_name = md.minimize(X.assign(income=y), "income", **options)
    in_polars = md.minimize(as_polars(X.assign(income=y)), "income", **options)
    for other in (by_name, in_polars):
        assert other.generalization.partitions == minimized.generalization.partitions
        assert other.sample_check == minimized.sample_check
    numbers = md.minimize(X[["age", "hours-per-week"]].to_numpy(), y, sample=1_500, method="pat", progress=False)
    assert numbers.generalization.names == ["x0", "x1"]


@pytest.mark.filterwarnings("default")
def test_a_sample_that_is_too_small_gives_a_warning(adult):
    X, y = adult
    with pytest.warns(md.errors.DataWarning, match="A sample of 200 records may be too small"):
        minimized = md.minimize(X, y, personal=["age"], sample=200, min_leaf=5, max_leaves=30, progress=False)
    assert not minimized.sample_check.enough


def test_a_split_that_separates_the_rows_of_a_person_is_refused(adult):
    X, y = adult
    X = X.assign(who=np.arange(len(X)) // 2)
    with pytest.raises(ParameterError, match="parts 'train' and 'test' share a person"):
        md.minimize(X, y, person="who", split=parts(range(99), range(1_000, 1_100), range(99, 200)))
    schema = md.Schema.infer(X).with_roles(person="who")
    with pytest.raises(DataError, match="The person column 'who' is not in the data"):
        md.minimize(X.drop(columns="who"), y, schema=schema, min_group=5)


def test_evidence_and_report_refuse_bad_options_before_the_work(adult, monkeypatch):
    minimized = md.minimize(*adult, personal=PERSONAL, progress=False)

    def fail(*given, **options):
        raise AssertionError("worked")

    monkeypatch.setattr("modicum.evaluation.alternatives", fail)
    monkeypatch.setattr("modicum.attacks.Reconstruction.run", fail)
    for work in ("utility", "necessity"):
        monkeypatch.setattr(f"modicum.evaluation.evidence.generalization_evidence.{work}", fail)
    refused = [
        ({"population": 5}, "'population' parameter must be an int"),
        ({"confidence": 5}, "'confidence' parameter"),
        ({"by": "nosuch"}, "'nosuch'"),
        ({"colour": 1}, "has no option 'colour'"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
    ]
    for options, message in refused:
        with pytest.raises(md.errors.ModicumError, match=message):
            minimized.evidence(progress=False, **options)
    for head in ({"purpose": 5}, {"date": "31.12.2026"}, {"people": 7}):
        with pytest.raises(ParameterError, match=f"'{next(iter(head))}' parameter"):
            minimized.report(**head)


def test_alternatives_may_be_given(adult):
    minimized = md.minimize(*adult, personal=["sex"], keep=0.3, progress=False)
    assert minimized.evidence(alternatives="what else", progress=False).alternatives == "what else"


def test_the_repr_of_a_result_is_one_line(adult):
    minimized = md.minimize(*adult, progress=False)
    assert repr(minimized).startswith("<Minimization: <Generalization: ")
    assert "inflection point" in repr(minimized)
    assert "\n" not in repr(minimized)
    assert len({minimized, minimized}) == 1


def test_evidence_and_report_name_what_they_need_instead(adult):
    minimized = md.minimize(*adult, progress=False)
    with pytest.raises(ParameterError, match=r"Got Minimization; call its evidence\(\)"):
        md.evidence(minimized)
    with pytest.raises(ParameterError, match=r"Got Minimization; call its report\(\)"):
        md.report(minimized)
    with pytest.raises(ParameterError, match=r"needs full records: md.evidence\(what, X, y, X_test, y_test\)"):
        md.evidence(minimized.generalization, *adult)
    with pytest.raises(ParameterError, match=r"a release needs full records: md.evidence\(what, X\)"):
        md.evidence(md.Mondrian())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": 0.5}, "'keep' parameter needs the records in memory"),
        ({"method": "merge"}, "The 'method' parameter with 'merge' needs the records in memory"),
        ({"risk": "certificate"}, "The 'risk' parameter needs the records in memory"),
        ({"min_group": 5}, "'min_group' parameter needs the records in memory"),
    ],
)
def test_options_that_an_engine_lacks_are_refused(adult, options, message):
    X, y = adult
    with pytest.raises(ParameterError, match=message):
        md.minimize(held_in("duckdb", X.assign(income=y)), "income", **options)
    with pytest.raises(DataError, match="label of a table in an engine must be the name of one of its columns"):
        md.minimize(held_in("duckdb", X), y)
