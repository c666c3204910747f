"""Cells: each record has exactly one and reveals only its box; cells are saved as data."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import modicum as md
from modicum.cli.main import app
from modicum.errors import ArtifactError, ParameterError
from modicum.generalization.bins import Dropped, FullDetail
from modicum.generalization.build import groups, intervals
from modicum.generalization.cells import Ask, Cell
from modicum.table.targets import Target

AGE = md.Attribute(name="age", kind="number", storage="integer")
JOB = md.Attribute(name="job", kind="category")
PAY = md.Attribute(name="pay", kind="number", storage="float")
SCHEMA = md.Schema(attributes=[AGE, JOB, PAY])


def detail():
    jobs = groups(JOB, [["clerk"], ["cook"], ["nurse"]])
    return md.Generalization(SCHEMA, [intervals(AGE, [29.5, 59.5]), jobs, Dropped(attribute=PAY)])


def tree():
    """Age up to 59 or not; then nurses (with unseen and missing jobs) or other jobs; then age again."""
    return [
        Ask(ask="age", left=(0, 1)),
        Ask(ask="job", left=(0, 1)),
        Cell(prediction="no", values=(20, "cook", 1.5)),
        Ask(ask="age", left=(0,)),
        Cell(prediction="yes", values=(25, "nurse", 1.5)),
        Cell(prediction="no", values=(40, "nurse", 1.5)),
        Cell(prediction="yes", values=(70, "clerk", 1.5)),
    ]


X = pd.DataFrame(
    {
        "age": [20, 29, 30, 59, 60, None, 45],
        "job": ["clerk", "nurse", "nurse", "zebra", "cook", "nurse", None],
        "pay": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
    }
)


def cells():
    return md.CellPartition(detail(), tree())


def test_every_record_falls_into_one_cell():
    assert cells().cells(X).tolist() == [0, 1, 2, 2, 3, 3, 2]


def test_labels_are_the_sides_of_the_box():
    labels = cells().transform(X)
    assert list(labels.columns) == ["age", "job"]
    assert labels["age"].tolist() == [
        "≤ 59",
        "≤ 29",
        "30–59",
        "30–59",
        "≥ 60 or (missing)",
        "≥ 60 or (missing)",
        "30–59",
    ]
    others = "nurse or (other) or (missing)"
    assert labels["job"].tolist() == ["clerk | cook", others, others, others, "(any)", "(any)", others]


def test_two_records_have_equal_codes_if_and_only_if_they_share_a_cell():
    codes, own = cells().codes(X), cells().cells(X)
    for i in range(len(X)):
        for j in range(len(X)):
            assert (codes[i] == codes[j]).all() == (own[i] == own[j])


def test_values_are_the_cells_record_in_the_types_of_the_data():
    values = cells().transform(X, output="values")
    assert list(values.columns) == ["age", "job", "pay"]
    assert values["age"].tolist() == [20, 25, 40, 40, 70, 70, 40]
    assert values["job"].tolist() == ["cook", "nurse", "nurse", "nurse", "clerk", "clerk", "nurse"]


def test_polars_and_arrays_fall_into_the_same_cells():
    polars = pytest.importorskip("polars")
    frame = polars.from_pandas(X)
    assert cells().cells(frame).tolist() == cells().cells(X).tolist()
    assert cells().transform(frame)["job"].to_list() == cells().transform(X)["job"].tolist()
    assert cells().cells(X.to_numpy(dtype=object)).tolist() == cells().cells(X).tolist()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_trees_leave_no_gap_and_no_overlap(data):
    """The toolkit's merged cells may leave gaps; here every combination of buckets has exactly one cell's box."""
    grid = detail()
    sizes = [len(p.labels) for p in grid.partitions[:2]]

    def grow(reach, depth):
        a = data.draw(st.integers(0, 1))
        here = sorted(reach[a])
        if depth == 0 or len(here) < 2 or not data.draw(st.booleans()):
            ages, jobs = sorted(reach[0]), sorted(reach[1])
            age = {0: 20, 1: 40, 2: 70, 3: None}[ages[0]]
            job = {0: "clerk", 1: "cook", 2: "nurse", 3: "zebra", 4: None}[jobs[0]]
            return [Cell(prediction=0, values=(age, job, 0.0))]
        at = data.draw(st.integers(1, len(here) - 1))
        left = set(here[:at])
        sides = [{**reach, a: left}, {**reach, a: set(here) - left}]
        return [Ask(ask=["age", "job"][a], left=tuple(left)), *grow(sides[0], depth - 1), *grow(sides[1], depth - 1)]

    partition = md.CellPartition(grid, grow({0: set(range(sizes[0])), 1: set(range(sizes[1]))}, 4))
    every = np.array([[a, j, 0] for a in range(sizes[0]) for j in range(sizes[1])])
    leaves = partition.tree.walk.leaves(every)
    inside = np.array([[all(m[row[c]] for c, m in box.items()) for box in partition.tree.boxes] for row in every])
    assert (inside.sum(axis=1) == 1).all()
    assert (inside.argmax(axis=1) == leaves).all()
    assert md.CellPartition.from_dict(json.loads(json.dumps(partition.to_dict()))) == partition


def test_cells_are_saved_line_by_line_and_loaded(tmp_path):
    path = tmp_path / "cells.json"
    cells().save(path)
    assert md.load(path) == cells()
    assert '{"ask": "job", "left": [0, 1]}' in path.read_text()
    assert '{"prediction": "yes", "values": [25, "nurse", 1.5]}' in path.read_text()


def test_attributes_in_full_detail_stay_unchanged():
    found = md.CellPartition(
        detail(), [e if isinstance(e, Ask) else Cell(values=e.values) for e in tree()], kept=[FullDetail(attribute=PAY)]
    )
    assert found.needed == ["age", "job", "pay"]
    assert found.kept == ["pay"]
    assert found.transform(X)["pay"].tolist() == X["pay"].tolist()
    assert found.transform(X, output="values")["pay"].tolist() == X["pay"].tolist()
    assert md.CellPartition.from_dict(found.to_dict()) == found
    assert md.measures.ncp(found, X).by_attribute["pay"] == 0.0


def test_possible_values_are_those_in_the_box():
    target = Target.fit(X, JOB)
    found = cells()
    codes = found.codes(X)
    mask = found.possible("job", target, codes)
    names = [*target.coding.values]
    assert [name for name, flag in zip(names, mask[0], strict=False) if flag] == ["clerk", "cook"]
    assert mask[4].all()
    own = target.encode(X)
    known = own >= 0
    assert mask[np.flatnonzero(known), own[known]].all()


def test_an_adversary_can_attack_cells():
    X, _y = md.datasets.load_adult(return_X_y=True)
    X = X[["age", "sex", "hours-per-week"]][:4000]
    schema = md.Schema.infer(X)
    g = md.Uniform(buckets=2, schema=schema).fit(X).generalization_
    left = Ask(ask="age", left=(0,))
    found = md.CellPartition(g, [left, Cell(values=(30, "Male", 40)), Cell(values=(80, "Male", 40))])
    result = md.attacks.Reconstruction(personal=["age", "sex"]).run(found, known=X[:2000], breached=X[2000:])
    assert 0 < result.error <= result.naive + 0.02


def test_a_description_names_every_cell():
    text = str(cells().describe(X))
    assert "age ≤ 59, job clerk | cook → no" in text
    assert "4 cells, 2 of 3 attributes." in text
    assert cells().describe(X).cells[0].share == pytest.approx(3 / 7, abs=1e-6)
    assert len(json.dumps(cells().describe().to_dict())) > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["cells"].pop(), "ends too early: some answers lead to no cell"),
        (lambda d: d["cells"].append({"values": [1, "cook", 0]}), "has entries after its last cell"),
        (lambda d: d["cells"][0].update(ask="salary"), "about 'salary', which is not an attribute"),
        (lambda d: d["cells"][0].update(ask="pay"), "'pay', which has no buckets"),
        (lambda d: d["cells"][0].update(left=[0, 9]), "a bucket code that the attribute does not have"),
        (lambda d: d["cells"][0].update(left=[]), "redundant: its answer is already known"),
        (lambda d: d["cells"][0].update(left=[0, 2]), "does not follow the order of its buckets"),
        (lambda d: d["cells"][3].update(left=[0, 1]), "redundant: its answer is already known"),
        (lambda d: d["cells"][2].update(values=[20, "cook"]), "2 values for 3 attributes"),
        (lambda d: d["cells"][2].update(values=[70, "cook", 0]), "'age' lies outside"),
        (lambda d: d["cells"][2].update(values=["x", "cook", 0]), "'age' is not valid"),
        (lambda d: d["cells"][2].update(extra=1), "Entry 3 of the artifact's field 'cells'"),
        (lambda d: d.update(cells=[]), "must be a list of questions and cells"),
        (lambda d: d.update(cells=["ask"]), "must be a question or a cell"),
        (lambda d: d.update(more=1), "unknown field 'more'"),
        (lambda d: d.update(version=99), "Install a newer modicum"),
        (lambda d: d.update(kept={}), "'kept' must be a list"),
        (lambda d: d.update(modicum="other"), "does not say 'cells'"),
    ],
)
def test_a_damaged_file_is_refused_in_one_sentence(change, message):
    content = json.loads(json.dumps(cells().to_dict()))
    change(content)
    with pytest.raises(ArtifactError, match=message):
        md.CellPartition.from_dict(content)


def test_records_of_actual_people_are_never_saved(tmp_path):
    found = md.CellPartition(detail(), tree(), representatives="record")
    with pytest.raises(ArtifactError, match="actual people"):
        found.save(tmp_path / "cells.json")
    with pytest.raises(ArtifactError, match="actual people"):
        found.to_dict()
    assert not (tmp_path / "cells.json").exists()


def test_bad_arguments_are_refused():
    with pytest.raises(ParameterError, match="'output'"):
        cells().transform(X, output="rows")
    with pytest.raises(ArtifactError, match="must be in full detail"):
        md.CellPartition(detail(), tree(), kept=[intervals(AGE, [50.5])])
    salary = md.Attribute(name="salary", kind="number")
    with pytest.raises(ArtifactError, match="'salary'"):
        md.CellPartition(detail(), tree(), kept=[FullDetail(attribute=salary)])


@pytest.mark.slow
def test_a_tree_of_two_thousand_questions_works():
    edges = [i + 0.5 for i in range(2000)]
    schema = md.Schema(attributes=[AGE])
    grid = md.Generalization(schema, [intervals(AGE, edges)])
    entries = []
    for i in range(2000):
        entries += [Ask(ask="age", left=(i,)), Cell(prediction=i, values=(i,))]
    partition = md.CellPartition(grid, [*entries, Cell(prediction=2000, values=(3000,))])
    X = pd.DataFrame({"age": [0, 7, 1999, 5000]})
    assert partition.cells(X).tolist() == [0, 7, 1999, 2000]
    assert md.CellPartition.from_dict(partition.to_dict()) == partition


def test_cells_are_refused_where_a_model_needs_training_on_buckets():
    with pytest.raises(ParameterError, match=r"must be a Generalization\. Got CellPartition"):
        md.utility(cells(), X, [0] * 7, X, [0] * 7)
    with pytest.raises(ParameterError, match="Got CellPartition; use `certify` and `attacks` for cells"):
        md.evidence(cells(), X, [0] * 7, X, [0] * 7)


def test_commands_describe_and_apply_cells_and_judge_refuses_them(tmp_path):
    runner = CliRunner()
    path = tmp_path / "cells.json"
    cells().save(path)
    X.to_csv(tmp_path / "people.csv", index=False)
    shown = runner.invoke(app, ["describe", str(path), str(tmp_path / "people.csv")])
    assert shown.exit_code == 0
    assert "4 cells, 2 of 3 attributes." in shown.output
    plain = runner.invoke(app, ["describe", str(path), "--json"])
    assert len(json.loads(plain.output)["cells"]) == 4
    out = tmp_path / "out.csv"
    applied = runner.invoke(app, ["apply", str(path), str(tmp_path / "people.csv"), "-o", str(out)])
    assert applied.exit_code == 0, applied.output
    assert pd.read_csv(out)["age"].tolist() == cells().transform(X)["age"].tolist()
    refused = runner.invoke(app, ["judge", str(path), str(tmp_path / "people.csv"), "--label", "pay"])
    assert "holds cells" in str(refused.exception)
