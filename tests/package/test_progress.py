"""Ctrl-C: long work stops with a complete result, warns, and restores the program's signal handler."""

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

import modicum as md
from modicum.errors import ParameterError, StoppedWarning
from modicum.minimizers import iterative
from modicum.minimizers.neural import base as neural
from modicum.progress import cores, results, run_all, stoppable, track_progress
from modicum.trees.tree import Tree


@pytest.fixture(autouse=True)
def _default_handler():
    """Set Python's own Ctrl-C handler; a test that leaves another one behind fails."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    after = signal.signal(signal.SIGINT, before)
    assert after is signal.default_int_handler


def ctrl_c() -> None:
    """Send Ctrl-C as a terminal does; Python's handler has run when this returns."""
    signal.raise_signal(signal.SIGINT)


def work(what: str = "counting", presses: int = 0) -> bool:
    """Press Ctrl-C some times during work; return whether it was asked to stop."""
    with stoppable(what) as stop:
        for _ in range(presses):
            ctrl_c()
        return stop.asked


def at_call(function, number: int, then=ctrl_c):
    """Make a function press Ctrl-C at its number-th call; return it and the list of its calls."""
    calls = []

    def counted(*args, **kwargs):
        calls.append(None)
        if len(calls) == number:
            then()
        return function(*args, **kwargs)

    return counted, calls


def table(n: int = 600) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    X = pd.DataFrame({name: random.integers(0, 30, n) for name in "abcd"})
    return X, (X["a"] + X["b"] * random.integers(0, 2, n) > 20).to_numpy().astype(int)


def test_work_without_ctrl_c_goes_on_silently():
    with stoppable("counting") as stop:
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        assert not stop.asked


def test_the_first_ctrl_c_asks_to_stop_and_warns_once_at_the_end():
    with pytest.warns(StoppedWarning, match=r"^Stopped counting early; the best so far is kept\.$") as warned:
        assert work(presses=1)
    assert len(warned) == 1
    with pytest.raises(KeyboardInterrupt):
        ctrl_c()  # afterwards Ctrl-C interrupts as usual


def test_a_signal_from_outside_is_noticed():
    def waits() -> bool:
        with stoppable("waiting") as stop:
            os.kill(os.getpid(), signal.SIGINT)
            end = time.monotonic() + 10
            while not stop.asked and time.monotonic() < end:
                time.sleep(0.001)
            return stop.asked

    with pytest.warns(StoppedWarning, match="waiting"):
        assert waits()


def test_the_second_ctrl_c_stops_at_once():
    with pytest.raises(KeyboardInterrupt):
        work(presses=2)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_leaves_the_handler_as_it_was():
    with pytest.raises(ZeroDivisionError), stoppable("counting"):
        _ = 1 / 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_programs_own_handler_is_left_alone():
    heard = []

    def own(number, frame):
        heard.append(number)

    signal.signal(signal.SIGINT, own)
    try:
        with stoppable("counting") as stop:
            ctrl_c()
            assert signal.getsignal(signal.SIGINT) is own
        assert heard == [signal.SIGINT]
        assert not stop.asked
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_only_the_outermost_work_notices_ctrl_c():
    def whole() -> tuple[bool, bool]:
        with stoppable("the whole") as outer:
            part = work("a part", presses=1)
            return outer.asked, part

    with pytest.warns(StoppedWarning, match="Stopped the whole") as warned:
        assert whole() == (True, False)
    assert len(warned) == 1


def test_a_thread_installs_no_handler():
    seen = []

    def elsewhere():
        with stoppable("counting") as stop:
            seen.extend([signal.getsignal(signal.SIGINT), stop.asked])

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler, False]


def test_a_minimizer_is_fitted_in_a_thread_as_in_the_main_thread():
    X, y = table()
    expected = md.Iterative().fit(X, y).generalization_
    found = []
    thread = threading.Thread(target=lambda: found.append(md.Iterative().fit(X, y).generalization_))
    thread.start()
    thread.join()
    assert found == [expected]


def test_a_tree_stopped_early_is_the_smaller_tree(monkeypatch):
    X, y = table()
    options = {"min_leaf": 5, "privacy": 0.0}
    whole = md.PrivacyTree(max_leaves=60, **options).fit(X, y)
    grown = whole.tree_.n_leaves
    split, calls = at_call(Tree.split, 3)
    monkeypatch.setattr(Tree, "split", split)
    with pytest.warns(StoppedWarning, match="growing the tree"):
        stopped = md.PrivacyTree(max_leaves=60, **options).fit(X, y)
    assert len(calls) == 3
    assert stopped.tree_.n_leaves == 4 < grown
    monkeypatch.undo()
    assert stopped.generalization_ == md.PrivacyTree(max_leaves=4, **options).fit(X, y).generalization_
    assert stopped.path([4, 60]) == [stopped.generalization_] * 2
    assert len(stopped.transform(X)) == len(X)


