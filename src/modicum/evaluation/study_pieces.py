"""The pieces of a study's work, each by itself: what a thread here, or an executor elsewhere, is given to do."""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from threading import Lock
from typing import Any

from modicum.errors import DataError
from modicum.evaluation.grids import Context, Job
from modicum.evaluation.judges import judged
from modicum.evaluation.screening import screened
from modicum.evaluation.study_data import SeedData, StudyData, limits_of
from modicum.generalization import Generalization
from modicum.measures.certificate import margin_of
from modicum.table.values import plain

Where = int | str  # a seed of the study's own records, or the name of other records


@dataclass(frozen=True)
class Fit:
    """Every different generalization that one fit makes, screened."""

    seed: int
    size: float
    job: Job


@dataclass(frozen=True)
class Limits:
    """What full detail and no data at all reach."""

    where: Where


@dataclass(frozen=True)
class Judging:
    """The judges' word on one generalization."""

    where: Where
    artifact: dict[str, Any]
    confidence: float


Piece = Fit | Limits | Judging


class Bench:
    """The records, and how each piece of work is done on them. It travels to other processes as the records alone."""

    def __init__(self, data: StudyData, later: Mapping[str, StudyData], first: int) -> None:
        self.data, self.later, self.first = data, dict(later), first
        self._split: dict[Where, SeedData] = {}
        self._seen: dict[tuple[int, str], dict[str, Any]] = {}  # what another fit made already
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Bench, (self.data, self.later, self.first)

    def do(self, piece: Piece) -> dict[str, Any]:
        """What a piece of work finds, as plain data."""
        if isinstance(piece, Fit):
            found = self._candidates(piece.seed, piece.size, piece.job)
        elif isinstance(piece, Limits):
            found = limits(self.of(piece.where))
        else:
            g = Generalization.from_dict(piece.artifact)
            found = asdict(judged(g, self.of(piece.where), piece.confidence))
        return dict(plain(found))

    def of(self, where: Where) -> SeedData:
        """The records as a seed splits them, made once even where several threads ask."""
        with self._lock:
            if where not in self._split:
                whole, seed = (self.later[where], self.first) if isinstance(where, str) else (self.data, where)
                self._split[where] = whole.of_seed(seed)
                self._split[where].prepare()
            return self._split[where]

    def _candidates(self, seed: int, size: float, job: Job) -> dict[str, Any]:
        """Every different generalization that one fit makes, screened; or why there is none."""
        data = self.of(seed)
        rows = data.parts.train if size == 1 else data.sample(size)
        context = Context(self.data.schema, self.data.given_weights, self.data.label_bins, seed)
        start = time.perf_counter()
        try:
            made = job.make(self.data.frame[rows].to_native(), self.data.label[rows], context)
        except DataError as error:
            part = "" if size == 1 else f" from {size:g} of the training part"
            return {"skipped": f"{job.minimizer}{part} (seed {seed}): {error}", "found": []}
        fit = (time.perf_counter() - start) / len(made)
        found, seen = [], set()
        for parameters, g in made:
            artifact = g.to_dict()
            key = digest(artifact)
            if key not in seen:
                seen.add(key)
                scores = self._seen.get((seed, key)) or asdict(screened(g, data))
                self._seen[seed, key] = scores
                seconds = fit + scores["seconds"]
                found.append({"parameters": parameters, "artifact": artifact, "seconds": seconds, "screened": scores})
        return {"skipped": None, "found": found}


def limits(known: SeedData) -> dict[str, Any]:
    """The two limits of generalization on the validation and the test part."""
    parts = {"validation": known.parts.validation, "test": known.parts.test}
    found: dict[str, Any] = {
        "log_losses": {},
        "margin": _margin_at_one(known),
        "naive": known.naive_errors(known.parts.test),
        "people": {part: known.people_in(rows) for part, rows in parts.items()},
    }
    for (part, rows), raw, majority in zip(parts.items(), known.raw_model(), known.majority(), strict=True):
        found[part] = asdict(limits_of(raw, majority, known.naive_adversary(rows)))
        found["log_losses"][part] = [raw.log_loss(), majority.log_loss()]
    return found


def _margin_at_one(data: SeedData) -> float:
    """The certificate's margin on the validation part for ln(1/δ) = 1."""
    rows, persons = data.parts.validation, data.whole.persons
    return margin_of(len(rows), None if persons is None else persons[rows], math.exp(-1))


def digest(content: Any) -> str:
    """A short name for plain data."""
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
