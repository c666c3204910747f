"""MergePath: merge buckets from much detail to none, each time at the best price; beyond PAT [Staab24 §9]."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import ceil
from typing import Any

import numpy as np

from modicum.errors import DataError, ParameterError, check_choice, check_number, format_names
from modicum.generalization import Generalization
from modicum.generalization.bins import AnyPartition
from modicum.generalization.build import drop, partition
from modicum.generalization.core import raw_generalization
from modicum.generalization.description import count_asked_buckets
from modicum.learners.boosting import RecordTrees
from modicum.learners.portfolio import set_aside
from modicum.measures.front import ErrorLimits, check_target, knee
from modicum.minimizers.base import CodedData, Minimizer, enforce_schema, make_guess_codes
from modicum.minimizers.merge_path.choice import ChoiceRecords, Chooser, Holdout, PathChoice
from modicum.minimizers.merge_path.path import STEPS, Rules, label_places, map_to_coarse, nothing, path
from modicum.minimizers.merge_path.record_cells import TINY, Cells, Guessing, stack_columns
from modicum.progress import stoppable, track_progress
from modicum.table.codes import Coder, Coding, NumberCoding, equal_starts
from modicum.table.estimator_input import attribute_weights, person_codes
from modicum.table.frames import as_frame, column, numbers
from modicum.table.schema import Schema
from modicum.table.targets import label_values
from modicum.typing import Codes, Floats, Mask

# Coded records prepared for merging: each attribute's buckets in a row, and the cells that they form.
#
# The codes of a number or ordered category keep their order; missing, which has none, goes where P(y) is most similar.
# The values of a category without order are sorted by P(y). In a row of more than 128, neighbours share a place, with
# about as many records in each. Locked attributes are never merged: every collected value has its own place.

_PLACES = 128
_RANGES = 16  # of an ordered attribute, to find the one that is most similar to missing


@dataclass(frozen=True)
class Places:
    """The places of records' values in each attribute's row.

    Attributes
    ----------
    codings : codings of all attributes
    columns : the attributes that may be collected
    rows : for each of these the place of every code
    exact : for a locked number all its values in order, which are its places; missing and new values come after them
    guessed : for each personal attribute its column and the guessed value of every code, numbered over all of them
    """

    codings: Sequence[Coding]
    columns: list[int]
    rows: list[Codes]
    exact: dict[int, Floats]
    guessed: list[tuple[int, Codes]]

    @property
    def names(self) -> list[str]:
        """The attributes that may be collected."""
        return [self.codings[j].attribute.name for j in self.columns]

    @property
    def sizes(self) -> list[int]:
        """The number of places of each of them."""
        pairs = zip(self.columns, self.rows, strict=True)
        return [len(self.exact[j]) + 2 if j in self.exact else int(row.max()) + 1 for j, row in pairs]

    def of(self, frame: Any, codes: Any) -> Codes:
        """The places of some records, by their values and codes."""
        pairs = zip(self.columns, self.rows, strict=True)
        return stack_columns(
            [self._exactly(frame, j) if j in self.exact else row[codes[:, j]] for j, row in pairs], len(codes)
        )

    def values(self, codes: Any) -> Codes:
        """The values to guess of some records."""
        return np.column_stack([values[codes[:, j]] for j, values in self.guessed])

    def partitions(self, groups: Sequence[Codes]) -> list[AnyPartition]:
        """The partitions for these groups of places; `enforce_schema` decides about locked attributes."""
        found: dict[int, Any] = {
            j: np.unique(group[row], return_inverse=True)[1]
            for j, row, group in zip(self.columns, self.rows, groups, strict=True)
            if not self.codings[j].attribute.locked
        }
        return [partition(c, found[j]) if j in found else drop(c) for j, c in enumerate(self.codings)]

    def _exactly(self, frame: Any, j: int) -> Codes:
        attribute, known = self.codings[j].attribute, self.exact[j]
        values = numbers(column(frame, attribute.name), attribute)
        place = np.minimum(np.searchsorted(known, values), len(known) - 1)
        return np.where(np.isnan(values), len(known), np.where(known[place] == values, place, len(known) + 1))


@dataclass(frozen=True)
class PreparedCells:
    """The places of records, the training records' cells, and the rules for merging."""

    places: Places
    cells: Cells
    rules: Rules

    @classmethod
    def of(
        cls,
        data: CodedData,
        learns: Mask,
        chances: Floats,
        shares: Mapping[str, float],
        strength: float,
        min_group: int,
        mix: float,
    ) -> "PreparedCells":
        """Prepare records: `learns` marks those to learn from (others count in groups), `chances` are the teacher's."""
        records = learns * (np.ones(len(learns)) if data.weights is None else data.weights.astype(np.float64))
        places, owner = _places(data, list(shares), records, chances)
        column_of = {j: a for a, j in enumerate(places.columns)}
        guessing = Guessing(
            owner=owner,
            share=np.array(list(shares.values())),
            column=np.array([column_of.get(j, -1) for j, _ in places.guessed]),
            strength=strength,
        )
        cells = Cells.of(
            places.of(data.frame, data.codes),
            places.sizes,
            chances * records[:, None],
            places.values(data.codes),
            records,
            _people(data),
            guessing,
        )
        attributes = [data.coder.codings[j].attribute for j in places.columns]
        rules = Rules(
            movable=tuple(not attribute.locked for attribute in attributes),
            ordered=tuple(attribute.has_order for attribute in attributes),
            min_group=min_group,
            mix=mix,
        )
        return cls(places, cells, rules)


