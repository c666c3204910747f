"""What an artifact does on records that nothing was learned from or chosen on, through its own `transform`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.generalization import CellPartition, Generalization
from modicum.generalization.core import DistinctColumns
from modicum.learners.asking import Model
from modicum.measures.information_loss import InformationLoss, ncp
from modicum.measures.intervals import Interval, Resampling, mean_interval
from modicum.minimizers.model_guided.outcomes import Outcomes
from modicum.minimizers.model_guided.records import ModelView
from modicum.table.codes import group_rows
from modicum.table.plain_data import PlainResult
from modicum.table.schema import Schema
from modicum.typing import Codes, Floats


@dataclass(frozen=True)
class HeldOut(PlainResult):
    """What an artifact does on records that nothing was learned from or chosen on.

    Attributes
    ----------
    agreement, interval : the share of predictions that stay (R² for a number), and its 95% interval
    constant_agreement : the same for one prediction for everyone (0 for R²), to compare with
    by_class : each class that the model predicts → how many of those predictions stay
    loss : NCP of each attribute and their mean, GCP
    distinct, raw_distinct, records : how many different records are told, and there are, among how many
    disclosure_risk, raw_disclosure_risk : papers/1 equation (4), all attributes taken for quasi-identifiers
    """

    agreement: float
    interval: Interval
    constant_agreement: float
    by_class: dict[str, float]
    loss: InformationLoss
    distinct: int
    raw_distinct: int
    records: int

    _properties = ("disclosure_risk", "raw_disclosure_risk")

    @property
    def disclosure_risk(self) -> float:
        return self.distinct / self.records

    @property
    def raw_disclosure_risk(self) -> float:
        return self.raw_distinct / self.records


@dataclass(frozen=True)
class Reported:
    """The records held out: as attributes, their places among all, and which of them are one person's."""

    model: Model
    view: ModelView
    outcomes: Outcomes
    attributes: nw.DataFrame[Any]
    schema: Schema
    rows: Codes
    persons: Codes | None
    weights: Mapping[str, float] | None

    def measure(self, g: Generalization | CellPartition) -> HeldOut:
        """The figures of one artifact."""
        native = self.attributes.to_native()
        said = self.model(self.view.feed(g.transform(native, output="values")))
        misses = self.outcomes.misses(said, self.rows)
        return HeldOut(
            agreement=1.0 - float(misses.mean()),
            interval=_interval(misses, self.persons),
            constant_agreement=self.outcomes.constant_agreement,
            by_class=self.outcomes.by_class(misses, self.rows),
            loss=ncp(g, native, weights=self.weights),
            distinct=int(group_rows(g.codes(native)).max()) + 1,
            raw_distinct=self.raw_distinct,
            records=len(self.rows),
        )

    @cached_property
    def raw_distinct(self) -> int:
        """How many different records there are."""
        return int(group_rows(np.column_stack(DistinctColumns.of(self.attributes, self.schema).places)).max()) + 1


def _interval(misses: Floats, units: Codes | None) -> Interval:
    """Where the agreement lies: exact for shares, by resampling where a miss may exceed 1."""
    if misses.max(initial=0.0) <= 1:
        low, high = mean_interval(misses, units)
    else:
        low, high = Resampling(len(misses), units).interval(lambda draws: float(np.average(misses, weights=draws)))
    return 1 - high, 1 - low
