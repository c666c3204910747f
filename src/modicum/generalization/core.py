"""The generalization: one partition per attribute; global, single-dimensional, strict [Staab24 §4]."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol, runtime_checkable

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

# Apply a generalization to coded records: one look-up per attribute, without reading values again.

_ROWS = 16_384  # at a time, to fit the processor's cache


def bucket_tables(partitions: Sequence[AnyPartition], coder: Coder) -> list[npt.NDArray[np.uint16]]:
    """Return, for each attribute, the bucket of each of the coder's codes."""
    codings = {coding.attribute.name: coding for coding in coder.codings}
    absent = [p.name for p in partitions if p.name not in codings]
    if absent:
        raise ArtifactError(f"The coder does not know the attribute {absent[0]!r}.")
    return [_table(p, codings[p.name]) for p in partitions]


def look_up(tables: Sequence[npt.NDArray[np.uint16]], codes: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    """Return the bucket of each record in each attribute."""
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
            f"The attribute {partition.name!r} has an edge that the coder lacks, so one code would fall into two "
            "buckets; transform the records themselves."
        )
    return partition.encode_numbers(np.append(coding.edges, np.inf))


# The generalization


class Generalization(GeneralizationExports):
    """The attributes that are collected, and the detail of each.

    Every record has exactly one bucket per attribute (strict and total; `modicum.generalization.bins` defines what a
    bucket holds). A generalization is plain data: save it, edit it by hand, compare it, apply it where the data is.

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
            raise ArtifactError(f"The generalization has no partition for the attribute {absent[0]!r}.")
        extra = [name for name in by_name if name not in schema.features]
        if extra:
            raise ArtifactError(f"The schema does not allow collecting {extra[0]!r}; remove its partition.")
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
        """The number of codes of each attribute, with `(other)` and `(missing)`; 0 for a number in full detail."""
        return tuple(1 if isinstance(p, Dropped) else len(p.labels) for p in self._partitions)

    @property
    def n_buckets(self) -> int:
        """The number of all buckets without `(other)` and `(missing)`; a dropped attribute counts 1."""
        return sum(p.n_buckets for p in self._partitions)

    @property
    def buckets(self) -> dict[str, tuple[str, ...]]:
        """The bucket labels of each needed attribute; empty for a number in full detail."""
        return {p.name: p.labels for p in self._partitions if not isinstance(p, Dropped)}

    def __getitem__(self, name: str) -> AnyPartition:
        for partition in self._partitions:
            if partition.name == name:
                return partition
        raise ArtifactError(
            f"The generalization has no attribute {name!r}; it has {format_names(self.names, limit=8)}."
        )

    def code_buckets(self, name: str) -> tuple[AnyPartition, list[tuple[int, ...]]]:
        """Return an attribute's buckets, and for each code the buckets that remain possible: only that bucket."""
        partition = self[name]
        return partition, [(code,) for code in range(len(partition.labels))]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Generalization) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self._schema, self.n_buckets, tuple(self.needed)))

    def __repr__(self) -> str:
        return f"<Generalization: {len(self.needed)} of {len(self.names)} attributes, {self.n_buckets} buckets>"

    # Apply it

    def codes(self, X: Any) -> Codes:
        """Return the bucket of each record in each attribute (0 if dropped): what an adversary sees of X."""
        frame = as_frame(X, self.names)
        result = np.zeros((len(frame), len(self._partitions)), dtype=np.int64)
        for j, partition in enumerate(self._partitions):
            if not isinstance(partition, Dropped):
                result[:, j] = partition.encode(column(frame, partition.name))
        return result

    def transform_codes(self, codes: npt.NDArray[Any], coder: Coder) -> npt.NDArray[np.uint16]:
        """Return the buckets of coded records with one look-up per attribute, for tables of many millions of rows.

        Parameters
        ----------
        codes : array of int, one row per record
            The result of `coder.encode`.
        coder : Coder
            The coder of the data that this generalization was made from, for example `PrivacyTree.coder_`.

        Returns
        -------
        array of uint16 with a column for every attribute, 0 if it is not collected

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
        """Return which values of an attribute each of its buckets leaves possible [Staab24 Appendix A].

        Parameters
        ----------
        attribute : str
        target : Target
            The values to distinguish: categories, or the bins of a number.
        codes : array of int, optional
            Bucket codes of this attribute, or whole rows as `codes` returns them; all buckets by default. Required for
            a number in full detail, which has no list of buckets.

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
        """Return X with no more detail than this generalization collects.

        Parameters
        ----------
        X : frame or array
            pandas, polars or numpy, or a lazy table (DuckDB relation, polars LazyFrame, …), which stays lazy. Only the
            needed attributes are required; other columns are never passed through.
        output : "labels", "codes" or "values"
            `labels`: ordered categoricals with all buckets (in an engine its own such type, or text); `codes`:
            integers; `values`: all attributes in their original types with one representative value per bucket, for a
            model trained on raw data. A number kept in full detail stays a number.

        Returns
        -------
        The same kind of frame, with the needed attributes (for `values`: all) in the schema's order. If no attribute
        is needed, a pandas frame keeps its rows; polars has no rows without columns.
        """
        check_form(output)
        chosen = [p for p in self._partitions if output == "values" or not isinstance(p, Dropped)]
        if is_lazy(X):
            if not chosen:
                raise ArtifactError("This generalization collects nothing, and engines have no tables without columns.")
            return in_engine(X, chosen, output)
        frame = as_frame(X, self.names)
        return same_kind({p.name: transform_column(p, frame, output) for p in chosen}, like=X)

    def encoder(self) -> Any:
        """Return an unfitted scikit-learn transformer for `transform`'s labels, with the buckets as fixed categories.

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

    # Look at it

    def describe(self, X: Any = None) -> Description:
        """Describe what is collected; with records, also each bucket's share and the smallest group."""
        return describe(self, X)

    def diff(self, other: "Generalization") -> Difference:
        """List the changes from this generalization to `other`."""
        return difference(self, other)

    # Change it: every method returns a new generalization

    def drop(self, name: str) -> "Generalization":
        """Stop collecting an attribute."""
        old = self[name]
        return self._with(Dropped(attribute=old.attribute, value=old.value))

    def merge(self, name: str, labels: Sequence[str], label: str | None = None) -> "Generalization":
        """Merge several buckets of an attribute, with an optional new label."""
        return self._with(merge_buckets(self[name], labels, label))

    def refine(self, name: str, at: float | str | Sequence[str]) -> "Generalization":
        """Split a bucket: of a number or date at a value, of a category by separating the named values."""
        return self._with(refine_buckets(self[name], at))

    def intersect(self, other: "Generalization") -> "Generalization":
        """Intersect two generalizations: what someone who saw both knows ([Staab24 §5], adversary A6)."""
        if self.names != other.names:
            only = sorted(set(self.names) ^ set(other.names)) or self.names
            raise ArtifactError(f"The two generalizations differ in their attributes, for example {only[0]!r}.")
        return Generalization(self._schema, [intersect_partitions(p, other[p.name]) for p in self._partitions])

    def coarsen(self, X: Any, y: Any, *, min_group: int, label_bins: int | None = None) -> "Generalization":
        """Merge buckets, at little cost to the prediction, until every observed combination has `min_group` records.

        No z that occurs in X then has fewer records [Staab24 §9], or fewer persons if X has the schema's person column.
        The guarantee covers X alone: other records may have new combinations of buckets. It limits whom a later breach
        could single out. Measure its cost with `utility` on other records.

        Parameters
        ----------
        X : frame or array
            Full records; only the needed attributes are required.
        y : one label per record
        min_group : int
            The k of k-anonymity, over all attributes together.
        label_bins : int, optional
            Cut a numeric label into that many ranges.

        Returns
        -------
        Generalization
            The same object if the groups are already large enough. Locked attributes stay unchanged; a `DataError`
            names them if they prevent such groups.

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

    # Save and load it

    def to_dict(self) -> storage.PlainArtifact:
        """Return the artifact as plain data for JSON."""
        return {
            "modicum": "generalization",
            "version": storage.VERSION,
            "schema": self._schema.to_dict(),
            "attributes": [storage.dump_partition(p) for p in self._partitions],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, object]) -> "Generalization":
        """Read and check the artifact from plain data."""
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
        """Save it as JSON, one line per bucket; an existing file is replaced only by a complete one."""
        storage.write_json(self.to_dict(), path)


def _plainest(partition: AnyPartition) -> AnyPartition:
    """Turn a partition with a single bucket into a dropped attribute."""
    if not isinstance(partition, Dropped | FullDetail) and len(partition.labels) == 1:
        return Dropped(attribute=partition.attribute, value=partition.representatives[0])
    return partition


# Apply many generalizations to the same records: read the distinct values of each column only once.


@dataclass(frozen=True)
class DistinctColumns:
    """The distinct values of each attribute, and for each record which of them it has.

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
    values: Sequence[Any]  # one short column per attribute, of the frame's kind
    places: Sequence[npt.NDArray[np.int32]]

    @classmethod
    def of(cls, X: Any, schema: Schema) -> "DistinctColumns":
        """Find the distinct values of the schema's features in X."""
        frame = as_frame(X, schema.features)
        pairs = [_distinct(column(frame, name), schema[name]) for name in schema.features]
        return cls(schema.features, [values for values, _ in pairs], [places for _, places in pairs])

    def __len__(self) -> int:
        return len(self.places[0])

    def codes(self, g: Generalization) -> Codes:
        """Return the bucket of each record in each attribute, equal to `g.codes` of the same records."""
        result = np.zeros((len(self), len(self.names)), dtype=np.int64, order="F")
        for j, partition in enumerate(g.partitions):
            if not isinstance(partition, Dropped):
                np.take(partition.encode(self.values[j]), self.places[j], out=result[:, j])
        return result

    def sizes(self) -> dict[str, int]:
        """Count the distinct values of each attribute, without missing."""
        missing = self.with_missing()
        return {n: len(values) - (n in missing) for n, values in zip(self.names, self.values, strict=True)}

    def with_missing(self) -> list[str]:
        """List the attributes with missing values."""
        pairs = zip(self.names, self.values, strict=True)
        return [name for name, values in pairs if missing_mask(values, values.dtype).any()]

    def fingerprint(self) -> str:
        """Return a hash of all values in their order."""
        total = sha256()
        for name, values, places in zip(self.names, self.values, self.places, strict=True):
            codes, words = texts(values)  # canonical: a missing value differs from the text None
            total.update(repr((name, words, codes.tolist(), len(places))).encode())
            total.update(places.tobytes())
        return total.hexdigest()


def _distinct(series: Any, attribute: Any) -> tuple[Any, npt.NDArray[np.int32]]:
    keys = texts(series)[0] if attribute.is_category else numbers(series, attribute)
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    return series[first.tolist()], places.astype(np.int32)


# Raw data as a generalization: everything is collected in full detail.


def raw_generalization(X: Any, schema: Schema) -> Generalization:
    """Build the generalization that keeps full detail: what a model on raw data or an all-knowing adversary sees.

    It ignores the domains that the schema declares, and drops columns without any value.
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


# The interface of every artifact, which is all that evaluation needs.


@runtime_checkable
class Artifact(Protocol):
    """An artifact that shows records in less detail, by one partition per attribute or by cells over several.

    Attributes
    ----------
    schema, names : its attributes
    sizes : the number of codes that each column of `codes` may have

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
        """Its attributes, in order."""
        ...

    @property
    def sizes(self) -> Sequence[int]:
        """The number of codes that each column of `codes` may have."""
        ...

    def codes(self, X: Any) -> Codes:
        """Return what an adversary sees of the records: one row each, equal rows for indistinguishable records."""
        ...

    def possible(self, attribute: str, target: Target, codes: Codes) -> Mask:
        """Return which of the target's values each row of codes leaves possible."""
        ...
