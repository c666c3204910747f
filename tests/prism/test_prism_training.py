"""PriSM's training against exhaustive search and libsvm: what is called proven is proven."""

import signal
from itertools import combinations

import numpy as np
import pytest

from modicum.errors import ParameterError, StoppedWarning
from modicum.prism.solver import trainer
from modicum.prism.solver.losses import Hinge
from modicum.prism.solver.problem import Merging, distinct_rows
from modicum.prism.solver.supports import SupportLimits, largest_support, maximal_supports, unpack_support
from modicum.prism.solver.trainer import Problem, Trainer

KINDS = ("binary", "grouped", "several tasks", "squared", "squared tasks", "binding box")


def random_problem(seed: int, kind: str = "binary") -> tuple[Problem, int | None, list[list[int]]]:
    """A small problem with random limits."""
    r = np.random.default_rng(seed)
    n, n_units = int(r.integers(4, 60)), int(r.integers(2, 7))
    X = r.integers(-1, 2, (n, n_units)).astype(float) if r.random() < 0.5 else r.normal(size=(n, n_units))
    units = [(i,) for i in range(n_units)]
    if kind in ("grouped", "squared tasks"):
        units = [(0,), (2, 1), *((i,) for i in range(3, n_units))] if n_units > 2 else [(1, 0)]
    score = X @ (r.normal(size=n_units) * (r.random(n_units) < 0.7)) + 0.5 * r.normal(size=n)
    targets = np.where(score > np.median(score), 1.0, -1.0)
    if kind == "several tasks":
        which = np.digitize(score, np.quantile(score, [0.3, 0.6]))
        targets = np.where(which[:, None] == np.arange(3), 1.0, -1.0)
    if kind.startswith("squared"):
        targets = score if kind == "squared" else np.column_stack([score, X[:, 0] - r.normal(size=n)])
    loss = "squared" if kind.startswith("squared") else "hinge"
    box = 0.1 if kind == "binding box" else 1000.0
    weights = r.uniform(0.2, 3.0, n) if r.random() < 0.5 else None
    penalty = float(r.choice([1e-3, 0.1, 1.0, 100.0]))
    forbidden = [
        r.choice(len(units), size=min(len(units), int(r.integers(1, 4))), replace=False).tolist()
        for _ in range(int(r.integers(0, 4)))
    ]
    most = None if r.random() < 0.2 else int(r.integers(1, len(units) + 1))
    return Problem.of(X, targets, weights, units, penalty, box, loss), most, forbidden


def feasible(n_units: int, most: int | None, forbidden: list[list[int]]) -> list[tuple[int, ...]]:
    """Return every support within the limits, by trying all."""
    sizes = range((n_units if most is None else most) + 1)
    every = [s for size in sizes for s in combinations(range(n_units), size)]
    return [s for s in every if not any(set(f) <= set(s) for f in forbidden)]


def exact(problem: Problem, w: np.ndarray, b: np.ndarray) -> float:
    """Return the objective as defined in the docstring of Problem."""
    off = problem.columns @ w.T - b
    hinge, squared = np.maximum(0.0, 1 - problem.targets * off), 0.5 * (off - problem.targets) ** 2
    loss = hinge if problem.loss == "hinge" else squared
    return 0.5 * float((w**2).sum()) + problem.penalty * float(problem.counts @ loss.sum(axis=1))


def check_against_all_supports(seed: int, kind: str) -> None:
    problem, most, forbidden = random_problem(seed, kind)
    found = Trainer(problem).solve(most, forbidden)
    independent = Trainer(problem)
    objectives = {s: independent.on_support(s).objective for s in feasible(len(problem.units), most, forbidden)}
    best = min(objectives.values())
    assert found.support in objectives
    assert found.bound <= best * (1 + 1e-9)
    assert found.objective == pytest.approx(best, rel=1.001e-4)
    assert found.gap <= 1e-4
    assert not found.stopped
    assert exact(problem, found.coefficients, found.intercepts) == pytest.approx(found.objective, rel=1e-9)
    outside = [c for i, unit in enumerate(problem.units) if i not in found.support for c in unit]
    assert not found.coefficients[:, outside].any()
    assert np.abs(found.coefficients).max(initial=0.0) <= problem.box


