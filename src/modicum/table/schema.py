"""The meaning of each column: its kind, roles and domain.

A `Schema` can be written by hand in YAML, or inferred and then edited. Every artifact contains one, so it knows which
attributes are personal.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import yaml
from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError, field_validator, model_validator

from modicum.errors import ParameterError, SchemaError, format_names
from modicum.table.atomic_writing import replacing
from modicum.table.plain_data import PlainSchema
from modicum.table.values import canonical, seconds

Kind = Literal["number", "ordered", "category", "date"]
Role = Literal["personal", "quasi-identifier", "sensitive", "label", "person", "identifier"]
Topic = Literal["kind", "identifier", "special category", "quasi-identifier", "proxy"]
Storage = Literal["text", "integer", "float", "boolean", "date", "datetime"]

_NOT_COLLECTED_ROLES = {"label", "person", "identifier"}


class Attribute(BaseModel):
    """One column: its kind, its roles, and whether it may be collected.

    Parameters
    ----------
    name : str
        The column's name.
    kind : "number", "ordered", "category" or "date"
        `ordered` is a category whose values have an order: that of `domain`, or else numeric.
    storage : str
        How the values are stored in the data: "text", "integer", "float", "boolean", "date" or "datetime".
    roles : sequence of str
        Any of "personal", "quasi-identifier", "sensitive"; or one of "label" (predicted), "person" (shared by the rows
        of one person), "identifier" (dropped, never collected).
    domain : sequence, optional
        For numbers and dates the lowest and highest value; for categories all values.
    hierarchy : dict, optional
        For categories: each value's ancestors, nearest first. A bucket that holds exactly one ancestor's values gets
        its name.
    locked : bool
        Always collect it in full detail.
    forbidden : bool
        Never collect it.
    question, help : str, optional
        A form's question for it (default: the name), and the text below the question (default: none).

    Examples
    --------
    >>> from modicum import Attribute
    >>> Attribute(name="age", kind="number", storage="integer", roles=["personal"]).collectable
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Kind
    storage: Storage = "text"
    roles: tuple[Role, ...] = ()
    domain: tuple[float | str, ...] | None = None
    hierarchy: dict[str, tuple[str, ...]] | None = None
    locked: bool = False
    forbidden: bool = False
    question: str | None = None
    help: str | None = None

    @field_validator("domain", mode="before")
    @classmethod
    def _plain_domain(cls, value: Any, info: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise ValueError("it must be a list")
        if info.data.get("kind") in ("ordered", "category"):
            return tuple(canonical(v) for v in value)
        return tuple(v if isinstance(v, int | float | str) else str(v) for v in value)

    @model_validator(mode="after")
    def _consistent(self) -> "Attribute":
        exclusive = _NOT_COLLECTED_ROLES & set(self.roles)
        if exclusive and len(set(self.roles)) > 1:
            raise ValueError(f"the role {sorted(exclusive)[0]!r} excludes every other role")
        if self.locked and self.forbidden:
            raise ValueError("it is both locked (always collected) and forbidden (never collected)")
        if self.domain is not None:
            self._check_domain(self.domain)
        if self.hierarchy is not None and not self.is_category:
            raise ValueError("a hierarchy belongs to a category, not to a number or date")
        return self

    def _check_domain(self, domain: tuple[float | str, ...]) -> None:
        if self.is_category:
            if len(set(domain)) < len(domain):
                raise ValueError("its domain names a value twice")
        elif len(domain) != 2 or not self.bounds[0] <= self.bounds[1]:
            raise ValueError("its domain must be a lowest and a highest value")

    @property
    def is_identifying(self) -> bool:
        """Whether its values identify single people: the role is identifier or person."""
        return "identifier" in self.roles or "person" in self.roles

    @property
    def is_category(self) -> bool:
        """Whether values are compared as text (`category` and `ordered`), not by size."""
        return self.kind in ("category", "ordered")

    @property
    def has_order(self) -> bool:
        """Whether only neighbouring values may share a bucket."""
        return self.kind != "category"

    @property
    def collectable(self) -> bool:
        """Whether it may be an input of the prediction: not the label, the person column or an identifier."""
        return not _NOT_COLLECTED_ROLES & set(self.roles)

    @property
    def bounds(self) -> tuple[float, float]:
        """The domain of a number or date as two floats; infinite if it is not declared."""
        if self.domain is None:
            return float("-inf"), float("inf")
        low, high = (seconds(v) if self.kind == "date" and isinstance(v, str) else float(v) for v in self.domain)
        return low, high


class Suggestion(BaseModel):
    """Something that `Schema.infer` noticed and a person should decide: the attribute, the topic and the reason."""

    model_config = ConfigDict(frozen=True)

    attribute: str
    topic: Topic
    reason: str

    def __str__(self) -> str:
        return f"{self.attribute}: {self.reason}"


class GivenRoles(TypedDict, total=False):
    """Roles that a caller sets: column names per role; None leaves a role unchanged."""

    label: str | None
    personal: Iterable[str] | None
    quasi_identifiers: Iterable[str] | None
    sensitive: Iterable[str] | None
    person: str | None
    identifiers: Iterable[str] | None


class Schema(BaseModel):
    """The attributes of a table, in order.

    If no attribute is declared personal, all features are. `missing` are texts that mean missing in a file, such as
    "?".

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> X = pd.DataFrame({"age": [31, 45, 62], "job": ["nurse", "clerk", "nurse"]})
    >>> schema = md.Schema.infer(X)
    >>> schema.personal
    ['age', 'job']
    >>> schema = schema.with_roles(personal=["age"])
    >>> schema["age"].kind, schema.personal
    ('number', ['age'])
    >>> md.Schema.from_yaml(schema.to_yaml()) == schema
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    attributes: tuple[Attribute, ...]
    missing: tuple[str, ...] = ()
    _suggestions: tuple[Suggestion, ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _consistent(self) -> "Schema":
        names = self.names
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"the attribute {repeated[0]!r} is declared twice")
        for role in ("label", "person"):
            if len(self.with_role(role)) > 1:
                raise ValueError(f"more than one attribute has the role {role!r}: {format_names(self.with_role(role))}")
        return self

    @classmethod
    def infer(
        cls,
        X: Any,
        *,
        label: str | None = None,
        personal: Iterable[str] | None = None,
        quasi_identifiers: Iterable[str] | None = None,
        sensitive: Iterable[str] | None = None,
        person: str | None = None,
        identifiers: Iterable[str] | None = None,
    ) -> "Schema":
        """Infer a schema: kinds from the data, roles from the parameters, `suggestions` for the rest."""
        from modicum.table.inference import infer_schema

        schema, suggestions = infer_schema(X)
        schema = schema.with_roles(
            label=label,
            personal=personal,
            quasi_identifiers=quasi_identifiers,
            sensitive=sensitive,
            person=person,
            identifiers=identifiers,
        )
        schema._suggestions = tuple(suggestions)
        return schema

    def __eq__(self, other: object) -> bool:
        # Suggestions are not part of the schema.
        return isinstance(other, Schema) and (self.attributes, self.missing) == (other.attributes, other.missing)

    def __hash__(self) -> int:
        return hash(tuple((a.name, a.kind, a.roles) for a in self.attributes))

    def __iter__(self) -> Iterator[Attribute]:  # type: ignore[override]
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Attribute:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise SchemaError(f"The schema has no attribute {name!r}; it has {format_names(self.names, limit=8)}.")

    @property
    def names(self) -> list[str]:
        """The names of all attributes, in order."""
        return [attribute.name for attribute in self.attributes]

    @property
    def suggestions(self) -> tuple[Suggestion, ...]:
        """What `infer` noticed and a person should decide. Not saved in the schema's file."""
        return self._suggestions

    @property
    def features(self) -> list[str]:
        """The attributes that a prediction may use: all but label, person and identifiers."""
        return [attribute.name for attribute in self.attributes if attribute.collectable]

    @property
    def personal(self) -> list[str]:
        """The personal attributes; all features if none is declared."""
        return self.with_role("personal") or self.features

    @property
    def label(self) -> str | None:
        """The attribute to predict."""
        return next(iter(self.with_role("label")), None)

    @property
    def person(self) -> str | None:
        """The attribute that rows of one person (or household) share."""
        return next(iter(self.with_role("person")), None)

    def with_role(self, role: Role) -> list[str]:
        """The names of the attributes that have this role."""
        return [attribute.name for attribute in self.attributes if role in attribute.roles]

    def with_roles(
        self,
        *,
        label: str | None = None,
        personal: Iterable[str] | None = None,
        quasi_identifiers: Iterable[str] | None = None,
        sensitive: Iterable[str] | None = None,
        person: str | None = None,
        identifiers: Iterable[str] | None = None,
    ) -> "Schema":
        """Return a copy in which exactly the named attributes have each given role."""
        named: dict[Role, Iterable[str] | None] = {
            "label": None if label is None else [label],
            "person": None if person is None else [person],
            "identifier": identifiers,
            "personal": personal,
            "quasi-identifier": quasi_identifiers,
            "sensitive": sensitive,
        }
        given = {role: self._check_names(names, role) for role, names in named.items() if names is not None}
        return self._rebuilt(
            attribute.model_copy(
                update={
                    "roles": tuple(
                        role
                        for role in named
                        if (attribute.name in given[role] if role in given else role in attribute.roles)
                    )
                }
            )
            for attribute in self.attributes
        )

    def _check_names(self, names: Iterable[str], role: str) -> list[str]:
        names = [names] if isinstance(names, str) else list(names)
        for name in names:
            if name not in self:
                raise SchemaError(
                    f"There is no attribute {name!r} to be {role}; the data has {format_names(self.names, limit=8)}."
                )
        return names

    def with_missing(self, texts: Iterable[str]) -> "Schema":
        """Return a copy in which these texts also mean missing in a file."""
        copy = self.model_copy(update={"missing": tuple(dict.fromkeys([*self.missing, *texts]))})
        copy._suggestions = self._suggestions
        return copy

    def declare(
        self,
        *,
        categories: str | Iterable[str] | None = None,
        missing: str | Iterable[str] = (),
        **roles: Unpack[GivenRoles],
    ) -> "Schema":
        """Return a copy with declared categories, texts that mean missing, and roles.

        Parameters
        ----------
        categories : columns of numbers that are codes, not amounts
        missing : further texts that mean missing in a file
        **roles : as in `with_roles`

        Examples
        --------
        >>> import pandas as pd, modicum as md
        >>> schema = md.Schema.infer(pd.DataFrame({"zip": [1001, 1002, 1003], "ill": ["no", "yes", "no"]}))
        >>> schema = schema.declare(categories=["zip"], missing=["?"], label="ill")
        >>> schema["zip"].kind, schema.label, schema.missing
        ('category', 'ill', ('?',))
        """
        schema = self.with_missing([missing] if isinstance(missing, str) else missing)
        for name in self._check_names(categories or (), "a category"):
            schema = schema.replace(name, kind="category")
        return schema.with_roles(**roles)

    def replace(self, name: str, **changes: Any) -> "Schema":
        """Return a copy with one attribute changed, for example `replace("zip", kind="category")`."""
        changed = self[name].model_dump() | changes
        if "kind" in changes and "domain" not in changes:
            changed["domain"] = None
        return self._rebuilt(changed if a.name == name else a for a in self.attributes)

    def select(self, names: Sequence[str]) -> "Schema":
        """Return a copy with only these attributes, in this order."""
        return self._rebuilt(self[name] for name in names)

    def _rebuilt(self, attributes: Iterable[Attribute | dict[str, object]]) -> "Schema":
        content = [a if isinstance(a, dict) else a.model_dump() for a in attributes]
        built = parse_schema({"missing": self.missing, "attributes": content})
        built._suggestions = self._suggestions
        return built

    def check(self, X: Any) -> None:
        """Raise a `SchemaError` that names the first column where data and schema disagree."""
        from modicum.table.frames import check_schema

        check_schema(self, X)

    def to_yaml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the schema as YAML text, and write it to `path` if given."""
        text = yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True, width=1000)
        if path is not None:
            with replacing(path) as temporary:
                Path(temporary).write_text(text, encoding="utf-8")
        return text

    def to_dict(self) -> PlainSchema:
        """The schema as plain data, without default values."""
        attributes = [attribute.model_dump(mode="json", exclude_defaults=True) for attribute in self.attributes]
        return {"missing": list(self.missing), "attributes": attributes} if self.missing else {"attributes": attributes}

    @classmethod
    def from_yaml(cls, source: str | os.PathLike[str]) -> "Schema":
        """Read a schema from YAML text or from a file."""
        is_text = isinstance(source, str) and "\n" in source
        try:
            text = str(source) if is_text else Path(source).read_text(encoding="utf-8")
            content = yaml.safe_load(text)
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise SchemaError(f"The schema is not readable as YAML: {' '.join(str(error).split())}.") from error
        except OSError as error:
            raise SchemaError(f"The schema file {os.fspath(source)!r} cannot be read: {error.strerror}.") from error
        return parse_schema(content)


def require_schema(given: Any) -> Schema:
    """Return a `Schema`; raise a `ParameterError` for anything else.

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.table.schema import require_schema
    >>> require_schema(md.Schema(attributes=())).features
    []
    """
    if not isinstance(given, Schema):
        raise ParameterError(f"The 'schema' parameter must be a Schema. Got {type(given).__name__} instead.")
    return given


def parse_schema(content: Any) -> Schema:
    """Build a schema from plain data; turn pydantic's errors into one sentence."""
    if not isinstance(content, dict):
        raise SchemaError("A schema must be a mapping with the key 'attributes'.")
    try:
        return Schema.model_validate(content)
    except ValidationError as error:
        raise SchemaError(f"The schema is not valid: {first_complaint(error, content)}.") from None


def first_complaint(error: ValidationError, content: Any) -> str:
    """Describe pydantic's first error, naming the attribute and the field.

    It leaves out the values, which may be personal data.
    """
    first = error.errors(include_input=False, include_url=False)[0]
    where: list[str] = []
    for step in first["loc"]:
        try:
            content = content[step]
        except (KeyError, IndexError, TypeError):
            content = None
        if isinstance(step, int) and isinstance(content, dict) and "name" in content:
            where.append(f"attribute {content['name']!r}")
        else:
            where.append(f"entry {step + 1}" if isinstance(step, int) else f"field {step!r}")
    message = first["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    return f"in {', '.join(where)}: {message}" if where else message
