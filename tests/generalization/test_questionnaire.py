"""Questions in any order: equivalence by brute force, real records to the end, orders against all permutations."""

import json
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars
from random_cells import random_cells
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import modicum as md
from modicum.errors import ArtifactError, DataError, ParameterError
from modicum.generalization.bins import FullDetail, Groups, Interval, Intervals
from modicum.generalization.cells import Ask, Cell, CellPartition
from modicum.generalization.questionnaire import Equivalence, Questionnaire, choice_label
from modicum.measures.asking_orders import Order, compare_orders, measure_order
from modicum.measures.information_loss import share_of_width
from modicum.minimizers.model_guided.cell_search import one_cell

AGE = md.Attribute(name="age", kind="number", storage="integer", domain=(0, 100))
SCHOOL = md.Attribute(name="school", kind="ordered", domain=("none", "basic", "higher", "doctor"))
JOB = md.Attribute(name="job", kind="category", domain=("nurse", "clerk", "smith"))


def intervals(attribute, edges):
    return Intervals(attribute=attribute, buckets=[*({"up_to": e} for e in edges), {}], missing="refuse")


def groups(attribute):
    return Groups(
        attribute=attribute, buckets=[{"values": [v]} for v in attribute.domain], unseen="refuse", missing="refuse"
    )


@pytest.fixture(scope="module")
def detail():
    """Age in three ranges, school in four steps, three jobs."""
    schema = md.Schema(attributes=(AGE, SCHOOL, JOB))
    return md.Generalization(schema, [intervals(AGE, [30, 60]), groups(SCHOOL), groups(JOB)])


@pytest.fixture(scope="module")
def small(detail):
    """Young: by the school's ends against its middle. Others: by school, and those below 'doctor' by job."""
    young, old = (20, "none", "nurse"), (50, "none", "nurse")
    return CellPartition(
        detail,
        [
            Ask(ask="age", left=(0,)),
            Ask(ask="school", left=(0,)),
            Cell(prediction="yes", values=young),
            Ask(ask="school", left=(1, 2)),
            Cell(prediction="no", values=(20, "basic", "nurse")),
            Cell(prediction="yes", values=(20, "doctor", "nurse")),
            Ask(ask="school", left=(0, 1, 2)),
            Ask(ask="job", left=(0,)),
            Cell(prediction="no", values=old),
            Cell(prediction="yes", values=(50, "none", "clerk")),
            Cell(prediction="yes", values=(50, "doctor", "nurse")),
        ],
    )


def offered(state):
    return {q.name: q.choices and [(choice.label, choice.codes) for choice in q.choices] for q in state.questions}


# By hand


def test_a_small_tree_asks_the_questions_worked_out_by_hand(small):
    form = Questionnaire(small)
    assert offered(form.state()) == {
        "age": [("≤ 30", (0,)), ("≥ 31", (1, 2))],
        "school": [("none", (0,)), ("basic | higher", (1, 2)), ("doctor", (3,))],
        "job": [("nurse", (0,)), ("clerk | smith", (1, 2))],
    }
    assert offered(form.state({"age": [0]})) == {"school": [("none or doctor", (0, 3)), ("basic | higher", (1, 2))]}
    assert offered(form.state({"age": (1, 2)})) == {
        "school": [("none to higher", (0, 1, 2)), ("doctor", (3,))],
        "job": [("nurse", (0,)), ("clerk | smith", (1, 2))],
    }
    assert offered(form.state({"job": {1, 2}})) == {
        "age": [("≤ 30", (0,)), ("≥ 31", (1, 2))],
        "school": [("none or doctor", (0, 3)), ("basic | higher", (1, 2))],
    }
    done = form.state({"school": (3,)})
    assert (done.questions, done.decided, done.prediction, done.told) == ((), True, "yes", {"school": "doctor"})
    assert done.cells == (2, 5)


