"""The study: what it compares, how it chooses, and that finished work is never lost or repeated."""

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars
from engine_places import LAZY
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

import modicum as md
from modicum.engines import table_at
from modicum.engines.sampling import draw_records
from modicum.errors import DataError, ParameterError, StoppedWarning
from modicum.evaluation.study import grids
from modicum.evaluation.study import work as study_work
from modicum.evaluation.study.judges import read_off, screen_generalization
from modicum.evaluation.study.study_data import StudyData
from modicum.generalization.build import drop, keep
from modicum.learners.backoff import Backoff, most_likely
from modicum.learners.inputs import Inputs, count_table
from modicum.measures.front import on_front
from modicum.minimizers.base import Minimizer
from modicum.table.splits import split_rows

GRIDS = {
    "MergePath": {"mix": [0.5]},
    "PrivacyTree": {"privacy": [0.0, 0.5], "max_leaves": [2, 8], "min_leaf": [50]},
    "FeatureSelection": {"k": [2, "all"]},
    "Uniform": {"buckets": [1, 2]},
    "Iterative": {"share": [0.0, 0.5]},
}


@pytest.fixture(scope="module")
def adult():
    data = md.datasets.load_adult()
    schema = data.schema.with_roles(personal=["race", "sex", "age"])
    return data.X[:2_500], data.y[:2_500], schema


