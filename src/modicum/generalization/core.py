"""The artifact: one partition per attribute; global, single-dimensional, strict [Staab24 §4]."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol, runtime_checkable

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.errors import ArtifactError, format_names
from modicum.generalization import storage
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Groups, Intervals, possible
from modicum.generalization.build import (
    Difference,
    difference,
    intersect_partitions,
    keep,
    merge_buckets,
    refine_buckets,
)
from modicum.generalization.description import Description, describe
from modicum.generalization.exports import GeneralizationExports, Output, check_form
from modicum.generalization.lazy import in_engine
from modicum.generalization.representatives import transform_column
from modicum.table.codes import CategoryCoding, Coder, Coding, NumberCoding
from modicum.table.frames import as_frame, column, is_lazy, missing_mask, numbers, same_kind, texts
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import Target
from modicum.typing import Codes, Mask

# A generalization on records that are already coded: one look-up per attribute, and no value is read again.

_ROWS = 16_384  # at once, so that they stay in the processor's cache


def bucket_tables(partitions: Sequence[AnyPartition], coder: Coder) -> list[npt.NDArray[np.uint16]]:
    """For each attribute, the bucket of each of the coder's codes."""
    codings = {coding.attribute.name: coding for coding in coder.codings}
    absent = [p.name for p in partitions if p.name not in codings]
    if absent:
        raise ArtifactError(f"The coder does not know the attribute {absent[0]!r}.")
    return [_table(p, codings[p.name]) for p in partitions]


