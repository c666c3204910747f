"""Training data from a release [Mancuhan16 Definitions 11 to 13]: identifying table alone, full join or pruned join."""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.anatomy.join import Join
from modicum.anatomy.pruning import Chosen, prune_in_kernel_space, prune_join
from modicum.errors import ParameterError, check_choice_is, check_number_is
from modicum.releases.anatomy_release import AnatomyRelease
from modicum.table.frames import as_frame, column
from modicum.typing import Floats

KINDS = ("pruned", "joined", "identifying")
PRUNE_PER = ("record", "group")
SPACES = ("input", "kernel")
_TIES = 4  # separates these random numbers from others with the same seed


@dataclass(frozen=True)
class TrainingSet:
    """Records to learn from: attributes, class (None if the release has none), and a weight for each row."""

    X: nw.DataFrame[Any]
    y: nw.Series[Any] | None
    weights: Floats


def training_data(
    release: AnatomyRelease,
    kind: str = "pruned",
    *,
    prune_per: str = "record",
    space: str = "input",
    random_state: int | None = 0,
    return_weights: bool = False,
) -> Any:
    """Make records to train a model on, using only a release.

    Parameters
    ----------
    release : AnatomyRelease
        The identifying table and the sensitive tables.
    kind : "pruned", "joined" or "identifying"
        "identifying" leaves out the sensitive attributes [Mancuhan16 Definition 12]. "joined" combines each record
        with every candidate of its group, so it occurs as often as the group has records (Definition 11); with several
        sensitive attributes, with every combination of candidates. "pruned" keeps the one that [Mancuhan16 §4] chooses
        (Definition 13): its squared norm is nearest to the middle of the smallest and largest squared norm.
    prune_per : "record" or "group"
        Whether pruning keeps one candidate for each record, so the number of records stays the same (Definition 13 and
        Theorem 4.1), or one row for each group (the literal reading of Figure B.2).
    space : "input" or "kernel"
        Whether norms are measured on the attributes, in the coding of [Mancuhan16 Appendix B], or in the space of a
        Gaussian kernel, around the mean and approximated with 200 landmarks.
    random_state : int, optional
        Seed for landmarks and for ties; all tied rows have the same probability.
    return_weights : bool
        Also return weights with which each person counts once: 1 / |G| for "joined", otherwise 1.

    Returns
    -------
    X, y : frames like the release's tables, in the original domain; y is None if the release has no class
    weights : array, only with `return_weights`

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> people = pd.DataFrame({"age": [20, 30, 60, 90], "ill": ["no", "yes", "no", "yes"], "GID": [1, 1, 2, 2]})
    >>> values = pd.DataFrame({"GID": [1, 1, 2, 2], "weight": [50, 80, 60, 100]})
    >>> release = md.AnatomyRelease.from_tables(people, values, label="ill")
    >>> X, y = md.anatomy.training_data(release)
    >>> X["weight"].tolist(), y.tolist()
    ([50, 50, 100, 60], ['no', 'yes', 'no', 'yes'])
    >>> len(md.anatomy.training_data(release, "joined")[0])
    8
    """
    training = training_set(release, kind, prune_per=prune_per, space=space, random_state=random_state)
    X, y = training.X.to_native(), None if training.y is None else training.y.to_native()
    return (X, y, training.weights) if return_weights else (X, y)


def training_set(
    release: AnatomyRelease, kind: str, *, prune_per: str, space: str, random_state: int | None
) -> TrainingSet:
    """Make the same data as `training_data`, as narwhals frames with weights."""
    check_choice_is(kind, "kind", "training_data", KINDS)
    check_choice_is(space, "space", "training_data", SPACES)
    check_arguments(release, "training_data", prune_per, random_state)
    join, everyone = Join.of(release), np.arange(release.rows)
    if kind == "joined":
        join.check_rows()
        chosen = Chosen(*join.rows(everyone))
        return _build_training_set(join, chosen, 1 / join.repeats[chosen.records])
    if kind == "identifying":
        chosen = Chosen(everyone, np.empty((len(everyone), 0), dtype=np.int64))
    else:
        prune = prune_join if space == "input" else prune_in_kernel_space
        chosen = prune(join, prune_per, make_generator(random_state))
    return _build_training_set(join, chosen, np.ones(len(chosen.records)))


def make_generator(random_state: int | None) -> np.random.Generator:
    """Make the random generator for ties and landmarks, independent of the one that makes groups from the same seed."""
    return np.random.default_rng(None if random_state is None else [random_state, _TIES])


def check_arguments(release: AnatomyRelease, owner: str, prune_per: str, random_state: int | None) -> None:
    """Refuse anything but a release, and invalid `prune_per` or `random_state`."""
    if not isinstance(release, AnatomyRelease):
        raise ParameterError(
            f"The 'release' parameter must be an AnatomyRelease. Got {type(release).__name__} instead."
        )
    check_choice_is(prune_per, "prune_per", owner, PRUNE_PER)
    if random_state is not None:
        check_number_is(random_state, "random_state", owner, 0)


def _build_training_set(join: Join, chosen: Chosen, weights: Floats) -> TrainingSet:
    """Build the chosen rows in the original domain, with columns in the order of the schema."""
    release, frame = join.release, join.identifying
    everyone = np.array_equal(chosen.records, np.arange(len(frame)))
    frame = nw.maybe_reset_index(frame if everyone else frame[chosen.records])
    series = []
    for a in range(chosen.places.shape[1]):
        own = join.sensitive_values(a, chosen.places[:, a])
        if own.implementation is not frame.implementation:
            own = nw.new_series(own.name, own.to_list(), backend=frame.implementation)
        series.append(own)
    names = [each.name for each in join.identifying_attributes] + [each.name for each in series]
    X = frame.with_columns(*series).select([name for name in release.schema.names if name in names])
    return TrainingSet(X, None if release.label is None else column(frame, release.label), weights)


def class_of(release: AnatomyRelease) -> nw.Series[Any]:
    """Return the class of the released records."""
    if release.label is None:
        raise ParameterError(
            "The release has no class to learn: anatomize with y, or name it with the 'label' parameter of from_tables."
        )
    return column(as_frame(release.identifying), release.label)