@pytest.fixture(scope="module")
def found(adult, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "results"
    return small(adult, folder=folder, seeds=2), folder


def small(adult, **options):
    X, y, schema = adult
    return md.study(X, y, schema=schema, **{"grids": GRIDS, "seeds": 1, "progress": False, **options})


def same(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    """Return whether two tables are equal except for the seconds."""
    return a.drop(columns="seconds").equals(b.drop(columns="seconds"))


def test_there_is_one_row_for_every_different_generalization(found):
    study, folder = found
    table = study.table()
    written = pd.read_csv(folder / "table.csv")
    assert len(table) == len(written) == len(study.candidates)
    assert set(table.minimizer) == set(GRIDS)
    assert set(table.seed) == {0, 1}
    assert {"buckets", "error", "adversary_error", "risk: race", "smallest_group", "seconds"} <= set(table)
    for seed in (0, 1):
        for name in GRIDS:
            artifacts = [json.dumps(c.artifact) for c in study.of(name, seed)]
            assert len(artifacts) == len(set(artifacts))


def test_the_rows_agree_with_judging_the_generalization_by_hand(found, adult):
    X, y, _ = adult
    study, _ = found
    parts = split_rows(y, random_state=0)
    candidate = study.choose(max_error=0.25).candidate
    g = candidate.generalization
    train, test = (X.iloc[parts.train], y.iloc[parts.train]), (X.iloc[parts.test], y.iloc[parts.test])
    assert candidate.error == pytest.approx(md.utility(g, *train, *test).error)
    attack = md.attacks.Reconstruction().run(g, train[0], test[0])
    assert candidate.adversary_error == pytest.approx(attack.error, abs=0.02)  # the attack tunes L2
    assert candidate.screened.smallest_group == md.measures.k_anonymity(g.transform(test[0]))


def test_the_front_is_chosen_on_validation_records(found):
    study, _ = found
    judged = [c for c in study.of() if c.judged]
    front = study.pareto()
    is_on = on_front([c.point("validation") for c in judged])
    assert {c.name for c in front} == {c.name for c, chosen in zip(judged, is_on, strict=True) if chosen}
    assert all(c.seed == 0 for c in front)
    screened_front = on_front([c.point("validation", judged=False) for c in study.of()])
    assert [c.judged is not None for c in study.of()] == screened_front.tolist()


def test_certificates_in_the_table_split_delta_over_all_candidates(found, adult):
    X, y, _ = adult
    study, _ = found
    parts = split_rows(y, random_state=0)
    c = study.pareto()[0]
    pieces = [json.loads(p.read_text()) for p in Path(found[1], "pieces").glob("[01]-1.0-*.json")]
    many = sum(len(piece["found"]) for piece in pieces)
    by_hand = md.certify(
        c.generalization, X.iloc[parts.validation], confidence=0.99, known=X.iloc[parts.train], candidates=many
    )
    assert c.certified_error == pytest.approx(1 - by_hand.mean, abs=1e-9)


def test_the_quoted_certificate_uses_only_test_records(found, adult):
    X, y, _ = adult
    choice = found[0].choose(knee=True)
    parts = split_rows(y, random_state=0)
    by_hand = md.certify(choice.generalization, X.iloc[parts.test], known=X.iloc[parts.train])
    assert choice.certificate.bounds == pytest.approx(by_hand.bounds)


def test_a_target_is_met_on_validation_records_by_the_most_private(found):
    study, _ = found
    choice = study.choose(max_error=0.22)
    error, adversary = choice.candidate.point("validation")
    within = [c.point("validation")[1] for c in study.pareto() if c.point("validation")[0] <= 0.22]
    assert error <= 0.22
    assert adversary == max(within)
    assert study.skill(study.choose(keep=0.5).candidate, "validation") >= 0.5


def test_an_unreachable_target_names_the_best_reachable_one(found):
    study, _ = found
    with pytest.raises(
        DataError, match=r"No candidate has an error of at most 0\.001; the best reachable, .* has 0\.\d+"
    ):
        study.choose(max_error=0.001)
    with pytest.raises(DataError, match=r"keeps 100% of the raw model's skill; the best reachable"):
        study.choose(keep=1.0)


@pytest.mark.parametrize(
    "target", [{}, {"keep": 0.5, "knee": True}, {"keep": 2}, {"max_error": "low"}, {"keep": True}, {"max_error": -0.1}]
)
def test_bad_targets_are_refused(found, target):
    with pytest.raises(ParameterError):
        found[0].choose(**target)


def test_hypervolume_and_reached_use_the_front_by_counts(found):
    study, _ = found
    volume = study.hypervolume()["PrivacyTree"]
    assert set(volume.by_seed) == {0, 1}
    assert volume.mean == pytest.approx(np.mean(list(volume.by_seed.values())))
    assert volume.interval[0] < volume.mean < volume.interval[1]
    assert 0 < study.hypervolume()["Uniform"].mean < volume.mean < 1
    assert list(study.reached()["PrivacyTree"]) == [0.005, 0.01, 0.02]


def test_each_minimizers_front_can_be_judged(adult):
    study = small(adult, fronts_of="each", minimizers=["PrivacyTree", "Uniform"])
    for name in study.minimizers:
        own = study.of(name)
        is_on = on_front([c.point("validation", judged=False) for c in own])
        assert all(c.judged is not None for c, chosen in zip(own, is_on, strict=True) if chosen)
        assert study.hypervolume()[name].judged is not None


def test_the_number_of_cores_does_not_change_the_table(adult, found):
    again = small(adult, seeds=2, n_jobs=1)
    assert same(again.table(), found[0].table())


@pytest.mark.slow
@pytest.mark.parametrize("place", LAZY)
def test_a_table_in_an_engine_is_sampled(place, held, adult):
    X, y, schema = adult
    table = held(place, X.assign(**{y.name: y}))
    options = {"grids": {"Uniform": GRIDS["Uniform"]}, "minimizers": ["Uniform"], "progress": False}
    found = md.study(table, y.name, schema=schema, sample=1_500, **options)
    few = draw_records(table_at(table), [*X.columns, y.name], 1_500).to_pandas()
    again = md.study(few.drop(columns=y.name), few[y.name], schema=schema, **options)
    assert found.settings["records"] == 1_500
    assert same(found.table(), again.table())


def test_the_label_of_a_table_in_an_engine_must_be_a_columns_name(adult, held):
    X, y, schema = adult
    with pytest.raises(md.errors.ParameterError, match="must be the name of one of its columns"):
        md.study(held("duckdb", X), y, schema=schema)


@pytest.mark.services
def test_sparks_executors_make_the_same_table(adult, found, spark):
    again = small(adult, seeds=2, workers=spark)
    assert same(again.table(), found[0].table())


def test_workers_must_be_a_spark_session(adult):
    with pytest.raises(md.errors.ParameterError, match="'workers' parameter"):
        small(adult, workers="spark")


def test_a_finished_study_repeats_nothing(adult, found, monkeypatch):
    def never(*args, **options):
        raise AssertionError("this was finished")

    study, folder = found
    for name in ("screen_generalization", "judge_generalization", "measure_limits"):
        monkeypatch.setattr(study_work, name, never)
    again = small(adult, folder=folder, seeds=2)
    assert again.table().equals(study.table())
    assert (again.candidates, again.limits) == (study.candidates, study.limits)


@pytest.mark.parametrize("damaged", ["{", '{"skipped": null}', '{"skipped": null, "found": [{"parameters": {}}]}'])
def test_a_damaged_piece_is_named(adult, tmp_path, damaged):
    small(adult, folder=tmp_path, minimizers=["Uniform"])
    piece = next((tmp_path / "pieces").glob("0-1.0-Uniform-*.json"))
    piece.write_text(damaged)
    with pytest.raises(DataError, match=rf"{piece.name}' of the study cannot be read; remove it"):
        small(adult, folder=tmp_path, minimizers=["Uniform"])


def test_a_study_goes_on_with_more_seeds_and_minimizers(adult, tmp_path, monkeypatch):
    small(adult, folder=tmp_path, minimizers=["Uniform"])
    tried = []
    monkeypatch.setattr(
        study_work, "screen_generalization", lambda g, data: tried.append(data.seed) or screen_generalization(g, data)
    )
    wider = small(adult, folder=tmp_path, minimizers=["Uniform"], seeds=[0, 3])
    assert set(tried) == {3}
    assert set(wider.table().seed) == {0, 3}


def test_smaller_training_sizes_are_part_of_the_larger(adult):
    X, y, schema = adult
    data = StudyData(X, y, schema, None, None).split_by_seed(0)
    small_rows, large_rows = data.sample(0.05), data.sample(0.3)
    assert set(small_rows) <= set(large_rows) <= set(data.parts.train)
    study = small(adult, minimizers=["PrivacyTree"], train_sizes=[0.3])
    assert study.train_sizes == [1.0, 0.3]
    assert study.hypervolume(0.3)["PrivacyTree"].mean > 0


def test_other_records_are_judged_with_the_same_generalizations(adult, tmp_path):
    full = md.datasets.load_adult()
    now = full.X[2_500:5_000], full.y[2_500:5_000]
    study = small(adult, minimizers=["PrivacyTree"], later={"now": now}, folder=tmp_path)
    later = study.later["now"]
    assert [c.name for c, _ in later.points] == [c.name for c in study.pareto()]
    assert later.people == 750
    candidate, (error, _) = later.points[-1]
    parts = split_rows(now[1], random_state=0)
    pair = [(now[0].iloc[rows], now[1].iloc[rows]) for rows in (parts.train, parts.test)]
    assert error == pytest.approx(md.utility(candidate.generalization, *pair[0], *pair[1]).error)


def test_weights_are_in_every_mean(adult):
    plain, heavy = (small(adult, minimizers=["Uniform"], weights=w) for w in (None, {"race": 8}))
    c, d = plain.of()[-1], heavy.of()[-1]
    risk = d.scores("test", judged=False).risk
    assert d.point("test", judged=False)[1] == pytest.approx(0.8 * risk["race"] + 0.1 * risk["sex"] + 0.1 * risk["age"])
    assert c.point("test", judged=False)[1] == pytest.approx(np.mean(list(risk.values())))


def test_a_persons_rows_are_never_on_two_sides(adult):
    X, y, schema = adult
    X = X.assign(who=np.arange(len(X)) // 2)
    schema = md.Schema.infer(X).with_roles(personal=["race"], person="who")
    data = StudyData(X, y, schema, None, None).split_by_seed(0)
    sides = [set(X["who"].iloc[rows]) for rows in (data.parts.train, data.parts.validation, data.parts.test)]
    assert sum(map(len, sides)) == len(set.union(*sides))
    study = md.study(X, y, schema=schema, minimizers=["Uniform"], grids=GRIDS, seeds=1, progress=False)
    assert study.limits[0].people["test"] == len(sides[2])
    assert "who" not in study.of()[0].generalization.names


def test_polars_frames_and_numeric_labels_are_accepted(adult):
    X, y, schema = adult
    options = {"minimizers": ["Uniform"], "grids": GRIDS, "seeds": 1, "progress": False, "schema": schema}
    assert same(md.study(as_polars(X), y, **options).table(), md.study(X, y, **options).table())
    hours = X["hours-per-week"].rename("hours")
    rest = X.drop(columns="hours-per-week")
    study = md.study(rest, hours, personal=["sex"], minimizers=["Uniform"], grids=GRIDS, seeds=1, label_bins=3)
    assert 0 < study.limits[0].test.raw_error < study.limits[0].test.majority_error < 1


def test_parameters_that_cannot_be_fitted_are_skipped_with_the_reason(adult):
    grid = {"PrivacyTree": {"privacy": [0.1], "max_leaves": [4], "min_leaf": [50, 5_000]}}
    study = small(adult, minimizers=["PrivacyTree"], grids=grid)
    assert len(study.skipped) == 1
    assert "cannot split 1,500 records" in study.skipped[0]
    assert study.candidates


def test_screening_guesses_like_counts_with_back_off():
    random = np.random.default_rng(0)
    codes = random.integers(0, 3, (3_000, 14))
    inputs, cells = Inputs(codes, (3,) * 14, np.zeros((3_000, 0))).distinct()
    values = [codes[:, 0], random.integers(0, 5, 3_000), random.integers(0, 90, 3_000), codes[:, 1] * codes[:, 2]]
    known = random.random(3_000) < 0.6
    tables = [count_table(cells[known], v[known], (len(inputs), int(v.max()) + 1)) for v in values]
    by_backoff = [scores.argmax(axis=1) for scores in Backoff().fit(inputs, tables).predict(inputs)]
    for one, other in zip(most_likely(inputs, tables), by_backoff, strict=True):
        assert (one == other).all()


def test_visible_values_are_guessed_right_and_unknown_ones_never(adult):
    X, y, schema = adult
    X = X.copy()
    data = StudyData(X, y, schema, None, None).split_by_seed(0)
    rare = data.parts.test[:5]
    X.iloc[rare, X.columns.get_loc("race")] = "nobody's"
    data = StudyData(X, y, schema, None, None).split_by_seed(0)
    g = md.FeatureSelection(k=12, schema=schema).fit(X.iloc[data.parts.train], y.iloc[data.parts.train]).generalization_
    answers = read_off(g, data.whole.columns.codes(g), data)
    assert set(answers) == {"race", "sex", "age"}
    assert screen_generalization(g, data).test.risk["race"] == pytest.approx(5 / len(data.parts.test))
    assert screen_generalization(g, data).test.risk["sex"] == 0


def test_a_personal_number_in_full_detail_is_read_off():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"pay": random.lognormal(10, 0.5, 2_000).round(2), "job": random.choice(list("abcd"), 2_000)})
    y = pd.Series(np.where(np.log(X.pay) + random.normal(0, 0.3, 2_000) > 10, "rich", "poor"), name="wealth")
    found = md.study(
        X, y, personal=["pay"], minimizers="FeatureSelection", grids={"FeatureSelection": {"k": [1]}}, seeds=1
    )
    (candidate,) = found.of()
    assert candidate.generalization["pay"].action == "kept"
    assert candidate.point("test", judged=False)[1] == 0
    assert candidate.point("test")[1] == 0


def test_a_number_with_many_values_is_predicted_by_ranges(adult):
    X, _, _ = adult
    score = (X["age"] + np.random.default_rng(0).normal(0, 5, len(X))).rename("score")
    study = md.study(X.drop(columns="age"), score, personal=["sex"], minimizers="Uniform", seeds=1, label_bins=3)
    assert study.limits[0].people == {"validation": 250, "test": 750}
    data = StudyData(X, score, md.Schema.infer(X), None, 3).split_by_seed(0)
    assert len(data.sample(0.05)) <= 0.05 * len(data.parts.train) + 3


def test_another_confidence_gives_another_certificate(adult, tmp_path):
    low, high = (small(adult, minimizers=["Uniform"], folder=tmp_path, confidence=c) for c in (0.9, 0.999))
    assert low.choose(knee=True).certificate.confidence == 0.9
    assert high.choose(knee=True).certificate.confidence == 0.999
    assert high.of()[-1].certified_error < low.of()[-1].certified_error


def test_values_that_differ_in_the_eighth_digit_are_different_pieces(adult, tmp_path):
    tried = []
    for privacy in (0.70000001, 0.7):
        grid = {"PrivacyTree": {"privacy": [privacy], "max_leaves": [4]}}
        tried.append(
            small(adult, minimizers=["PrivacyTree"], grids=grid, folder=tmp_path).of()[0].parameters["privacy"]
        )
    assert tried == [0.70000001, 0.7]


def test_a_folder_used_with_other_minimizers_changes_nothing(adult, tmp_path):
    small(adult, folder=tmp_path, minimizers=["Uniform"])
    used = small(adult, folder=tmp_path, minimizers=["PrivacyTree", "Uniform"])
    assert same(used.table(), small(adult, minimizers=["PrivacyTree", "Uniform"]).table())


def test_a_label_that_nothing_predicts_leaves_no_skill_to_keep(adult):
    X, _, schema = adult
    y = pd.Series(np.random.default_rng(1).choice(["a", "b"], len(X), p=[0.9, 0.1]), name="income")
    study = md.study(X, y, schema=schema, minimizers="Uniform", seeds=1)
    assert study.is_weak
    if study.limits[0].log_losses["validation"][0] >= study.limits[0].log_losses["validation"][1]:
        with pytest.raises(DataError, match="there is no skill to keep"):
            study.choose(keep=0)
    md.report(study)


def test_the_coarsened_choice_is_judged_like_the_others(adult, found):
    X, y, _ = adult
    study, _ = found
    choice = study.choose(max_error=0.25)
    coarser = md.evaluation.coarsened_choice(choice, min_group=60)
    parts = split_rows(y, random_state=0)
    g = coarser.generalization
    assert md.measures.k_anonymity(g.transform(X.iloc[parts.train])) >= 60
    pair = [(X.iloc[rows], y.iloc[rows]) for rows in (parts.train, parts.test)]
    assert coarser.candidate.error == pytest.approx(md.utility(g, *pair[0], *pair[1]).error)
    assert coarser.candidate in coarser.study.candidates
    by_hand = md.evaluation.effect(choice.generalization, g, pair[0][0], pair[1][0])
    changed = coarser.coarsening
    assert changed.smallest_before == by_hand.smallest_before < 60 <= changed.smallest_after == by_hand.smallest_after
    assert changed.certificate_before == by_hand.certificate_before
    assert changed.certificate_after == by_hand.certificate_after
    assert changed.singling_out_after.unique == by_hand.singling_out_after.unique
    assert coarser.to_dict()["coarsening"] == changed.to_dict()
    assert choice.to_dict() == {
        **{"why": choice.why, "skill_kept": choice.skill_kept, "coarsening": None},
        **{"certificate": choice.certificate.to_dict(), **choice.candidate.to_dict()},
    }
    content = md.report(md.evidence(coarser, progress=False)).to_dict()
    assert content["chosen"]["needed"] == len(g.needed)
    assert "at least 60" in content["decision"]


# Custom minimizers


class Without(Minimizer):
    """Leave one attribute out, ask the others in full."""

    def __init__(self, *, name="age", personal=None, schema=None, random_state=None):
        self.name, self.personal, self.schema, self.random_state = name, personal, schema, random_state

    def fit(self, X, y):
        self.labels = y
        return super().fit(X, y)

    def _partitions(self, data):
        assert self.random_state in (0, 1)  # the seed of the study's split
        assert self.labels.index.equals(data.frame.to_native().index)
        return [drop(c) if c.attribute.name == self.name else keep(c) for c in data.coder.codings]


class Careless(BaseEstimator):
    def fit(self, X, y):
        return self


class Demanding(Without):
    def __init__(self, name):
        self.name = name


def test_a_custom_minimizer_is_tried_over_its_grid_with_the_others(adult, tmp_path):
    given = {"minimizers": [Without, "Uniform"], "seeds": 2, "folder": tmp_path}
    options = {**given, "grids": {"Without": {"name": ["age", "sex"]}, "Uniform": {"buckets": [2]}}}
    found = small(adult, **options)
    assert found.minimizers == ["Without", "Uniform"]
    assert [c.parameters for c in found.of("Without")] == [{"name": "age"}, {"name": "sex"}]
    assert [c.generalization["age"].action for c in found.of("Without")] == ["dropped", "kept"]
    assert found.hypervolume().keys() == {"Without", "Uniform"}
    assert same(small(adult, **options).table(), found.table())
    assert "Without" in md.report(found).to_markdown()


def test_an_instance_keeps_its_parameters_and_a_class_of_modicum_has_its_grid(adult):
    minimizers = [Without(name="race", personal=["age"]), md.Uniform]
    found = small(adult, minimizers=minimizers, grids={"Uniform": {"buckets": [2, 3]}})
    (own,) = found.of("Without")
    assert (own.parameters, own.generalization["race"].action) == ({"name": "race"}, "dropped")
    assert own.generalization.schema.personal == ["age", "race", "sex"]
    assert [c.parameters for c in found.of("Uniform")] == [{"buckets": 2}, {"buckets": 3}]


def test_a_custom_minimizer_is_compared_with_the_default_ones():
    names = [job.minimizer for job in grids.jobs(["default", Without], None)]
    assert list(dict.fromkeys(names)) == [*grids.DEFAULT, "Without"]
    assert names[:-1] == [job.minimizer for job in grids.jobs("default", None)]


def test_a_function_among_the_parameters_has_the_same_key_in_every_process(adult):
    (job,) = grids.jobs([Without(name=len)], None)
    assert "builtins.len" in job.key
    (job,) = grids.jobs([Without(name=object())], None)
    assert " at 0x" not in job.key


def test_unnamed_functions_have_different_keys():
    first, second = (lambda values: 1), (lambda values: 2)
    keys = [job.key for job in grids.jobs([Without], {"Without": {"name": [first, second]}})]
    assert len(set(keys)) == 2
    assert grids.jobs([Without(name=first)], None)[0].key != grids.jobs([Without(name=lambda v: v)], None)[0].key
    assert grids.jobs([Without(name=first)], None)[0].key != grids.jobs([Without(name=second)], None)[0].key


def _key(name):
    (job,) = grids.jobs([Without(name=name)], None)
    return job.key


def _adding(number):
    return lambda value: value + number


_limit = 1


def _reading_limit(value):
    return _reading_limit(value - 1) if np.any(value > _limit) else value


def _calling_another(value):
    return _reading_limit(value)


def _fitted(y):
    return LogisticRegression().fit(np.arange(8.0).reshape(-1, 1), y)


def test_a_key_depends_on_the_content_of_parameters():
    zeros = np.zeros(5_000)
    assert _key(_fitted([0, 0, 0, 0, 1, 1, 1, 1])) == _key(_fitted([0, 0, 0, 0, 1, 1, 1, 1]))
    assert _key(_fitted([0, 0, 0, 0, 1, 1, 1, 1])) != _key(_fitted([0, 0, 1, 1, 1, 1, 1, 1]))
    assert _key(zeros) == _key(zeros.copy()) != _key(np.where(np.arange(5_000) == 2_500, 1.0, 0.0))
    assert _key(_adding(1)) == _key(_adding(1)) != _key(_adding(2))
    assert _key(open) == _key(open)
    assert _key(_reading_limit) == _key(_reading_limit)
    assert _key([_adding(1)]) != _key([_adding(1)])  # cannot be hashed inside a list, so nothing is reused


def test_a_key_depends_on_what_a_function_reads(monkeypatch):
    before = _key(_reading_limit), _key(_calling_another)
    monkeypatch.setitem(globals(), "_limit", 2)
    assert _key(_reading_limit) != before[0]
    assert _key(_calling_another) != before[1]


def test_a_function_with_a_set_has_the_same_key_in_every_process():
    code = """if True:
        from test_study import _key
        print(_key(lambda value: value in {"a", "b", "c", "d"}))
    """
    outputs, here = [], Path(__file__).parent
    found_at = os.pathsep.join([str(here), str(here.parent)])
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": found_at}
        command = [sys.executable, "-c", code]
        outputs.append(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
    assert outputs[0] == outputs[1] != ""


def test_a_folder_does_not_mix_up_two_fitted_models(adult, tmp_path):
    X, y, schema = adult
    X = X[["age", "education", "sex"]]
    schema = md.Schema.infer(X)
    by_sex, by_age = (lambda X: X["sex"] == "Male"), (lambda X: X["age"] > 40)
    needed = []
    for model in (by_sex, by_age, by_sex):
        guided = md.ModelGuided(model, target_agreement=0.98)
        found = md.study(X, y, schema=schema, minimizers=[guided], folder=tmp_path, progress=False)
        needed.append(found.of("ModelGuided")[0].generalization.needed)
    assert needed == [["sex"], ["age"], ["sex"]]


def test_results_of_changed_code_are_not_reused(monkeypatch):
    (before,) = grids.jobs([Without], None)
    assert before.key == grids.jobs([Without], None)[0].key
    monkeypatch.setattr(inspect, "getsource", lambda kind: "other code")
    assert grids.jobs([Without], None)[0].key != before.key


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"minimizers": [object()]}, "it may also contain your own minimizers. Got <object"),
        ({"minimizers": [type("Bare", (), {"fit": print})]}, "Bare has no fit, get_params or set_params"),
        ({"minimizers": [Demanding]}, "Demanding cannot be created without arguments; give an instance"),
        ({"minimizers": [Careless]}, "Careless has no Generalization in generalization_ after fit"),
        ({"minimizers": [Without, Without()]}, "Two minimizers are called 'Without'"),
        ({"minimizers": ["Uniform", md.Uniform(buckets=9)]}, "Two minimizers are called 'Uniform'"),
        ({"minimizers": [Without], "grids": {"Without": {"nome": ["age"]}}}, "has no 'nome'; it has 'name'"),
        ({"minimizers": [Without], "grids": {"Without": {"name": "age"}}}, "give it at least one in a list"),
        ({"minimizers": ["Uniform"], "grids": {"Without": {"name": ["age"]}}}, "names 'Without'; the minimizers are"),
        ({"minimizers": [Without], "grids": {"Without": None}}, "The grid of Without must map parameters to values"),
        ({"minimizers": ["Uniform"], "grids": {"Uniform": [3]}}, "The grid of Uniform must map parameters to values"),
        ({"minimizers": ["Uniform"], "grids": ["Uniform"]}, "'grids' parameter must map minimizers to grids"),
    ],
)
def test_a_broken_custom_minimizer_gets_a_one_sentence_error(adult, options, error):
    X, y, schema = adult
    with pytest.raises(ParameterError, match=error) as caught:
        md.study(X, y, schema=schema, progress=False, **options)
    assert "\n" not in str(caught.value)


