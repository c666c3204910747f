"""Members (whose records trained a model) and others: the model's answers for them, and models that separate them."""

import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np

from modicum.attacks.breach import OverlapWarning, count_shared_rows
from modicum.errors import DataError, ParameterError, require
from modicum.learners.asking import AskedModel, true_chance
from modicum.learners.network import linear_layer
from modicum.measures.scores import auc
from modicum.table.estimator_input import unit_codes
from modicum.table.frames import as_frame, is_array, is_lazy
from modicum.table.schema import Schema
from modicum.table.splits import take_rows
from modicum.table.targets import label_values
from modicum.typing import Codes, Floats, Mask

# Both sides: records with their labels, in the form that the model takes.

FEWEST = 10  # records (or persons) of a side


@dataclass(frozen=True)
class RecordSide:
    """Records in the form that the model takes, and their labels."""

    X: Any
    y: Any

    @classmethod
    def of(cls, given: Any, what: str) -> "RecordSide":
        """Read a pair (X, y), or refuse anything else."""
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise ParameterError(
                f"The {what!r} parameter must be a pair (X, y) of records and labels. Got {_kind(given)} instead."
            )
        X = _native(given[0], what)
        if len(X) < FEWEST:
            raise DataError(f"The {what} are {len(X)} records, too few for an attack: it needs at least {FEWEST}.")
        return cls(X, label_values(given[1], len(X)))

    def __len__(self) -> int:
        return len(self.y)

    @property
    def is_text(self) -> bool:
        """Whether the labels are not numbers."""
        return bool(self.y.dtype.kind not in "biuf")

    def some(self, rows: Codes) -> "RecordSide":
        """Return the records at these positions."""
        return RecordSide(take_rows(self.X, rows), self.y[rows])


def both_sides(members: Any, others: Any) -> tuple[RecordSide, RecordSide]:
    """Read the members and the others, which must have the same columns."""
    first, second = RecordSide.of(members, "members"), RecordSide.of(others, "others")
    names = [list(as_frame(side.X).columns) for side in (first, second)]
    if names[0] != names[1]:
        raise DataError("The members and the others must have the same columns in the same order.")
    if isinstance(first.X, np.ndarray) != isinstance(second.X, np.ndarray) or first.is_text != second.is_text:
        raise DataError("The members and the others must both be frames or both arrays, with labels of the same type.")
    return first, second


def concat_rows(first: Any, second: Any) -> Any:
    """Concatenate two frames or arrays with the same columns."""
    if isinstance(first, np.ndarray):
        return np.vstack([first, second])
    frames = [nw.from_native(X, eager_only=True) for X in (first, second)]
    try:
        return nw.to_native(nw.concat(frames, how="vertical"))
    except Exception:
        raise DataError("The members and the others must have the same types of columns.") from None


def warn_of_shared(members: RecordSide, others: RecordSide) -> int:
    """Count the others that are also members, and warn if there are any."""
    frame = as_frame(concat_rows(members.X, others.X))
    schema = Schema.infer(frame)
    count = count_shared_rows(members.X, others.X, schema, schema.features)
    if count:
        warnings.warn(
            f"{count:,} of the {len(others):,} others are also among the members. The model was trained on them, so "
            "the attack looks weaker than it is.",
            OverlapWarning,
            stacklevel=3,
        )
    return count


def person_units(persons: Any, sizes: tuple[int, int]) -> Codes | None:
    """Number the persons over members and others together; None without persons."""
    if persons is None:
        return None
    if not isinstance(persons, tuple | list) or len(persons) != 2:
        raise ParameterError("The 'persons' parameter must be a pair: the persons of the members and of the others.")
    for side, size, what in zip(persons, sizes, ("members", "others"), strict=True):
        if len(side) != size:
            raise DataError(f"There are {len(side)} persons for {size} {what}.")
        if unit_codes(side).max() + 1 < FEWEST:
            raise DataError(f"The {what} are fewer than {FEWEST} persons, too few for an attack.")
    return unit_codes(np.concatenate([np.asarray(side, dtype=object) for side in persons]))


