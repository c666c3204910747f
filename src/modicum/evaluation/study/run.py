"""The study: try every minimizer over its parameters and choose from the front [Staab24 §8, Appendix F]."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import modicum
from modicum.engines.sampling import SAMPLE, sample_if_table
from modicum.errors import ParameterError, check_choice_is
from modicum.evaluation.study.grids import jobs
from modicum.evaluation.study.study_data import StudyData
from modicum.evaluation.study.study_result import Study
from modicum.evaluation.study.study_store import VERSION, StudyHead, StudyStore
from modicum.evaluation.study.work import Work
from modicum.measures.certificate import check_confidence
from modicum.progress import stoppable
from modicum.table.estimator_input import as_names
from modicum.table.frames import as_frame
from modicum.table.schema import Schema, require_schema


def study(
    X: Any,
    y: Any,
    *,
    personal: Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    minimizers: Any = "default",
    grids: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
    seeds: int | Sequence[int] = 1,
    train_sizes: Sequence[float] = (1.0,),
    later: Mapping[str, tuple[Any, Any]] | None = None,
    fronts_of: str = "all",
    folder: str | os.PathLike[str] | None = None,
    confidence: float = 0.99,
    label_bins: int | None = None,
    schema: Schema | None = None,
    sample: int = SAMPLE,
    n_jobs: int | None = None,
    workers: Any = None,
    progress: bool = True,
) -> Study:
    """Try every minimizer over its parameters and map the trade-off between utility and privacy.

    For every seed the records are split 60/10/30, keeping each person's records together. Minimizers learn from the
    first part. Each different generalization is screened by counts on the second and third part. For the first seed,
    boosted trees and the adversary A1 then judge the front found on validation records. Choices use validation records
    and are reported on test records; the other seeds show the variation by chance.

    Parameters
    ----------
    X, y : full records and the label
        Or a table in an engine (DuckDB, Spark, …) and the name of its column; then the study uses `sample` records.
    personal, schema : what is personal; all attributes if neither is given
    weights : attribute → how much it counts in the mean; 1 by default
    minimizers : "default", "all", or a list of these, names, classes and instances
        "default" needs neither a model nor PyTorch; "all" adds the minimizers that do. Your own minimizer is a class or
        an instance with scikit-learn's interface and `generalization_` after `fit`; see
        `modicum.minimizers.base.Minimizer`. Its name is the name of its class. The study sets its parameters `schema`
        (with the personal attributes), `weights`, `label_bins`, `random_state` and `progress`, if it has them.
    grids : minimizer → parameter → values
        Replaces the paper's values (`modicum.evaluation.study.grids.GRIDS`). Your own minimizer is tried with every
        combination of its values, or unchanged without a grid.
    seeds : int or list of int
        Number of splits, or their seeds. One is enough to choose; several show the variation by chance, with intervals.
    train_sizes : shares of the training part from which the minimizers learn [Staab24 §8.3]
    later : name → (X, y), optional
        Other records, such as a later year's, on which the front is also judged [Staab24 Appendix H].
    fronts_of : "all" or "each"
        Judge the front of all minimizers together, or each minimizer's own front. The latter takes longer and compares
        the minimizers by the judges instead of by counts.
    folder : path, optional
        Where to store finished work. If the study is killed, the same call continues from there; it repeats only your
        own minimizers with parameters that cannot be hashed.
    confidence : of the certificates
    label_bins : int, optional
        Number of ranges for a numeric label, with edges learned from the training part.
    sample : int
        Number of records to draw from a table in an engine: always the same ones, whatever their order. A small part of
        the data is enough to learn a generalization [Staab24 §8.3].
    n_jobs : int or None
        Number of pieces of work at once: None for one, -1 for the number of cores; with `workers` both mean as many as
        the executors take.
    workers : Spark session, optional
        Use its executors instead of threads: each receives the records once, every candidate is a separate task, and a
        lost executor's task is repeated. The result table is the same.
    progress : bool
        Show a progress bar on a terminal. Ctrl-C ends the study early; finished work is returned and stored.

    Examples
    --------
    >>> import modicum as md
    >>> adult = md.datasets.load_adult()
    >>> found = md.study(
    ...     adult.X[:4_000], adult.y[:4_000], schema=adult.schema, minimizers=["PrivacyTree"],
    ...     grids={"PrivacyTree": {"privacy": [0.1, 0.5], "max_leaves": [4, 8]}}, seeds=1,
    ... )
    >>> choice = found.choose(max_error=0.22)
    >>> choice.candidate.error < 0.25, choice.candidate.adversary_error > 0
    (True, True)
    """
    plan = jobs(minimizers, grids)
    check_choice_is(fronts_of, "fronts_of", "study", ("all", "each"))
    check_confidence(confidence)
    if schema is not None:
        require_schema(schema)
    X, y = sample_if_table(X, y, schema, sample)
    schema = (Schema.infer(as_frame(X)) if schema is None else schema).with_roles(personal=as_names(personal))
    data = StudyData(X, y, schema, weights, label_bins)
    periods = {name: sample_if_table(*pair, schema, sample) for name, pair in _periods(later).items()}
    others = {name: StudyData(*pair, schema, weights, label_bins) for name, pair in periods.items()}
    store = StudyStore(folder)
    with store.open_folder(StudyHead("study", VERSION, modicum.__version__, data.fingerprint())):
        work = Work(data, store, plan, _seeds(seeds), _sizes(train_sizes), confidence, fronts_of, others)
        with stoppable("the study") as stop:
            work.run(stop, n_jobs, progress, workers)
        found = work.result(is_whole=not stop.asked)
        store.write_json("result", work.settings)
        store.write_text("table.csv", found.table().to_csv(index=False))
    return found


def _seeds(seeds: Any) -> list[int]:
    given = list(range(seeds)) if isinstance(seeds, int) and not isinstance(seeds, bool) and seeds > 0 else seeds
    is_list = isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 0
    if not is_list or any(isinstance(s, bool) or not isinstance(s, int) or not 0 <= s < 2**32 for s in given):
        raise ParameterError(f"The 'seeds' parameter must be an int ≥ 1 or a list of ints ≥ 0. Got {seeds!r} instead.")
    return list(dict.fromkeys(given))


def _periods(later: Any) -> dict[str, tuple[Any, Any]]:
    if later is None:
        return {}
    if not isinstance(later, Mapping) or any(not isinstance(p, tuple) or len(p) != 2 for p in later.values()):
        raise ParameterError("The 'later' parameter must map names to pairs (X, y).")
    return {str(name): pair for name, pair in later.items()}


def _sizes(sizes: Any) -> list[float]:
    is_list = isinstance(sizes, Sequence) and not isinstance(sizes, str) and len(sizes) > 0
    if not is_list or any(isinstance(s, bool) or not isinstance(s, int | float) or not 0 < s <= 1 for s in sizes):
        raise ParameterError(
            f"The 'train_sizes' parameter must be a list of shares above 0 and up to 1. Got {sizes!r} instead."
        )
    return sorted({1.0, *(float(size) for size in sizes)}, reverse=True)