# Bad input: one clear sentence, nothing lost


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"minimizers": "best"}, "must be 'default', 'all' or some of"),
        ({"minimizers": []}, "Got an empty list"),
        ({"minimizers": ["Uniform"], "grids": {"Uniform": {"buckets": []}}}, "has no value of 'buckets'"),
        ({"minimizers": ["Uniform"], "grids": {"Uniform": {"bins": [2]}}}, "has no 'bins'; it has 'buckets'"),
        ({"grids": {"Tree": {}}}, "names 'Tree'; the minimizers are"),
        ({"minimizers": 3}, "must be 'default', 'all' or some of"),
        ({"later": [1]}, "'later' parameter"),
        (
            {"minimizers": ["PrivacyTree"], "grids": {"PrivacyTree": {"privacy": ["a"]}}},
            "has an invalid value of 'privacy'. Got 'a'",
        ),
        ({"seeds": 0}, "'seeds' parameter"),
        ({"seeds": [0, -1]}, "'seeds' parameter"),
        ({"train_sizes": [0]}, "'train_sizes' parameter"),
        ({"train_sizes": []}, "'train_sizes' parameter"),
        ({"fronts_of": "some"}, "'fronts_of' parameter"),
        ({"confidence": 1}, "'confidence' parameter"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
        ({"weights": {"job": 1}}, "'job', which is not a personal attribute"),
        ({"minimizers": ["Uniform"], "grids": {"Uniform": {"buckets": [0]}}}, "must be an int ≥ 1. Got 0"),
    ],
)
def test_a_bad_parameter_gets_a_one_sentence_error(adult, options, error):
    X, y, schema = adult
    with pytest.raises(ParameterError, match=error) as caught:
        md.study(X, y, schema=schema, progress=False, **options)
    assert "\n" not in str(caught.value)