def test_iterative_stopped_early_keeps_the_buckets_not_yet_removed(monkeypatch):
    X, y = table()
    whole = md.Iterative(max_error=1).fit(X, y)
    error, calls = at_call(iterative._Search.error, 4)
    monkeypatch.setattr(iterative._Search, "error", error)
    with pytest.warns(StoppedWarning, match="taking buckets away"):
        stopped = md.Iterative(max_error=1).fit(X, y)
    assert len(calls) == 4  # the start, and three buckets
    assert stopped.generalization_.n_buckets == 4 * 4 - 3 > whole.generalization_.n_buckets
    assert 0 <= stopped.error_ <= 1
    assert set(stopped.impact_) == set(X.columns)


def test_a_path_stopped_early_holds_the_points_reached(monkeypatch):
    X, y = table()
    shares = [0.2, 0.5, 1.0]
    coarsened, _ = at_call(md.Iterative._coarsen, 2)
    monkeypatch.setattr(md.Iterative, "_coarsen", coarsened)
    method = md.Iterative()
    with pytest.warns(StoppedWarning):
        path = method.fit_path(X, y, shares)
    assert len(path) == 2
    assert method.generalization_ is list(path.values())[-1]


@pytest.mark.parametrize("method", [md.AdversarialTraining, md.MutualInformation])
def test_a_network_stopped_early_is_still_fitted(method, monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not there; it comes with the extra 'neural'")
    X, y = table()
    step, calls = at_call(neural.Training._step, 3)
    monkeypatch.setattr(neural.Training, "_step", step)
    fitted = method(epochs=50, device="cpu")
    with pytest.warns(StoppedWarning, match="training the buckets"):
        fitted.fit(X, y)
    assert len(calls) == 3
    assert md.Generalization.from_dict(fitted.generalization_.to_dict()) == fitted.generalization_
    calls.clear()
    with pytest.warns(StoppedWarning):
        assert len(fitted.fit_path(X, y, [0.1, 0.9])) == 2


@pytest.mark.parametrize("stage", ["tree", "iterative", "network"])
def test_the_second_ctrl_c_interrupts_a_fit(stage, monkeypatch):
    X, y = table()

    def twice():
        ctrl_c()
        ctrl_c()

    if stage == "tree":
        monkeypatch.setattr(Tree, "split", at_call(Tree.split, 2, twice)[0])
        method = md.PrivacyTree(max_leaves=60, min_leaf=5, privacy=0.0)
    elif stage == "iterative":
        monkeypatch.setattr(iterative._Search, "error", at_call(iterative._Search.error, 2, twice)[0])
        method = md.Iterative(max_error=1)
    else:
        torch = pytest.importorskip("torch", reason="PyTorch is not there; it comes with the extra 'neural'")
        before = torch.get_num_threads()
        monkeypatch.setattr(neural.Training, "_step", at_call(neural.Training._step, 2, twice)[0])
        method = md.MutualInformation(device="cpu")
    with pytest.raises(KeyboardInterrupt):
        method.fit(X, y)
    assert not hasattr(method, "generalization_")
    if stage == "network":
        assert torch.get_num_threads() == before


def test_results_come_in_order_on_any_number_of_cores():
    pieces = [lambda i=i: (time.sleep(0.002 * (5 - i)), i)[1] for i in range(5)]
    for n_jobs in (1, 3, -1, None):
        assert run_all(pieces, "counting", n_jobs=n_jobs, progress=False) == list(range(5))
    assert list(results(iter(pieces), n_jobs=2)) == list(range(5))
    assert run_all([], "nothing") == []


def test_the_error_of_a_piece_is_raised_on_any_number_of_cores():
    def fails():
        raise ValueError("this piece")

    for n_jobs in (1, 2):
        with pytest.raises(ValueError, match="this piece"):
            run_all([lambda: 1, fails], "counting", n_jobs=n_jobs)


@pytest.mark.parametrize("n_jobs", [0, True, 1.5, "two"])
def test_an_invalid_number_of_cores_is_refused(n_jobs):
    with pytest.raises(ParameterError, match=r"'n_jobs' parameter must be an int ≥ 1, -1 for all cores, or None"):
        cores(n_jobs)


def test_cores_are_counted_as_scikit_learn_does(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(8)))
    assert [cores(n) for n in (None, 1, 3, -1, -2, -8, -100)] == [1, 1, 3, 8, 7, 1, 1]


def test_the_bar_shows_all_items_on_a_terminal_and_nothing_elsewhere(monkeypatch, capsys):
    import sys

    assert list(track_progress(range(3), "Counting")) == [0, 1, 2]
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert list(track_progress(iter(range(3)), "Counting", total=3)) == [0, 1, 2]
    assert list(track_progress(range(3), "Counting", progress=False)) == [0, 1, 2]
