"""What the adversaries were run on: hashes of records and artifacts, versions, and every setting."""

from collections.abc import Sequence
from typing import Any

from modicum.attacks.breach import Breach
from modicum.generalization import Generalization
from modicum.provenance import frame_hash, text_hash, versions
from modicum.table.values import plain


def provenance(breach: Breach, others: Sequence[Generalization], settings: dict[str, Any]) -> dict[str, Any]:
    """What a suite rests on, as plain data; the records of both sides with their attributes and whose they are.

    Parameters
    ----------
    breach : the artifact, the known and the breached records
    others : further generalizations under which the same people were breached
    settings : what the results depend on besides
    """
    artifact, person = breach.artifact, breach.artifact.schema.person
    names = [*artifact.names, *([person] if person is not None and person in breach.known.columns else [])]
    hashes = {
        "known records": frame_hash(breach.known, names),
        "breached records": frame_hash(breach.breached, [name for name in names if name in breach.breached.columns]),
        "schema": text_hash(artifact.schema.to_dict()),
    }
    if hasattr(artifact, "to_dict"):
        hashes["artifact"] = text_hash(artifact.to_dict())
    hashes |= {f"artifact {i}": text_hash(other.to_dict()) for i, other in enumerate(others, start=2)}
    return {"hashes": hashes, "versions": versions(), "settings": dict(plain(settings))}
