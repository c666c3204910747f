"""Check whether a sample was large enough to learn from [Staab24 §8.3].

The paper finds that a few percent of the data teach a minimizer as much as all of it, and that only very small samples
do worse. Other records show whether a sample is too small.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.engines import is_table, table_at
from modicum.engines.sampling import Ranks, RecordHash, draw_from
from modicum.errors import DataWarning
from modicum.generalization import Generalization
from modicum.generalization.bins import AnyPartition, FullDetail
from modicum.measures.intervals import Interval, mean_interval
from modicum.table.frames import as_frame, column
from modicum.table.plain_data import PlainResult
from modicum.table.splits import take_rows
from modicum.table.targets import Labels, Target, label_name, label_values
from modicum.typing import Codes, Floats

# Samples to learn from and as many other records to check on, from memory or from an engine


@dataclass(frozen=True)
class Sample:
    """Some of the records, and their labels if there are any."""

    X: Any
    y: Any


def draw_samples(X: Any, y: Any, sample: int, random_state: Any = 0) -> tuple[Sample, Sample]:
    """Draw records to learn from and others to check on; the same from a frame as from these records in an engine.

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.minimizers.sample_check import draw_samples
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> learning, other = draw_samples(X, y, 1_000)
    >>> len(learning.X), len(other.y), len(set(learning.X.index) & set(other.X.index))
    (1000, 1000, 0)
    """
    seed = int(random_state) if isinstance(random_state, int | np.integer) else 0
    if is_table(X) and (y is None or isinstance(y, str)):
        return _draw_samples_at(X, y, sample, seed)
    X = as_frame(X).to_native() if is_table(X) else X
    frame = as_frame(X)
    columns = [frame[name] for name in frame.columns]
    if y is not None:
        columns.append(as_frame(pd.DataFrame({label_name(y): label_values(y, len(frame))}))[label_name(y)])
    order = np.argsort(RecordHash((), seed).of_series(columns), kind="stable")
    ranks = Ranks.of(len(frame), sample)
    learning, other = (
        Sample(take_rows(X, order[r]), None if y is None else take_rows(y, order[r]))
        for r in (ranks.learning, ranks.other)
    )
    return learning, other


def _draw_samples_at(X: Any, y: str | None, sample: int, seed: int) -> tuple[Sample, Sample]:
    table = table_at(X)
    table.check([] if y is None else [y])
    learning, other = draw_from(table, sample, seed)
    names = [name for name in table.columns if name != y]
    if y is None:
        return Sample(learning, None), Sample(other, None)
    pair = [Sample(part.select(names), as_frame(part)[y].to_pandas()) for part in (learning, other)]
    return pair[0], pair[1]


# The check

TOLERANCE = 0.02


@dataclass(frozen=True)
class SampleCheck(PlainResult):
    """Whether what was learned from a sample holds on other records.

    Each collected answer (for a tree, the leaf) predicts the label that is most frequent with it in the sample. Without
    a label, each answer is predicted to be the sample's most frequent one. With e the share of wrong predictions,
    averaged over the answers, the excess is

        e(other records) - e(sample),

    and its 95% interval follows from those of both shares: d - √((p₂-l₂)² + (u₁-p₁)²) to d + √((u₂-p₂)² + (p₁-l₁)²).
    The sample is enough if the upper end of the interval is at most `tolerance`. So a sample that is too small to
    decide is not enough.

    Attributes
    ----------
    enough : bool
    promised : float
        e on the records learned from.
    holds : float
        e on as many others.
    excess, interval : float, (float, float)
        How much larger e is on the others, and its 95% interval.
    baseline : float
        e on the others if nothing is collected: always the most frequent class; without a label, a bucket at random.
    predicts : "label" or "answers"
    records, others : int
    tolerance : float
    """

    enough: bool
    promised: float
    holds: float
    excess: float
    interval: Interval
    baseline: float
    predicts: str
    records: int
    others: int
    tolerance: float = TOLERANCE


def check_sample(method: Any, learning: Sample, other: Sample) -> SampleCheck:
    """Check on other records what a method learned from a sample; warn if the sample was not enough."""
    leaves = method._leaves(learning.X), method._leaves(other.X)
    if leaves[0] is not None:
        answers = leaves[0][:, None], leaves[1][:, None]
    else:
        answers = answers_to(method.generalization_, method._attributes(learning.X), method._attributes(other.X))
    check = compare_samples(*answers, getattr(method, "_labels", None), learning.y, other.y)
    warn_of_sample(check)
    return check


def warn_of_sample(check: SampleCheck) -> None:
    """Warn if the sample was too small."""
    if not check.enough:
        warnings.warn(describe_check(check), DataWarning, stacklevel=5)


def compare_samples(answers: Codes, others: Codes, labels: Labels | None, y: Any, y_other: Any) -> SampleCheck:
    """Measure how often the answers of a sample predict wrongly, on it and on others."""
    if y is None or labels is None:
        wrong, baseline = _measure_answer_errors(answers, others)
    else:
        wrong, baseline = _measure_label_errors(answers, others, labels.encode(y), labels.encode(y_other), len(labels))
    promised, holds = (float(values.mean()) for values in wrong)
    interval = difference_interval(*wrong)
    return SampleCheck(
        enough=interval[1] <= TOLERANCE,
        promised=promised,
        holds=holds,
        excess=holds - promised,
        interval=interval,
        baseline=baseline,
        predicts="answers" if y is None or labels is None else "label",
        records=len(answers),
        others=len(others),
    )


def describe_check(check: SampleCheck) -> str:
    """Say in a sentence whether the sample was enough."""
    errors = (
        f"on {check.others:,} others {check.holds:.1%} of the predictions are wrong, {check.promised:.1%} on those it "
        f"learned from (95% interval of the difference {check.interval[0]:+.1%} to {check.interval[1]:+.1%})."
    )
    if check.enough:
        return f"A sample of {check.records:,} records was enough: {errors}"
    return f"A sample of {check.records:,} records may be too small: {errors} Draw a larger one."


def difference_interval(first: Floats, second: Floats) -> Interval:
    """Return the 95% interval of mean(second) - mean(first), for values from 0 to 1, from the intervals of both.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.minimizers.sample_check import difference_interval
    >>> low, high = difference_interval(np.repeat([1.0, 0.0], [20, 80]), np.repeat([1.0, 0.0], [30, 70]))
    >>> round(low, 3), round(high, 3)
    (-0.02, 0.217)
    """
    p1, p2 = float(first.mean()), float(second.mean())
    (l1, u1), (l2, u2) = mean_interval(first), mean_interval(second)
    below, above = np.hypot(p2 - l2, u1 - p1), np.hypot(u2 - p2, p1 - l1)
    return float(p2 - p1 - below), float(p2 - p1 + above)


def answers_to(g: Generalization, X: Any, others: Any) -> tuple[Codes, Codes]:
    """Return the answers of the records of two frames, a column for each collected attribute."""
    frames = as_frame(X, g.names), as_frame(others, g.names)
    coders = [_encoder(g[name], frames[0]) for name in g.needed]
    found = [np.empty((len(frame), len(coders)), dtype=np.int64) for frame in frames]
    for j, (name, encode) in enumerate(zip(g.needed, coders, strict=True)):
        for frame, codes in zip(frames, found, strict=True):
            codes[:, j] = encode(frame, name)
    return found[0], found[1]


def _encoder(partition: AnyPartition, frame: Any) -> Callable[[Any, str], Codes]:
    """Map a frame and a column to answers; a number in full detail is divided into tenths of the sample's records."""
    if isinstance(partition, FullDetail) and not partition.attribute.is_category:
        target = Target.fit(frame, partition.attribute)
        return lambda X, _: np.where((codes := target.encode(X)) < 0, target.size, codes)
    return lambda X, name: partition.encode(column(X, name))


