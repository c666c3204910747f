"""R+-tree: the boxes of a bulk-loaded spatial index are the groups (Iwuchukwu and Naughton 2007)."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from modicum.anonymizers.base import Anonymizer
from modicum.anonymizers.batches import Parts, Survey, Tally, frames, put_back
from modicum.anonymizers.out_of_core.part_release import Upper, WholeTask
from modicum.anonymizers.out_of_core.upper_tree import upper_levels
from modicum.anonymizers.task import Task, parts_of, split, task_of
from modicum.engines.table import EngineTable
from modicum.errors import DataError, ParameterError, check_number
from modicum.releases.release import Release
from modicum.table.estimator_input import schema_of
from modicum.table.frames import as_frame
from modicum.typing import Codes


class RPlusTree(Anonymizer):
    """k-anonymous records by the leaves of an R+-tree: the third of the three comparators of papers/2 §4.

    Leaves of an R+-tree do not overlap; each is a group, and with `output="ranges"` its bounding box is published. The
    tree is loaded in bulk and only its leaves are kept: from the top down, of the cuts nearest to each attribute's
    median the one whose two boxes lose least (NCP) is made, until no side could keep k records. Records are not
    inserted one by one, as in the paper's incremental case. `fit_batches` does the same for a table that does not fit
    into memory: its upper levels are cut at the medians of a sample. A table in files or an engine is better released
    by `release_to`, whose upper levels are exactly those of memory, t included; batches come from anywhere and go back
    in their order.

    Parameters
    ----------
    k : int
        The fewest records (persons, where the schema says whose a record is) that share their quasi-identifiers.
    quasi_identifiers : names
        By which people could be recognised; all attributes but the sensitive one by default.
    l, t, sensitive
        ℓ-diversity and t-closeness of one attribute in every group.
    diversity, c, distance, representatives, output, suppress, schema, random_state
        As in `modicum.anonymizers.base.Anonymizer`; `fit` leaves no record out, whatever `suppress` is.

    Attributes
    ----------
    release_ : Release
        The anonymous table and what was measured of it.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> anonymizer = md.RPlusTree(k=50, quasi_identifiers=["age", "sex", "race", "native-country"])
    >>> Z = anonymizer.fit_transform(X[:5_000])
    >>> len(Z), md.measures.k_anonymity(Z, anonymizer.quasi_identifiers) >= 50
    (5000, True)
    """

    def fit_batches(self, read: Callable[[], Iterable[Any]], batch_rows: int = 1_000_000) -> Iterator[Any]:
        """Anonymize a table that comes in batches, of which about `batch_rows` records are held in memory at once.

        The data is read four times; what is in between lies in a temporary folder, as raw as it came, until the last
        batch is taken. What was given out is counted: where k did not hold in the end, an error says so instead of an
        end, so take all batches before any is passed on. t-closeness compares with the whole table and is not to be had
        in batches; every column must have one type in all of them.

        Parameters
        ----------
        read : callable
            Gives the batches (frames with the same columns), anew and in the same order each time it is called.
        batch_rows : int

        Yields
        ------
        frame
            Each batch, anonymized. When the first one comes, `release_` says what was measured; it holds no records.

        Examples
        --------
        >>> import pandas as pd, modicum as md
        >>> X, y = md.datasets.load_adult(return_X_y=True)
        >>> batches = lambda: (X[start : start + 1_000] for start in range(0, 3_000, 1_000))
        >>> tree = md.RPlusTree(k=50, quasi_identifiers=["age", "sex", "race"])
        >>> Z = pd.concat(tree.fit_batches(batches, batch_rows=2_000))
        >>> len(Z), md.measures.k_anonymity(Z, ["age", "sex", "race"]) >= 50
        (3000, True)
        """
        check_number(self, "k", 2)
        if self.t is not None:
            raise ParameterError(
                "The 't' parameter compares with the whole table; RPlusTree.fit_batches takes k and l."
            )
        if isinstance(batch_rows, bool) or not isinstance(batch_rows, int) or batch_rows < 2 * self.k:
            raise ParameterError(f"The 'batch_rows' parameter must be an int ≥ 2 k. Got {batch_rows!r} instead.")
        if not callable(read):
            raise ParameterError("The 'read' parameter must be a function that gives the batches anew each time.")
        first = next(frames(read), None)
        if first is None:
            raise DataError("The batches hold 0 rows, so there is nobody to hide among.")
        schema = schema_of(self, first)
        names, sensitive = parts_of(self, schema)
        person = [] if schema.person is None or schema.person not in first.columns else [schema.person]
        kept = list(dict.fromkeys([*names, *([] if sensitive is None else [sensitive]), *person]))
        published = [n for n in first.columns if n not in schema or not schema[n].is_identifying]
        looked = Survey.of(read, schema, names, self.random_state)
        segments = looked.segments(batch_rows)
        own = clone(self).set_params(schema=looked.build_schema().select(kept), quasi_identifiers=names)
        with tempfile.TemporaryDirectory(prefix="modicum-") as folder:
            parts = Parts(Path(folder))
            for frame in frames(read):
                parts.spill(frame.select(kept), segments.which(frame))
            releases = []
            for bundle in parts.bundles(own._would_do):
                releases.append(own.fit(parts.load(bundle)).release_)
                parts.store(bundle, releases[-1].frame[names])
            self.release_ = _merge_releases(releases)
            tally = Tally()
            for number, frame in enumerate(frames(read)):
                stands = parts.fetch(number, segments.which(frame))
                released = put_back(frame, stands, published, self.output == "values")
                tally.add(released, names)
                yield released
            tally.check(self.k)

    def _check_engine(self) -> None:
        """Nothing that an engine cannot do."""

    def _upper(self, table: EngineTable, task: WholeTask, rows: int) -> Upper:
        return upper_levels(table, task, rows, tight=True)

    def _groups(self, task: Task) -> Codes:
        return split(task.ranked, task.needs, tight=True)

    def _would_do(self, frame: pd.DataFrame) -> bool:
        """Whether these records could be released by themselves."""
        if len(frame) < self.k:
            return False
        table = as_frame(frame)
        return task_of(self, table, schema_of(self, table), None, refuse=False).needs.is_feasible()


def _merge_releases(releases: Sequence[Release]) -> Release:
    """What was measured of all parts; they share no class."""
    rows = [each.rows for each in releases]

    def mean(values: Sequence[float]) -> float:
        return float(np.average(values, weights=rows))

    names = releases[0].quasi_identifiers
    return replace(
        releases[0],
        frame=None,
        classes=None,
        rows=sum(rows),
        n_classes=sum(each.n_classes for each in releases),
        k=min(each.k for each in releases),
        l=None if releases[0].l is None else min(each.l or 0 for each in releases),
        ncp=mean([each.ncp for each in releases]),
        ncp_by_attribute={name: mean([each.ncp_by_attribute[name] for each in releases]) for name in names},
        discernibility=sum(each.discernibility for each in releases),
    )
