"""The work of a study in pieces, each stored when it is finished: candidates of every seed, then judgements."""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from threading import Lock
from typing import Any, ClassVar

from modicum.engines.spark import SparkWorkers
from modicum.errors import DataError, ModicumError
from modicum.evaluation.study.candidates import Candidate, Later, SeedLimits
from modicum.evaluation.study.grids import Context, Job
from modicum.evaluation.study.judges import Judged, Screened, judge_generalization, screen_generalization
from modicum.evaluation.study.study_data import SeedData, StudyData
from modicum.evaluation.study.study_result import Study, StudySettings
from modicum.evaluation.study.study_store import StudyStore
from modicum.generalization import Generalization
from modicum.measures import front as fronts
from modicum.measures.certificate import margin_of
from modicum.measures.front import ErrorLimits
from modicum.progress import Stop, results, track_progress
from modicum.table.plain_data import PlainResult
from modicum.table.values import plain

# The pieces of a study's work: each runs independently, in a thread here or on an executor

Where = int | str  # a seed for the study's own records, or the name of other records


@dataclass(frozen=True)
class MadeCandidate:
    """A generalization from a fit, with its screening."""

    parameters: dict[str, object]
    artifact: Mapping[str, object]
    seconds: float
    screened: Screened


@dataclass(frozen=True)
class TriedFit(PlainResult):
    """All different generalizations from a fit, or the reason why there are none."""

    skipped: str | None
    found: list[MadeCandidate]


@dataclass(frozen=True)
class Fit:
    """Fit once, and screen all different generalizations."""

    result_type: ClassVar[type[PlainResult]] = TriedFit
    seed: int
    size: float
    job: Job


@dataclass(frozen=True)
class LimitsPiece:
    """Measure the limits: full detail and no data."""

    result_type: ClassVar[type[PlainResult]] = SeedLimits
    where: Where


@dataclass(frozen=True)
class Judging:
    """Judge one generalization."""

    result_type: ClassVar[type[PlainResult]] = Judged
    where: Where
    artifact: Mapping[str, object]
    confidence: float


Piece = Fit | LimitsPiece | Judging


class Bench:
    """The records and the functions that do each piece of work on them. Only the records are pickled."""

    def __init__(self, data: StudyData, later: Mapping[str, StudyData], first: int) -> None:
        self.data, self.later, self.first = data, dict(later), first
        self._split: dict[Where, SeedData] = {}
        self._screened: dict[tuple[int, str], Screened] = {}  # shared between fits that make the same generalization
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Bench, (self.data, self.later, self.first)

    def do(self, piece: Piece) -> PlainResult:
        """Do a piece of work and return its result."""
        if isinstance(piece, Fit):
            return self._candidates(piece.seed, piece.size, piece.job)
        if isinstance(piece, LimitsPiece):
            return measure_limits(self.of(piece.where))
        return judge_generalization(Generalization.from_dict(piece.artifact), self.of(piece.where), piece.confidence)

    def of(self, where: Where) -> SeedData:
        """Split the records, once for all threads."""
        with self._lock:
            if where not in self._split:
                whole, seed = (self.later[where], self.first) if isinstance(where, str) else (self.data, where)
                self._split[where] = whole.split_by_seed(seed)
                self._split[where].prepare()
            return self._split[where]

    def _candidates(self, seed: int, size: float, job: Job) -> TriedFit:
        data = self.of(seed)
        rows = data.parts.train if size == 1 else data.sample(size)
        context = Context(self.data.schema, self.data.given_weights, self.data.label_bins, seed)
        start = time.perf_counter()
        try:
            made = job.make(self.data.frame[rows].to_native(), self.data.label[rows], context)
        except DataError as error:
            part = "" if size == 1 else f" from {size:g} of the training part"
            return TriedFit(f"{job.minimizer}{part} (seed {seed}): {error}", [])
        fit_seconds = (time.perf_counter() - start) / max(1, len(made))
        candidates: dict[str, MadeCandidate] = {}
        for parameters, g in made:
            artifact = g.to_dict()
            key = digest(artifact)
            if key not in candidates:
                scores = self._screened.get((seed, key)) or screen_generalization(g, data)
                self._screened[seed, key] = scores
                candidates[key] = MadeCandidate(plain(parameters), artifact, fit_seconds + scores.seconds, scores)
        return TriedFit(None, list(candidates.values()))