def _places(data: CodedData, personal: Sequence[str], records: Floats, chances: Floats) -> tuple[Places, Codes]:
    """The places, and for every guessed value the number of its personal attribute."""
    codings = data.coder.codings
    columns = [j for j, coding in enumerate(codings) if not coding.attribute.forbidden]
    exact = {}
    for j in columns:
        coding = codings[j]
        if coding.attribute.locked and isinstance(coding, NumberCoding):
            values = numbers(column(data.frame, coding.attribute.name), coding.attribute)
            exact[j] = np.unique(values[~np.isnan(values)])
    rows = [_row(codings[j], data.codes[:, j].astype(np.int64), records, chances) for j in columns]
    guessed: list[tuple[int, Codes]] = []
    owner: list[int] = []
    for p, name in enumerate(personal):
        j = data.coder.names.index(name)
        own = make_guess_codes(codings[j])
        guessed.append((j, own + len(owner)))
        owner += [p] * (int(own.max()) + 1)
    return Places(codings, columns, rows, exact, guessed), np.array(owner)


def _people(data: CodedData) -> Floats:
    """What each row adds to the number of people: a person's rows add up to one, so a cell has no fewer people."""
    persons = person_codes(data.schema, data.frame)
    if persons is None:
        return np.ones(len(data.codes)) if data.weights is None else data.weights.astype(np.float64)
    return np.asarray(1.0 / np.bincount(persons)[persons])


def _row(coding: Coding, codes: Codes, records: Floats, chances: Floats) -> Codes:
    """The place of every code in the attribute's row."""
    size = coding.n_codes
    if coding.attribute.locked:
        return np.arange(size)
    labels = chances * records[:, None]
    counts = np.bincount(codes, weights=records, minlength=size).astype(np.int64)
    if not coding.attribute.has_order:
        # A value without records goes to the middle.
        sums = np.vstack([labels, np.full((size, labels.shape[1]), 1e-9)])
        order = np.argsort(label_places(np.append(codes, np.arange(size)), sums))
    else:
        order = np.arange(size)
        if coding.missing:
            order = np.insert(order[:-1], _like_missing(codes, counts, labels), size - 1)
    starts = equal_starts(counts[order], _PLACES)
    if coding.missing and coding.attribute.has_order:  # missing keeps a place of its own
        alone = int(np.flatnonzero(order == size - 1)[0])
        starts[alone : alone + 2] = True
    found = np.empty(size, dtype=np.int64)
    found[order] = np.cumsum(starts) - 1
    return found


def _like_missing(codes: Codes, counts: Codes, labels: Floats) -> int:
    """The place of missing, the last code, among the values: at the end of the range with the most similar P(y)."""
    ranges = np.append(np.cumsum(equal_starts(counts[:-1], _RANGES)) - 1, -1)
    of_row = ranges[codes]
    last = int(ranges.max())
    sums = np.stack([np.bincount(of_row + 1, weights=column, minlength=last + 2) for column in labels.T], axis=1)
    share = sums / np.maximum(sums.sum(axis=1, keepdims=True), 1e-300)
    nearest = int(np.argmin(((share[1:] - share[0]) ** 2).sum(axis=1)))
    return int(np.flatnonzero(ranges[:-1] == nearest)[-1]) + 1