def test_a_coarse_answer_is_asked_again_with_the_choices_left_open(small):
    state = Questionnaire(small).state({"school": (1, 2, 3), "age": (0,)})
    assert offered(state) == {"school": [("basic | higher", (1, 2)), ("doctor", (3,))]}
    assert state.told == {"age": "≤ 30", "school": "basic to doctor"}
    assert not state.decided


def test_a_state_is_plain_data(small):
    state = Questionnaire(small).state({"age": np.array([0])})
    assert json.loads(json.dumps(state.to_dict())) == {
        "questions": [
            {
                "name": "school",
                "choices": [{"label": "none or doctor", "codes": [0, 3]}, {"label": "basic | higher", "codes": [1, 2]}],
            }
        ],
        "decided": False,
        "prediction": None,
        "values": None,
        "told": {"age": "≤ 30"},
        "cells": [0, 1, 2],
    }


def test_a_single_cell_asks_nothing(detail):
    state = Questionnaire(CellPartition(detail, [Cell(prediction=7, values=(20, "none", "nurse"))])).state()
    assert (state.decided, state.prediction, state.questions) == (True, 7, ())


def test_the_predictions_1_and_true_differ(detail):
    cells = [Cell(prediction=1, values=(20, "none", "nurse")), Cell(prediction=True, values=(50, "none", "nurse"))]
    assert len(Questionnaire(CellPartition(detail, [Ask(ask="age", left=(0,)), *cells])).state().questions) == 1


def test_labels_name_ranges_that_are_not_neighbours():
    plain = Intervals(attribute=AGE, buckets=[Interval(up_to=30), Interval(up_to=60), Interval()])
    assert choice_label(plain, (0, 2)) == "≤ 30 or ≥ 61"
    assert choice_label(plain, (1, 2, 3)) == "≥ 31 or (missing)"
    assert choice_label(plain, (0, 1, 2)) == "any value"
    assert choice_label(plain, (0, 1, 2, 3)) == "(any)"
    named = Intervals(attribute=AGE, buckets=[Interval(up_to=30, label="young"), Interval(up_to=60), Interval()])
    assert choice_label(named, (0, 2, 3)) == "young or ≥ 61 or (missing)"


# Random trees, by brute force


@pytest.fixture(scope="module")
def four():
    """Four attributes of 3 to 5 codes, `(other)` and `(missing)` among them, and records."""
    random = np.random.default_rng(5)
    X = pd.DataFrame(
        {
            "age": random.integers(0, 101, 300),
            "dose": random.random(300).round(2),
            "job": random.choice(["nurse", "clerk", "smith"], 300),
            "school": pd.Categorical(
                random.choice(["none", "basic", "higher"], 300), ["none", "basic", "higher"], True
            ),
        }
    )
    return md.Uniform(buckets=3).fit(X).generalization_, X


def grid_of(cells):
    """The prediction of each combination of codes."""
    sizes = cells.detail.sizes
    codes = np.array(list(product(*map(range, sizes))))
    predictions = np.array([cell.prediction for cell in cells.tree.cells])
    return predictions[cells.tree.walk.leaves(codes)].reshape(sizes)


def choices_by_brute_force(grid, open_):
    """Attribute → classes of codes, from all completions one by one; attributes of one class left out."""
    inside = grid[np.ix_(*open_)]
    found = {}
    for a, codes in enumerate(open_):
        classes: dict[bytes, list[int]] = {}
        for code, piece in zip(codes, np.moveaxis(inside, a, 0), strict=True):
            classes.setdefault(piece.tobytes(), []).append(code)
        if len(classes) > 1:
            found[a] = sorted(map(tuple, classes.values()))
    return found


