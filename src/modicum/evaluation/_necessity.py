"""Why each attribute is needed: what changes if it is one step coarser, left out or collected in full detail."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from modicum.attacks.breach import breach_target, compute_weighted_sum
from modicum.engines.sampling import SAMPLE, in_memory
from modicum.evaluation._utility import TrainTest, check_generalization, model_on, name_estimator
from modicum.generalization import Generalization
from modicum.generalization.bins import Action, AnyPartition, Dropped, FullDetail
from modicum.generalization.build import partition as partition_of
from modicum.generalization.core import raw_generalization
from modicum.learners.backoff import Backoff
from modicum.learners.inputs import Inputs, count_table
from modicum.learners.portfolio import TREES, best_guess
from modicum.measures.intervals import Interval, difference_interval, skill_intervals
from modicum.measures.scores import Predictions, compute_skill_kept
from modicum.progress import cores, run_all
from modicum.table.codes import EqualCounts, first_rows, group_numbers
from modicum.table.estimator_input import attribute_weights, person_codes, personal_attributes
from modicum.table.frames import column, numbers
from modicum.table.plain_data import PlainResult
from modicum.table.schema import Schema
from modicum.table.splits import draw_rows
from modicum.table.targets import BINS, Target
from modicum.typing import Codes, Floats

# The effect of changing the detail of one attribute

Verdict = Literal[
    "needed",
    "needed, but could be coarser",
    "not shown to be needed",
    "not collected, would help",
    "not collected, not missed",
]
NOT_SHOWN: Final = "not shown to be needed"
WOULD_HELP: Final = "not collected, would help"


@dataclass(frozen=True)
class Step(PlainResult):
    """What changes if one attribute is collected in different detail and all others stay the same.

    Every change is the alternative's value minus that of the generalization, on the same test records, with the 95%
    interval of that paired difference.

    Attributes
    ----------
    what : the change in words
    error_change, error_interval : change of the share of wrong predictions; above 0 the prediction gets worse
    skill_change, skill_interval : change of the share kept of the raw model's log-loss gain over the majority guess;
        below 0 the prediction gets worse. NaN if the raw model gains nothing; the interval is also NaN for fewer than
        a hundred people
    adversary_change, adversary_interval : change of the adversary's error, the weighted mean over the personal
        attributes; above 0 the adversary errs more, which is more private
    own_change, own_interval : change of its error about this attribute; None if the attribute is not personal

    Examples
    --------
    >>> from modicum.evaluation import Step
    >>> step = Step("left out", 0.02, (0.01, 0.03), -0.1, (-0.15, -0.05), 0.04, (0.03, 0.05))
    >>> step.is_worse, step.is_better
    (True, False)
    """

    what: str
    error_change: float
    error_interval: Interval
    skill_change: float
    skill_interval: Interval
    adversary_change: float
    adversary_interval: Interval
    own_change: float | None = None
    own_interval: Interval | None = None

    _properties = ("is_worse", "is_better")

    @property
    def is_worse(self) -> bool:
        """Whether the 95% interval of the error or of the skill shows that the prediction gets worse."""
        return self.error_interval[0] > 0 or self.skill_interval[1] < 0

    @property
    def is_better(self) -> bool:
        """Whether one of the two intervals shows that the prediction gets better, and neither that it gets worse."""
        return not self.is_worse and (self.error_interval[1] < 0 or self.skill_interval[0] > 0)


@dataclass(frozen=True)
class AttributeNeed(PlainResult):
    """The alternatives to how one attribute is collected.

    Attributes
    ----------
    name : the attribute
    action : how the generalization treats it: "dropped", "coarsened" or "kept"
    personal : whether the adversary guesses it
    coarser : with one bucket less, or in ranges for a number in full detail; None if it is not collected or has two
        buckets (one less is `without`)
    without : not collected; None if it is not collected anyway
    in_full : collected in full detail; None if it is already collected, or has no value in the training records

    Examples
    --------
    >>> from modicum.evaluation import AttributeNeed, Step
    >>> without = Step("left out", 0.02, (0.01, 0.03), -0.1, (-0.15, -0.05), 0.04, (0.03, 0.05))
    >>> AttributeNeed("age", "coarsened", personal=True, without=without).verdict
    'needed'
    """

    name: str
    action: Action
    personal: bool
    coarser: Step | None = None
    without: Step | None = None
    in_full: Step | None = None

    _properties = ("verdict",)

    @property
    def verdict(self) -> Verdict:
        """The conclusion from the alternatives, in words.

        - "needed": the prediction gets worse without it (`Step.is_worse`), and also one step coarser if that exists;
        - "needed, but could be coarser": the prediction gets worse without it, but not one step coarser;
        - "not shown to be needed": the prediction does not get worse without it;
        - "not collected, would help": in full detail it makes the prediction better (`Step.is_better`);
        - "not collected, not missed": in full detail it does not.

        "Worse" and "better" mean shown by an interval. More test records show smaller differences.
        """
        if self.without is None:
            return WOULD_HELP if self.in_full is not None and self.in_full.is_better else "not collected, not missed"
        if not self.without.is_worse:
            return NOT_SHOWN
        could_be_coarser = self.coarser is not None and not self.coarser.is_worse
        return "needed, but could be coarser" if could_be_coarser else "needed"

    @property
    def steps(self) -> dict[str, Step]:
        """The existing alternatives, by name."""
        named = {"coarser": self.coarser, "without": self.without, "in_full": self.in_full}
        return {name: step for name, step in named.items() if step is not None}


@dataclass(frozen=True)
class Necessity(PlainResult):
    """Why each attribute is collected in its current detail, or not at all.

    Attributes
    ----------
    attributes : attribute → `AttributeNeed`, in the generalization's order
    error, skill_kept, adversary_error : the values of the generalization itself; all changes are relative to them
    records : number of test records
    trained_on : number of training records that the models and the adversary learned from
    estimator : the model that predicts the label
    adversary : the adversary that guesses the personal attributes
    random_state : the seed

    Examples
    --------
    >>> from modicum.evaluation import AttributeNeed, Necessity
    >>> needs = {"age": AttributeNeed("age", "dropped", personal=True)}
    >>> found = Necessity(needs, 0.1, 0.9, 0.4, 1_000, 2_000, "boosted trees", "A1 by counts", 0)
    >>> found.attributes["age"].verdict, found.to_dict()["records"]
    ('not collected, not missed', 1000)
    """

    attributes: dict[str, AttributeNeed]
    error: float
    skill_kept: float
    adversary_error: float
    records: int
    trained_on: int
    estimator: str
    adversary: str
    random_state: int

    _properties = ("note",)

    @property
    def note(self) -> str:
        """A caution for reading all verdicts together."""
        return (
            f"Each of the {len(self.attributes):,} attributes is judged by its own 95% intervals. Of the attributes "
            "that make no difference, about one in twenty may be called needed or missed by chance. The intervals "
            "cover the choice of test records, not the variation between trainings: each model is trained once."
        )


# One generalization, tried on the records with a model and an adversary


@dataclass(frozen=True)
class Tried:
    """Each test record's outcome: whether the prediction is wrong, its log-loss, and the adversary's errors.

    `missed` maps each personal attribute to 1 where the adversary is wrong; `adversary` is the weighted mean of these.
    """

    wrong: Floats
    loss: Floats
    missed: Mapping[str, Floats]
    adversary: Floats


@dataclass(frozen=True)
class NeedData(TrainTest):
    """The records for comparing alternatives.

    Attributes
    ----------
    train, y, test, truth, labels : records and labels
    g : the generalization itself
    weights : personal attribute → its share in the mean
    """

    g: Generalization
    weights: dict[str, float]
    estimator: Any
    random_state: int

    @cached_property
    def persons(self) -> Codes | None:
        """Each test record's person, if known."""
        return person_codes(self.g.schema, self.test)

    @cached_property
    def codes(self) -> tuple[Codes, Codes]:
        """The codes of the training and the test records under `g`."""
        return self.g.codes(self.train), self.g.codes(self.test)

    @cached_property
    def _targets(self) -> dict[str, Target]:
        return {name: breach_target(self.g, self.train, name, BINS) for name in self.weights}

    @cached_property
    def _values(self) -> dict[str, tuple[Codes, Codes]]:
        """Each personal attribute's values in the training and the test records."""
        return {n: (target.encode(self.train), target.encode(self.test)) for n, target in self._targets.items()}

    @cached_property
    def majority(self) -> Predictions:
        """The majority guess: the class shares of the training records."""
        return Predictions(self.majority_chances, self.truth)

    @cached_property
    def naive_errors(self) -> dict[str, float]:
        """Personal attribute → the error of always guessing the most frequent value of the training records."""
        guesses = {name: int(target.counts.argmax()) for name, target in self._targets.items()}
        return {name: float(np.mean(self._values[name][1] != guess)) for name, guess in guesses.items()}

    def prepare(self) -> None:
        """Compute what all jobs share before they run in parallel."""
        _ = self.persons, self.codes, self._values, self.majority

    def predict_from(self, g: Generalization) -> Predictions:
        """Train a model on records generalized by `g`, and predict the test records."""
        return Predictions(self.learn_chances(g, self.estimator, self.random_state), self.truth)

    def try_generalization(self, g: Generalization) -> Tried:
        """Predict and guess from a generalization that differs from the original in at most one attribute."""
        predicted, missed = self.predict_from(g), self._find_missed(g)
        return Tried(predicted.wrong, predicted.loss, missed, compute_weighted_sum(missed, self.weights))

    def _find_missed(self, g: Generalization) -> dict[str, Floats]:
        """Find, for each personal attribute, the test records that counts with back-off guess wrong."""
        known, seen = (self._encode_records(g, which) for which in (0, 1))
        inputs, cells = Inputs.of_codes(g, known).distinct()
        seen_inputs, rows = Inputs.of_codes(g, seen).distinct()
        tables = [
            count_table(cells, self._values[name][0], (len(inputs), target.size))
            for name, target in self._targets.items()
        ]
        chances = Backoff().fit(inputs, tables).predict(seen_inputs)
        first = seen[first_rows(rows)]
        missed = {}
        for (name, target), scores in zip(self._targets.items(), chances, strict=True):
            guess = best_guess(scores, g.possible(name, target, first).__getitem__, slice(None))
            missed[name] = (guess.value[rows] != self._values[name][1]).astype(np.float64)
        return missed

    def _encode_records(self, g: Generalization, which: int) -> Codes:
        """Encode the training (0) or test (1) records, reusing the codes of attributes that did not change."""
        frame, codes = (self.train, self.test)[which], self.codes[which].copy()
        for j, (new, old) in enumerate(zip(g.partitions, self.g.partitions, strict=True)):
            if new is not old:
                codes[:, j] = 0 if isinstance(new, Dropped) else new.encode(column(frame, new.name))
        return codes


