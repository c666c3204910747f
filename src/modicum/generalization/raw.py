"""Raw data as a generalization: everything is collected, in full detail."""

from typing import Any

import numpy as np

from modicum.generalization.bins import AnyPartition, Dropped, FullDetail
from modicum.generalization.build import keep
from modicum.generalization.core import Generalization
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import Target


def raw_generalization(X: Any, schema: Schema) -> Generalization:
    """Everything in full detail: what a model on raw data sees, and what an adversary sees who knows it all.

    The columns are taken as they are, whatever domain the schema declares; one without any value is left out.
    """
    frame = as_frame(X)
    return Generalization(schema, [_kept(frame, schema[name]) for name in schema.features])


def _kept(frame: Any, attribute: Attribute) -> AnyPartition:
    kind = "category" if attribute.is_category else attribute.kind
    free = attribute.model_copy(update={"domain": None, "kind": kind})
    series = column(frame, attribute.name)
    if attribute.is_category:
        return keep(Target.fit(frame, free).coding) if texts(series)[1] else Dropped(attribute=free)
    return Dropped(attribute=free) if np.isnan(numbers(series, attribute)).all() else FullDetail(attribute=free)