def test_choices_are_exactly_the_classes_that_completions_distinguish(four):
    random = np.random.default_rng(0)
    seen = 0
    for n_cells in [2, 5, 8, 12, 20, 40] * 5:
        cells = random_cells(four[0], n_cells, random)
        form, grid = Questionnaire(cells), grid_of(cells)
        for _ in range(8):
            open_ = [np.arange(size) for size in grid.shape]
            for a in range(4):
                if random.random() < 0.5:
                    open_[a] = np.sort(random.choice(open_[a], random.integers(1, len(open_[a]) + 1), replace=False))
            answers = {n: c for n, c in zip(cells.names, open_, strict=True) if n in cells.needed}
            state = form.state(answers)
            expected = choices_by_brute_force(grid, open_)
            found = {cells.names.index(q.name): sorted(c.codes for c in q.choices) for q in state.questions}
            assert found == expected
            assert state.decided == (not expected)
            if state.decided:
                assert state.prediction == grid[np.ix_(*open_)].flat[0]
            seen += len(expected)
    assert seen > 200


def test_the_same_function_asked_in_another_order_is_recognised(detail):
    """School first below one side, job first below the other: the age changes nothing."""
    value = {"a": (20, "none", "nurse"), "b": (50, "none", "nurse")}

    def cell(side, school, job, prediction):
        return Cell(prediction=prediction, values=(value[side][0], school, job))

    cells = CellPartition(
        detail,
        [
            Ask(ask="age", left=(0,)),
            Ask(ask="school", left=(0,)),
            Ask(ask="job", left=(0,)),
            cell("a", "none", "nurse", "yes"),
            cell("a", "none", "clerk", "no"),
            cell("a", "basic", "nurse", "no"),
            Ask(ask="job", left=(0,)),
            Ask(ask="school", left=(0,)),
            cell("b", "none", "nurse", "yes"),
            cell("b", "basic", "nurse", "no"),
            cell("b", "none", "clerk", "no"),
        ],
    )
    assert [question.name for question in Questionnaire(cells).state().questions] == ["school", "job"]


def test_the_order_of_answers_does_not_matter(four):
    random = np.random.default_rng(1)
    for _ in range(10):
        cells = random_cells(four[0], 15, random)
        form = Questionnaire(cells)
        for record in four[1][:5].to_dict("records"):
            answers = form.answers_of(record)
            states = [form.state(dict(each)) for each in permutations(answers.items())]
            assert all(state == states[0] for state in states)
            assert states[0].decided


def test_choices_only_get_coarser_as_answers_come_in(four):
    random = np.random.default_rng(2)
    coarser = 0
    for _ in range(20):
        cells = random_cells(four[0], 25, random)
        form = Questionnaire(cells)
        record, order = four[1].iloc[int(random.integers(300))].to_dict(), random.permutation(cells.names)
        answers, before = {}, form.state()
        while not before.decided:
            name = next(n for n in order if n in offered(before))
            answers[name] = form.answer_of(before, name, record)
            after = form.state(answers)
            assert name not in offered(after)
            assert set(offered(after)) <= set(offered(before))
            for question in after.questions:
                old = next(q.choices for q in before.questions if q.name == question.name)
                assert all(any(set(o.codes) <= set(new.codes) for new in question.choices) for o in old)
                coarser += len(question.choices) < len(old)
            before = after
    assert coarser > 10


def test_the_next_questions_depend_on_the_record_and_not_on_the_order(four):
    """The search for the best order relies on this."""
    random = np.random.default_rng(3)
    for _ in range(10):
        form = Questionnaire(random_cells(four[0], 25, random))
        record = four[1].iloc[int(random.integers(300))].to_dict()
        for some in (["age", "job"], ["age", "dose", "school"]):
            found = []
            for order in permutations(some):
                answers = {}
                for name in order:
                    state = form.state(answers)
                    if name in offered(state):
                        answers[name] = form.answer_of(state, name, record)
                found.append(offered(form.state(answers)))
            assert all(each == found[0] for each in found)


# Large trees