def look_up(tables: Sequence[npt.NDArray[np.uint16]], codes: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    """The bucket of each record in each attribute."""
    result = np.empty(codes.shape, dtype=np.uint16)
    for start in range(0, len(codes), _ROWS):
        rows = slice(start, start + _ROWS)
        for j, table in enumerate(tables):
            result[rows, j] = table[codes[rows, j]]
    return result


def _table(partition: AnyPartition, coding: Coding) -> npt.NDArray[np.uint16]:
    size = coding.n_codes
    if isinstance(partition, FullDetail):
        raise ArtifactError(f"The attribute {partition.name!r} is kept in full detail, so it has no buckets.")
    if isinstance(partition, Dropped):
        return np.zeros(size, dtype=np.uint16)
    own = _groups(partition, coding) if isinstance(partition, Groups) else _intervals(partition, coding)
    buckets = np.append(own, partition.missing_code)[:size]
    if buckets.min() < 0:
        raise ArtifactError(f"The attribute {partition.name!r} has values that this generalization refuses.")
    return buckets.astype(np.uint16)


def _groups(partition: Groups, coding: Coding) -> npt.NDArray[np.int64]:
    assert isinstance(coding, CategoryCoding)
    return np.array([partition.code_of.get(value, partition.unseen_code) for value in coding.values], dtype=np.int64)


def _intervals(partition: Intervals, coding: Coding) -> npt.NDArray[np.int64]:
    assert isinstance(coding, NumberCoding)
    if not np.isin(partition.edges, coding.edges).all():
        raise ArtifactError(
            f"The attribute {partition.name!r} has an edge where the coder has none, so that one code falls into two "
            "buckets; transform the records themselves."
        )
    return partition.encode_numbers(np.append(coding.edges, np.inf))


# The generalization


class Generalization(GeneralizationExports):
    """What is collected of each attribute, and in what detail.

    Every record has exactly one bucket per attribute (strict and total: see `modicum.generalization.bins` for what a
    bucket holds). It is plain data: it can be saved, edited by hand, compared, and applied wherever the data is.

    Parameters
    ----------
    schema : Schema
        The attributes, their kinds and roles.
    partitions : iterable of partitions
        One per feature of the schema.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> X = pd.DataFrame({"age": [18, 35, 70], "job": ["nurse", "clerk", "nurse"]})
    >>> g = md.Uniform(buckets=2).fit(X).generalization_
    >>> g.n_buckets
    4
    >>> g.transform(X)["age"].tolist()
    ['≤ 50', '≤ 50', '≥ 51']
    >>> g.drop("job").needed
    ['age']
    """

    def __init__(self, schema: Schema, partitions: Iterable[AnyPartition]) -> None:
        by_name = {p.name: p for p in partitions}
        absent = [name for name in schema.features if name not in by_name]
        if absent:
            raise ArtifactError(f"The generalization says nothing about the attribute {absent[0]!r}.")
        extra = [name for name in by_name if name not in schema.features]
        if extra:
            raise ArtifactError(f"The generalization speaks of {extra[0]!r}, which the schema does not let it collect.")
        self._partitions = tuple(_plainest(by_name[name]) for name in schema.features)
        known = {p.name: p.attribute for p in self._partitions}
        self._schema = Schema(attributes=tuple(known.get(a.name, a) for a in schema), missing=schema.missing)

    @property
    def schema(self) -> Schema:
        """Kinds, roles and domains of the attributes."""
        return self._schema

    @property
    def partitions(self) -> tuple[AnyPartition, ...]:
        """One partition per attribute, in the schema's order."""
        return self._partitions

    @property
    def names(self) -> list[str]:
        """All attributes, in order, whether collected or not."""
        return [p.name for p in self._partitions]

    @property
    def needed(self) -> list[str]:
        """The attributes that are still collected."""
        return [p.name for p in self._partitions if not isinstance(p, Dropped)]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each attribute has, `(other)` and `(missing)` included; 0 for a number in full detail."""
        return tuple(1 if isinstance(p, Dropped) else len(p.labels) for p in self._partitions)

    @property
    def n_buckets(self) -> int:
        """All buckets; a dropped attribute counts 1, `(other)` and `(missing)` do not count."""
        return sum(p.n_buckets for p in self._partitions)

    @property
    def buckets(self) -> dict[str, tuple[str, ...]]:
        """Each needed attribute's bucket labels; a number kept in full detail has none."""
        return {p.name: p.labels for p in self._partitions if not isinstance(p, Dropped)}

    def __getitem__(self, name: str) -> AnyPartition:
        for partition in self._partitions:
            if partition.name == name:
                return partition
        raise ArtifactError(
            f"The generalization has no attribute {name!r}; it has {format_names(self.names, limit=8)}."
        )

    def told(self, name: str) -> tuple[AnyPartition, list[tuple[int, ...]]]:
        """An attribute's buckets, and for each code the buckets that are left possible: itself alone."""
        partition = self[name]
        return partition, [(code,) for code in range(len(partition.labels))]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Generalization) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self._schema, self.n_buckets, tuple(self.needed)))

    def __repr__(self) -> str:
        return f"<Generalization: {len(self.needed)} of {len(self.names)} attributes, {self.n_buckets} buckets>"

    # Applying it

    def codes(self, X: Any) -> Codes:
        """The bucket of each record in each attribute, dropped ones included (0): what an adversary sees of X."""
        frame = self._frame(X)
        result = np.zeros((len(frame), len(self._partitions)), dtype=np.int64)
        for j, partition in enumerate(self._partitions):
            if not isinstance(partition, Dropped):
                result[:, j] = partition.encode(column(frame, partition.name))
        return result

    def transform_codes(self, codes: npt.NDArray[Any], coder: Coder) -> npt.NDArray[np.uint16]:
        """The buckets of records that a coder has coded: one look-up per attribute, for tables of many millions.

        Parameters
        ----------
        codes : array of int, one row per record
            What `coder.encode` gives.
        coder : Coder
            The coder of the data that this generalization was made from (`PrivacyTree.coder_`, for one).

        Returns
        -------
        array of uint16 with a column for every attribute, 0 for one that is not collected

        Examples
        --------
        >>> import modicum as md
        >>> X, y = md.datasets.load_adult(return_X_y=True)
        >>> pat = md.PrivacyTree(max_leaves=8).fit(X, y)
        >>> g, coder = pat.generalization_, pat.coder_
        >>> bool((g.transform_codes(coder.encode(X), coder) == g.codes(X)).all())
        True
        """
        return look_up(bucket_tables(self._partitions, coder), codes)

    def possible(self, attribute: str, target: Target, codes: Codes | None = None) -> Mask:
        """Which values of an attribute each of its buckets leaves possible [Staab24 Appendix A].

        Parameters
        ----------
        attribute : str
        target : Target
            The values to tell apart: categories, or the bins of a number.
        codes : array of int, optional
            The buckets asked about: of this attribute, or whole rows as `codes` gives them; all buckets by default. A
            number in full detail has no list of buckets, so there they must be given.

        Returns
        -------
        array of bool, one row per bucket and one column per value.

        Examples
        --------
        >>> import pandas as pd, modicum as md
        >>> from modicum.table.targets import Target
        >>> X = pd.DataFrame({"age": [18, 35, 52, 70]})
        >>> g = md.Uniform(buckets=2).fit(X).generalization_
        >>> g.possible("age", Target.fit(X, g.schema["age"])).astype(int).tolist()
        [[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]]
        """
        if codes is None or codes.ndim == 1:
            return possible(self[attribute], target, codes)
        partition = self[attribute]
        buckets, which = np.unique(codes[:, self.names.index(attribute)], return_inverse=True)
        return possible(partition, target, buckets)[which]

    def transform(self, X: Any, output: Output = "labels") -> Any:
        """X with no more detail than this generalization collects.

        Parameters
        ----------
        X : frame or array
            pandas, polars or numpy, or a lazy table (DuckDB relation, polars LazyFrame, …), which stays lazy. Only the
            needed attributes must be there; other columns are never passed through.
        output : "labels", "codes" or "values"
            `labels`: ordered categoricals that know all buckets (in an engine its own type for that, or text);
            `codes`: integers; `values`: one representative value per bucket in the original types, for all attributes,
            so that a model trained on raw data can use it. A number kept in full detail stays a number.

        Returns
        -------
        The same kind of frame, with the needed attributes (for `values`: all) in the schema's order. Where nothing is
        needed a pandas frame keeps its rows; polars has no rows without columns.
        """
        check_form(output)
        chosen = [p for p in self._partitions if output == "values" or not isinstance(p, Dropped)]
        if is_lazy(X):
            if not chosen:
                raise ArtifactError("This generalization collects nothing, and an engine has no table without columns.")
            return in_engine(X, chosen, output)
        frame = self._frame(X)
        return same_kind({p.name: transform_column(p, frame, output) for p in chosen}, like=X)

    def _frame(self, X: Any) -> nw.DataFrame[Any]:
        return as_frame(X, self.names)

    def encoder(self) -> Any:
        """An unfitted scikit-learn transformer for `transform`'s labels, with the buckets as fixed categories.

        Examples
        --------
        >>> import modicum as md
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> X, y = md.datasets.load_adult(return_X_y=True)
        >>> X, y = X[:2000], y[:2000]
        >>> g = md.PrivacyTree(max_leaves=4).fit(X, y).generalization_
        >>> model = make_pipeline(g.encoder(), LogisticRegression()).fit(g.transform(X), y)
        >>> bool(model.score(g.transform(X), y) > 0.75)
        True
        """
        from modicum.generalization.encoder import bucket_encoder  # deferred: scikit-learn takes a second to import

        return bucket_encoder([p for p in self._partitions if not isinstance(p, Dropped)])

    # Looking at it

    def describe(self, X: Any = None) -> Description:
        """What it asks of a person; with records, also each bucket's share and the smallest group of equal records."""
        return describe(self, X)

    def diff(self, other: "Generalization") -> Difference:
        """What changes from this generalization to `other`."""
        return difference(self, other)

    # Changing it: every method returns a new generalization

    def drop(self, name: str) -> "Generalization":
        """Do not collect an attribute."""
        old = self[name]
        return self._with(Dropped(attribute=old.attribute, value=old.value))

    def merge(self, name: str, labels: Sequence[str], label: str | None = None) -> "Generalization":
        """Make several buckets of an attribute one, with an optional label of its own."""
        return self._with(merge_buckets(self[name], labels, label))

    def refine(self, name: str, at: float | str | Sequence[str]) -> "Generalization":
        """Split a bucket: a number's or date's at a value, a category's by taking the named values out."""
        return self._with(refine_buckets(self[name], at))

    def intersect(self, other: "Generalization") -> "Generalization":
        """A generalization as fine as both together: what someone knows who saw both ([Staab24 §5], adversary A6)."""
        if self.names != other.names:
            only = sorted(set(self.names) ^ set(other.names)) or self.names
            raise ArtifactError(f"The two generalizations differ in their attributes, for example {only[0]!r}.")
        return Generalization(self._schema, [intersect_partitions(p, other[p.name]) for p in self._partitions])

    def coarsen(self, X: Any, y: Any, *, min_group: int, label_bins: int | None = None) -> "Generalization":
        """Merge buckets, at little cost to the prediction, until every observed combination has `min_group` records.

        No z that occurs in X then has fewer records than that [Staab24 §9]; where the schema names a person column
        that X has, fewer persons. It is a promise about X alone: other records may combine buckets as X never does.
        Use it before a breach could single people out, and judge what it costs with `utility` on other records.

        Parameters
        ----------
        X : frame or array
            Full records; only the needed attributes must be there.
        y : one label per record
        min_group : int
            The k of k-anonymity, over all attributes together.
        label_bins : int, optional
            Cut a numeric label into that many ranges.

        Returns
        -------
        Generalization
            Itself where the groups are large enough already. What the schema locks stays as it is; a `DataError` names
            it where it stands in the way.

        Examples
        --------
        >>> import modicum as md
        >>> X, y = md.datasets.load_adult(return_X_y=True)
        >>> g = md.PrivacyTree(max_leaves=10).fit(X, y).generalization_
        >>> md.measures.k_anonymity(g.transform(X))
        1
        >>> coarser = g.coarsen(X, y, min_group=10)
        >>> md.measures.k_anonymity(coarser.transform(X)) >= 10
        True
        """
        from modicum.generalization.coarsening import coarsen_partitions

        return Generalization(
            self._schema, coarsen_partitions(self._partitions, self._schema, X, y, min_group, label_bins)
        )

    def _with(self, changed: AnyPartition) -> "Generalization":
        return Generalization(self._schema, [changed if p.name == changed.name else p for p in self._partitions])

    # Keeping it

    def to_dict(self) -> storage.PlainArtifact:
        """The artifact as plain data, ready for JSON."""
        return {
            "modicum": "generalization",
            "version": storage.VERSION,
            "schema": self._schema.to_dict(),
            "attributes": [storage.dump_partition(p) for p in self._partitions],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, object]) -> "Generalization":
        """The artifact from plain data; everything is checked."""
        if not isinstance(content, dict) or content.get("modicum") != "generalization":
            raise ArtifactError("The artifact's field 'modicum' does not say 'generalization'.")
        storage.check_version(content)
        unknown = set(content) - {"modicum", "version", "schema", "attributes"}
        if unknown:
            raise ArtifactError(f"The artifact has an unknown field {sorted(unknown)[0]!r}.")
        schema = storage.parse_artifact_schema(content)
        entries = content.get("attributes")
        if not isinstance(entries, list):
            raise ArtifactError("The artifact's field 'attributes' must be a list.")
        partitions = [storage.parse_partition(entry, schema) for entry in entries]
        names = [p.name for p in partitions]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise ArtifactError(f"The artifact describes the attribute {repeated!r} twice.")
        return cls(schema, partitions)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON, one line per bucket; an existing file is replaced only by a complete one."""
        storage.write_json(self.to_dict(), path)


def _plainest(partition: AnyPartition) -> AnyPartition:
    """One bucket for everything collects nothing: that is a dropped attribute."""
    if not isinstance(partition, Dropped | FullDetail) and len(partition.labels) == 1:
        return Dropped(attribute=partition.attribute, value=partition.representatives[0])
    return partition


# Many generalizations of the same records: every column's distinct values are read once, then only looked up.


@dataclass(frozen=True)
class DistinctColumns:
    """For each attribute its distinct values, and for each record which of them it has.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.generalization.core import DistinctColumns
    >>> X = pd.DataFrame({"age": [18, 35, 70, 18], "job": ["nurse", "clerk", "nurse", None]})
    >>> g = md.Uniform(buckets=2).fit(X).generalization_
    >>> columns = DistinctColumns.of(X, g.schema)
    >>> bool((columns.codes(g) == g.codes(X)).all())
    True
    """

    names: Sequence[str]
    values: Sequence[Any]  # a short column each, of the frame's own kind
    places: Sequence[npt.NDArray[np.int32]]

    @classmethod
    def of(cls, X: Any, schema: Schema) -> "DistinctColumns":
        """The distinct values of the schema's features in X."""
        frame = as_frame(X, schema.features)
        found = [_distinct(column(frame, name), schema[name]) for name in schema.features]
        return cls(schema.features, [values for values, _ in found], [places for _, places in found])

    def __len__(self) -> int:
        return len(self.places[0])

    def codes(self, g: Generalization) -> Codes:
        """The bucket of each record in each attribute: what `g.codes` says of the same records."""
        result = np.zeros((len(self), len(self.names)), dtype=np.int64, order="F")
        for j, partition in enumerate(g.partitions):
            if not isinstance(partition, Dropped):
                np.take(partition.encode(self.values[j]), self.places[j], out=result[:, j])
        return result

    def sizes(self) -> dict[str, int]:
        """How many different values each attribute has, missing not counted."""
        missing = self.with_missing()
        return {n: len(values) - (n in missing) for n, values in zip(self.names, self.values, strict=True)}

    def with_missing(self) -> list[str]:
        """The attributes of which some record has no value."""
        pairs = zip(self.names, self.values, strict=True)
        return [name for name, values in pairs if missing_mask(values, values.dtype).any()]

    def fingerprint(self) -> str:
        """A hash of all values in their order: other data, other text."""
        total = sha256()
        for name, values, places in zip(self.names, self.values, self.places, strict=True):
            codes, words = texts(values)  # canonical: a missing value is not the text None, nor true the text True
            total.update(repr((name, words, codes.tolist(), len(places))).encode())
            total.update(places.tobytes())
        return total.hexdigest()