# The alternatives to how one attribute is collected: one step coarser, not at all, or in full detail

RANGES = 20  # for a number that is in full detail
_LEVELS = 100  # about how many contexts the other attributes form


@dataclass(frozen=True)
class OneStep:
    """A generalization that differs in only one attribute, and the change in words."""

    attribute: str
    kind: str  # "coarser", "without" or "in_full"
    what: str
    generalization: Generalization


def replace_partition(g: Generalization, changed: AnyPartition) -> Generalization:
    """Return the generalization with one partition replaced."""
    return Generalization(g.schema, [changed if p.name == changed.name else p for p in g.partitions])


def one_step_changes(data: NeedData, raw: Generalization) -> list[OneStep]:
    """List every alternative for every attribute, in the generalization's order."""
    g, changes = data.g, []
    for partition in g.partitions:
        name = partition.name
        if isinstance(partition, Dropped):
            if not isinstance(raw[name], Dropped):
                changes.append(OneStep(name, "in_full", "asked in full detail", replace_partition(g, raw[name])))
            continue
        step = _coarser(data, partition)
        if step is not None:
            changes.append(OneStep(name, "coarser", *step))
        changes.append(OneStep(name, "without", "left out", g.drop(name)))
    return changes


def _coarser(data: NeedData, partition: AnyPartition) -> tuple[str, Generalization] | None:
    g = data.g
    if isinstance(partition, FullDetail):
        cut = in_ranges(partition, data.train)
        if cut is None:
            return None
        return f"in {cut.n_buckets} ranges of about equal frequency", replace_partition(g, cut)
    if partition.n_buckets < 3:
        return None
    codes, classes = data.codes[0], len(data.labels)
    others = context(Inputs.of_codes(g, codes, without=[partition.name]), data.y, classes, data.random_state)
    buckets = codes[:, g.names.index(partition.name)]
    a, b = least_loss(others, buckets, data.y, classes, partition.n_buckets, partition.attribute.has_order)
    labels = partition.labels[a], partition.labels[b]
    coarser = g.merge(partition.name, labels)
    return f"“{labels[0]}” and “{labels[1]}” merged into “{coarser[partition.name].labels[a]}”", coarser