def test_a_tree_of_2000_questions_in_a_row_works():
    number = md.Attribute(name="n", kind="number", storage="integer")
    detail = md.Generalization(md.Schema(attributes=(number,)), [intervals(number, list(range(2000)))])
    entries = []
    for i in range(2000):
        entries += [Ask(ask="n", left=(i,)), Cell(prediction=i % 2, values=(i,))]
    form = Questionnaire(CellPartition(detail, [*entries, Cell(prediction=2, values=(2000,))]))
    even, odd, last = form.state().questions[0].choices
    assert even.codes == tuple(range(0, 2000, 2))
    assert odd.codes == tuple(range(1, 2000, 2))
    assert (last.label, last.codes) == ("≥ 2000", (2000,))
    assert form.state({"n": odd}).prediction == 1


def test_ten_thousand_cells_work():
    random = np.random.default_rng(4)
    X = pd.DataFrame(random.random((500, 6)), columns=list("abcdef"))
    cells = random_cells(md.Uniform(buckets=20).fit(X).generalization_, 10_000, random)
    form, record = Questionnaire(cells), X.iloc[0].to_dict()
    answers = form.answers_of(record, order=list("fedcba"))
    assert form.state(answers).prediction == cells.tree.cells[cells.cells(X)[0]].prediction


# Real records


@pytest.fixture(scope="module")
def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    X = X[["age", "workclass", "education", "relationship", "capital-gain", "hours-per-week"]]
    words = ["workclass", "education", "relationship"]
    coder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(
        make_column_transformer((coder, words), remainder="passthrough"),
        HistGradientBoostingClassifier(max_iter=20, random_state=0),
    )
    model.fit(X[:8000], y[:8000])
    return md.ModelGuided(model, target_agreement=0.95, random_state=0).fit(X[8000:16000]).cells_, X


def ask_everyone(form, codes, order):
    """Ask all rows of codes in this order; yield (rows, final state, number of questions) for each set of answers."""
    waiting = [(np.arange(len(codes)), {}, form.state())]
    while waiting:
        rows, answers, state = waiting.pop()
        question = next((q for name in order for q in state.questions if q.name == name), None)
        if question is None:
            yield rows, state, len(answers)
            continue
        own = codes[rows, form.cells.names.index(question.name)]
        for choice in question.choices:
            chosen = np.isin(own, choice.codes)
            if chosen.any():
                more = {**answers, question.name: choice}
                waiting.append((rows[chosen], more, form.state(more)))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_questions_always_end_in_the_prediction_of_the_records_own_cell(adult, seed):
    cells, X = adult
    form = Questionnaire(cells)
    codes, which = np.unique(cells.detail.codes(X), axis=0, return_inverse=True)
    own = np.array([cell.prediction for cell in cells.tree.cells])
    predictions = np.empty(len(codes), dtype=own.dtype)
    counts = np.zeros(len(codes))
    order = np.random.default_rng(seed).permutation(cells.names).tolist()
    for rows, state, count in ask_everyone(form, codes, order):
        assert state.decided
        predictions[rows], counts[rows] = state.prediction, count
    assert (predictions[which.reshape(-1)] == own[cells.cells(X)]).all()
    assert counts.max() > counts.min()
    few = X[:1500]
    found = measure_order(form, few, order)
    assert found.questions == pytest.approx(counts[which.reshape(-1)][:1500].mean())
    assert found.attributes == tuple(name for name in order if name in found.asked)


def test_a_row_of_codes_and_a_record_give_the_same_answers(adult):
    cells, X = adult
    form = Questionnaire(cells)
    for record, codes in zip(X[:10].to_dict("records"), cells.detail.codes(X[:10]), strict=True):
        assert form.answers_of(record) == form.answers_of(codes)


# Attributes that are kept