_Wrong = tuple[Floats, Floats]


def _measure_label_errors(
    answers: Codes, others: Codes, y: Codes, y_other: Codes, classes: int
) -> tuple[_Wrong, float]:
    """Each record's share of answers that predict the wrong class, and how often the most frequent class is wrong."""
    usual = int(np.bincount(y, minlength=classes).argmax())
    baseline = float((y_other != usual).mean())
    wrong = [(y != usual).astype(float), (y_other != usual).astype(float)]
    if answers.shape[1]:
        predicted = [_majority(answers[:, j], others[:, j], y, classes, usual) for j in range(answers.shape[1])]
        wrong = [np.mean([p[i] != truth for p in predicted], axis=0) for i, truth in enumerate((y, y_other))]
    return (wrong[0], wrong[1]), baseline


def _majority(answer: Codes, other: Codes, y: Codes, classes: int, usual: int) -> tuple[Codes, Codes]:
    """The most frequent class of each record's answer in the sample; the usual one for an answer it does not have."""
    size = int(max(answer.max(), other.max())) + 1
    counts = np.bincount(answer * classes + y, minlength=size * classes).reshape(size, classes)
    most: npt.NDArray[np.int64] = np.where(counts.sum(1) > 0, counts.argmax(1), usual)
    return most[answer], most[other]


def _measure_answer_errors(answers: Codes, others: Codes) -> tuple[_Wrong, float]:
    """Each record's share of answers that are not the sample's most frequent, and the error of random guesses."""
    if not answers.shape[1]:
        return (np.zeros(len(answers)), np.zeros(len(others))), 0.0
    usual = np.array([np.bincount(column).argmax() for column in answers.T])
    choices = np.array([len(np.unique(column)) for column in answers.T])
    return ((answers != usual).mean(1), (others != usual).mean(1)), float((1 - 1 / choices).mean())
