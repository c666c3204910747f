"""Check the arguments of an anatomy before any work, and find what its tables would still reveal."""

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
REPEATED_PERSONS = (
    "Some persons have several records; an adversary who knows which can intersect their groups. Keep one per person."
)


@dataclass(frozen=True)
class AnatomyTask:
    """The records and their columns by purpose.

    Attributes
    ----------
    frame : all columns, including the class
    schema : the schema of the released columns
    sensitive : the columns that each get a separate table
    identifying : the columns of the identifying table; a class given as y comes last
    inferred : the columns that are not in the caller's schema
    """

    frame: nw.DataFrame[Any]
    schema: Schema
    sensitive: list[str]
    identifying: list[str]
    inferred: frozenset[str]


def generator(random_state: Any) -> np.random.Generator:
    """Make a random generator; without a seed it differs each time."""
    whole = isinstance(random_state, Integral) and not isinstance(random_state, bool) and int(random_state) >= 0
    if random_state is None or whole:
        return np.random.default_rng(None if random_state is None else int(random_state))
    raise ParameterError(
        f"The 'random_state' parameter of Anatomy must be an int ≥ 0 or None. Got {random_state!r} instead."
    )


def order_words(attribute: Attribute, words: Sequence[str]) -> list[str]:
    """Sort the values of a sensitive column independently of the order of the records.

    Use the schema's order if it lists the values or declares them ordered, otherwise sort the texts.
    """
    has_order = attribute.kind == "ordered" or (attribute.is_category and attribute.domain is not None)
    if not has_order:
        return sorted(words)
    present = set(words)
    return [word for word in values_in_order(attribute, words) if word in present]


def build_task(owner: Any, frame: nw.DataFrame[Any], schema: Schema, y: Any) -> AnatomyTask:
    """Check the arguments of an `Anatomy`."""
    check_number(owner, "l", 2)
    check_choice(owner, "grouping", GROUPINGS)
    check_number(owner, "max_suppressed", 0, 1, whole=False)
    refuse_few(len(frame))
    declared = () if owner.schema is None else schema.names
    schema = _complete(schema, frame)
    sensitive = _find_sensitive(owner, frame, schema, None if y is None else _class_name(y, frame, schema))
    frame, schema = _add_class(nw.maybe_reset_index(frame), schema, y)
    identifying = _find_identifying(frame, schema, sensitive)
    for name in [*identifying, *sensitive]:
        check_holdable(frame[name])
    if schema.label in identifying:
        _check_class(frame[schema.label])
    released = _add_storage(schema.select([*identifying, *sensitive]).with_roles(sensitive=sensitive), frame)
    return AnatomyTask(frame, released, sensitive, identifying, frozenset(released.names) - frozenset(declared))


def refuse_few(records: int) -> None:
    """Refuse a table with fewer than two records."""
    if records < 2:
        many = "is only 1 sample" if records else "are 0 rows"
        raise DataError(f"There {many}; groups need at least 2 records.")


def _complete(schema: Schema, frame: nw.DataFrame[Any]) -> Schema:
    """Add inferred attributes for columns that the schema does not have."""
    unknown = [infer_attribute(frame[name]) for name in frame.columns if name not in schema]
    return schema.model_copy(update={"attributes": (*schema.attributes, *unknown)}) if unknown else schema


def _add_storage(schema: Schema, frame: nw.DataFrame[Any]) -> Schema:
    """Record how the values of each category are stored, so that a file can be read back unchanged."""
    stored = [
        attribute.model_copy(update={"storage": own_storage(frame[attribute.name])})
        if attribute.is_category
        else attribute
        for attribute in schema
    ]
    return schema.model_copy(update={"attributes": tuple(stored)})


def _find_sensitive(owner: Any, frame: nw.DataFrame[Any], schema: Schema, label: str | None) -> list[str]:
    given = schema.with_role("sensitive") if owner.sensitive is None else owner.sensitive
    named = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    if not named or not all(isinstance(name, str) for name in named):
        raise ParameterError(
            "The 'sensitive' parameter of Anatomy must name the columns to protect, unless the schema does."
        )
    if len(set(named)) < len(named):
        raise ParameterError("The 'sensitive' parameter of Anatomy names a column twice.")
    for name in named:
        if name in (label, schema.label):
            raise DataError(
                f"The column {name!r} is the class, so it cannot be sensitive: predicting it would reveal it."
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
            f"The sensitive column {name!r} has {absent:,} missing values; leave out those rows or fill in a value."
        )