@pytest.fixture(scope="module")
def keeping():
    """Cells that keep the exact income and use age in two ranges and the job above 40, but not the sex."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": random.integers(18, 80, 200),
            "income": random.integers(1000, 5000, 200) / 2,
            "job": random.choice(["nurse", "clerk", "smith"], 200),
            "sex": random.choice(["f", "m"], 200),
        }
    )
    g = md.Uniform(buckets=2).fit(X).generalization_
    kept = FullDetail(attribute=g["income"].attribute)
    assert g["job"].labels == ("clerk | smith", "nurse", "(other)", "(missing)")
    cells = CellPartition(
        g,
        [
            Ask(ask="age", left=(0, 2)),
            Ask(ask="income", left=(0,)),
            Cell(values=(20, 1000, "nurse", "f")),
            Cell(values=(20, 2000, "clerk", "f")),
            Ask(ask="job", left=(1,)),
            Cell(values=(70, 1000, "nurse", "f")),
            Cell(values=(70, 1000, "clerk", "f")),
        ],
        kept=[kept],
    )
    return cells, X


def test_kept_attributes_are_asked_exactly_and_given_to_the_model(keeping):
    cells, X = keeping
    form = Questionnaire(cells)
    assert offered(form.state())["income"] is None
    expected = cells.transform(X[:40], output="values")
    for record, wanted in zip(X[:40].to_dict("records"), expected.to_dict("records"), strict=True):
        state = form.state(form.answers_of(record, order=["job", "sex"]))
        assert (state.decided, state.prediction, state.values) == (True, None, wanted)
        assert state.told["income"] == f"{record['income']:g}"


def test_kept_attributes_stay_open_until_answered(keeping):
    cells, X = keeping
    form = Questionnaire(cells)
    answers = form.answers_of(X.iloc[0].to_dict())
    income = answers.pop("income")
    state = form.state(answers)
    assert (offered(state), state.decided, state.values) == ({"income": None}, False, None)
    assert form.state({**answers, "income": income}).decided
    with pytest.raises(ParameterError, match="'income' must be a single value"):
        form.state({"income": [1, 2]})
    with pytest.raises(DataError, match="'income' should hold a number"):
        form.state({"income": "secret"})
    with pytest.raises(ParameterError, match="about 'income' needs its exact value"):
        form.answer_of(form.state(), "income", cells.detail.codes(X)[0])


def test_a_kept_value_makes_the_other_questions_coarser(detail):
    kept = FullDetail(attribute=AGE)
    entries = [
        Ask(ask="age", left=(0,)),
        Cell(values=(20, "none", "nurse")),
        Ask(ask="job", left=(0,)),
        Cell(values=(50, "none", "nurse")),
        Cell(values=(50, "none", "smith")),
    ]
    form = Questionnaire(CellPartition(detail, entries, kept=[kept]))
    assert offered(form.state({"job": (1,)})) == {"age": None}
    young = form.state({"age": 29.0})
    assert (young.decided, young.values) == (True, {"age": 29, "school": "none", "job": "nurse"})
    assert list(offered(form.state({"age": 31}))) == ["job"]
    assert form.state({"age": 31, "job": (2,)}).values == {"age": 31, "school": "none", "job": "smith"}


def test_an_unseen_kept_category_is_labelled_and_valued_as_by_the_artifact(detail):
    kept = Groups(attribute=JOB, buckets=[{"values": [v]} for v in JOB.domain], value="clerk")
    cells = CellPartition(detail, [Cell(values=(20, "none", "nurse"))], kept=[kept])
    open_minded = md.Generalization(detail.schema, [*detail.partitions[:2], kept])
    form = Questionnaire(CellPartition(open_minded, [Cell(values=(20, "none", "nurse"))], kept=[kept]))
    for job, label, value in [("smith", "smith", "smith"), ("spy", "(other)", "clerk"), (None, "(missing)", None)]:
        state = form.state({"job": job})
        assert (state.told, state.values) == ({"job": label}, {"age": 20, "school": "none", "job": value})
    with pytest.raises(DataError, match="'job' has 1 unseen values"):
        Questionnaire(cells).state({"job": "spy"})


def test_a_kept_date_is_plain_text():
    day = md.Attribute(name="day", kind="date", storage="date")
    g = md.Generalization(md.Schema(attributes=(day,)), [intervals(day, ["2020-01-01"])])
    entries = [Ask(ask="day", left=(0,)), Cell(values=("2019-01-01",)), Cell(values=("2021-01-01",))]
    form = Questionnaire(CellPartition(g, entries, kept=[FullDetail(attribute=day)]))
    state = form.state({"day": pd.Timestamp("2021-05-04")})
    assert (state.values, state.told, state.cells) == ({"day": "2021-05-04"}, {"day": "2021-05-04"}, (1,))


def test_records_of_actual_people_are_not_shown(detail):
    entries = [Ask(ask="age", left=(0,)), Cell(values=(20, "none", "nurse")), Cell(values=(50, "none", "nurse"))]
    with pytest.raises(ArtifactError, match="actual people"):
        Questionnaire(CellPartition(detail, entries, kept=[FullDetail(attribute=AGE)], representatives="record"))


# Bad answers


@pytest.mark.parametrize(
    "answer", [(), [], set(), "none", b"\0", 0, None, True, [True], [-1], [4], [0.0], ["0"], [[0]], {0: 1}, np.array(1)]
)
def test_an_answer_that_is_not_a_set_of_codes_is_refused_by_name(small, answer):
    with pytest.raises(ParameterError, match=r"^The answer about 'school' must be one of its choices") as caught:
        Questionnaire(small).state({"school": answer})
    assert str(caught.value).count(".") == 1


def test_answers_to_questions_not_asked_are_refused(detail, small):
    form = Questionnaire(small)
    with pytest.raises(ParameterError, match="about 'name', which is not an attribute of the cells"):
        form.state({"name": [0]})
    with pytest.raises(ParameterError, match=r"must map attributes to answers. Got list"):
        form.state([0])
    two = [Cell(prediction=i, values=(20 + 30 * i, "none", "nurse")) for i in range(2)]
    with pytest.raises(ParameterError, match="answer about 'job', which is not asked"):
        Questionnaire(CellPartition(detail, [Ask(ask="age", left=(0,)), *two])).state({"job": [0]})
    with pytest.raises(ParameterError, match=r"made of cells. Got Generalization"):
        Questionnaire(detail)


def test_a_record_that_does_not_fit_is_refused_without_its_values(small):
    form = Questionnaire(small)
    state = form.state({"school": (1, 2, 3)})
    with pytest.raises(ParameterError, match="contradicts the earlier answer about 'school'"):
        form.answer_of(state, "school", {"school": "none"})
    with pytest.raises(ParameterError, match="has no value of 'age'"):
        form.answer_of(state, "age", {"school": "none"})
    with pytest.raises(ParameterError, match="no open question about 'wealth'"):
        form.answer_of(state, "wealth", {"wealth": 1})
    with pytest.raises(DataError, match="'job'") as caught:
        form.answer_of(state, "job", {"job": "spy"})
    assert "spy" not in str(caught.value)


# Orders


def ncp_of_codes(cells, name, codes, X):
    """NCP of a set of codes, computed in the simplest way."""
    partition = cells.detail[name]
    if isinstance(partition, Groups):
        n_values = sum(len(partition.buckets[code].values) for code in codes if code < partition.n_buckets)
        return n_values / sum(len(bucket.values) for bucket in partition.buckets) if n_values > 1 else 0.0
    ends = [-np.inf, *partition.edges, np.inf]
    own = [code for code in codes if code < partition.n_buckets]
    runs = np.split(own, np.flatnonzero(np.diff(own) > 1) + 1)
    domain = (X[name].min(), X[name].max())
    return sum(share_of_width(ends[run[0]], ends[run[-1] + 1], partition.attribute, domain) for run in runs)


def follow_order(form, X, order, states, weights):
    """Questions and NCP of an order, record by record."""
    questions, ncp = [], []
    for record in X.to_dict("records"):
        answers = {}
        for name in order:
            key = tuple(sorted(answers.items()))
            if key not in states:
                states[key] = form.state(answers)
            if any(question.name == name for question in states[key].questions):
                answers[name] = form.answer_of(states[key], name, record).codes
        questions.append(len(answers))
        lost = {name: ncp_of_codes(form.cells, name, codes, X) for name, codes in answers.items()}
        ncp.append(
            np.average(
                [lost.get(n, 1.0) for n in form.cells.names], weights=[weights.get(n, 1) for n in form.cells.names]
            )
        )
    return np.mean(questions), np.mean(ncp)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_orders_are_the_best_of_all_permutations(four, seed):
    X = four[1][:60]
    cells = random_cells(four[0], 14, np.random.default_rng(seed + 10))
    form, sensitivity, states = Questionnaire(cells), {"age": 3.0, "job": 0.5}, {}
    every = {order: follow_order(form, X, order, states, sensitivity) for order in permutations(cells.names)}
    for order, (questions, ncp) in every.items():
        found = measure_order(form, X, order, sensitivity=sensitivity)
        assert (found.questions, found.ncp) == (pytest.approx(questions), pytest.approx(ncp))
    fewest, least, _, random = compare_orders(form, X, sensitivity=sensitivity)
    assert fewest.questions == pytest.approx(min(questions for questions, _ in every.values()))
    assert least.ncp == pytest.approx(max(ncp for _, ncp in every.values()))
    assert fewest.proven
    assert least.proven
    assert random.questions >= fewest.questions
    assert max(questions for questions, _ in every.values()) > fewest.questions  # otherwise the test shows nothing


def test_no_order_asks_fewer_questions_than_the_best_on_real_records(adult):
    cells, X = adult
    form = Questionnaire(cells)
    fewest, least, cheapest, random = compare_orders(form, X, cost={"relationship": 9}, sensitivity={"age": 5})
    assert fewest.proven
    assert fewest.questions < min(cheapest.questions, random.questions)
    assert fewest.questions <= least.questions
    assert least.ncp > max(cheapest.ncp, random.ncp)
    assert least.ncp >= fewest.ncp
    assert cheapest.attributes[-1] == "relationship"
    assert random.attributes is None
    for order in (fewest, least, cheapest, random):
        assert order.questions == pytest.approx(sum(order.asked.values()))


def test_a_narrow_search_is_no_better_than_a_whole_one_and_not_always_proven(four, monkeypatch):
    from modicum.measures import asking_orders

    proven = []
    for seed in range(6):
        form = Questionnaire(random_cells(four[0], 30, np.random.default_rng(seed)))
        whole = compare_orders(form, four[1])[0]
        monkeypatch.setattr(asking_orders, "_WIDTH", 1)
        narrow = compare_orders(form, four[1])[0]
        monkeypatch.undo()
        assert whole.proven
        assert narrow.questions >= whole.questions - 1e-12
        if narrow.proven:
            assert narrow.questions == pytest.approx(whole.questions)
        proven.append(narrow.proven)
    assert not all(proven)


def test_an_order_of_one_question_has_the_ncp_of_its_cells(detail):
    """Everyone answers one question: the order's NCP is that of the cells."""
    cells = CellPartition(
        detail,
        [
            Ask(ask="school", left=(0, 1)),
            Cell(prediction=0, values=(20, "none", "nurse")),
            Ask(ask="school", left=(2,)),
            Cell(prediction=1, values=(20, "higher", "nurse")),
            Cell(prediction=2, values=(20, "doctor", "nurse")),
        ],
    )
    X = pd.DataFrame({"age": [20, 40, 60], "school": ["none", "higher", "doctor"], "job": ["nurse"] * 3})
    found = measure_order(Questionnaire(cells), X, ["school"], sensitivity={"school": 2})
    assert found.ncp == pytest.approx(md.measures.ncp(cells, X, weights={"school": 2}).gcp)
    assert found.asked == {"school": 1.0}