# The minimizer

_STRENGTH = {"adversary": 1.0, "certificate": 0.0}  # how many records a bucket's own shares count as (`Cells`)
_FEW = 250  # tables with fewer records set none aside


@dataclass(frozen=True)
class PathPoint:
    """One generalization of a path, with estimates from the records that made it.

    Attributes
    ----------
    generalization : what is collected
    buckets, groups : how many answers can be chosen in all, and how many combinations of them occur
    smallest_group : the fewest people who share a combination
    error, log_loss : of predicting for each combination what the teacher says of its records
    adversary_error : the weighted mean error of guessing personal values by counting in each combination
    """

    generalization: Generalization
    buckets: int
    groups: int
    smallest_group: int
    error: float
    log_loss: float
    adversary_error: float


class MergePath(Minimizer):
    """Merge buckets where that hides most for what it costs the prediction, down to nothing collected.

    PAT's buckets are the union of all splits of a tree, far finer than the tree itself, and much of what they collect
    gains nothing ([Staab24 §9] asks whether PAT can be beaten). This method searches the buckets themselves. Boosted
    trees on raw records are the teacher: their class probabilities, not the labels, decide what a bucket is worth, so
    that small cells do not look too good. At a price λ of utility, dynamic programming finds the exact best grouping of
    one attribute while the others stay fixed, attribute after attribute until none can be improved
    (`minimizers.merge_path.path`). The path leads through the groupings for falling prices, each a coarsening of the
    one before, with single merges in between.

    So two generalizations of one path that are breached together (A6) reveal exactly what the finer one reveals alone:
    collecting less later adds no multi-breach risk [Staab24 Table 3].

    Parameters
    ----------
    keep : float from 0 to 1, optional
        Choose the coarsest point that keeps this share of the raw model's skill.
    max_error : float from 0 to 1, optional
        Or: the coarsest whose classifier error is at most this.
    knee : bool
        Or: the inflection point, after which a little more utility (as log-loss) costs much privacy. It is the
        default, and never predicts worse than with nothing collected.
    risk : 'adversary' or 'certificate'
        What to lower: the accuracy of an adversary who counts, with small cells smoothed; or the certificate's U on the
        training records, so that the path is best for certification.
    mix : float from 0 to 1, optional
        How the prediction's loss is measured: 0 by error, which has plateaus, 1 by log-loss. By default it depends on
        the target: 0.1 for `max_error`, 0.9 for `keep`, which is about log-loss, and 0.5 for the knee.
    min_group : int
        The fewest people who share a combination of buckets, in every point of the path, among all records given to
        `fit`. A part of a person's rows counts as a part of a person.
    personal : list of str, optional
        The attributes to protect; overrides the schema; all if neither names any.
    weights : dict, optional
        Weight of each personal attribute, 1 by default.
    label_bins : int, optional
        For a numeric label: predict one of this many ranges of about equal frequency.
    schema : Schema, optional
        Kinds and roles; inferred if not given. What it locks is kept in full detail, what it forbids is never
        collected, and adversaries still guess both if they are personal.
    random_state : int, RandomState or None
        Draws the records to choose on.
    progress : bool
        Whether to show a progress bar on a terminal.

    Attributes
    ----------
    generalization_ : Generalization
    path_ : list of PathPoint
        Nested, from the finest to nothing collected (or what is locked).
    choice_ : PathChoice
        The chosen point, and its results on the records that it was chosen on.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> merged = md.MergePath(keep=0.8, personal=["age", "race", "sex"]).fit(X[:6_000], y[:6_000])
    >>> merged.choice_.skill_kept >= 0.8
    True
    >>> finer, coarser = merged.path_[0].generalization, merged.path_[-1].generalization
    >>> finer.intersect(coarser).n_buckets == finer.n_buckets
    True
    """

    def __init__(
        self,
        *,
        keep: float | None = None,
        max_error: float | None = None,
        knee: bool = False,
        risk: str = "adversary",
        mix: float | None = None,
        min_group: int = 1,
        personal: Iterable[str] | None = None,
        weights: Mapping[str, float] | None = None,
        label_bins: int | None = None,
        schema: Schema | None = None,
        random_state: int | np.random.RandomState | None = 0,
        progress: bool = True,
    ) -> None:
        self.keep = keep
        self.max_error = max_error
        self.knee = knee
        self.risk = risk
        self.mix = mix
        self.min_group = min_group
        self.personal = personal
        self.weights = weights
        self.label_bins = label_bins
        self.schema = schema
        self.random_state = random_state
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample: int | None = None,
    ) -> Any:
        """Learn the path, and choose a point of it.

        Parameters
        ----------
        X : pandas or polars frame, or array
            The features; a column of X that the schema calls label, person or identifier is left out.
        y : array-like
            The label to predict.
        sample_weight : array-like of int, optional
            How many records each row represents.
        X_val, y_val : optional
            Records to choose on. Without them a fifth of X is set aside (whole persons); with fewer than 250 rows none
            is, and the choice is made on the rows that made the path.
        sample : int, optional
            Learn from this many records of X, drawn by a hash of their values (a table in an engine needs it);
            `sample_check_` then says whether they were enough.
        """
        self._check_parameters()
        if (X_val is None) != (y_val is None):
            raise ParameterError("Records to choose on need both: X_val and y_val.")
        if sample is not None:
            return self._fit_sample(X, y, sample, sample_weight=sample_weight, X_val=X_val, y_val=y_val)
        self._forget_sample()
        data, seed = self._encode_data(X, y, sample_weight), self._seed()
        if X_val is not None and not len(X_val):
            raise DataError("There are no validation records to choose on (X_val is empty); give it more rows.")
        aside = self._aside(data, seed) if X_val is None else np.zeros(len(data.codes), dtype=bool)
        found = self._search_path(data, ~aside, seed)
        if X_val is not None:
            frame = as_frame(X_val, self._columns)
            validation = ChoiceRecords(frame, self._labels.encode(label_values(y_val, len(frame))), None)
        else:
            validation = _records(data, aside) if aside.any() else found.train
        self.choice_ = self._choose_point(found, validation, data.coder, seed)
        self.generalization_ = self.path_[self.choice_.index].generalization
        return self

    def fit_path(self, X: Any, y: Any, sample_weight: Any = None) -> list[PathPoint]:
        """Return the whole path from all records; `generalization_` is its knee by its own estimates.

        No record is set aside, so there is no `choice_`.

        Examples
        --------
        >>> import modicum as md
        >>> X, y = md.datasets.load_adult(return_X_y=True)
        >>> path = md.MergePath(personal=["age", "sex"]).fit_path(X[:3_000], y[:3_000])
        >>> [point.buckets for point in path] == sorted((point.buckets for point in path), reverse=True)
        True
        """
        self._check_parameters()
        data = self._encode_data(X, y, sample_weight)
        self.__dict__.pop("choice_", None)
        self._search_path(data, np.ones(len(data.codes), dtype=bool), self._seed())
        first, last = self.path_[0], self.path_[-1]
        limits = ErrorLimits(first.log_loss, last.log_loss, last.adversary_error)
        chosen = knee([(point.log_loss, point.adversary_error) for point in self.path_], limits)
        self.generalization_ = self.path_[chosen].generalization
        return self.path_

    def _check_parameters(self) -> None:
        check_target(self.keep, self.max_error, self.knee or (self.keep is None and self.max_error is None))
        check_number(self, "min_group", 1)
        if self.mix is not None:
            check_number(self, "mix", 0, 1, whole=False)
        check_choice(self, "risk", tuple(_STRENGTH))

    @property
    def _least(self) -> int:
        """The group size to enforce: none for groups of one, since every group has someone."""
        return self.min_group if self.min_group > 1 else 0

    @property
    def _mix(self) -> float:
        usual = 0.5 if self.max_error is None and self.keep is None else 0.9 if self.max_error is None else 0.1
        return usual if self.mix is None else float(self.mix)

    def _aside(self, data: CodedData, seed: int) -> Mask:
        """Mark the records to choose on: none of a small table, and never all of a class."""
        assert data.label is not None
        if len(data.codes) < _FEW:
            return np.zeros(len(data.codes), dtype=bool)
        persons = person_codes(data.schema, data.frame)
        units = np.arange(len(data.codes)) if persons is None else persons
        aside = set_aside(len(data.codes), persons, seed)
        lacking = aside & ~np.isin(data.label, data.label[~aside])
        return np.asarray(aside & ~np.isin(units, units[lacking]))

    def _search_path(self, data: CodedData, learns: Mask, seed: int) -> "_PathSearch":
        """Search the path with the records to learn from; those set aside count only in the groups."""
        train = _records(data, learns)
        raw = raw_generalization(train.frame, data.schema)
        model = RecordTrees(raw, data.n_classes, seed).fit(train.frame, train.classes, train.weights)
        teacher, forbidden = model, [a.name for a in data.schema.attributes if a.forbidden]
        if forbidden:  # the teacher must not use what may never be collected
            allowed = reduce(Generalization.drop, forbidden, raw)
            teacher = RecordTrees(allowed, data.n_classes, seed).fit(train.frame, train.classes, train.weights)
        shares = attribute_weights(data.schema.personal, self.weights)
        chances = np.zeros((len(learns), data.n_classes))
        chances[learns] = teacher.predict_proba(train.frame)
        prepared = PreparedCells.of(data, learns, chances, shares, _STRENGTH[self.risk], self._least, self._mix)
        self._check_groups(prepared)
        groupings: list[list[Codes]] = []
        with stoppable("merging buckets") as stop:
            pieces = path(prepared.cells, prepared.rules, stop)
            for piece in track_progress(pieces, "Merging buckets", total=STEPS, progress=self.progress):
                groupings += piece
        if stop.asked:  # the path always ends with nothing collected
            groupings.append(nothing(prepared.cells, prepared.rules))
        self.path_, groupings = _points(prepared, groupings, data.coder)
        return _PathSearch(prepared, groupings, model, train)

    def _check_groups(self, prepared: PreparedCells) -> None:
        least = prepared.cells.join_buckets(nothing(prepared.cells, prepared.rules)).measured.fewest
        if least < self._least - TINY:
            locked = [prepared.places.names[a] for a, free in enumerate(prepared.rules.movable) if not free]
            of = f"with {format_names(locked)} in full detail" if locked else "with nothing collected"
            raise DataError(
                f"Even {of}, the smallest group has {ceil(least - TINY):,} of the {self.min_group:,} people that "
                "min_group asks for; ask for fewer, or give it more rows."
            )

    def _choose_point(self, found: "_PathSearch", validation: ChoiceRecords, coder: Coder, seed: int) -> PathChoice:
        codes, prepared = coder.encode(validation.frame), found.prepared
        at, values = prepared.places.of(validation.frame, codes), prepared.places.values(codes)
        holdout = Holdout(at, validation.classes, values, validation.weights)
        chooser = Chooser(
            [point.generalization for point in self.path_],
            found.train,
            validation,
            found.model,
            lambda i: holdout.losses(prepared.cells, found.groupings[i]),
            holdout.naive_error(prepared.cells),
            seed,
        )
        return chooser.choose(self.keep, self.max_error)