def _add_class(frame: nw.DataFrame[Any], schema: Schema, y: Any) -> tuple[nw.DataFrame[Any], Schema]:
    """Add the class as a column if it was given as y."""
    if y is None:
        return frame, schema
    name = _class_name(y, frame, schema)
    if name in frame.columns:
        raise DataError(f"The class has the name of a column of the data, {name!r}; give it another name.")
    if schema.label in frame.columns:
        raise DataError(f"The class is given twice: as y, and as the label {schema.label!r} of the schema; give one.")
    label = _build_label(y, name, frame)
    others = [attribute for attribute in schema if attribute.name not in (name, schema.label)]
    own = schema[name] if name in schema else infer_attribute(label)
    completed = schema.model_copy(update={"attributes": (*others, own.model_copy(update={"roles": ("label",)}))})
    return frame.with_columns(label), completed


def _class_name(y: Any, frame: nw.DataFrame[Any], schema: Schema) -> str:
    """Name the class as y does, else as the schema does, else "class", or "class_2" and so on if that is taken."""
    name = getattr(y, "name", None)
    if name is not None and name != "":
        return str(name)
    if schema.label is not None and schema.label not in frame.columns:
        return schema.label
    taken = {name.casefold() for name in [*frame.columns, *schema.names]}
    return next(each for each in chain(["class"], (f"class_{i}" for i in count(2))) if each not in taken)


def _build_label(y: Any, name: str, frame: nw.DataFrame[Any]) -> nw.Series[Any]:
    """Convert the class to a column of the frame's library; a series of that library keeps its type."""
    values = label_values(y, len(frame), name)
    own = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(own, nw.Series) and own.implementation == frame.implementation and own.dtype != nw.Object:
        return nw.maybe_reset_index(own).alias(name)
    given = np.asarray(y)
    if given.dtype == object and (values.dtype == object or pd.api.types.infer_dtype(given) == "integer"):
        values = pd.Series(given.reshape(-1), dtype=object).infer_objects().to_numpy()  # numbers stay numbers
    return nw.new_series(name, values.tolist() if values.dtype == object else values, backend=frame.implementation)


def _check_class(series: nw.Series[Any]) -> None:
    """Refuse classes that a file cannot distinguish."""
    if int(series.n_unique()) > len(texts(series)[1]):
        raise DataError(
            f"The class {series.name!r} has different values that are the same text in Unicode normal form C; use one "
            "spelling."
        )


def _find_identifying(frame: nw.DataFrame[Any], schema: Schema, sensitive: list[str]) -> list[str]:
    dropped = {a.name for a in schema if a.is_identifying or a.forbidden}
    names = [name for name in frame.columns if name not in dropped and name not in sensitive]
    taken = {group_column(name, len(sensitive)).casefold() for name in sensitive}
    for name in [*names, *sensitive]:
        if name.casefold() in {GID.casefold(), *taken}:
            raise DataError(f"The column {name!r} has the name of the released group number; rename it.")
    if not [name for name in names if name != schema.label]:
        raise DataError(
            "The identifying table needs a column besides the sensitive ones and the class; "
            f"the data has {len(frame.columns) - (schema.label is not None)} feature(s)."
        )
    return names


# Find columns of the identifying table that reveal the sensitive value despite the groups.

_ERRORS = 0.05  # the share of the naive guess's errors up to which a value counts as revealed
_NEARLY = 0.1  # the same share in the sample; above it the other records are not read
_OFTEN = 10  # how often a value must occur in the sample on average for that
_SAMPLE = 50_000  # records that are read for pairs, and first for single columns
_MOST_COLUMNS = 40  # with more columns, no pairs are checked
_FEW = 256  # numbers with up to this many values are not cut into ranges
_RANGES = 32  # how many ranges a number with more values is cut into, in pairs