def test_kept_attributes_come_first_and_cost_all_their_detail(keeping):
    cells, X = keeping
    for order in compare_orders(Questionnaire(cells), X, sensitivity={"age": 0, "job": 0, "sex": 0}):
        assert order.asked["income"] == 1.0
        assert order.ncp == 0.0
        assert order.attributes is None or order.attributes[0] == "income"


def test_orders_are_the_same_for_both_frames_and_every_run(adult):
    cells, X = adult
    form = Questionnaire(cells)
    found = compare_orders(form, X[:3000])
    assert compare_orders(form, as_polars(X[:3000])) == found
    assert json.loads(json.dumps([order.to_dict() for order in found]))[0]["name"] == "fewest questions"
    assert isinstance(found[0], Order)


def test_without_questions_every_order_asks_none(detail):
    X = pd.DataFrame({"age": [20], "school": ["none"], "job": ["nurse"]})
    form = Questionnaire(CellPartition(detail, [Cell(prediction=0, values=(20, "none", "nurse"))]))
    assert [(order.questions, order.ncp) for order in compare_orders(form, X)] == [(0, 1.0)] * 4


def test_orders_refuse_invalid_parameters(small):
    form = Questionnaire(small)
    X = pd.DataFrame({"age": [20], "school": ["none"], "job": ["nurse"]})
    for options, message in [
        ({"cost": {"name": 1}}, "'cost' parameter names 'name'"),
        ({"cost": {"age": -1}}, "'cost' parameter must give 'age' a number ≥ 0"),
        ({"sensitivity": [1]}, "'sensitivity' parameter must map names to numbers. Got list"),
        ({"sensitivity": {"age": float("nan")}}, "must give 'age' a number ≥ 0"),
        ({"sensitivity": dict.fromkeys(["age", "school", "job"], 0)}, "at least one attribute a number above 0"),
        ({"random_orders": 0}, "'random_orders' parameter of compare_orders must be an int ≥ 1"),
    ]:
        with pytest.raises(ParameterError, match=message):
            compare_orders(form, X, **options)
    with pytest.raises(ParameterError, match="'attributes' parameter must be a list of names"):
        measure_order(form, X, ["name"])
    with pytest.raises(DataError, match="no rows"):
        compare_orders(form, X[:0])


