"""What an anatomy is asked for, checked before any work: which columns are sensitive, which are released, the class."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, count
from numbers import Integral
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.errors import DataError, ParameterError, SchemaError, check_choice, check_number
from modicum.releases.anatomy_files import check_holdable, own_storage
from modicum.releases.anatomy_release import GID, group_column
from modicum.table.frames import column, missing_values, texts
from modicum.table.inference import infer_attribute
from modicum.table.schema import Schema
from modicum.table.targets import label_values

GROUPINGS = ("bucketize", "random", "dealt")


@dataclass(frozen=True)
class Asked:
    """The records, and what is to become of their columns.

    Attributes
    ----------
    frame : all columns, the class among them
    schema : of what is released
    sensitive : the columns that get a table of their own
    identifying : the columns of the identifying table, the class last where it was given apart
    inferred : the columns that the caller's schema says nothing of
    """

    frame: nw.DataFrame[Any]
    schema: Schema
    sensitive: list[str]
    identifying: list[str]
    inferred: frozenset[str] = frozenset()


def generator(random_state: Any) -> np.random.Generator:
    """The source of chance: fresh without a number."""
    whole = isinstance(random_state, Integral) and not isinstance(random_state, bool) and int(random_state) >= 0
    if random_state is None or whole:
        return np.random.default_rng(None if random_state is None else int(random_state))
    raise ParameterError(
        f"The 'random_state' parameter of Anatomy must be an int ≥ 0 or None. Got {random_state!r} instead."
    )


def asked_of(owner: Any, frame: nw.DataFrame[Any], schema: Schema, y: Any) -> Asked:
    """Check what an `Anatomy` was given."""
    check_number(owner, "l", 2)
    check_choice(owner, "grouping", GROUPINGS)
    if not isinstance(owner.suppress, bool):
        raise ParameterError(f"The 'suppress' parameter of Anatomy must be a bool. Got {owner.suppress!r} instead.")
    if len(frame) < 2:
        many = "is only 1 sample" if len(frame) else "are 0 rows"
        raise DataError(f"There {many}, so there is nobody to hide among.")
    declared = () if owner.schema is None else schema.names
    schema = _complete(schema, frame)
    sensitive = _sensitive(owner, frame, schema, None if y is None else _class_name(y, frame, schema))
    frame, schema = _with_class(nw.maybe_reset_index(frame), schema, y)
    identifying = _identifying(frame, schema, sensitive)
    for name in [*identifying, *sensitive]:
        check_holdable(frame[name])
    if schema.label in identifying:
        _check_class(frame[schema.label])
    released = _stored(schema.select([*identifying, *sensitive]).with_roles(sensitive=sensitive), frame)
    return Asked(frame, released, sensitive, identifying, frozenset(released.names) - frozenset(declared))


def _complete(schema: Schema, frame: nw.DataFrame[Any]) -> Schema:
    """The schema with what it does not know of the data, as the data looks."""
    unknown = [infer_attribute(frame[name]) for name in frame.columns if name not in schema]
    return schema.model_copy(update={"attributes": (*schema.attributes, *unknown)}) if unknown else schema


def _stored(schema: Schema, frame: nw.DataFrame[Any]) -> Schema:
    """The schema with how each category's values are written, so that they are read back from a file as they are."""
    stored = [
        attribute.model_copy(update={"storage": own_storage(frame[attribute.name])})
        if attribute.is_category
        else attribute
        for attribute in schema
    ]
    return schema.model_copy(update={"attributes": tuple(stored)})


def _sensitive(owner: Any, frame: nw.DataFrame[Any], schema: Schema, label: str | None) -> list[str]:
    given = schema.with_role("sensitive") if owner.sensitive is None else owner.sensitive
    named = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    if not named or not all(isinstance(name, str) for name in named):
        raise ParameterError(
            "The 'sensitive' parameter of Anatomy must name the column to protect, or several, unless the schema does."
        )
    if len(set(named)) < len(named):
        raise ParameterError("The 'sensitive' parameter of Anatomy names a column twice.")
    for name in named:
        _refuse_class(name, (label, schema.label))
        _check_sensitive(column(frame, name), schema)
    return named


