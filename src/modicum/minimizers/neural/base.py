"""The base of both neural minimizers: train buckets and classifier together, then harden [Staab24 Appendix C]."""

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from modicum.errors import DataError, ParameterError, check_number, require
from modicum.generalization import Generalization
from modicum.generalization.bins import AnyPartition
from modicum.generalization.build import drop, partition
from modicum.minimizers.base import CodedData, Minimizer, enforce_schema
from modicum.minimizers.neural.soft_buckets import SoftBuckets
from modicum.progress import stoppable, track_progress
from modicum.table.estimator_input import attribute_weights
from modicum.table.schema import Schema

BATCH = 256
HIDDEN = 50
RATE = 0.01  # times 0.1 every quarter of the training
SLOWER = 0.1  # the rate of the scores of categories, so that classifier and adversary can follow
PARTING = 400  # steps at the full rate that values of a category need to separate: a short training is slowed less
TEMPERATURE = (2.0, 0.5)  # at the start and at the end
_STEPS = (50, 200)  # the fewest and the most batches of an epoch


class NeuralMinimizer(Minimizer):
    """The common parent of `AdversarialTraining` and `MutualInformation`; a subclass adds the privacy term."""

    def __init__(
        self,
        *,
        privacy: float = 0.5,
        buckets: int = 5,
        epochs: int = 20,
        personal: Iterable[str] | None = None,
        weights: Mapping[str, float] | None = None,
        label_bins: int | None = None,
        schema: Schema | None = None,
        device: str | None = None,
        random_state: int = 0,
        progress: bool = True,
    ) -> None:
        self.privacy = privacy
        self.buckets = buckets
        self.epochs = epochs
        self.personal = personal
        self.weights = weights
        self.label_bins = label_bins
        self.schema = schema
        self.device = device
        self.random_state = random_state
        self.progress = progress

    def fit_path(self, X: Any, y: Any, privacy: Sequence[float]) -> list[Generalization]:
        """Return one generalization for each value of `privacy`, trained in parallel; `generalization_` is the last.

        Up to rounding, each is what `fit` finds with that value alone: runs share only the batches.
        """
        if not len(privacy):
            raise ParameterError("The path needs at least one value of 'privacy'.")
        for value in privacy:
            self._check_privacy(value)
        self._check_parameters()
        data = self._encode_data(X, y, None)
        found = [enforce_schema(data.coder, partitions) for partitions in self._train(data, privacy)]
        self.generalization_ = found[-1]
        return found

    def _check_parameters(self) -> None:
        self._check_privacy(self.privacy)
        check_number(self, "buckets", 1)
        check_number(self, "epochs", 1)
        check_number(self, "random_state", 0)

    def _check_privacy(self, value: Any) -> None:
        check_number(type(self)(privacy=value), "privacy", 0, 1, whole=False)

    def _partitions(self, data: CodedData) -> Sequence[AnyPartition]:
        return self._train(data, [self.privacy])[0]

    def _train(self, data: CodedData, privacy: Sequence[float]) -> list[list[AnyPartition]]:
        torch = require("torch", extra="neural")
        if data.n_classes < 2:
            raise DataError("The label is constant: there is nothing to predict (1 class).")
        device = self._device(torch)
        if all(data.schema[name].forbidden for name in data.coder.names):
            return [[drop(coding) for coding in data.coder.codings] for _ in privacy]
        with single_thread(torch, device):
            training = Training(data, self, privacy, torch, device)
            training.run(self.epochs, self.progress)
        return [_partitions(data, training, run) for run in range(len(privacy))]

    def _device(self, torch: Any) -> str:
        wanted = self.device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            torch.ones(1, device=wanted).cpu()
        except (RuntimeError, AssertionError, NotImplementedError, TypeError):
            raise ParameterError(
                f"The 'device' parameter of {type(self).__name__} names {wanted!r}, which PyTorch does not offer here."
            ) from None
        return wanted

    def _aim(self, training: "Training") -> Any:
        raise ParameterError(f"{type(self).__name__} must implement _aim, which gives the privacy term.")