def test_fingerprints_do_not_overflow():
    """Many cells with one result: the sums stay exact."""
    boxes = {0: np.eye(5000, dtype=bool), 1: np.ones((5000, 3), dtype=bool)}
    found = Equivalence.of(boxes, np.arange(5000) % 2).classes(boxes)
    assert found[0][0].tolist() == [i % 2 for i in range(5000)]
    assert found[1].tolist() == [[0, 0, 0]]


def test_attributes_kept_in_buckets_are_asked_in_buckets():
    """A single cell with the buckets of a generalization: no exact value is ever asked for."""
    X = pd.DataFrame({"age": [20, 40, 60, 80], "job": ["nurse", "clerk", "nurse", "cook"]})
    g = md.Uniform(buckets=2).fit(X).generalization_
    cells = one_cell(g, "synthetic")
    form = Questionnaire(cells)
    age, job = form.state().questions
    assert [choice.label for choice in age.choices] == list(g["age"].labels)
    assert {choice.label for choice in job.choices} == set(g["job"].labels)
    answers = form.answers_of({"age": 45, "job": "clerk"})
    state = form.state(answers)
    assert state.decided
    values = g.transform(pd.DataFrame({"age": [45], "job": ["clerk"]}), output="values")
    assert state.values == {"age": values["age"][0], "job": values["job"][0]}
    assert 45 not in state.values.values()
    with pytest.raises(ParameterError, match="'age' must be a single choice"):
        form.state({"age": (0, 1)})
    orders = compare_orders(form, X)
    assert orders[0].ncp == pytest.approx(md.measures.ncp(g, X).gcp)
