"""Cells and questionnaires in JavaScript: the same cell, the same questions in the same words, the same records."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import rule
from random_cells import random_cells
from test_javascript import HOSTILE, driver_record, driver_value, spoiled

import modicum as md
from modicum.export.javascript import to_javascript
from modicum.generalization.bins import FullDetail, Group, Groups, Interval, Intervals
from modicum.generalization.cells import Ask, Cell, CellPartition
from modicum.generalization.record_format import record_format
from modicum.minimizers.model_guided.cell_search import one_cell
from modicum.provenance import identity


@pytest.fixture(scope="module")
def guided():
    X = md.datasets.load_adult().X[["age", "hours-per-week", "capital-gain"]][:4000]
    return md.ModelGuided(rule, random_state=0).fit(X).cells_, X


def words(prefix, n):
    return tuple(f"{prefix}{i}" for i in range(n))


@pytest.fixture(scope="module")
def detail():
    """Every kind of attribute, labels of every form, policies of every kind, hostile names."""
    jobs = (*words("job ", 9), "__proto__", "</script>", "e\u0301", "😀" * 12, "a | b")
    attributes = [
        md.Attribute(name="__proto__", kind="number", storage="integer"),
        md.Attribute(name="</script>", kind="number", storage="float"),
        md.Attribute(name="10", kind="date", storage="date"),
        md.Attribute(name="2", kind="date", storage="datetime"),
        md.Attribute(name="grade", kind="ordered", domain=("1", "2", "3", "²", "4", "five", "6-7")),
        md.Attribute(
            name="job",
            kind="category",
            hierarchy={job: ("first half" if i < 7 else "second", "all") for i, job in enumerate(jobs)},
        ),
        md.Attribute(name="untold", kind="number"),
    ]
    edges = [
        [-3.5, 0, 20, 20.5, 9007199254740992, 9.5e15, 1e16, 1e20],
        [-1e-7, 1e-5, 0.25, 1e16, 1.5e22],
        ["1969-12-31", "1970-01-01", "2020-02-29T12:00:00", "2020-02-29T13:00:00"],
        ["1969-12-31T23:59:59.5", "1970-01-01", "2020-02-29T12:00:00.000001"],
    ]
    ranges = [
        Intervals(
            attribute=a,
            buckets=[
                *(Interval(up_to=e, value=e) for e in ends),
                Interval(value="2030-01-01" if a.kind == "date" else 1e30),
            ],
        )
        for a, ends in zip(attributes, edges, strict=False)
    ]
    ranges[1] = ranges[1].model_copy(
        update={"buckets": (ranges[1].buckets[0].model_copy(update={"label": "low"}), *ranges[1].buckets[1:])}
    )
    grade = Groups(attribute=attributes[4], buckets=[Group(values=(v,)) for v in attributes[4].domain], unseen="refuse")
    some = [Group(values=jobs[i : i + 2], takes=("unseen",) * (i == 2)) for i in range(0, len(jobs), 2)]
    job = Groups(attribute=attributes[5], buckets=some)
    untold = Intervals(attribute=attributes[6], buckets=(Interval(up_to=1.0), Interval()))
    return md.Generalization(md.Schema(attributes=tuple(attributes)), [*ranges, grade, job, untold]).drop("untold")


VALUES = {
    "__proto__": [-4, -3.5, 0, "1", 20, 20.25, 21, 9.2e15, 9.8e15, 1e17, 1e21, None, True],
    "</script>": [-1, 0, 1e-6, 0.1, "0.25", 7, 1e20, 1e30, None],
    "10": ["1969-01-01", "1970-01-01", "2000-02-29", "2020-02-29T12:30:00", "2021-01-01T00:00+01:00", None],
    "2": ["1969", "1969-12-31T23:59:59.75", "1970-01-02", "2021-01-01", None],
    "grade": ["1", 2, 3.0, "²", "4", "five", "6-7", None],
    "job": [*words("job ", 9), "__proto__", "</script>", "é", "e\u0301", "😀" * 12, "never", 7, None],
    "untold": ["ignored"],
}


def random_records(n, random, values=None):
    columns = {name: random.integers(len(each), size=n) for name, each in (values or VALUES).items()}
    return [{name: (values or VALUES)[name][columns[name][i]] for name in columns} for i in range(n)]


def frame_of(records):
    return pd.DataFrame({name: pd.Series([r[name] for r in records], dtype=object) for name in records[0]})


def plain(frame):
    return frame.astype(object).to_dict("records")


def outputs(done):
    return [each.get("given", each) for each in done["results"]]


# Cells


@pytest.mark.parametrize("seed", [0, 1])
def test_records_fall_into_the_same_cells_with_the_same_labels(node, detail, seed):
    random = np.random.default_rng(seed)
    cells = random_cells(detail, 60, random)
    records = random_records(2000, random)
    X = frame_of(records)
    calls = [[call, driver_record(record)] for call in ("cellOf", "generalize") for record in records]
    calls += [[call, i] for call in ("predictionOf", "representative") for i in range(cells.n_cells)]
    calls += [["labels", name] for name in cells.needed]
    done = node(cells, calls, representatives=True)
    found = outputs(done)
    assert found[:2000] == cells.cells(X).tolist()
    assert found[2000:4000] == plain(cells.transform(X))
    own = cells.tree.cells
    assert found[4000 : 4000 + len(own)] == [cell.prediction for cell in own]
    values = [dict(zip(cells.names, cell.values, strict=True)) for cell in own]
    assert found[4000 + len(own) : 4000 + 2 * len(own)] == json.loads(json.dumps(values))
    assert found[4000 + 2 * len(own) :] == [list(cells.labels(name)) for name in cells.needed]
    assert (done["kind"], done["artifact"]) == ("cells", identity(cells))
    assert [each["name"] for each in done["attributes"] if each["action"] != "dropped"] == cells.needed
    assert "representative" not in node(cells, [])["names"]


def test_thousands_of_real_records_get_the_labels_of_their_cells(node, guided):
    cells, X = guided
    X = spoiled(X)
    records = outputs(node(cells, [["generalize", driver_record(record)] for record in X.to_dict("records")]))
    assert records == plain(cells.transform(X))
    format = record_format(cells)
    assert [format.record(format.check(each)) for each in records[:300]] == records[:300]


@pytest.fixture(scope="module")
def keeping(detail):
    """Cells that keep a number and a date in full detail and a category, all of which the tree asks about too."""
    random = np.random.default_rng(3)
    names = ["__proto__", "10"]
    grade = detail["grade"]
    cells = random_cells(detail, 30, random)
    kept = [*(FullDetail(attribute=detail[name].attribute) for name in names), grade]
    return CellPartition(detail, cells.tree.entries(), kept=kept)


def test_kept_attributes_are_passed_on_unchanged(node, keeping):
    records = random_records(400, np.random.default_rng(5))
    done = node(keeping, [["generalize", driver_record(record)] for record in records])
    passed_on = outputs(done)
    X = frame_of(records)
    by_cell = [name for name in keeping.needed if name not in keeping.kept]
    assert [{name: each[name] for name in by_cell} for each in passed_on] == plain(keeping.transform(X)[by_cell])
    assert [each["grade"] for each in passed_on] == keeping.transform(X)["grade"].astype(object).tolist()
    format = record_format(keeping)
    assert [format.record(format.check(each)) for each in passed_on] == passed_on
    assert {each["name"] for each in done["attributes"] if each["kept"]} == set(keeping.kept)
    calls = [
        ["representative", 0, driver_record(records[0])],
        ["representative", 0],
        ["representative", 99, {"map": []}],
    ]
    whole, without, beyond = node(keeping, calls, representatives=True)["results"]
    own = dict(zip(keeping.names, keeping.tree.cells[0].values, strict=True))
    assert {n: v for n, v in whole["given"].items() if n not in keeping.kept} == {
        n: v for n, v in own.items() if n not in keeping.kept
    }
    assert whole["given"]["10"] == passed_on[0]["10"]
    assert without["refused"] == "__proto__"
    assert "whole number from 0 to 29" in beyond["message"]


def test_records_of_actual_people_are_not_exported(detail):
    cells = random_cells(detail, 5, np.random.default_rng(0))
    people = CellPartition(detail, cells.tree.entries(), representatives="record")
    for artifact in (people, md.Questionnaire(people)):
        with pytest.raises(md.errors.ArtifactError, match="actual people"):
            to_javascript(artifact)


# Questionnaires


def paths(form, records, random):
    """Yield, for each record, the answers after each question in a random order."""
    for record in records:
        order = random.permutation(form.cells.names).tolist()
        answers = form.answers_of(record, order)
        names = list(answers)
        yield record, order, [{name: answers[name] for name in names[:i]} for i in range(len(names) + 1)]


def as_answers(answers):
    return {"map": [[n, list(a) if isinstance(a, tuple) else driver_value(a)] for n, a in answers.items()]}


def assert_same_questionnaire(node, form, records, seed=0):
    """Compare each record's states in a random order, the record sent in the end, and `answersOf`."""
    random = np.random.default_rng(seed)
    calls, expected = [], []
    format = record_format(form)
    checked = []
    for record, order, steps in paths(form, records, random):
        for answers in steps:
            calls.append(["state", as_answers(answers)])
            expected.append(json.loads(json.dumps(form.state(answers).to_dict())))
        last = steps[-1]
        calls += [
            ["answersOf", driver_record(record), order],
            ["least", as_answers(last)],
            ["recordOf", as_answers(last)],
        ]
        least = form.least(last)
        checked.append((len(expected) + 2, least))
        expected += [as_answers(last), as_answers(least), None]
    found = outputs(node(form, calls, representatives=True))
    for place, least in checked:
        encoded = format.check(found[place])
        expected[place] = format.record(encoded)
        assert dict(encoded).keys() == least.keys()
    for call, one, other in zip(calls, found, expected, strict=True):
        assert one == other, call


