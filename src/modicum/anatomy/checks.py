"""Check what an anatomy is asked for before any work, and what its tables would give away all the same."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, count
from numbers import Integral
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.errors import DataError, ParameterError, SchemaError, check_choice, check_number, format_names
from modicum.measures.anonymity import count_group_values, value_codes
from modicum.releases.anatomy_files import check_holdable, own_storage
from modicum.releases.anatomy_release import GID, group_column
from modicum.table.codes import group_rows, values_in_order
from modicum.table.estimator_input import person_codes
from modicum.table.frames import column, missing_values, numbers, texts
from modicum.table.inference import infer_attribute
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import label_values
from modicum.typing import Codes

GROUPINGS = ("bucketize", "random", "dealt")


@dataclass(frozen=True)
class AnatomyTask:
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


def order_words(attribute: Attribute, words: Sequence[str]) -> list[str]:
    """A sensitive column's values in an order that says nothing of the records' order.

    It is the schema's where that names the values or says that they have an order, else that of the texts.
    """
    has_order = attribute.kind == "ordered" or (attribute.is_category and attribute.domain is not None)
    if not has_order:
        return sorted(words)
    there = set(words)
    return [word for word in values_in_order(attribute, words) if word in there]


def build_task(owner: Any, frame: nw.DataFrame[Any], schema: Schema, y: Any) -> AnatomyTask:
    """Check what an `Anatomy` was given."""
    check_number(owner, "l", 2)
    check_choice(owner, "grouping", GROUPINGS)
    check_number(owner, "max_suppressed", 0, 1, whole=False)
    refuse_few(len(frame))
    declared = () if owner.schema is None else schema.names
    schema = _complete(schema, frame)
    sensitive = _sensitive(owner, frame, schema, None if y is None else _class_name(y, frame, schema))
    frame, schema = _with_class(nw.maybe_reset_index(frame), schema, y)
    identifying = _identifying(frame, schema, sensitive)
    for name in [*identifying, *sensitive]:
        check_holdable(frame[name])
    if schema.label in identifying:
        _check_class(frame[schema.label])
    released = _add_storage(schema.select([*identifying, *sensitive]).with_roles(sensitive=sensitive), frame)
    return AnatomyTask(frame, released, sensitive, identifying, frozenset(released.names) - frozenset(declared))


def refuse_few(records: int) -> None:
    """Refuse a table in which nobody could hide."""
    if records < 2:
        many = "is only 1 sample" if records else "are 0 rows"
        raise DataError(f"There {many}, so there is nobody to hide among.")


def _complete(schema: Schema, frame: nw.DataFrame[Any]) -> Schema:
    """The schema with what it does not know of the data, as the data looks."""
    unknown = [infer_attribute(frame[name]) for name in frame.columns if name not in schema]
    return schema.model_copy(update={"attributes": (*schema.attributes, *unknown)}) if unknown else schema


def _add_storage(schema: Schema, frame: nw.DataFrame[Any]) -> Schema:
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
        if name in (label, schema.label):
            raise DataError(
                f"The column {name!r} is the class, which cannot be sensitive too: predicting it would tell it."
            )
        _check_sensitive(column(frame, name), schema)
    return named


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
    given = np.asarray(y)
    if given.dtype == object and (values.dtype == object or pd.api.types.infer_dtype(given) == "integer"):
        values = pd.Series(given.reshape(-1), dtype=object).infer_objects().to_numpy()  # numbers among them stay such
    return nw.new_series(name, values.tolist() if values.dtype == object else values, backend=frame.implementation)


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


# Columns of the identifying table that tell the sensitive value by themselves, whatever the groups hide.

_ERRORS = 0.05  # of the naive guess's: where no more are left, the value is told
_NEARLY = 0.1  # the same in the sample: where more are left, the other records are not looked at
_OFTEN = 10  # times that a value must occur in the sample on average for that
_SAMPLE = 50_000  # records looked at for pairs, and first for single columns
_MOST_COLUMNS = 40  # of which pairs are looked at
_FEW = 256  # values of a number that are taken as they are
_RANGES = 32  # into which others are cut in pairs


def determining(
    frame: nw.DataFrame[Any], schema: Schema, columns: Sequence[str], sensitive: Codes
) -> list[tuple[str, ...]]:
    """The columns, and pairs of others, by which the sensitive value is guessed nearly always.

    A record's value is guessed as the most frequent one among the *other* records that are equal in the columns (among
    all records where nobody is), by a number with many values also as that of the next smaller one. That determines the
    value where it goes wrong at most 5% as often as guessing the most frequent value of all does. Of many records a
    sample is looked at: for pairs alone, for single columns first, unless their values are too many for it.

    Parameters
    ----------
    frame, schema : the records
    columns : which to look at
    sensitive : each record's value as a code from 0

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.anatomy.checks import determining
    >>> from modicum.table.frames import as_frame
    >>> X = pd.DataFrame({"grade": [1, 2, 3, 4] * 5, "shoe": range(20)})
    >>> determining(as_frame(X), md.Schema.infer(X), ["grade", "shoe"], X["grade"].to_numpy() - 1)
    [('grade',)]
    """
    whole, rows = len(frame) <= _SAMPLE, np.arange(len(frame))
    if not whole:
        rows = np.sort(np.random.default_rng(0).choice(len(frame), _SAMPLE, replace=False))
    few = {name: frame[name] if whole else frame[name][rows] for name in columns}
    perhaps = [name for name in columns if whole or _perhaps(few[name], schema[name], sensitive[rows])]
    alone = [name for name in perhaps if _tells_alone(frame[name], schema[name], sensitive, _ERRORS)]
    found: list[tuple[str, ...]] = [(name,) for name in alone]
    rest = [name for name in columns if name not in alone]
    if len(columns) > _MOST_COLUMNS:
        return found
    coded = {name: _coarse(few[name], schema[name]) for name in rest}
    for one, other in combinations(rest, 2):
        if _tells(group_rows(np.column_stack([coded[one], coded[other]])), sensitive[rows], _ERRORS):
            found.append((one, other))
    return found


def _perhaps(series: nw.Series[Any], attribute: Attribute, sensitive: Codes) -> bool:
    """Whether a column may tell the value, by a sample of it: it nearly does there, or hardly has a value twice."""
    return int(series.n_unique()) * _OFTEN > len(series) or _tells_alone(series, attribute, sensitive, _NEARLY)


def _tells_alone(series: nw.Series[Any], attribute: Attribute, sensitive: Codes, errors: float) -> bool:
    """Whether a column tells the value by itself: its equals do, or for a number with many values its neighbours."""
    codes = value_codes(series)
    if _tells(codes + 1, sensitive, errors):
        return True
    if attribute.is_category or int(codes.max()) < _FEW:
        return False
    # Each is guessed as the next smaller one is.
    by_size = sensitive[np.argsort(numbers(series, attribute), kind="stable")]
    return _few(1 + int((by_size[1:] != by_size[:-1]).sum()), sensitive, errors)


def _coarse(series: nw.Series[Any], attribute: Attribute) -> Codes:
    """The values as they are, or ranges of about equal size of a number with many; 0 is missing."""
    codes = value_codes(series) + 1
    if attribute.is_category or int(codes.max()) <= _FEW:
        return codes
    values = numbers(series, attribute)
    known = np.sort(values[~np.isnan(values)])
    edges = np.unique(known[np.arange(1, _RANGES) * len(known) // _RANGES])
    return np.where(np.isnan(values), 0, 1 + np.searchsorted(edges, values))


def _tells(key: Codes, sensitive: Codes, errors: float) -> bool:
    """Whether the others with the same key tell the value."""
    found = count_group_values(key, sensitive)  # by key and then by value
    usual = int(found.totals.argmax())
    first = np.flatnonzero(np.r_[True, found.group[1:] != found.group[:-1]])
    own = np.repeat(np.arange(len(first)), np.diff(np.r_[first, len(found.group)]))
    top = found.count == np.maximum.reduceat(found.count, first)[own]
    second = np.maximum.reduceat(np.where(top, 0, found.count), first)[own]
    right = top & (np.add.reduceat(top.astype(np.int64), first)[own] == 1) & (found.count - 1 > second)
    alone = (found.sizes[found.group] == 1) & (found.value == usual)
    return _few(len(key) - int(found.count[right | alone].sum()), sensitive, errors)


def _few(wrong: int, sensitive: Codes, errors: float) -> bool:
    """Whether guesses go wrong so seldom that they tell the value."""
    return wrong <= errors * (len(sensitive) - int(np.bincount(sensitive).max()))


# What a release of two tables would tell all the same, in one sentence each.


def leaks(asked: AnatomyTask, values: Mapping[str, Codes]) -> Iterator[str]:
    """What should be changed before the tables are given away.

    Parameters
    ----------
    asked : the records and their columns
    values : for each sensitive column each record's value as a code from 0
    """
    for name, codes in values.items():
        kind = asked.schema[name].kind
        if kind in ("number", "date"):
            yield f"The sensitive column {name!r} is a {kind}: different ones may lie close; cut it into ranges."
        others = [other for other in values if other != name]
        found = determining(asked.frame, asked.schema, [*asked.identifying, *others], codes)
        told = [each for each in found if not set(each) & set(others)]
        if told:
            yield (
                f"The identifying table tells {name!r} by {_format_columns(told)}, whatever the groups hide; leave "
                "it out (--identifier)."
            )
        if len(told) < len(found):
            yield (
                f"The sensitive column {name!r} is told by another sensitive one, so that the groups "
                "of both leave fewer values; drop one, or join them in one column."
            )


def find_repeated_persons(frame: nw.DataFrame[Any], schema: Schema) -> Iterator[str]:
    """That a person has several records, which [Mancuhan16 Definition 1] excludes."""
    persons = person_codes(schema, frame)
    if persons is not None and int(persons.max()) + 1 < len(persons):
        yield "Some persons have several records; whoever knows which can intersect their groups. Keep one of each."


def _format_columns(found: list[tuple[str, ...]]) -> str:
    """Columns and pairs of them as a person would list them."""
    singles = [each[0] for each in found if len(each) == 1]
    pairs = [" with ".join(map(repr, each)) for each in found if len(each) > 1]
    shown = ([format_names(singles)] if singles else []) + pairs[:3]
    return " and by ".join(shown) + (f" and {len(pairs) - 3} more pairs" if len(pairs) > 3 else "")