def _distinct(series: Any, attribute: Any) -> tuple[Any, npt.NDArray[np.int32]]:
    keys = texts(series)[0] if attribute.is_category else numbers(series, attribute)
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    return series[first.tolist()], places.astype(np.int32)


# Raw data as a generalization: everything is collected, in full detail.


def raw_generalization(X: Any, schema: Schema) -> Generalization:
    """Everything in full detail: what a model on raw data sees, and what an adversary sees who knows it all.

    The columns are taken as they are, whatever domain the schema declares; one without any value is left out.
    """
    frame = as_frame(X)
    return Generalization(schema, [_keep_attribute(frame, schema[name]) for name in schema.features])


def _keep_attribute(frame: Any, attribute: Attribute) -> AnyPartition:
    kind = "category" if attribute.is_category else attribute.kind
    free = attribute.model_copy(update={"domain": None, "kind": kind})
    series = column(frame, attribute.name)
    if attribute.is_category:
        return keep(Target.fit(frame, free).coding) if texts(series)[1] else Dropped(attribute=free)
    return Dropped(attribute=free) if np.isnan(numbers(series, attribute)).all() else FullDetail(attribute=free)


# What every artifact can be asked: that is all a judge needs to know of it.


@runtime_checkable
class Artifact(Protocol):
    """Something that shows records in less detail, by one partition per attribute or by cells over several.

    Attributes
    ----------
    schema, names : the attributes it speaks of
    sizes : how many codes each column of `codes` may have

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> X = pd.DataFrame({"age": [18, 35, 52, 70], "job": ["nurse", "clerk", "nurse", "smith"]})
    >>> artifact = md.Uniform(buckets=2).fit(X).generalization_.drop("job")
    >>> artifact.names, artifact.sizes, artifact.codes(X).tolist()
    (['age', 'job'], (3, 1), [[0, 0], [0, 0], [1, 0], [1, 0]])
    """

    @property
    def schema(self) -> Schema:
        """Kinds, roles and domains of the attributes."""
        ...

    @property
    def names(self) -> list[str]:
        """The attributes it speaks of."""
        ...

    @property
    def sizes(self) -> Sequence[int]:
        """How many codes each column of `codes` may have."""
        ...

    def codes(self, X: Any) -> Codes:
        """What an adversary sees of the records: one row each, equal rows for records that cannot be told apart."""
        ...

    def possible(self, attribute: str, target: Target, codes: Codes) -> Mask:
        """For each row of codes, which of the target's values it leaves possible."""
        ...
