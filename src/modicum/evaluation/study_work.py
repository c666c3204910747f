"""The work of a study in pieces, each kept when it is finished: candidates of every seed, then the judges' word."""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from hashlib import sha256
from threading import Lock
from typing import Any

from modicum.errors import DataError, ModicumError
from modicum.evaluation.candidates import Candidate, Later, SeedLimits
from modicum.evaluation.grids import Context, Job
from modicum.evaluation.judges import Judged, judged
from modicum.evaluation.screening import PartScores, Screened, screened
from modicum.evaluation.store import Store
from modicum.evaluation.study_data import SeedData, StudyData, limits_of
from modicum.evaluation.study_result import Study
from modicum.generalization import Generalization
from modicum.measures import front as fronts
from modicum.measures.certificate import margin_of
from modicum.progress import Stop, results, watched
from modicum.table.values import plain

Pieces = list[tuple[str, Callable[[], Any]]]  # name and work


class Work:
    """The pieces of a study, what is finished of them, and the result that they make together."""

    def __init__(
        self,
        data: StudyData,
        store: Store,
        plan: Sequence[Job],
        seeds: Sequence[int],
        sizes: Sequence[float],
        confidence: float,
        fronts_of: str,
        later: Mapping[str, StudyData],
    ) -> None:
        self.data, self.store, self.plan = data, store, plan
        self.seeds, self.sizes, self.confidence, self.fronts_of = seeds, sizes, confidence, fronts_of
        self.later = {name: _Lazy(partial(other.of_seed, seeds[0])) for name, other in later.items()}
        self.later_fingerprints = {name: other.fingerprint() for name, other in later.items()}
        self._of_seed = {seed: _Lazy(partial(data.of_seed, seed)) for seed in seeds}
        self._seen: dict[tuple[int, str], dict[str, Any]] = {}  # what another fit made already

    @property
    def settings(self) -> dict[str, Any]:
        """What the study was asked, as plain data."""
        return dict(
            plain(
                {
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
            )
        )

    def run(self, stop: Stop, n_jobs: int | None, progress: bool) -> None:
        """Everything that is not finished: limits and candidates of every seed, then the judges on the fronts."""
        self._finish(self._candidate_pieces(), "Trying candidates", stop, n_jobs, progress)
        if not stop.asked:
            self._finish(self._judge_pieces(), "Judging the front", stop, n_jobs, progress)
        if not stop.asked and self.later:
            self._finish(self._later_pieces(), "Judging other records", stop, n_jobs, progress)

    def _finish(self, pieces: Pieces, title: str, stop: Stop, n_jobs: int | None, progress: bool) -> None:
        todo = [(name, work) for name, work in pieces if self.store.get(name) is None]
        made = results([partial(self._done, name, work, stop) for name, work in todo], n_jobs)
        for _ in watched(made, title, total=len(todo), progress=progress):
            pass  # once stopped, the pieces that are left do nothing

    def _done(self, name: str, work: Callable[[], Any], stop: Stop) -> None:
        if not stop.asked:
            self.store.put(name, plain(work()))

    def _candidate_pieces(self) -> Pieces:
        pieces: Pieces = []
        for seed in self.seeds:
            pieces.append((f"{seed}-limits", partial(_limits, self._of_seed[seed])))
            for size in self.sizes:
                pieces += [(_piece(seed, size, job), partial(self._candidates, seed, size, job)) for job in self.plan]
        return pieces

    def _candidates(self, seed: int, size: float, job: Job) -> dict[str, Any]:
        """Every different generalization that one fit makes, screened; or why there is none."""
        data = self._of_seed[seed].value
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
            key = _digest(artifact)
            if key not in seen:
                seen.add(key)
                scores = self._seen.get((seed, key)) or asdict(screened(g, data))
                self._seen[seed, key] = scores
                seconds = fit + scores["seconds"]
                found.append({"parameters": parameters, "artifact": artifact, "seconds": seconds, "screened": scores})
        return {"skipped": None, "found": found}

    def _judge_pieces(self) -> Pieces:
        """The candidates of the first seed on the front, in the judges' hands."""
        data = self._of_seed[self.seeds[0]]
        own = [c for c in self._all if c.seed == self.seeds[0] and c.train_size == 1]
        names = dict.fromkeys(c.minimizer for c in own)
        compared = [[c for c in own if c.minimizer == name] for name in names] if self.fronts_of == "each" else [own]
        chosen: dict[str, Callable[[], Any]] = {}  # two minimizers may have made the same
        for candidates in compared:
            front = fronts.on_front([c.point("validation", judged=False) for c in candidates])
            for candidate, is_on in zip(candidates, front, strict=True):
                if is_on:
                    chosen[_judge_piece(candidate, self.confidence)] = partial(
                        _judged, candidate.artifact, data, self.confidence
                    )
        return list(chosen.items())

    def _later_pieces(self) -> Pieces:
        """The front on other records: the same generalizations, classifier and adversary learned anew."""
        pieces: Pieces = []
        front = self.result(is_whole=False).pareto()
        for name, data in self.later.items():
            pieces.append((f"{self._later_key(name)}-limits", partial(_limits, data)))
            for candidate in front:
                work = partial(_judged, candidate.artifact, data, self.confidence)
                pieces.append((f"{self._later_key(name)}-{_digest(candidate.artifact)}", work))
        return pieces

    def _later_key(self, name: str) -> str:
        return f"later-{_digest([name, self.later_fingerprints[name], self.seeds[0], self.confidence])}"

    def _on_later(self, name: str, front: Sequence[Candidate]) -> Later | None:
        limits = self.store.get(f"{self._later_key(name)}-limits")
        points = []
        for candidate in front:
            content = self.store.get(f"{self._later_key(name)}-{_digest(candidate.artifact)}")
            if content is not None:
                points.append((candidate, _with_judged(candidate, content).point("test")))
        return None if limits is None else Later(_limits_from(limits).test, limits["people"]["test"], points)

    @cached_property
    def _all(self) -> list[Candidate]:
        """All finished candidates of the plan, in its order, without the judges' word."""
        return self._assembled(judged=set())

    def _assembled(self, judged: set[str]) -> list[Candidate]:
        """The same with the judges' word on some of them, by the names of their pieces."""
        rows = [(seed, size, job) for seed in self.seeds for size in self.sizes for job in self.plan]
        finished = [(*row, (self.store.get(_piece(*row)) or {"found": []})["found"]) for row in rows]
        many = max(1, sum(len(made) for *_, made in finished))
        limits = {seed: self.store.get(f"{seed}-limits") for seed in self.seeds}
        margins = {seed: float(content["margin"]) for seed, content in limits.items() if content is not None}
        found, seen = [], set()
        for seed, size, job, made in finished:
            for one in made if seed in margins else []:
                key = (seed, size, job.minimizer, _digest(one["artifact"]))
                if key not in seen:  # another fit of the same minimizer may have made the same
                    seen.add(key)
                    found.append(self._candidate(seed, size, job, one, margins[seed], many, judged))
        return found

    def _candidate(
        self, seed: int, size: float, job: Job, one: dict[str, Any], margin: float, many: int, judged: set[str]
    ) -> Candidate:
        counts = _screened_from(one["screened"])
        delta = (1 - self.confidence) / (len(self.data.attributes) * many)
        wider = margin * math.sqrt(math.log(1 / delta))
        bounds = {name: min(1.0, u + wider) for name, u in counts.observed.items()}
        candidate = Candidate(
            seed=seed,
            train_size=size,
            minimizer=job.minimizer,
            parameters=one["parameters"],
            screened=counts,
            judged=None,
            certified_error=1 - sum(self.data.weights[name] * bound for name, bound in bounds.items()),
            weights=self.data.weights,
            seconds=one["seconds"],
            artifact=one["artifact"],
        )
        piece = _judge_piece(candidate, self.confidence)
        content = self.store.get(piece) if piece in judged and seed == self.seeds[0] and size == 1 else None
        return candidate if content is None else _with_judged(candidate, content)

    def result(self, is_whole: bool) -> Study:
        """The study as far as it is finished."""
        limits = {seed: self.store.get(f"{seed}-limits") for seed in self.seeds}
        rows = [(seed, size, job) for seed in self.seeds for size in self.sizes for job in self.plan]
        skipped = [content["skipped"] for row in rows if (content := self.store.get(_piece(*row)))]
        known = {seed: content for seed, content in limits.items() if content is not None}
        if not known:
            raise ModicumError("The study was stopped before anything was finished.")
        found = Study(
            candidates=self._assembled({name for name, _ in self._judge_pieces()}),
            limits={seed: _limits_from(content) for seed, content in known.items()},
            weights=self.data.weights,
            settings=self.settings,
            skipped=list(dict.fromkeys(text for text in skipped if text)),
            is_whole=is_whole,
        )
        on_later = {name: self._on_later(name, found.pareto()) for name in self.later}
        return replace(found, later={name: later for name, later in on_later.items() if later is not None})


class _Lazy:
    """A value that is computed when it is first asked for, once even where several threads ask."""

    def __init__(self, make: Callable[[], SeedData]) -> None:
        self._make, self._lock = make, Lock()
        self._value: SeedData | None = None

    @property
    def value(self) -> SeedData:
        with self._lock:
            if self._value is None:
                self._value = self._make()
                self._value.prepare()
            return self._value


def _judged(artifact: dict[str, Any], data: _Lazy, confidence: float) -> dict[str, Any]:
    return asdict(judged(Generalization.from_dict(artifact), data.value, confidence))


def _limits(data: _Lazy) -> dict[str, Any]:
    """The two limits of generalization on the validation and the test part."""
    known = data.value
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


def _piece(seed: int, size: float, job: Job) -> str:
    return f"{seed}-{size!r}-{job.minimizer}-{_digest(job.key)}"


def _judge_piece(candidate: Candidate, confidence: float) -> str:
    return f"{candidate.seed}-judged-{_digest([candidate.artifact, confidence])}"


def _digest(content: Any) -> str:
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _screened_from(content: dict[str, Any]) -> Screened:
    return Screened(**content | {part: PartScores(**content[part]) for part in ("validation", "test")})


def _with_judged(candidate: Candidate, content: dict[str, Any]) -> Candidate:
    parts = {part: PartScores(**content[part]) for part in ("validation", "test")}
    return replace(candidate, judged=Judged(**content | parts))


def _limits_from(content: dict[str, Any]) -> SeedLimits:
    return SeedLimits(
        validation=fronts.Limits(**content["validation"]),
        test=fronts.Limits(**content["test"]),
        log_losses={part: (pair[0], pair[1]) for part, pair in content["log_losses"].items()},
        naive=content["naive"],
        people=content["people"],
    )