@pytest.mark.parametrize("listed", [300_000, 0], ids=["explicit", "cutting planes"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_result_equals_the_best_of_all_supports(kind, listed, monkeypatch):
    monkeypatch.setattr(trainer, "LISTED", listed)
    for seed in range(3 if listed else 2):
        check_against_all_supports(seed, kind)


@pytest.mark.slow
@pytest.mark.parametrize("listed", [300_000, 0], ids=["explicit", "cutting planes"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_result_equals_the_best_of_all_supports_on_many_problems(kind, listed, monkeypatch):
    monkeypatch.setattr(trainer, "LISTED", listed)
    for seed in range(100, 134):
        check_against_all_supports(seed, kind)


@pytest.mark.parametrize("seed", range(12))
def test_the_inner_machine_agrees_with_libsvm(seed):
    from sklearn.svm import SVC

    problem, _, _ = random_problem(seed)
    found = Trainer(problem).on_support(range(len(problem.units)))
    y = problem.targets[:, 0]
    libsvm = SVC(kernel="linear", C=problem.penalty, tol=1e-9).fit(problem.columns, y, sample_weight=problem.counts)
    reference = np.abs(libsvm.dual_coef_).sum() - 0.5 * (libsvm.coef_**2).sum()  # its dual is closer than its primal
    assert found.objective <= reference * (1 + 1e-6)
    assert found.bound >= reference * (1 - 1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_every_cut_is_below_the_objective_of_every_support(kind):
    for seed in range(20, 22):
        problem, _, _ = random_problem(seed, kind)
        trainer = Trainer(problem)
        n_units, pool = len(problem.units), trainer._pool
        every = feasible(n_units, None, [])
        for share in np.random.default_rng(seed).random((4, n_units)):
            pool.solve_relaxation(share)
        objectives = [pool.solve_support(s).objective for s in every]
        for cut in pool.cuts:
            assert all(cut.at(s) <= value for s, value in zip(every, objectives, strict=True))
        for s, value in zip(every, objectives, strict=True):
            assert pool.supports[s].bound == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("penalty", [1e-6, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("box", [0.1, 1000.0])
def test_hard_columns_still_get_a_valid_certificate(penalty, box):
    r = np.random.default_rng(3)
    x = r.normal(size=40)
    y = np.where(x > 0.2, 1.0, -1.0)
    constant, shifted = np.ones(40), 1e4 + x
    for columns, targets in (
        (np.column_stack([x, x, constant]), y),  # twice the same, one constant, separable
        (np.column_stack([shifted, r.normal(size=40)]), y),
        (np.array([[0.0], [1.0]]), np.array([-1.0, 1.0])),
        (np.array([[1.0], [1.0]]), np.array([-1.0, 1.0])),
        (np.array([[1.0], [2.0]]), np.array([1.0, 1.0])),  # one class
        (1e-3 * r.normal(size=(30, 4)), np.where(r.random(30) < 0.1, 1.0, -1.0)),
    ):
        problem = Problem.of(columns, targets, None, [(i,) for i in range(columns.shape[1])], penalty, box)
        found = Trainer(problem).solve(None)
        assert exact(problem, found.coefficients, found.intercepts) == pytest.approx(found.objective, rel=1e-9)
        assert found.bound <= found.objective
        assert found.gap <= 1e-4


def test_columns_that_are_not_scaled_have_an_honest_gap():
    problem = Problem.of([[1e6, 1.0], [-1e6, 0.0], [3.0, 1.0]], [1, -1, -1], None, [(0,), (1,)], 1e6, 1000.0)
    found = Trainer(problem).solve(None)
    w = found.coefficients
    assert exact(problem, w, found.intercepts) == pytest.approx(found.objective, rel=1e-9)
    assert found.gap == pytest.approx(1 - found.bound / found.objective)
    hard_margin = 2 / ((1e6 - 3) ** 2)  # two rows at the distance 1e6 - 3 decide: the smallest possible ½w²
    assert found.bound <= hard_margin * (1 + 1e-9)


def test_repairing_makes_any_multipliers_a_true_cut():
    problem, _, _ = random_problem(7)
    hinge, r = Hinge(problem), np.random.default_rng(0)
    y = problem.targets[:, 0]
    every = feasible(len(problem.units), None, [])
    objectives = [hinge.solve_support(s).objective for s in every]
    for _ in range(50):
        cut = hinge.cut(r.normal(size=len(y)) * 2 * hinge.cost, y)
        assert all(cut.at(s) <= value for s, value in zip(every, objectives, strict=True))


def test_the_largest_support_agrees_with_trying_all():
    for seed in range(25):
        r = np.random.default_rng(seed)
        n = int(r.integers(1, 9))
        sets = [r.choice(n, size=int(r.integers(1, min(n, 3) + 1)), replace=False).tolist() for _ in range(seed % 7)]
        assert largest_support(n, sets) == max(map(len, feasible(n, None, sets)))


def test_the_listed_supports_are_the_maximal_ones(monkeypatch):
    for seed in range(40):
        r = np.random.default_rng(seed)
        n = int(r.integers(1, 8))
        sets = [r.choice(n, size=int(r.integers(1, min(n, 4) + 1)), replace=False).tolist() for _ in range(seed % 6)]
        most = None if seed % 5 == 0 else int(r.integers(0, n + 1))
        every = set(feasible(n, most, sets))
        maximal = {s for s in every if not any(tuple(sorted({*s, u})) in every for u in set(range(n)) - set(s))}
        for hitting in (3_000_000, -1):
            monkeypatch.setattr("modicum.prism.solver.supports._COMPARED", hitting)
            listed = maximal_supports(SupportLimits.of(n, most, sets), 10_000)
            assert {unpack_support(row, n) for row in listed} == maximal


def test_many_units_without_limits_are_listed_by_the_units_left_out():
    listed = maximal_supports(SupportLimits.of(40, None, [[0, 1], [2, 3, 4]]), 1_000)
    assert len(listed) == 6
    assert maximal_supports(SupportLimits.of(40, 12, []), 1_000) is None


def test_thousands_of_forbidden_sets_need_little_work(monkeypatch):
    triples = [list(each) for each in combinations(range(24), 3)]
    assert largest_support(24, triples) == 2
    assert len(maximal_supports(SupportLimits.of(24, 8, triples), 1_000)) == 24 * 23 // 2
    monkeypatch.setattr("modicum.prism.solver.supports._LISTING_WORK", 10_000)
    few = [each for each in triples if sum(each) % 7 == 0]
    assert maximal_supports(SupportLimits.of(24, 8, few), 300_000) is None


def test_only_minimal_sets_are_kept():
    for seed in range(20):
        r = np.random.default_rng(seed)
        sets = [r.choice(9, size=int(r.integers(1, 6)), replace=False).tolist() for _ in range(30)]
        minimal = {tuple(sorted(a)) for a in sets if not any(set(b) < set(a) for b in sets)}
        limits = SupportLimits.of(9, None, sets)
        assert set(limits.forbidden) == {each for each in minimal if len(each) > 1}
        assert set(limits.allowed) == set(range(9)) - {each[0] for each in minimal if len(each) == 1}


def test_an_unfinished_search_is_bounded_from_above(monkeypatch):
    for seconds in (10.0, 0.0):
        monkeypatch.setattr("modicum.prism.solver.supports._WORK", 0)
        monkeypatch.setattr("modicum.prism.solver.supports._SECONDS", seconds)
        for seed in range(6):
            r = np.random.default_rng(seed)
            sets = [r.choice(9, size=3, replace=False).tolist() for _ in range(12)]
            most = max(map(len, feasible(9, None, sets)))
            assert largest_support(9, sets) == most if seconds else largest_support(9, sets) >= most


def wide(n: int = 150, d: int = 10) -> Problem:
    r = np.random.default_rng(5)
    X = r.integers(-1, 2, (n, d)).astype(float)
    y = np.where(X @ r.normal(size=d) + r.logistic(size=n) > 0, 1.0, -1.0)
    return Problem.of(X, y, None, [(i,) for i in range(d)], 1.0, 1000.0)


@pytest.mark.parametrize("listed", [300_000, 0], ids=["explicit", "cutting planes"])
def test_a_search_stopped_by_time_has_a_true_bound(listed, monkeypatch):
    problem = wide()
    proven = Trainer(problem).solve(4)
    assert proven.gap <= 1e-4
    monkeypatch.setattr(trainer, "LISTED", listed)
    for seconds in (0.0, 0.05, 0.2):
        found = Trainer(problem).solve(4, time_limit=seconds)
        assert found.bound <= proven.objective <= found.objective * (1 + 1e-4)
        assert found.stopped == (found.gap > 1e-4)
    assert Trainer(problem).solve(4, time_limit=0.0).stopped


def test_ctrl_c_keeps_the_best_so_far(monkeypatch):
    trainer = Trainer(wide())
    inner, calls = trainer._pool.inner.solve_support, []

    def interrupted(support):
        calls.append(support)
        if len(calls) == 6:
            signal.raise_signal(signal.SIGINT)
        return inner(support)

    monkeypatch.setattr(trainer._pool.inner, "solve_support", interrupted)
    with pytest.warns(StoppedWarning):
        found = trainer.solve(4)
    assert found.stopped
    assert found.support
    assert found.bound <= trainer.solve(4).objective <= found.objective


def test_later_searches_reuse_earlier_solutions():
    trainer = Trainer(wide())
    first = trainer.solve(4)
    assert trainer.solve(4).solves == 0
    other = trainer.solve(4, [list(first.support[:2])])
    fresh = Trainer(wide()).solve(4, [list(first.support[:2])])
    assert other.objective == pytest.approx(fresh.objective, rel=1e-4)
    assert other.solves < fresh.solves


def test_units_that_change_nothing_are_left_out():
    r = np.random.default_rng(0)
    X = np.column_stack([np.ones(80), r.normal(size=80), np.full(80, 3.0)])
    y = np.where(X[:, 1] + 0.3 * r.normal(size=80) > 0, 1.0, -1.0)
    trainer = Trainer(Problem.of(X, y, None, [(0,), (1,), (2,)], 1.0, 1000.0))
    assert trainer.solve(None).support == (1,)
    assert trainer.on_support([0, 1, 2]).support == (0, 1, 2)
    assert trainer.on_support([0, 2]).support == (0, 2)


def test_the_first_of_equal_supports_is_taken():
    r = np.random.default_rng(1)
    x = r.normal(size=60)
    y = np.where(x + 0.3 * r.normal(size=60) > 0, 1.0, -1.0)
    for order in ([0, 1, 2], [2, 1, 0]):
        X = np.column_stack([x, x, r.normal(size=60)])[:, order]
        found = Trainer(Problem.of(X, y, None, [(0,), (1,), (2,)], 1.0, 1000.0)).solve(1)
        assert found.support == (order.index(0) if order[0] == 0 else 1,)


def test_nothing_allowed_leaves_the_constant_rule():
    problem, _, _ = random_problem(0)
    found = Trainer(problem).solve(None, [[i] for i in range(len(problem.units))])
    assert (found.support, found.gap <= 1e-4, found.coefficients.any()) == ((), True, False)
    smaller = min(problem.counts[problem.targets[:, 0] == side].sum() for side in (-1, 1))
    assert found.objective == pytest.approx(2 * problem.penalty * smaller)


def test_equal_rows_are_merged_and_rows_without_weight_are_left_out():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    problem = Problem.of(X, [1, 1, 1, -1], [1.0, 2.5, 0.0, 1.0], [(0,), (1,)], 1.0, 1000.0)
    assert sorted(problem.counts.tolist()) == [1.0, 3.5]
    first, group = distinct_rows(X)
    assert (X[first][group] == X).all()
    assert len(first) == 2


def test_rows_are_distinguished_when_codes_outgrow_64_bits():
    r = np.random.default_rng(0)
    X = r.integers(0, 50, (300, 14)).astype(float)
    X[150:] = X[:150]
    y = np.append(np.ones(150), -np.ones(150))
    problem = Problem.of(np.column_stack([X, np.arange(300) % 7]), y, None, [(i,) for i in range(15)], 1.0, 10.0)
    keys = Merging(problem).keys(tuple(range(14)))
    _, group = distinct_rows(problem.columns[:, :14])
    assert len(np.unique(keys)) == len(np.unique(group)) == len(np.unique(np.column_stack([keys, group]), axis=0))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"penalty": 0.0}, "'penalty'"),
        ({"box": float("nan")}, "'box'"),
        ({"loss": "log"}, "'hinge' or 'squared'"),
        ({"units": [(0,)]}, "exactly one unit"),
        ({"targets": [0.0, 1.0]}, r"\+1 and -1"),
        ({"weights": [1.0, -1.0]}, "'weights'"),
        ({"columns": [[0.0, np.nan], [1.0, 1.0]]}, "finite"),
    ],
)
def test_invalid_problems_are_refused(changed, message):
    given = {"columns": [[0.0, 1.0], [1.0, 1.0]], "targets": [-1.0, 1.0], "weights": None, "units": [(0,), (1,)]}
    with pytest.raises(ParameterError, match=message):
        Problem.of(**{**given, "penalty": 1.0, "box": 10.0, "loss": "hinge"} | changed)


def test_an_empty_forbidden_set_is_refused():
    problem, _, _ = random_problem(0)
    with pytest.raises(ParameterError, match="at least one unit"):
        Trainer(problem).solve(2, [[]])


@pytest.mark.parametrize("kind", KINDS)
def test_a_solver_that_fails_does_not_end_the_proof(kind, monkeypatch):
    import scipy.optimize
    from scipy.optimize import OptimizeResult

    failed = OptimizeResult(status=4, x=None, fun=None, mip_dual_bound=None, message="")
    monkeypatch.setattr(scipy.optimize, "milp", lambda *a, **k: failed)
    monkeypatch.setattr(trainer, "LISTED", 0)
    check_against_all_supports(1, kind)


def test_a_failed_solver_runs_again_without_presolve(monkeypatch):
    import scipy.optimize
    from scipy.optimize import OptimizeResult

    milp, failed = scipy.optimize.milp, OptimizeResult(status=4, x=None, fun=None, mip_dual_bound=None, message="")
    presolves = []

    def sometimes(*args, **kwargs):
        presolves.append(kwargs["options"]["presolve"])
        return failed if presolves[-1] else milp(*args, **kwargs)

    monkeypatch.setattr(scipy.optimize, "milp", sometimes)
    monkeypatch.setattr("modicum.prism.solver.trainer.branching", lambda search: iter(()))
    monkeypatch.setattr(trainer, "LISTED", 0)
    check_against_all_supports(1, "binary")
    assert presolves[:2] == [True, False]


@pytest.mark.parametrize("listed", [300_000, 0], ids=["explicit", "cutting planes"])
def test_small_gaps_are_proven_and_too_small_ones_are_called_stopped(listed, monkeypatch):
    monkeypatch.setattr(trainer, "LISTED", listed)
    for seed in range(3):
        problem, most, forbidden = random_problem(seed)
        found = Trainer(problem).solve(most, forbidden, gap=1e-7)
        assert (found.gap <= 1e-7, found.stopped) == (True, False)
        found = Trainer(problem).solve(most, forbidden, gap=0.0)
        assert found.stopped == (found.gap > 0.0)


def test_one_program_does_not_run_for_longer_than_a_few_seconds(monkeypatch):
    import scipy.optimize

    milp, limits = scipy.optimize.milp, []

    def timed(*args, **kwargs):
        limits.append(kwargs["options"]["time_limit"])
        return milp(*args, **kwargs)

    monkeypatch.setattr(scipy.optimize, "milp", timed)
    monkeypatch.setattr(trainer, "LISTED", 0)
    Trainer(wide()).solve(4)
    assert limits
    assert max(limits) <= 3.0


def test_a_rule_is_found_without_any_time():
    found = Trainer(wide()).solve(4, time_limit=0.0)
    assert len(found.support) == 4
    assert 0 < found.bound < found.objective


def test_only_the_solvers_own_lines_are_hidden_from_standard_output(monkeypatch, capfd):
    import ctypes
    import os

    import scipy.optimize

    from modicum.prism.solver.supports import solve_milp

    def loud(fails):
        ctypes.CDLL(None).puts(b"HighsMipSolverData::repair tmpSolver.run();")
        os.write(1, b"someone else\n")
        if fails:
            raise KeyboardInterrupt
        return "found"

    monkeypatch.setattr(scipy.optimize, "milp", loud)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert solve_milp(False) == "found"
    with pytest.raises(KeyboardInterrupt):
        solve_milp(True)
    os.write(1, b"after\n")
    assert capfd.readouterr().out.splitlines() == ["someone else", "someone else", "after"]
    assert before == (len(os.listdir("/proc/self/fd")) if before else 0)