def _refuse_class(name: str, labels: tuple[str | None, ...]) -> None:
    if name in labels:
        raise DataError(
            f"The column {name!r} is the class, which cannot be sensitive too: predicting it would tell it."
        )


def _check_sensitive(series: nw.Series[Any], schema: Schema) -> None:
    name = series.name
    if schema[name].is_identifying or schema[name].forbidden:
        why = "is forbidden" if schema[name].forbidden else f"has the role {schema[name].roles[0]!r}"
        raise SchemaError(f"The attribute {name!r} {why}, so it is not released and cannot be sensitive.")
    absent = missing_values(series)
    if absent:
        raise DataError(
            f"The sensitive column {name!r} has {absent:,} missing values; leave those rows out or name the missing."
        )


def _with_class(frame: nw.DataFrame[Any], schema: Schema, y: Any) -> tuple[nw.DataFrame[Any], Schema]:
    """The records with the class as a column, where it was given apart."""
    if y is None:
        return frame, schema
    name = _class_name(y, frame, schema)
    if name in frame.columns:
        raise DataError(f"The class is called {name!r}, as a column of the data is; give it another name.")
    if schema.label in frame.columns:
        raise DataError(f"The class is given twice: as y, and as the column {schema.label!r} by the schema.")
    label = _series(y, name, frame)
    others = [attribute for attribute in schema if attribute.name not in (name, schema.label)]
    own = schema[name] if name in schema else infer_attribute(label)
    completed = schema.model_copy(update={"attributes": (*others, own.model_copy(update={"roles": ("label",)}))})
    return frame.with_columns(label), completed


def _class_name(y: Any, frame: nw.DataFrame[Any], schema: Schema) -> str:
    """What the class calls itself, else what the schema calls it, else "class", or "class_2" where that is taken."""
    named = getattr(y, "name", None)
    if named is not None and named != "":
        return str(named)
    if schema.label is not None and schema.label not in frame.columns:
        return schema.label
    taken = {name.casefold() for name in [*frame.columns, *schema.names]}
    return next(name for name in chain(["class"], (f"class_{i}" for i in count(2))) if name not in taken)


def _series(y: Any, name: str, frame: nw.DataFrame[Any]) -> nw.Series[Any]:
    """The class as a column of the same library as the frame; its own type is kept where it is one already."""
    values = label_values(y, len(frame), name)
    own = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(own, nw.Series) and own.implementation == frame.implementation and own.dtype != nw.Object:
        return nw.maybe_reset_index(own).alias(name)
    if (np.asarray(y).dtype == object and values.dtype == object) or _are_whole(y):  # numbers among them stay numbers
        values = pd.Series(np.asarray(y, dtype=object).reshape(-1), dtype=object).infer_objects().to_numpy()
    return nw.new_series(name, values.tolist() if values.dtype == object else values, backend=frame.implementation)


def _are_whole(y: Any) -> bool:
    values = np.asarray(y)
    return values.dtype == object and pd.api.types.infer_dtype(values) == "integer"


def _check_class(series: nw.Series[Any]) -> None:
    """Refuse classes that a file could not tell apart."""
    if int(series.n_unique()) > len(texts(series)[1]):
        raise DataError(
            f"The class {series.name!r} has different values that are the same text (in Unicode normal form C); write "
            "them alike."
        )


def _identifying(frame: nw.DataFrame[Any], schema: Schema, sensitive: list[str]) -> list[str]:
    dropped = {a.name for a in schema if a.is_identifying or a.forbidden}
    names = [name for name in frame.columns if name not in dropped and name not in sensitive]
    taken = {group_column(name, len(sensitive)).casefold() for name in sensitive}
    for name in [*names, *sensitive]:
        if name.casefold() in {GID.casefold(), *taken}:
            raise DataError(f"The column {name!r} is called as the number of a group will be; rename it.")
    if not [name for name in names if name != schema.label]:
        raise DataError(
            "No column is left for the identifying table beside the sensitive ones and the class: "
            f"the data has {len(frame.columns) - (schema.label is not None)} feature(s)."
        )
    return names
