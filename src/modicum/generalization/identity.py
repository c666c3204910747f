"""What an artifact is known by: a hash of everything that decides a record's buckets and what stands in for them."""

import hashlib
from typing import Any

from modicum.generalization import storage
from modicum.generalization.loading import Collected, check_collected, content_of
from modicum.generalization.questionnaire import Questionnaire

_DECIDING = ("name", "kind", "storage", "domain", "hierarchy")  # of an attribute; labels follow from these


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
    content = content_of(artifact)
    content["schema"] = [_deciding(attribute) for attribute in content["schema"]["attributes"]]
    return hashlib.sha256(f"{kind}\n{storage.lines(content)}".encode("utf-8", "surrogatepass")).hexdigest()


def _deciding(attribute: dict[str, Any]) -> dict[str, Any]:
    fields = [field for field in _DECIDING if field != "domain" or attribute["kind"] == "ordered"]
    return {field: attribute[field] for field in fields if field in attribute}