def _native(X: Any, what: str) -> Any:
    if hasattr(X, "tocsr"):
        raise DataError(f"The {what} are a sparse matrix. Give a frame or a dense array.")
    if is_lazy(X) or isinstance(X, nw.DataFrame):
        return as_frame(X).to_native()
    X = np.asarray(X) if is_array(X) else X
    as_frame(X)  # refuses anything without rows and columns
    return X


def _kind(given: Any) -> str:
    many = f" of {len(given)}" if isinstance(given, tuple | list) else ""
    return type(given).__name__ + many


# The adversary's view of a record after a query: chances, true label, loss [Goldsteen21 §4.2].

LEAST = 1e-9  # the lowest chance


@dataclass(frozen=True)
class ModelAnswers:
    """The chances f(x) of each record and the number of its true class, -1 if the model does not have it."""

    chances: Floats
    labels: Codes

    @classmethod
    def of(cls, asked: AskedModel, side: RecordSide) -> "ModelAnswers":
        """Query the model for these records."""
        return cls(asked.chances(side.X), asked.labels(side.y))

    def concat(self, other: "ModelAnswers") -> "ModelAnswers":
        """Concatenate the answers of two sides."""
        return ModelAnswers(np.vstack([self.chances, other.chances]), np.concatenate([self.labels, other.labels]))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Any) -> "ModelAnswers":
        return ModelAnswers(self.chances[rows], self.labels[rows])

    @property
    def right(self) -> Any:
        """Whether the class with the highest chance is the true one."""
        return self.chances.argmax(axis=1) == self.labels

    @property
    def loss(self) -> Floats:
        """−log of the chance given to the true class."""
        return -np.log(np.maximum(true_chance(self.chances, self.labels), LEAST))

    @property
    def logits(self) -> Floats:
        """log p/(1−p) of each class."""
        inside = np.clip(self.chances, LEAST, 1 - LEAST)
        return np.log(inside) - np.log1p(-inside)

    @property
    def one_hot(self) -> Floats:
        """The true class as columns; all 0 if the model does not have it."""
        return (self.labels[:, None] == np.arange(self.chances.shape[1])).astype(np.float64)

    @property
    def columns(self) -> Floats:
        """The inputs of an attack model: f(x), the one-hot label and the loss."""
        return np.column_stack([self.chances, self.one_hot, self.loss])


# Models that learn membership from known records

TREES = 100
LEAVES = (5, 50)  # smallest leaf sizes that the forest chooses from
FOLDS = 3
STEPS, BATCH, RATE, DECAY = 400, 1024, 0.01, 1e-3


class AttackModel(Protocol):
    """Learns from known records, then scores others; a higher score indicates a member."""

    def fit(self, evidence: ModelAnswers, member: Mask) -> Any: ...

    def score(self, evidence: ModelAnswers) -> Floats: ...


class LossThreshold:
    """A low loss indicates a member (Yeom et al. 2018); only the threshold is learned."""

    def fit(self, evidence: ModelAnswers, member: Mask) -> "LossThreshold":
        return self

    def score(self, evidence: ModelAnswers) -> Floats:
        return -evidence.loss


class Forest:
    """A random forest of 100 trees on f(x), the one-hot label and the loss.

    The smallest leaf size (5 or 50) is chosen by the AUC of the out-of-bag votes.
    """

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, evidence: ModelAnswers, member: Mask) -> "Forest":
        X = evidence.columns
        grown = [self._grow(X, member, least) for least in LEAVES]
        self._forest = max(grown, key=lambda forest: auc(np.nan_to_num(forest.oob_decision_function_[:, 1]), member))
        return self

    def _grow(self, X: Floats, member: Mask, least: int) -> Any:
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(TREES, min_samples_leaf=least, oob_score=True, random_state=self.random_state)
        return forest.fit(X, member)

    def score(self, evidence: ModelAnswers) -> Floats:
        return np.asarray(self._forest.predict_proba(evidence.columns)[:, 1], dtype=np.float64)