class Training:
    """The training data on the device, the soft buckets, the classifier, and the privacy term."""

    def __init__(
        self, data: CodedData, owner: NeuralMinimizer, privacy: Sequence[float], torch: Any, device: str
    ) -> None:
        assert data.label is not None
        self.torch, self.device, self.data = torch, device, data
        self.random = np.random.default_rng(owner.random_state)
        self.columns = [j for j, name in enumerate(data.coder.names) if not data.schema[name].forbidden]
        codings = [data.coder.codings[j] for j in self.columns]
        self.weights = attribute_weights(data.schema.personal, owner.weights)
        self.privacy = torch.tensor(list(privacy), dtype=torch.float32, device=device)
        self.soft = SoftBuckets(codings, owner.buckets, len(privacy), self.random, torch, device)
        self.label = torch.from_numpy(data.label[:, None]).to(device)
        self.width = len(codings) * owner.buckets
        self.classifier = Perceptron(self, [data.n_classes])
        self.aim = owner._aim(self)
        self._codes = torch.from_numpy(data.codes[:, self.columns].astype(np.int64) + self.soft.offsets[:-1]).to(device)

    def run(self, epochs: int, progress: bool) -> None:
        """Train for all epochs, or until Ctrl-C."""
        slower = float(np.clip(PARTING / (epochs * self.steps), SLOWER, 1))
        groups = [
            {"params": self.classifier.parameters, "slower": 1.0},
            {"params": self.soft.graded_parameters, "slower": 1.0, "betas": (0.0, 0.999)},
            {"params": self.soft.free_parameters, "slower": slower, "betas": (0.0, 0.999)},
        ]
        optimizer = self.torch.optim.Adam(groups, lr=RATE)
        start, end = TEMPERATURE
        with stoppable("training the buckets") as stop:
            for epoch in track_progress(range(epochs), "Training buckets", progress=progress):
                rate = RATE * 0.1 ** (4 * epoch // epochs)
                temperature = start + (end - start) * epoch / max(1, epochs - 1)
                for batch in self.batches():
                    if stop.asked:
                        return
                    self._step(optimizer, rate, temperature, batch)

    def _step(self, optimizer: Any, rate: float, temperature: float, batch: Any) -> None:
        table = self.soft.probabilities(temperature)
        seen = self.encode_batch(table, batch)
        penalty = self.aim.penalty(table, seen, batch, rate)
        wrong = self.classifier.losses(seen, self.label[batch])[:, 0]
        loss = (1 - self.privacy) * wrong + self.privacy * penalty
        set_rate(optimizer, rate)
        optimizer.zero_grad()
        loss.sum().backward()  # the runs share no parameter
        optimizer.step()

    def encode_batch(self, table: Any, batch: Any) -> Any:
        """What the classifier sees of a batch: runs × records × (attributes · buckets)."""
        flat = table.flatten(1)
        found = self.torch.nn.functional.embedding(self._codes[batch], flat)  # records × attributes × (runs · buckets)
        shape = (*found.shape[:2], self.soft.runs, self.soft.k)
        return found.view(shape).permute(2, 0, 1, 3).reshape(self.soft.runs, len(batch), self.width)

    @property
    def steps(self) -> int:
        """The batches of an epoch."""
        return int(np.clip(-(-len(self.data.codes) // BATCH), *_STEPS))

    def batches(self) -> Any:
        """The rows of one epoch's batches: all once, or a random draw if rows are very few, very many or weighted."""
        n = len(self.data.codes)
        size, steps = min(BATCH, n), self.steps
        if self.data.weights is not None:
            return self.draw_rows(steps * size).view(steps, size)
        rounds = -(-steps * size // n)
        rows = np.concatenate([self.random.permutation(n) for _ in range(rounds)])[: steps * size]
        return self.torch.from_numpy(rows.reshape(steps, size)).to(self.device)

    def draw_rows(self, size: int) -> Any:
        """Draw rows at random, in proportion to the records that they represent."""
        n, weights = len(self.data.codes), self.data.weights
        rows = (
            self.random.integers(0, n, size)
            if weights is None
            else self.random.choice(n, size, p=weights / weights.sum())
        )
        return self.torch.from_numpy(rows).to(self.device)


class Perceptron:
    """One hidden layer of 50 ReLU units [Staab24 Appendix F] and a softmax for each target, one for every run."""

    def __init__(self, training: Training, sizes: Sequence[int]) -> None:
        torch, device, runs = training.torch, training.device, training.soft.runs
        self.torch = torch

        def drawn(a: int, b: int) -> Any:
            # The same start for every run, so that a run does not depend on how many there are.
            values = training.random.standard_normal((1, a, b)).astype(np.float32) * np.float32(np.sqrt(2 / max(1, a)))
            return torch.from_numpy(np.repeat(values, runs, axis=0)).to(device).requires_grad_()

        self.parameters = [drawn(training.width, HIDDEN), drawn(HIDDEN, sum(sizes))]
        self.parameters += [torch.zeros((runs, 1, n), device=device, requires_grad=True) for n in (HIDDEN, sum(sizes))]
        starts = np.cumsum([0, *sizes])[:-1]
        of_target = np.repeat(np.arange(len(sizes)), sizes)
        self._starts = torch.from_numpy(starts).to(device)
        self._members = torch.nn.functional.one_hot(torch.from_numpy(of_target).to(device), len(sizes)).float()

    def losses(self, seen: Any, truth: Any) -> Any:
        """The mean cross-entropy of each run (rows) and target (columns)."""
        torch = self.torch
        first, last, bias, end = self.parameters
        scores = torch.relu(seen @ first + bias) @ last + end
        scores = scores - scores.amax(dim=2, keepdim=True).detach()
        # The sum of exp over a target's values, for all targets at once; the floor only meets scores 80 below the top.
        whole = (scores.exp() @ self._members).clamp_min(1e-35).log()
        own = scores.gather(2, (truth + self._starts).expand(len(scores), -1, -1))
        return (whole - own).mean(dim=1)


def set_rate(optimizer: Any, rate: float) -> None:
    """Set the learning rate of the next step."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("slower", 1.0)


def _partitions(data: CodedData, training: Training, run: int) -> list[AnyPartition]:
    hard = dict(zip(training.columns, training.soft.hard(run), strict=True))
    return [partition(c, hard[j]) if j in hard else drop(c) for j, c in enumerate(data.coder.codings)]


class single_thread:
    """PyTorch on one thread: the matrices are small, and the result does not depend on how many cores there are.

    The number of threads concerns the whole process: it is restored when the last of several trainings ends.
    """

    _lock, _inside, _before = Lock(), 0, 1

    def __init__(self, torch: Any, device: str) -> None:
        self.torch, self.is_cpu = torch, torch.device(device).type == "cpu"

    def __enter__(self) -> None:
        if self.is_cpu:
            with self._lock:
                if not single_thread._inside:
                    single_thread._before = self.torch.get_num_threads()
                    self.torch.set_num_threads(1)
                single_thread._inside += 1

    def __exit__(self, *problem: object) -> None:
        if self.is_cpu:
            with self._lock:
                single_thread._inside -= 1
                if not single_thread._inside:
                    self.torch.set_num_threads(single_thread._before)