def test_too_few_records_are_refused(adult):
    X, y, schema = adult
    with pytest.raises(DataError, match=r"needs at least 1,000 records.*Got 500"):
        md.study(X[:500], y[:500], schema=schema)


def test_a_folder_of_other_data_or_roles_is_refused(adult, found):
    X, y, schema = adult
    _, folder = found
    other = X.copy()
    other.iloc[7, other.columns.get_loc("age")] = 77
    for changed in ({"X": other}, {"schema": schema.with_roles(personal=["sex"])}, {"label_bins": None, "y": y[::-1]}):
        data = {"X": X, "y": y, "schema": schema, **changed}
        with pytest.raises(DataError, match="holds the results of other data, or of other roles"):
            md.study(data.pop("X"), data.pop("y"), grids=GRIDS, folder=folder, **data)
    assert pd.read_csv(folder / "table.csv").shape[0] > 0


def test_a_bad_folder_is_refused(adult, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be created"):
        small(adult, folder=tmp_path / "file" / "results")
    with pytest.raises(DataError, match="contains files that do not belong to a study; give a new or empty folder"):
        small(adult, folder=tmp_path)
    for damaged in ("{", "[]"):
        (tmp_path / "study.json").write_text(damaged)
        with pytest.raises(DataError, match=r"study.json' of the study cannot be read"):
            small(adult, folder=tmp_path)
    (tmp_path / "lock" / "pieces").mkdir(parents=True)
    (tmp_path / "lock" / ".lock").mkdir()
    with pytest.raises(DataError, match="cannot be written: Is a directory"):
        small(adult, folder=tmp_path / "lock")


def test_an_empty_column_is_named_before_any_work(adult):
    X, y, _ = adult
    with pytest.raises(DataError, match="The column 'age' holds no value at all"):
        md.study(X.assign(age=np.nan), y)


def test_queries_outside_the_study_are_refused(found):
    study, _ = found
    with pytest.raises(ParameterError, match=r"no training size 0\.5"):
        study.hypervolume(0.5)
    with pytest.raises(ParameterError, match="must be 'error' or 'log_loss'"):
        study.hypervolume(utility="auc")
    with pytest.raises(ParameterError, match="Only a judged candidate's skill is known"):
        study.skill(next(c for c in study.candidates if c.judged is None))
    with pytest.raises(ParameterError, match="has no minimizer 'Forest'"):
        study.of("Forest")
    assert len(repr(study)) < 200


def test_two_studies_do_not_work_in_one_folder(adult, found):
    import fcntl

    with open(found[1] / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DataError, match="Another study is running"):
            small(adult, folder=found[1], seeds=2)


def test_ctrl_c_keeps_finished_work_and_the_study_can_continue(adult, tmp_path, monkeypatch, found):
    calls = []

    def interrupt_third(g, data):
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return screen_generalization(g, data)

    monkeypatch.setattr(study_work, "screen_generalization", interrupt_third)
    with pytest.warns(StoppedWarning, match="the best so far is kept"):
        part = small(adult, folder=tmp_path, seeds=2, n_jobs=1)
    assert not part.is_whole
    assert 0 < len(part.candidates) < len(found[0].candidates)
    monkeypatch.setattr(study_work, "screen_generalization", screen_generalization)
    assert same(small(adult, folder=tmp_path, seeds=2).table(), found[0].table())


SCRIPT = """
import resource, sys
import modicum as md
from tests_study_settings import GRIDS

n_jobs = -1
if len(sys.argv) > 2:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
    n_jobs = 1  # in order, so that a piece that fits always comes before one that does not
data = md.datasets.load_adult()
schema = data.schema.with_roles(personal=["race", "sex", "age"])
try:
    X, y = data.X[:2_500], data.y[:2_500]
    md.study(X, y, schema=schema, grids=GRIDS, seeds=2, folder=sys.argv[1], n_jobs=n_jobs, progress=False)
except md.errors.ModicumError as error:
    sys.exit(str(error))
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "tests_study_settings.py").write_text(f"GRIDS = {GRIDS!r}\n")
    (tmp_path / "run.py").write_text(SCRIPT)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    def start(*arguments):
        return subprocess.Popen(
            [sys.executable, str(tmp_path / "run.py"), *map(str, arguments)], env=environment, stderr=subprocess.PIPE
        )

    return start


def test_a_full_disk_gets_a_one_sentence_error_and_keeps_finished_work(adult, found, script, tmp_path):
    folder = tmp_path / "results"
    limit = 5_000  # bytes of a file: some pieces fit, others do not
    output = script(folder, limit).communicate(timeout=120)[1].decode()
    assert "cannot be written: File too large. Finished work is kept; run the same study again to continue." in output
    assert "Traceback" not in output
    finished = list((folder / "pieces").glob("*.json"))
    assert finished
    assert not list(folder.glob("**/.modicum-*"))
    assert same(small(adult, folder=folder, seeds=2).table(), found[0].table())


@pytest.mark.slow
def test_a_study_killed_ten_times_ends_with_the_same_table(adult, found, script, tmp_path):
    folder = tmp_path / "results"
    random = np.random.default_rng(0)
    killed = 0
    for _ in range(10):
        process = script(folder)
        # Wait until it works, then kill it at a random moment.
        before = len(list(folder.glob("pieces/*.json")))
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if len(list(folder.glob("pieces/*.json"))) > before:
                break
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.5))
        killed += process.poll() is None
        process.kill()
        process.communicate()
    assert killed >= 3  # it was not simply left to finish
    assert same(small(adult, folder=folder, seeds=2).table(), found[0].table())
    assert not list(folder.glob("**/.modicum-*"))


def test_the_papers_grids_are_the_defaults():
    assert len(grids.GRIDS["PrivacyTree"]["privacy"]) == 12
    assert grids.GRIDS["PrivacyTree"]["max_leaves"] == (2, 4, 6, 8, 10, 20, 50, 100, 200)
    assert grids.GRIDS["Uniform"]["buckets"] == (1, 2, 3, 4, 5)
    assert grids.GRIDS["FeatureSelection"]["k"] == (2, 4, 8, 10, 20, "all")
    assert 7 <= len(grids.GRIDS["Iterative"]["share"]) <= 11
    assert all(len(grids.GRIDS[name]["privacy"]) == 9 for name in grids.NEURAL)
    assert [job.minimizer for job in grids.jobs("default", None)].count("PrivacyTree") == 12


def test_a_study_accepts_model_guided_minimizers(adult):
    grids = {"ModelGuided": {"points": [5]}, "Apt": {"target": [0.9, 0.99]}}
    found = small(adult, minimizers=["ModelGuided", "Apt"], grids=grids)
    assert {c.minimizer for c in found.of()} == {"ModelGuided", "Apt"}
    depths = {c.parameters["max_depth"] for c in found.of()}
    assert depths == {10}  # [Staab24 §6]
    assert len(found.of("ModelGuided")) >= 3