class AttackNetwork:
    """A network like that of Nasr et al. (2018), shallower and with smaller layers (PyTorch).

    The paper shows its shape only as a picture (Figure 7). This one, for n classes:

    - outputs: [f(x) as logits, f(x), loss], 2n + 1 numbers → 64 → 32;
    - label: one-hot y, n numbers → 32 → 16;
    - together: 32 + 16 → 32 → 1, with a sigmoid for the chance that the record is a member.

    ReLU between layers. Inputs are scaled to mean 0 and standard deviation 1 on known records. Adam, 400 steps of 1,024
    known records drawn at random (all, if there are fewer), rate 0.01 and a tenth of it in the second half, weight
    decay 0.001. It runs on a CPU with numpy's random numbers, so the same seed gives the same network.
    """

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, evidence: ModelAnswers, member: Mask) -> "AttackNetwork":
        torch = require("torch", extra="neural")
        random = np.random.default_rng(self.random_state)
        raw = _outputs(evidence)
        self._middle, spread = raw.mean(axis=0), raw.std(axis=0)
        self._spread = np.where(spread > 0, spread, 1)
        outputs, label = self._inputs(torch, evidence)
        wide, classes = outputs.shape[1], label.shape[1]
        shapes = [(wide, 64), (64, 32), (classes, 32), (32, 16), (48, 32), (32, 1)]
        self._layers = [linear_layer(torch, random, rows, columns) for rows, columns in shapes]
        self._train(torch, random, outputs, label, torch.from_numpy(member.astype(np.float32)))
        return self

    def score(self, evidence: ModelAnswers) -> Floats:
        torch = require("torch", extra="neural")
        with torch.no_grad():
            found = self._forward(torch, *self._inputs(torch, evidence))
        return np.asarray(found.numpy(), dtype=np.float64)

    def _inputs(self, torch: Any, evidence: ModelAnswers) -> tuple[Any, Any]:
        outputs = np.clip((_outputs(evidence) - self._middle) / self._spread, -5, 5)
        return torch.from_numpy(outputs.astype(np.float32)), torch.from_numpy(evidence.one_hot.astype(np.float32))

    def _forward(self, torch: Any, outputs: Any, label: Any) -> Any:
        first, second, third, fourth, fifth, last = self._layers
        answer = torch.relu(second(torch.relu(first(outputs))))
        truth = torch.relu(fourth(torch.relu(third(label))))
        return last(torch.relu(fifth(torch.cat([answer, truth], dim=1))))[:, 0]

    def _train(self, torch: Any, random: np.random.Generator, outputs: Any, label: Any, member: Any) -> None:
        parameters = [p for layer in self._layers for p in layer.parameters()]
        optimizer = torch.optim.Adam(parameters, lr=RATE, weight_decay=DECAY)
        miss = torch.nn.functional.binary_cross_entropy_with_logits
        whole = len(member) <= BATCH
        for step in range(STEPS):
            rows = slice(None) if whole else torch.from_numpy(random.integers(0, len(member), BATCH))
            for group in optimizer.param_groups:
                group["lr"] = RATE if step < STEPS // 2 else RATE / 10
            optimizer.zero_grad()
            miss(self._forward(torch, outputs[rows], label[rows]), member[rows]).backward()
            optimizer.step()


def _outputs(evidence: ModelAnswers) -> Floats:
    return np.column_stack([evidence.logits, evidence.chances, evidence.loss])


def cross_scores(model: AttackModel, evidence: ModelAnswers, member: Mask, folds: Any) -> Floats:
    """Score known records by models that have not learned from them (nor from others of the same fold)."""
    found = np.zeros(len(evidence))
    for fold in range(int(folds.max()) + 1):
        inside = folds == fold
        if len(np.unique(member[~inside])) < 2:  # one person has nearly all records: the rest is not enough to learn
            continue
        found[inside] = model.fit(evidence[~inside], member[~inside]).score(evidence[inside])
    return found