def in_ranges(partition: FullDetail, train: Any) -> AnyPartition | None:
    """Cut a number into 20 ranges of about equal frequency, at most half its number of values; None below two."""
    values = numbers(column(train, partition.name), partition.attribute)
    ranges = min(RANGES, len(np.unique(values[~np.isnan(values)])) // 2)
    if ranges < 2:
        return None
    coding = group_numbers(partition.attribute, values, None, EqualCounts(ranges).starts)
    cut = partition_of(coding, np.arange(coding.n_codes))
    return None if isinstance(cut, Dropped) else cut.model_copy(update={"missing": partition.missing})


def context(others: Inputs, y: Codes, classes: int, random_state: int) -> Codes:
    """Summarize what the other attributes predict for each record's label, as about a hundred levels.

    Counts with back-off (`Backoff`) give each record class probabilities, learned from the half of the records without
    it. A record's level is its most likely class, and the tenth in which its probability lies among the records with
    this class. With more than ten classes the parts are wider than tenths.
    """
    inputs, cells = others.distinct()
    half = np.random.default_rng(random_state).permutation(len(y)) % 2 == 0
    chances = np.empty((len(y), classes))
    for part in (half, ~half):
        table = count_table(cells[part], y[part], (len(inputs), classes))
        filled = np.unique(cells[part])
        model = Backoff().fit(inputs[filled], [table[filled]])
        chances[~part] = model.predict(inputs)[0][cells[~part]]
    likely = chances.argmax(axis=1)
    parts = int(np.clip(_LEVELS // classes, 1, 10))
    level = np.zeros(len(y), dtype=np.int64)
    for label in np.unique(likely):
        rows = likely == label
        top = chances[rows, label]
        edges = np.quantile(top, np.arange(1, parts) / parts, method="lower")
        level[rows] = np.searchsorted(edges, top, side="left")
    return np.unique(likely * parts + level, return_inverse=True)[1]


def least_loss(contexts: Codes, buckets: Codes, y: Codes, classes: int, size: int, has_order: bool) -> tuple[int, int]:
    """Find the two buckets whose merging loses least about the label, given the other attributes.

    With n_r(b, y) records in context r, bucket b and class y, merging a and b raises the label's entropy, in nats over
    all records, by

        Σ_r [ φ(n_r(a)+n_r(b)) − φ(n_r(a)) − φ(n_r(b)) − Σ_y ( φ(n_r(a,y)+n_r(b,y)) − φ(n_r(a,y)) − φ(n_r(b,y)) ) ]

    with φ(x) = x ln x. Equal buckets still differ by chance: for each context with both buckets, half a nat is
    subtracted for each of its classes except one. If the attribute has an order, only neighbours are compared. Buckets
    without records are compared only if no pair with records exists. `(other)` and `(missing)` are not merged.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.evaluation._necessity import least_loss
    >>> buckets, y = np.repeat([0, 1, 2], 100), np.repeat([0, 1, 1], 100)
    >>> least_loss(np.zeros(300, dtype=int), buckets, y, 2, 3, has_order=True)
    (1, 2)
    """
    own = buckets < size
    contexts, buckets, y = contexts[own], buckets[own], y[own]
    levels = int(contexts.max(initial=0)) + 1
    places = (buckets * levels + contexts) * classes + y
    counts = np.bincount(places, minlength=size * levels * classes).reshape(size, levels, classes).astype(np.float64)
    first, second = _pairs(counts.sum(axis=(1, 2)) > 0, has_order)
    best = int(np.argmin(np.concatenate([_cost(counts, int(a), second[first == a]) for a in np.unique(first)])))
    return int(first[best]), int(second[best])


def _pairs(occurs: Any, has_order: bool) -> tuple[Codes, Codes]:
    """List the pairs that may be merged, sorted by their first bucket."""
    size = len(occurs)
    first, second = (np.arange(size - 1), np.arange(1, size)) if has_order else np.triu_indices(size, 1)
    both = occurs[first] & occurs[second]
    return (first[both], second[both]) if both.any() else (first, second)


def _cost(counts: Floats, a: int, others: Codes) -> Floats:
    """Compute the loss of merging bucket `a` with each of the others, minus the loss expected by chance."""
    one, two = counts[a], counts[others]
    both = one + two
    lost = _phi(both.sum(axis=2)) - _phi(one.sum(axis=1)) - _phi(two.sum(axis=2))
    lost -= (_phi(both) - _phi(one) - _phi(two)).sum(axis=2)
    shared = (one.sum(axis=1) > 0) & (two.sum(axis=2) > 0)
    chance = shared * ((both > 0).sum(axis=2) - 1) / 2
    return np.asarray((lost - chance).sum(axis=1))


def _phi(x: Any) -> Any:
    return x * np.log(np.maximum(x, 1e-300))


# The measurement

MOST = 50_000  # training records to learn from
ADVERSARY = "A1 by counts with back-off"


def necessity(
    g: Generalization,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    personal: Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    estimator: Any = TREES,
    label_bins: int | None = None,
    sample: int = SAMPLE,
    n_jobs: int | None = None,
    progress: bool = True,
    random_state: int = 0,
) -> Necessity:
    """Measure how much each attribute matters in the detail in which it is collected.

    Each attribute of `g` is changed while all others stay the same. A collected attribute is tried one step coarser and
    left out; one that is not collected is tried in full detail. One step coarser merges the two buckets that lose least
    about the label on the training records (`least_loss`), or cuts a number in full detail into 20 ranges. Each
    alternative gets its own model, compared with the model on `g` record by record. This shows much smaller differences
    than two separate intervals would.

    The adversary is the same on both sides: counts of the training records with back-off, masked by what the buckets
    leave possible. `judge` and `attacks.suite` report the strongest of a portfolio, so their numbers differ.

    Parameters
    ----------
    g : Generalization
    X_train, y_train : full records and labels to learn from; at most 50,000 are used (`trained_on`).
    X_test, y_test : full records and labels that were not used to make `g`; at most as many as are learned from are
        used (`records`), because with more test records the chance of one training would look like a difference.
    personal, weights : what the adversary guesses, and how much each attribute counts in its mean error
    estimator : as for `utility`
    label_bins : int, optional
        Number of ranges for a numeric label, with edges learned from `y_train`.
    sample : int
        About how many records to draw from a table in an engine, whose label is the name of a column.
    n_jobs : int or None
        How many alternatives to try at once: None for one, -1 for the number of cores. Results do not depend on it.
    progress : bool
        Show a progress bar on a terminal.
    random_state : int

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "race", "marital-status"]]
    >>> g = md.Uniform(buckets=4).fit(X[:6_000]).generalization_.drop("race")
    >>> found = md.evaluation.necessity(g, X[:6_000], y[:6_000], X[6_000:9_000], y[6_000:9_000])
    >>> found.attributes["age"].without.is_worse, found.attributes["race"].verdict
    (True, 'not collected, not missed')
    """
    given = X_train, y_train, X_test, y_test
    data = make_need_data(g, *given, personal, weights, estimator, label_bins, sample, random_state)
    cores(n_jobs)
    with threadpool_limits(1):
        return _measure_necessity(data, n_jobs, progress)


def make_need_data(
    g: Generalization,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    personal: Iterable[str] | None,
    weights: Mapping[str, float] | None,
    estimator: Any,
    label_bins: int | None,
    sample: int,
    random_state: int,
) -> NeedData:
    """Check and sample the records; parameters as for `necessity`."""
    check_generalization(g)
    shares = attribute_weights(personal_attributes(g.schema, personal), weights)
    X_train, y_train = in_memory(g, X_train, y_train, sample, random_state)
    X_test, y_test = in_memory(g, X_test, y_test, sample, random_state)
    whole = TrainTest.read(X_train, y_train, X_test, y_test, label_bins, g.names)
    model_on(g, estimator, len(whole.labels), random_state)  # raises early if it cannot learn
    train, y = _at_most(MOST, whole.train, whole.y, g.schema, random_state)
    test, truth = _at_most(len(train), whole.test, whole.truth, g.schema, random_state)
    return NeedData(train, y, test, truth, whole.labels, g, shares, estimator, random_state)


def _at_most(most: int, frame: Any, labels: Codes, schema: Schema, random_state: int) -> tuple[Any, Codes]:
    """Limit records and labels to about `most`, keeping each person's records together."""
    rows = draw_rows(len(frame), person_codes(schema, frame), most, random_state)
    return (frame, labels) if rows is None else (frame[rows], labels[rows])


def _measure_necessity(data: NeedData, n_jobs: int | None, progress: bool) -> Necessity:
    data.prepare()
    raw = raw_generalization(data.train, data.g.schema)
    changes = one_step_changes(data, raw)
    generalizations = [data.g, *(change.generalization for change in changes)]
    jobs: list[Any] = [partial(data.predict_from, raw), *(partial(data.try_generalization, g) for g in generalizations)]
    of_raw, base, *tried = run_all(jobs, "Trying alternatives", n_jobs=n_jobs, progress=progress)
    steps = _steps(data, changes, base, tried, of_raw)
    return Necessity(
        attributes={
            p.name: AttributeNeed(p.name, p.action, p.name in data.weights, **steps.get(p.name, {}))
            for p in data.g.partitions
        },
        error=float(base.wrong.mean()),
        skill_kept=compute_skill_kept(float(base.loss.mean()), of_raw.log_loss(), data.majority.log_loss()),
        adversary_error=float(base.adversary.mean()),
        records=len(data.test),
        trained_on=len(data.train),
        estimator=name_estimator(data.estimator),
        adversary=ADVERSARY,
        random_state=data.random_state,
    )


def _steps(
    data: NeedData, changes: list[OneStep], base: Tried, every_tried: list[Tried], raw: Predictions
) -> dict[str, dict[str, Step]]:
    """Map attribute → kind of alternative → its effect."""
    skills = skill_intervals(
        [tried.loss for tried in every_tried], base.loss, raw.loss, data.majority.loss, data.persons, data.random_state
    )
    steps: dict[str, dict[str, Step]] = {}
    for change, tried, skill in zip(changes, every_tried, skills, strict=True):
        steps.setdefault(change.attribute, {})[change.kind] = _step(data, change, base, tried, raw, skill)
    return steps


def _step(data: NeedData, change: OneStep, base: Tried, tried: Tried, raw: Predictions, skill: Interval) -> Step:
    error, adversary = tried.wrong - base.wrong, tried.adversary - base.adversary
    gain = data.majority.log_loss() - raw.log_loss()
    name = change.attribute
    own = tried.missed[name] - base.missed[name] if name in data.weights else None
    return Step(
        what=change.what,
        error_change=float(error.mean()),
        error_interval=difference_interval(error, data.persons),
        skill_change=float((base.loss - tried.loss).mean()) / gain if gain > 0 else float("nan"),
        skill_interval=skill,
        adversary_change=float(adversary.mean()),
        adversary_interval=difference_interval(adversary, data.persons),
        own_change=None if own is None else float(np.mean(own)),
        own_interval=None if own is None else difference_interval(own, data.persons),
    )