@pytest.mark.parametrize(("n_cells", "seed"), [(1, 0), (8, 1), (40, 2), (200, 3)])
def test_every_state_along_random_orders_is_the_same(node, detail, n_cells, seed):
    random = np.random.default_rng(seed)
    form = md.Questionnaire(random_cells(detail, n_cells, random, predictions=2 + seed))
    assert_same_questionnaire(node, form, random_records(20, random), seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 20))
def test_every_state_of_many_records_is_the_same(node, detail, seed):
    random = np.random.default_rng(seed)
    form = md.Questionnaire(random_cells(detail, 20 * (seed - 9), random, predictions=2 + seed % 3))
    assert_same_questionnaire(node, form, random_records(200, random), seed)


def test_real_records_are_asked_the_same(node, guided):
    cells, X = guided
    assert_same_questionnaire(node, md.Questionnaire(cells), X[:80].to_dict("records"))


def test_kept_attributes_are_asked_the_same(node, keeping):
    assert_same_questionnaire(node, md.Questionnaire(keeping), random_records(20, np.random.default_rng(1)))


def test_attributes_kept_in_buckets_are_asked_in_buckets(node):
    X = pd.DataFrame({"age": [20, 40, 60, 80], "job": ["nurse", "clerk", "nurse", "cook"]})
    form = md.Questionnaire(one_cell(md.Uniform(buckets=2).fit(X).generalization_, "synthetic"))
    records = [{"age": age, "job": job} for age in (1, 45, 90, None) for job in ("nurse", "clerk", "new", None)]
    assert_same_questionnaire(node, form, records)


