"""What the answers that a PriSM classifier asks for leave at risk: who is alone, who can be linked, what is bounded."""

from dataclasses import dataclass
from typing import Any

from modicum.attacks import Linkability, LinkResult, SinglingOut, SinglingOutResult
from modicum.generalization import Generalization
from modicum.generalization.core import raw_generalization
from modicum.measures.certificate import Certificate, certify
from modicum.prism import PrismClassifier
from modicum.table.codes import FEW
from modicum.table.schema import Schema

LINKED = 200  # people whose halves are joined at once
_LEAST = FEW * FEW  # people from which shares are told


@dataclass(frozen=True)
class Exposure:
    """The risks of the answers themselves, on test records.

    Attributes
    ----------
    singling_out : who is alone with the answers, beside all attributes in full detail
    linkability : halves of the answers joined (A7); None where fewer than two columns are asked, or people are few
    certificate : what no adversary can exceed who sees the answers, for sensitive attributes that are one column; None
        where there is none
    """

    singling_out: SinglingOutResult
    linkability: LinkResult | None
    certificate: Certificate | None


def exposure(
    model: PrismClassifier, schema: Schema, train: Any, test: Any, confidence: float, random_state: int
) -> Exposure:
    """Attack the answers: the attributes that are asked in full detail, all others not collected.

    Parameters
    ----------
    model : fitted
    schema : kinds and roles of the columns
    train, test : full records; a sensitive number is cut into bins on the first, all else is counted on the others
    confidence : of the certificate
    """
    asked = collected(model, schema, test)
    alone = SinglingOut(random_state=random_state).run(asked, test)
    linked = _linked(model, asked, test, alone.people, random_state)
    return Exposure(alone, linked, _bound(model, asked, train, test, confidence))


def collected(model: PrismClassifier, schema: Schema, frame: Any) -> Generalization:
    """What is asked for as an artifact: predictors in full detail, nothing else."""
    found = raw_generalization(frame, schema)
    for name in found.names:
        found = found if name in model.needed_columns_ else found.drop(name)
    return found


def _linked(
    model: PrismClassifier, asked: Generalization, test: Any, people: int, random_state: int
) -> LinkResult | None:
    """Every other column in one half, the rest in the other."""
    columns = model.needed_columns_
    if len(columns) < 2 or people < _LEAST:
        return None
    k = min(LINKED, max(2, people // 10))
    return Linkability(columns[::2], columns[1::2], k, random_state=random_state).run(asked, test)


def _bound(
    model: PrismClassifier, asked: Generalization, train: Any, test: Any, confidence: float
) -> Certificate | None:
    columns = [name for name in model.sensitive_ if name in asked.names]
    if len(columns) < len(model.sensitive_):
        return None
    return certify(asked, test, columns, confidence, known=train)
