"""What an artifact is known by: a hash of everything that decides a record's buckets and what stands in for them."""

import hashlib
from typing import Any, get_args

from modicum.errors import ParameterError
from modicum.generalization import storage
from modicum.generalization.cells import CellPartition
from modicum.generalization.core import Generalization
from modicum.generalization.questionnaire import Questionnaire

Collected = Generalization | CellPartition | Questionnaire

_DECIDING = (
    "name",
    "kind",
    "storage",
    "domain",
    "hierarchy",
)  # of an attribute; labels follow from these


def check_collected(artifact: Any, kinds: tuple[type, ...] = get_args(Collected), name: str = "artifact") -> None:
    """Refuse what is no artifact, or none of these kinds, in one form of message.

    Examples
    --------
    >>> from modicum.generalization.identity import check_collected
    >>> check_collected("x")
    Traceback (most recent call last):
    ...
    modicum.errors.ParameterError: The 'artifact' parameter must be a Generalization, CellPartition or Questionnaire. \
Got str instead.
    """
    if not isinstance(artifact, kinds):
        *others, last = [kind.__name__ for kind in kinds]
        listed = f"{', '.join(others)} or {last}" if others else last
        raise ParameterError(f"The {name!r} parameter must be a {listed}. Got {type(artifact).__name__} instead.")


def identity(artifact: Collected) -> str:
    """The SHA-256 of an artifact's buckets: equal where every record tells the same, in the same words.

    The values that stand in for buckets, which a model may be given, count too. Roles, question texts and help texts do
    not change what is collected, nor does the domain of a number or date, so they may be edited without a new identity.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.generalization.identity import identity
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> len(identity(g)), identity(g) == identity(g.drop("age"))
    (64, False)
    """
    check_collected(artifact)
    kind = "questionnaire" if isinstance(artifact, Questionnaire) else "artifact"
    content = (artifact.cells if isinstance(artifact, Questionnaire) else artifact).to_dict()
    content["schema"] = [_deciding(attribute) for attribute in content["schema"]["attributes"]]
    return hashlib.sha256(f"{kind}\n{storage.lines(content)}".encode("utf-8", "surrogatepass")).hexdigest()


def _deciding(attribute: dict[str, Any]) -> dict[str, Any]:
    fields = [field for field in _DECIDING if field != "domain" or attribute["kind"] == "ordered"]
    return {field: attribute[field] for field in fields if field in attribute}
