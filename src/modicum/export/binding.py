"""Whether a model can read what an artifact tells: the same attributes, and buckets that it knows."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from modicum.errors import ArtifactError, quoted
from modicum.generalization import CellPartition, Generalization, Questionnaire
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail
from modicum.generalization.cells import code_of
from modicum.generalization.loading import Collected
from modicum.generalization.record_format import Inputs, RecordFormat, Told

Predict = Callable[[Sequence[Told]], Any]


def check_bound(
    artifact: Collected, format: RecordFormat, model: Any, inputs: Inputs, predict: Predict | None = None
) -> None:
    """Refuse a model that was trained on other attributes or buckets.

    With `predict` it is also tried on every bucket, so that a bundle that cannot predict is never written.
    """
    if model is None:
        return
    names = list(format.inputs([], inputs).columns)
    trained_on = _feature_names(model)
    if trained_on is not None and trained_on != names:
        strange = sorted(set(trained_on) ^ set(names))
        what = f"it differs in {quoted(strange)}" if strange else "the order differs"
        raise ArtifactError(f"The model was trained on other attributes than this artifact gives it: {what}.")
    if inputs == "labels":
        _check_categories(artifact, model)
    if predict is not None:
        _try(artifact, predict)


def _feature_names(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _check_categories(artifact: Collected, model: Any) -> None:
    """Every category that an encoder inside the model has learned must be one of the artifact's labels."""
    labels = _labels(artifact)
    for encoder in _encoders(model):
        for name, categories in zip(encoder.feature_names_in_, encoder.categories_, strict=False):
            strange = [each for each in categories if isinstance(each, str) and each not in labels.get(name, ())]
            if name in labels and labels[name] and strange:
                raise ArtifactError(
                    f"The model knows the bucket {strange[0]!r} of {str(name)!r}, which this artifact does not have; "
                    "it belongs to another generalization."
                )


def _labels(artifact: Collected) -> dict[str, frozenset[str]]:
    if isinstance(artifact, Generalization):
        return {name: frozenset(labels) for name, labels in artifact.buckets.items()}
    cells = artifact.cells if isinstance(artifact, Questionnaire) else artifact
    return {name: frozenset(cells.labels(name)) for name in cells.needed}


def _encoders(model: Any) -> Iterator[Any]:
    """The fitted one-hot and ordinal encoders inside a pipeline or a column transformer."""
    if hasattr(model, "categories_") and hasattr(model, "feature_names_in_"):
        yield model
    for _, step in getattr(model, "steps", None) or []:
        yield from _encoders(step)
    for _, step, _ in getattr(model, "transformers_", None) or []:
        yield from _encoders(step)


def _try(artifact: Collected, predict: Predict) -> None:
    trials = list(_trials(artifact))
    try:
        found = predict(trials)
    except ArtifactError:
        raise
    except Exception as error:  # whatever the model may raise: the sentence says what it was tried on
        raise ArtifactError(
            f"The model cannot predict from what this artifact tells ({type(error).__name__}: {error})."
        ) from error
    if len(found) != len(trials):
        raise ArtifactError("The model must give one prediction per record.")


def _trials(artifact: Collected) -> Iterator[Told]:
    """Records in which every bucket (or cell) occurs at least once."""
    if isinstance(artifact, Questionnaire):
        yield from _answered(artifact.cells)
    elif isinstance(artifact, CellPartition):
        for cell, kept in _kept_trials(artifact):
            yield (cell, *kept.values())
    else:
        partitions = [p for p in artifact.partitions if not isinstance(p, Dropped)]
        for i in range(max([1, *(len(p.labels) for p in partitions)])):
            yield tuple(_trial(p, i, p.value) for p in partitions)


def _trial(partition: AnyPartition, i: int, value: Any) -> Any:
    if not isinstance(partition, FullDetail):
        return min(i, len(partition.labels) - 1)
    return 0.0 if value is None else float(partition.as_number(value))


def _kept_trials(cells: CellPartition) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every cell, and beside it what is told the same way in every cell, each of its buckets in turn."""
    kept = {name: cells.told(name)[0] for name in cells.kept}
    for i in range(max([cells.n_cells, *(len(partition.labels) for partition in kept.values())])):
        cell = i % cells.n_cells
        values = dict(zip(cells.names, cells.tree.cells[cell].values, strict=True))
        yield cell, {name: _trial(partition, i, values[name]) for name, partition in kept.items()}


def _answered(cells: CellPartition) -> Iterator[Told]:
    """Answers to a questionnaire that lead to each cell: more than is asked, which decides as well."""
    for cell, kept in _kept_trials(cells):
        values = dict(zip(cells.names, cells.tree.cells[cell].values, strict=True))
        asked = [name for name in cells.needed if name not in kept]
        codes = {name: (max(0, code_of(cells.detail[name], values[name])),) for name in asked}
        yield tuple((name, kept[name] if name in kept else codes[name]) for name in cells.needed)