@dataclass(frozen=True)
class _PathSearch:
    """What the choice needs: cells, groups of every point, the model on raw records and its records."""

    prepared: PreparedCells
    groupings: list[list[Codes]]
    model: RecordTrees
    train: ChoiceRecords


def _records(data: CodedData, chosen: Mask) -> ChoiceRecords:
    assert data.label is not None
    rows = np.flatnonzero(chosen)
    weights = None if data.weights is None else data.weights[rows]
    return ChoiceRecords(data.frame[rows.tolist()], data.label[rows], weights)


def _points(
    prepared: PreparedCells, groupings: Sequence[list[Codes]], coder: Coder
) -> tuple[list[PathPoint], list[list[Codes]]]:
    """The points whose groups are large enough, with their groupings; each measured on the cells of the one before."""
    points, large = [], []
    cells, before = prepared.cells, [np.arange(size) for size in prepared.cells.sizes]
    for groups in groupings:
        cells = cells.join_buckets([map_to_coarse(group, own) for group, own in zip(groups, before, strict=True)])
        before = groups
        if cells.measured.fewest >= prepared.rules.min_group - TINY:
            g = enforce_schema(coder, prepared.places.partitions(groups))
            m = cells.measured
            fewest = ceil(m.fewest - TINY)
            points.append(PathPoint(g, count_asked_buckets(g), m.cells, fewest, m.error, m.log_loss, 1 - m.accuracy))
            large.append(groups)
    return points, large