def test_any_sets_of_codes_give_the_same_state(node, detail):
    random = np.random.default_rng(7)
    form = md.Questionnaire(random_cells(detail, 50, random))
    sizes = dict(zip(detail.names, detail.sizes, strict=True))
    cases = []
    for _ in range(250):
        names = [name for name in form.cells.needed if random.random() < 0.6]
        cases.append(
            {n: tuple(random.permutation(sizes[n])[: random.integers(1, sizes[n] + 1)].tolist()) for n in names}
        )
    found = outputs(node(form, [["state", as_answers(case)] for case in cases]))
    for case, one in zip(cases, found, strict=True):
        assert one == json.loads(json.dumps(form.state(case).to_dict())), case


def test_invalid_answers_are_refused_without_repeating_them(node, detail):
    form = md.Questionnaire(random_cells(detail, 20, np.random.default_rng(0)))
    name = form.cells.needed[0]
    secret = "8423-very-private"
    wrong = [[], [99], [-1], [0.5], ["0"], secret, None, 0, True]
    calls = [["state", {"map": [[name, each]]}] for each in wrong]
    calls += [["state", {"map": [[secret, [0]]]}], ["state", {"map": [["untold", [0]]]}], ["state", secret]]
    calls += [["least", {"map": []}], ["recordOf", {"map": []}]]
    for each in node(form, calls)["results"]:
        assert "message" in each
        assert secret not in json.dumps(each)
        assert each["refused"] in (name, "untold", None)


def test_deep_and_wide_trees_are_asked_the_same(node):
    number = md.Attribute(name="n", kind="number", storage="integer")
    ranges = Intervals(attribute=number, buckets=[*(Interval(up_to=i) for i in range(800)), Interval()])
    detail = md.Generalization(md.Schema(attributes=(number,)), [ranges])
    entries = []
    for i in range(800):
        entries += [Ask(ask="n", left=(i,)), Cell(prediction=i % 2, values=(i,))]
    form = md.Questionnaire(CellPartition(detail, [*entries, Cell(prediction=2, values=(800,))]))
    states = [{}, {"n": tuple(range(1, 800, 2))}, {"n": (3, 4, 5, 9)}]
    found = outputs(node(form, [["state", as_answers(each)] for each in states]))
    assert found == [json.loads(json.dumps(form.state(each).to_dict())) for each in states]


def test_a_module_of_cells_is_plain_ascii_without_markup(detail):
    cells = random_cells(detail, 20, np.random.default_rng(0))
    for artifact in (cells, md.Questionnaire(cells)):
        module = artifact.to_javascript(representatives=True).module
        assert module.isascii()
        assert "</script" not in module.lower()
        assert "<!--" not in module
    assert any(name in detail.names for name in HOSTILE)


def test_a_choice_that_the_tree_refuses_is_refused(node):
    job = md.Attribute(name="job", kind="category")
    groups = (Group(values=("a",)), Group(values=("b",)))
    jobs = Groups(attribute=job, buckets=groups, unseen="refuse", missing="refuse")
    detail = md.Generalization(md.Schema(attributes=(job,)), [jobs])
    entries = [Ask(ask="job", left=(0,)), Cell(values=("a",)), Cell(values=("b",))]
    cells = md.CellPartition(detail, entries, kept=[Groups(attribute=job, buckets=groups)])
    found = node(md.Questionnaire(cells), [["state", {"map": [["job", [code]]]}] for code in range(4)])["results"]
    assert ["given" in each for each in found] == [True, True, False, False]
    assert {each["refused"] for each in found[2:]} == {"job"}
