"""Why each attribute is needed: what one step coarser, leaving it out or asking it in full would change."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from modicum.engines.sampling import SAMPLE, in_memory
from modicum.errors import DataError
from modicum.evaluation._utility import check_generalization
from modicum.evaluation.models import model_on
from modicum.evaluation.need_work import NeedData, Tried
from modicum.evaluation.needs import AttributeNeed, Necessity, Step
from modicum.evaluation.steps import OneStep, one_step_changes
from modicum.generalization import Generalization
from modicum.generalization.core import raw_generalization
from modicum.learners.portfolio import TREES
from modicum.measures.intervals import Interval, difference_interval, skill_intervals
from modicum.measures.scores import Predictions, skill_kept
from modicum.progress import cores, run_all
from modicum.table.frames import as_frame
from modicum.table.roles import attribute_weights, person_codes, personal_attributes
from modicum.table.schema import Schema
from modicum.table.splits import drawn_rows
from modicum.table.targets import Labels, label_name, label_values
from modicum.table.values import Codes

MOST = 50_000  # training records from which everything is learned
ADVERSARY = "A1 by counts with back-off"


def necessity(
    g: Generalization,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    personal: Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    estimator: Any = TREES,
    label_bins: int | None = None,
    sample: int = SAMPLE,
    n_jobs: int | None = None,
    progress: bool = True,
    random_state: int = 0,
) -> Necessity:
    """Measure what each attribute, in the detail in which it is collected, is good for.

    For every attribute of `g` the alternatives are tried, each with all other attributes as they are: one step coarser
    and left out where it is collected, asked in full detail where it is not. One step coarser are two buckets made one:
    the two whose merging loses least about the label on the training records (`evaluation.steps.least_loss`); a number
    in full detail is cut into 20 ranges. For each alternative a model is trained anew, and it is compared with the
    model on `g` record by record, which tells much smaller differences than two separate intervals would.

    The adversary of these differences is one, the same on both sides: counts of the training records with back-off,
    masked by what the buckets leave possible. What `judge` and `attacks.suite` report is the strongest of a portfolio,
    so that its figures are not these.

    Parameters
    ----------
    g : Generalization
    X_train, y_train : full records and labels to learn from; of more than 50,000 so many are drawn (`trained_on`).
    X_test, y_test : full records and labels that had no part in making `g`; of more than are learned from, so many are
        drawn (`records`): the luck of one training shows where test records are many, and would pass for a difference.
    personal, weights : what the adversary guesses, and how much each attribute counts in its mean error
    estimator : as for `utility`
    label_bins : int, optional
        Cut a numeric label into ranges, at edges learned from `y_train`.
    sample : int
        Of a table in an engine, whose label is the name of one of its columns, about how many records are drawn.
    n_jobs : int or None
        How many alternatives are worked on at once; as many as there are cores by default. It changes no result.
    progress : bool
        Whether long work shows a bar on a terminal.
    random_state : int

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "race", "marital-status"]]
    >>> g = md.Uniform(buckets=4).fit(X[:6_000]).generalization_.drop("race")
    >>> found = md.evaluation.necessity(g, X[:6_000], y[:6_000], X[6_000:9_000], y[6_000:9_000])
    >>> found.attributes["age"].without.is_worse, found.attributes["race"].verdict
    (True, 'not collected, not missed')
    """
    check_generalization(g)
    attributes = personal_attributes(g.schema, personal)
    shares = attribute_weights(attributes, weights)
    cores(n_jobs)
    X_train, y_train = in_memory(g, X_train, y_train, sample, random_state)
    X_test, y_test = in_memory(g, X_test, y_test, sample, random_state)
    data = need_data(g, X_train, y_train, X_test, y_test, shares, estimator, label_bins, random_state)
    with threadpool_limits(1):
        return _measured(data, n_jobs, progress)


def need_data(
    g: Generalization,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    shares: dict[str, float],
    estimator: Any,
    label_bins: int | None,
    random_state: int,
) -> NeedData:
    """The records as everything sees them, checked."""
    train, test = as_frame(X_train, g.names), as_frame(X_test, g.names)
    labels = Labels.fit(y_train, label_bins, name=label_name(y_train))
    y = labels.encode(label_values(y_train, len(train)))
    truth = labels.encode(label_values(y_test, len(test)))
    if not len(test):
        raise DataError("The test data has no rows.")
    model_on(g, estimator, len(labels), random_state)  # refused here where it cannot learn
    train, y = _at_most(MOST, train, y, g.schema, random_state)
    test, truth = _at_most(len(train), test, truth, g.schema, random_state)
    return NeedData(g, train, test, y, truth, len(labels), shares, estimator, random_state)


def _at_most(most: int, frame: Any, labels: Codes, schema: Schema, random_state: int) -> tuple[Any, Codes]:
    """The records and their labels, or so many of them, of whole persons."""
    rows = drawn_rows(len(frame), person_codes(schema, frame), most, random_state)
    return (frame, labels) if rows is None else (frame[rows], labels[rows])


def _measured(data: NeedData, n_jobs: int | None, progress: bool) -> Necessity:
    data.prepare()
    raw = raw_generalization(data.train, data.g.schema)
    every = one_step_changes(data.g, raw, data.train, data.codes[0], data.y, data.classes, data.random_state)
    pieces: list[Any] = [partial(data.predicted, raw), *(partial(data.tried, g) for g in [data.g, *_shown(every)])]
    of_raw, base, *found = run_all(pieces, "Trying alternatives", n_jobs=n_jobs, progress=progress)
    steps = _steps(data, every, base, found, of_raw)
    majority, estimator = data.majority.log_loss(), data.estimator
    return Necessity(
        attributes={
            p.name: AttributeNeed(p.name, p.action, p.name in data.weights, **steps.get(p.name, {}))
            for p in data.g.partitions
        },
        error=float(base.wrong.mean()),
        skill_kept=skill_kept(float(base.loss.mean()), of_raw.log_loss(), majority),
        adversary_error=float(base.adversary.mean()),
        records=len(data.test),
        trained_on=len(data.train),
        estimator=estimator if isinstance(estimator, str) else type(estimator).__name__,
        adversary=ADVERSARY,
        random_state=data.random_state,
    )


def _shown(every: list[OneStep]) -> list[Generalization]:
    return [each.generalization for each in every]


def _steps(
    data: NeedData, every: list[OneStep], base: Tried, found: list[Tried], raw: Predictions
) -> dict[str, dict[str, Step]]:
    """Attribute → kind of alternative → what it changes."""
    skills = skill_intervals(
        [each.loss for each in found], base.loss, raw.loss, data.majority.loss, data.persons, data.random_state
    )
    steps: dict[str, dict[str, Step]] = {}
    for alternative, tried, skill in zip(every, found, skills, strict=True):
        step = _step(data, alternative, base, tried, raw, skill)
        steps.setdefault(alternative.attribute, {})[alternative.kind] = step
    return steps


def _step(data: NeedData, alternative: OneStep, base: Tried, tried: Tried, raw: Predictions, skill: Interval) -> Step:
    error, adversary = tried.wrong - base.wrong, tried.adversary - base.adversary
    gain = data.majority.log_loss() - raw.log_loss()
    name, own = alternative.attribute, None
    if name in data.weights:
        own = tried.missed[name] - base.missed[name]
    return Step(
        what=alternative.what,
        error_change=float(error.mean()),
        error_interval=difference_interval(error, data.persons),
        skill_change=float((base.loss - tried.loss).mean()) / gain if gain > 0 else float("nan"),
        skill_interval=skill,
        adversary_change=float(adversary.mean()),
        adversary_interval=difference_interval(adversary, data.persons),
        own_change=None if own is None else float(np.mean(own)),
        own_interval=None if own is None else difference_interval(own, data.persons),
    )