def measure_limits(data: SeedData) -> SeedLimits:
    """Measure the two limits of generalization on the validation and the test part."""
    parts = {"validation": data.parts.validation, "test": data.parts.test}
    models = dict(zip(parts, zip(data.raw_model(), data.majority(), strict=True), strict=True))
    limits = {
        part: ErrorLimits(raw.error(), majority.error(), data.naive_adversary(parts[part]))
        for part, (raw, majority) in models.items()
    }
    return SeedLimits(
        **limits,
        log_losses={part: (raw.log_loss(), majority.log_loss()) for part, (raw, majority) in models.items()},
        naive=data.naive_errors(data.parts.test),
        people={part: data.people_in(rows) for part, rows in parts.items()},
        margin=margin_of(len(parts["validation"]), data.persons_of(parts["validation"]), math.exp(-1)),
    )


def digest(content: object) -> str:
    """Return a short hash of plain data."""
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


# The work

Pieces = list[tuple[str, Piece]]  # by name
Do = Callable[[Piece], PlainResult]


@dataclass(eq=False)
class Work:
    """The pieces of a study, their stored results, and the combined result."""

    data: StudyData
    store: StudyStore
    plan: Sequence[Job]
    seeds: Sequence[int]
    sizes: Sequence[float]
    confidence: float
    fronts_of: str
    later: Mapping[str, StudyData]

    def __post_init__(self) -> None:
        self.bench = Bench(self.data, self.later, self.seeds[0])
        self.later_fingerprints = {name: other.fingerprint() for name, other in self.later.items()}
        self.fits = [Fit(seed, size, job) for seed in self.seeds for size in self.sizes for job in self.plan]

    @property
    def settings(self) -> StudySettings:
        """The settings of the study, as plain data."""
        return {
            "label": self.data.name,
            "personal": self.data.attributes,
            "weights": self.data.weights,
            "minimizers": list(dict.fromkeys(job.minimizer for job in self.plan)),
            "seeds": list(self.seeds),
            "train_sizes": list(self.sizes),
            "confidence": self.confidence,
            "fronts_of": self.fronts_of,
            "label_bins": self.data.label_bins,
            "missing": self.data.columns.with_missing(),
            "records": len(self.data.frame),
            "values": self.data.columns.sizes(),
        }

    def run(self, stop: Stop, n_jobs: int | None, progress: bool, workers: Any = None) -> None:
        """Do all unfinished work: limits and candidates of every seed, then judge the fronts."""
        with executor_of(self.bench, n_jobs, workers) as (do, at_once):
            finish = partial(self._finish, do=do, stop=stop, at_once=at_once, progress=progress)
            finish(self._candidate_pieces(), "Trying candidates")
            if not stop.asked:
                finish(self._judge_pieces(), "Judging the front")
            if not stop.asked and self.later_fingerprints:
                finish(self._later_pieces(), "Judging other records")

    def _finish(self, pieces: Pieces, title: str, *, do: Do, stop: Stop, at_once: int | None, progress: bool) -> None:
        todo = [(name, piece) for name, piece in pieces if self.store.get(name, piece.result_type) is None]
        made = results([partial(self._run_piece, name, piece, do, stop) for name, piece in todo], at_once)
        for _ in track_progress(made, title, total=len(todo), progress=progress):
            pass  # after a stop, the remaining pieces do nothing

    def _run_piece(self, name: str, piece: Piece, do: Do, stop: Stop) -> None:
        if not stop.asked:
            self.store.put(name, do(piece))

    def _candidate_pieces(self) -> Pieces:
        pieces: Pieces = []
        for seed in self.seeds:
            pieces.append((f"{seed}-limits", LimitsPiece(seed)))
            pieces += [(_fit_piece(fit), fit) for fit in self.fits if fit.seed == seed]
        return pieces

    def _judge_pieces(self) -> Pieces:
        """List the first seed's candidates on the front, for the judges."""
        first = self.seeds[0]
        own = [c for c in self._all if c.seed == first and c.train_size == 1]
        names = dict.fromkeys(c.minimizer for c in own)
        groups = [[c for c in own if c.minimizer == name] for name in names] if self.fronts_of == "each" else [own]
        pieces: dict[str, Piece] = {}  # two minimizers may have made the same generalization
        for candidates in groups:
            on_front = fronts.on_front([c.point("validation", judged=False) for c in candidates])
            for candidate, is_on in zip(candidates, on_front, strict=True):
                if is_on:
                    name = _judge_piece(first, candidate.artifact, self.confidence)
                    pieces[name] = Judging(first, candidate.artifact, self.confidence)
        return list(pieces.items())

    def _later_pieces(self) -> Pieces:
        """Judge the front on other records: the same generalizations with a new classifier and adversary."""
        pieces: Pieces = []
        front = self.result(is_whole=False).pareto()
        for name in self.later_fingerprints:
            pieces.append((f"{self._later_key(name)}-limits", LimitsPiece(name)))
            for candidate in front:
                piece = Judging(name, candidate.artifact, self.confidence)
                pieces.append((f"{self._later_key(name)}-{digest(candidate.artifact)}", piece))
        return pieces

    def _later_key(self, name: str) -> str:
        return f"later-{digest([name, self.later_fingerprints[name], self.seeds[0], self.confidence])}"

    def _on_later(self, name: str, front: Sequence[Candidate]) -> Later | None:
        limits = self.store.get(f"{self._later_key(name)}-limits", SeedLimits)
        points = []
        for candidate in front:
            judged = self.store.get(f"{self._later_key(name)}-{digest(candidate.artifact)}", Judged)
            if judged is not None:
                points.append((candidate, replace(candidate, judged=judged).point("test")))
        return None if limits is None else Later(limits.test, limits.people["test"], points)

    @property
    def _limits(self) -> dict[int, SeedLimits]:
        """The limits of the finished seeds."""
        stored = {seed: self.store.get(f"{seed}-limits", SeedLimits) for seed in self.seeds}
        return {seed: limits for seed, limits in stored.items() if limits is not None}

    @property
    def _tried(self) -> list[tuple[Fit, TriedFit]]:
        """The finished fits, in the order of the plan."""
        stored = [(fit, self.store.get(_fit_piece(fit), TriedFit)) for fit in self.fits]
        return [(fit, tried) for fit, tried in stored if tried is not None]

    @cached_property
    def _all(self) -> list[Candidate]:
        """All finished candidates in the order of the plan, without judgements."""
        return self._assemble_candidates(judged=set())

    def _assemble_candidates(self, judged: set[str]) -> list[Candidate]:
        """Assemble all finished candidates; `judged` names the pieces whose judgements to include."""
        tried, limits = self._tried, self._limits
        count = max(1, sum(len(each.found) for _, each in tried))
        candidates: dict[tuple[object, ...], Candidate] = {}
        for fit, each in tried:
            for made in each.found if fit.seed in limits else []:
                key = (fit.seed, fit.size, fit.job.minimizer, digest(made.artifact))
                if key not in candidates:  # another fit of the same minimizer may have made the same generalization
                    candidates[key] = self._build_candidate(fit, made, limits[fit.seed].margin, count, judged)
        return list(candidates.values())

    def _build_candidate(self, fit: Fit, made: MadeCandidate, margin: float, count: int, judged: set[str]) -> Candidate:
        delta = (1 - self.confidence) / (len(self.data.attributes) * count)
        wider = margin * math.sqrt(math.log(1 / delta))
        bounds = {name: min(1.0, u + wider) for name, u in made.screened.observed.items()}
        piece = _judge_piece(fit.seed, made.artifact, self.confidence)
        is_judged = piece in judged and fit.seed == self.seeds[0] and fit.size == 1
        return Candidate(
            seed=fit.seed,
            train_size=fit.size,
            minimizer=fit.job.minimizer,
            parameters=made.parameters,
            screened=made.screened,
            judged=self.store.get(piece, Judged) if is_judged else None,
            certified_error=1 - sum(self.data.weights[name] * bound for name, bound in bounds.items()),
            weights=self.data.weights,
            seconds=made.seconds,
            artifact=made.artifact,
        )

    def result(self, is_whole: bool) -> Study:
        """Combine the finished work into a study."""
        limits = self._limits
        if not limits:
            raise ModicumError("The study was stopped before anything was finished.")
        study = Study(
            candidates=self._assemble_candidates({name for name, _ in self._judge_pieces()}),
            limits=limits,
            weights=self.data.weights,
            settings=self.settings,
            skipped=list(dict.fromkeys(each.skipped for _, each in self._tried if each.skipped)),
            is_whole=is_whole,
            data=self.data,
        )
        on_later = {name: self._on_later(name, study.pareto()) for name in self.later_fingerprints}
        return replace(study, later={name: later for name, later in on_later.items() if later is not None})


@contextmanager
def executor_of(bench: Bench, n_jobs: int | None, workers: Any) -> Iterator[tuple[Do, int | None]]:
    """Yield the function that does a piece, here or on Spark's executors, and how many pieces run at once."""
    if workers is None:
        yield bench.do, n_jobs
        return
    with SparkWorkers(workers, bench) as executors:
        yield executors.do, executors.slots if n_jobs in (None, -1) else n_jobs


def _fit_piece(fit: Fit) -> str:
    return f"{fit.seed}-{fit.size!r}-{fit.job.minimizer}-{digest(fit.job.key)}"


def _judge_piece(seed: int, artifact: Mapping[str, object], confidence: float) -> str:
    return f"{seed}-judged-{digest([artifact, confidence])}"