def determining(
    frame: nw.DataFrame[Any], schema: Schema, columns: Sequence[str], sensitive: Codes
) -> list[tuple[str, ...]]:
    """Find the columns, and pairs of other columns, that nearly always determine the sensitive value.

    Guess each record's value as the most frequent one among the *other* records with equal columns (among all records
    if there are none); with a number of many values, also as the value of the record with the next smaller number.
    Columns determine the value if this guess has at most 5% of the errors of guessing the overall most frequent value.
    With many records, pairs are checked only in a sample. Single columns are first checked in the sample, unless they
    have too many values for that.

    Parameters
    ----------
    frame, schema : the records
    columns : the columns to check
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
    sample = {name: frame[name] if whole else frame[name][rows] for name in columns}
    candidates = [name for name in columns if whole or _may_determine(sample[name], schema[name], sensitive[rows])]
    alone = [name for name in candidates if _column_determines(frame[name], schema[name], sensitive, _ERRORS)]
    found: list[tuple[str, ...]] = [(name,) for name in alone]
    rest = [name for name in columns if name not in alone]
    if len(columns) > _MOST_COLUMNS:
        return found
    coded = {name: _code_coarsely(sample[name], schema[name]) for name in rest}
    for one, other in combinations(rest, 2):
        if _key_determines(group_rows(np.column_stack([coded[one], coded[other]])), sensitive[rows], _ERRORS):
            found.append((one, other))
    return found


def _may_determine(series: nw.Series[Any], attribute: Attribute, sensitive: Codes) -> bool:
    """Judge by a sample whether a column may determine the value: it nearly does there, or its values rarely repeat."""
    return int(series.n_unique()) * _OFTEN > len(series) or _column_determines(series, attribute, sensitive, _NEARLY)


def _column_determines(series: nw.Series[Any], attribute: Attribute, sensitive: Codes, errors: float) -> bool:
    """Whether equal values in a column determine the sensitive value, or adjacent ones in a number of many values."""
    codes = value_codes(series)
    if _key_determines(codes + 1, sensitive, errors):
        return True
    if attribute.is_category or int(codes.max()) < _FEW:
        return False
    # Guess each record's value as that of the record with the next smaller number.
    by_size = sensitive[np.argsort(numbers(series, attribute), kind="stable")]
    return _are_few(1 + int((by_size[1:] != by_size[:-1]).sum()), sensitive, errors)


def _code_coarsely(series: nw.Series[Any], attribute: Attribute) -> Codes:
    """Code the values, cutting a number of many values into ranges of about equal size; 0 is missing."""
    codes = value_codes(series) + 1
    if attribute.is_category or int(codes.max()) <= _FEW:
        return codes
    values = numbers(series, attribute)
    present = np.sort(values[~np.isnan(values)])
    edges = np.unique(present[np.arange(1, _RANGES) * len(present) // _RANGES])
    return np.where(np.isnan(values), 0, 1 + np.searchsorted(edges, values))


def _key_determines(key: Codes, sensitive: Codes, errors: float) -> bool:
    """Whether the other records with the same key determine the value."""
    counted = count_group_values(key, sensitive)  # sorted by key, then by value
    usual = int(counted.totals.argmax())
    first = np.flatnonzero(np.r_[True, counted.group[1:] != counted.group[:-1]])
    own = np.repeat(np.arange(len(first)), np.diff(np.r_[first, len(counted.group)]))
    top = counted.count == np.maximum.reduceat(counted.count, first)[own]
    second = np.maximum.reduceat(np.where(top, 0, counted.count), first)[own]
    right = top & (np.add.reduceat(top.astype(np.int64), first)[own] == 1) & (counted.count - 1 > second)
    alone = (counted.sizes[counted.group] == 1) & (counted.value == usual)
    return _are_few(len(key) - int(counted.count[right | alone].sum()), sensitive, errors)


def _are_few(wrong: int, sensitive: Codes, errors: float) -> bool:
    """Whether guesses are wrong so rarely that they determine the value."""
    return wrong <= errors * (len(sensitive) - int(np.bincount(sensitive).max()))


# Warnings about what the released tables would still reveal, one sentence each.


def leaks(task: AnatomyTask, values: Mapping[str, Codes]) -> Iterator[str]:
    """Say what to change before the tables are given away.

    Parameters
    ----------
    task : the records and their columns
    values : for each sensitive column each record's value as a code from 0
    """
    for name, codes in values.items():
        kind = task.schema[name].kind
        if kind in ("number", "date"):
            yield f"The sensitive column {name!r} is a {kind}: different values may be close; cut it into ranges."
        others = [other for other in values if other != name]
        found = determining(task.frame, task.schema, [*task.identifying, *others], codes)
        identifying = [each for each in found if not set(each) & set(others)]
        if identifying:
            yield (
                f"The identifying table reveals {name!r} by {_format_columns(identifying)}, despite the groups; leave "
                "that out (--identifier)."
            )
        if len(identifying) < len(found):
            yield (
                f"The sensitive column {name!r} is revealed by another sensitive one, so the groups of both together "
                "leave fewer values possible; drop one, or join them in one column."
            )


def find_repeated_persons(frame: nw.DataFrame[Any], schema: Schema) -> Iterator[str]:
    """Warn if a person has several records, which [Mancuhan16 Definition 1] excludes."""
    persons = person_codes(schema, frame)
    if persons is not None and int(persons.max()) + 1 < len(persons):
        yield REPEATED_PERSONS


def _format_columns(found: list[tuple[str, ...]]) -> str:
    """List columns and pairs of columns in words."""
    singles = [each[0] for each in found if len(each) == 1]
    pairs = [" with ".join(map(repr, each)) for each in found if len(each) > 1]
    shown = ([format_names(singles)] if singles else []) + pairs[:3]
    return " and by ".join(shown) + (f" and {len(pairs) - 3} more pairs" if len(pairs) > 3 else "")
