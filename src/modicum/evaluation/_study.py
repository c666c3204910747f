"""The study: every minimizer over its parameters, judged, and a front to choose from (papers/0 §8, Appendix F)."""

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from hashlib import sha256
from threading import Lock
from typing import Any

import modicum
from modicum.errors import DataError, ModicumError, ParameterError
from modicum.evaluation import front as fronts
from modicum.evaluation.grids import Context, Job, jobs
from modicum.evaluation.judges import Judged, judged
from modicum.evaluation.screening import PartScores, Screened, screened
from modicum.evaluation.store import VERSION, Store
from modicum.evaluation.study_data import SeedData, StudyData, limits_of
from modicum.evaluation.study_result import Candidate, Later, SeedLimits, Study
from modicum.generalization import Generalization
from modicum.measures.certificate import check_confidence, margin_of
from modicum.progress import Stop, results, stoppable, watched
from modicum.table.frames import as_frame
from modicum.table.roles import as_names
from modicum.table.schema import Schema
from modicum.table.values import plain

Pieces = list[tuple[str, Callable[[], Any]]]  # name and work


def study(
    X: Any,
    y: Any,
    *,
    personal: Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    minimizers: str | Iterable[str] = "default",
    grids: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
    seeds: int | Sequence[int] = 1,
    train_sizes: Sequence[float] = (1.0,),
    later: Mapping[str, tuple[Any, Any]] | None = None,
    fronts_of: str = "all",
    folder: str | os.PathLike[str] | None = None,
    confidence: float = 0.99,
    label_bins: int | None = None,
    schema: Schema | None = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> Study:
    """Try every minimizer over its parameters and lay out the trade-off between utility and privacy.

    For every seed the records are split 60/10/30 (persons kept together). Minimizers learn on the first part. Each
    different generalization that they make is screened by counts on the second and third. Those of the first seed that
    are on the front on validation records are then judged by boosted trees and the adversary A1. What is chosen is
    chosen on validation records and reported on test records; the other seeds show how much is chance.

    Parameters
    ----------
    X, y : full records and the label
    personal, schema : what is personal; all attributes where neither says
    weights : attribute → how much it counts in the mean; an attribute that is not named counts 1.
    minimizers : "default", "all", or names
        "default" are those that need no PyTorch, "all" adds AdversarialTraining and MutualInformation.
    grids : minimizer → parameter → values
        In the place of the paper's (`modicum.evaluation.grids.GRIDS`).
    seeds : int or list of int
        How many splits, or which. One is enough to choose; several, with intervals, tell what is chance.
    train_sizes : shares of the training part from which the minimizers learn (papers/0 §8.3)
    later : name → (X, y), optional
        Other records, such as a later year's, on which the front is judged as well (papers/0 Appendix H).
    fronts_of : "all" or "each"
        Whether the front that is judged is that of all minimizers together, or each minimizer's own: the latter takes
        longer and compares the minimizers by the judges instead of by counts.
    folder : path, optional
        Where what is finished is kept. The same call goes on where a killed one stopped, and repeats nothing.
    confidence : of the certificates
    label_bins : int, optional
        Cut a numeric label into ranges, at edges learned on the training part.
    n_jobs : int or None
        How many pieces of work run at once; as many as there are cores by default.
    progress : bool
        Whether a bar is shown on a terminal. Ctrl-C ends the study early; what is done is returned and kept.

    Examples
    --------
    >>> import modicum as md
    >>> adult = md.datasets.load_adult()
    >>> found = md.study(
    ...     adult.X[:4_000], adult.y[:4_000], schema=adult.schema, minimizers=["PrivacyTree"],
    ...     grids={"PrivacyTree": {"privacy": [0.1, 0.5], "max_leaves": [4, 8]}}, seeds=1,
    ... )
    >>> choice = found.choose(max_error=0.22)
    >>> choice.candidate.error < 0.25, choice.candidate.adversary_error > 0
    (True, True)
    """
    plan = jobs(minimizers, grids)
    if fronts_of not in ("all", "each"):
        raise ParameterError(f"The 'fronts_of' parameter must be 'all' or 'each'. Got {fronts_of!r} instead.")
    check_confidence(confidence)
    schema = (Schema.infer(as_frame(X)) if schema is None else schema).with_roles(personal=as_names(personal))
    data = StudyData(X, y, schema, weights, label_bins)
    others = {name: StudyData(*pair, schema, weights, label_bins) for name, pair in _periods(later).items()}
    store = Store(folder)
    head = {
        "modicum": "study",
        "version": VERSION,
        "modicum_version": modicum.__version__,
        "fingerprint": data.fingerprint(),
    }
    with store.opened(head):
        work = _Work(data, store, plan, _seeds(seeds), _sizes(train_sizes), confidence, fronts_of, others)
        with stoppable("the study") as stop:
            work.run(stop, n_jobs, progress)
        found = work.result(is_whole=not stop.asked)
        store.put("result", work.settings)
        store.text("table.csv", found.table().to_csv(index=False))
    return found


class _Work:
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


def _seeds(seeds: Any) -> list[int]:
    given = list(range(seeds)) if isinstance(seeds, int) and not isinstance(seeds, bool) and seeds > 0 else seeds
    is_list = isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 0
    if not is_list or any(isinstance(s, bool) or not isinstance(s, int) or not 0 <= s < 2**32 for s in given):
        raise ParameterError(f"The 'seeds' parameter must be an int ≥ 1 or a list of ints ≥ 0. Got {seeds!r} instead.")
    return list(dict.fromkeys(given))


def _periods(later: Any) -> dict[str, tuple[Any, Any]]:
    if later is None:
        return {}
    if not isinstance(later, Mapping) or any(not isinstance(p, tuple) or len(p) != 2 for p in later.values()):
        raise ParameterError("The 'later' parameter must map names to pairs (X, y).")
    return {str(name): pair for name, pair in later.items()}


def _sizes(sizes: Any) -> list[float]:
    is_list = isinstance(sizes, Sequence) and not isinstance(sizes, str) and len(sizes) > 0
    if not is_list or any(isinstance(s, bool) or not isinstance(s, int | float) or not 0 < s <= 1 for s in sizes):
        raise ParameterError(
            f"The 'train_sizes' parameter must be a list of shares above 0 and up to 1. Got {sizes!r} instead."
        )
    return sorted({1.0, *(float(size) for size in sizes)}, reverse=True)
