"""Members (their records trained a model) and others: what the model says of them, and what tells them apart."""

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

# Both sides as the model takes them: records with their labels.

FEWEST = 10  # records of a side


@dataclass(frozen=True)
class RecordSide:
    """Records as the model takes them, and their labels."""

    X: Any
    y: Any

    @classmethod
    def of(cls, given: Any, what: str) -> "RecordSide":
        """A pair (X, y); what is none is refused."""
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise ParameterError(
                f"The {what!r} parameter must be a pair (X, y) of records and labels. Got {_kind(given)} instead."
            )
        X = _native(given[0], what)
        if len(X) < FEWEST:
            raise DataError(f"The {what} are {len(X)} records, too few for an attack: it takes at least {FEWEST}.")
        return cls(X, label_values(given[1], len(X)))

    def __len__(self) -> int:
        return len(self.y)

    @property
    def is_text(self) -> bool:
        """Whether the labels are anything but numbers."""
        return bool(self.y.dtype.kind not in "biuf")

    def some(self, rows: Codes) -> "RecordSide":
        """The records at these places."""
        return RecordSide(take_rows(self.X, rows), self.y[rows])


def both_sides(members: Any, others: Any) -> tuple[RecordSide, RecordSide]:
    """The members and the others, of the same columns."""
    first, second = RecordSide.of(members, "members"), RecordSide.of(others, "others")
    names = [list(as_frame(side.X).columns) for side in (first, second)]
    if names[0] != names[1]:
        raise DataError("The members and the others must have the same columns in the same order.")
    if isinstance(first.X, np.ndarray) != isinstance(second.X, np.ndarray) or first.is_text != second.is_text:
        raise DataError("The members and the others must be of the same type: frames or arrays, and labels alike.")
    return first, second


def concat_rows(first: Any, second: Any) -> Any:
    """The rows of two frames or arrays of the same columns, one after the other."""
    if isinstance(first, np.ndarray):
        return np.vstack([first, second])
    frames = [nw.from_native(X, eager_only=True) for X in (first, second)]
    try:
        return nw.to_native(nw.concat(frames, how="vertical"))
    except Exception:
        raise DataError("The members and the others must have the same types of columns.") from None


def warn_of_shared(members: RecordSide, others: RecordSide) -> int:
    """Count the others that are members as well, and warn where there are any."""
    frame = as_frame(concat_rows(members.X, others.X))
    schema = Schema.infer(frame)
    count = count_shared_rows(members.X, others.X, schema, schema.features)
    if count:
        warnings.warn(
            f"{count:,} of the {len(others):,} others are also among the members, so that the model was trained on "
            "them: the attack looks weaker than it is.",
            OverlapWarning,
            stacklevel=3,
        )
    return count


def person_units(persons: Any, sizes: tuple[int, int]) -> Codes | None:
    """A number per person over members and others together, where it is said whose each record is."""
    if persons is None:
        return None
    if not isinstance(persons, tuple | list) or len(persons) != 2:
        raise ParameterError("The 'persons' parameter must be a pair: whose the members are, and whose the others are.")
    for whose, size, what in zip(persons, sizes, ("members", "others"), strict=True):
        if len(whose) != size:
            raise DataError(f"There are {len(whose)} persons for {size} {what}.")
        if unit_codes(whose).max() + 1 < FEWEST:
            raise DataError(f"The {what} are of fewer than {FEWEST} persons, too few for an attack.")
    return unit_codes(np.concatenate([np.asarray(whose, dtype=object) for whose in persons]))


def _native(X: Any, what: str) -> Any:
    if hasattr(X, "tocsr"):
        raise DataError(f"The {what} are a sparse matrix; give a frame or a dense array.")
    if is_lazy(X) or isinstance(X, nw.DataFrame):
        return as_frame(X).to_native()
    X = np.asarray(X) if is_array(X) else X
    as_frame(X)  # refuses what has no rows and columns
    return X


def _kind(given: Any) -> str:
    many = f" of {len(given)}" if isinstance(given, tuple | list) else ""
    return type(given).__name__ + many


# What an adversary sees of a record when it asks a model: chances, true label, loss [Goldsteen21 §4.2].

LEAST = 1e-9  # chance; what is less counts as this


@dataclass(frozen=True)
class ModelAnswers:
    """Of each record the chances f(x) and the number of its true class, -1 where the model does not know it."""

    chances: Floats
    labels: Codes

    @classmethod
    def of(cls, asked: AskedModel, side: RecordSide) -> "ModelAnswers":
        """What the model says of these records."""
        return cls(asked.chances(side.X), asked.labels(side.y))

    def concat(self, other: "ModelAnswers") -> "ModelAnswers":
        """Both as one."""
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
        """The true class; all 0 where the model does not know it."""
        return (self.labels[:, None] == np.arange(self.chances.shape[1])).astype(np.float64)

    @property
    def columns(self) -> Floats:
        """f(x), the one-hot label and the loss: what an attack model is given."""
        return np.column_stack([self.chances, self.one_hot, self.loss])


# Models that learn from known answers who was in the training data

TREES = 100
LEAVES = (5, 50)  # records in a leaf at least, the forest's choice
FOLDS = 3
STEPS, BATCH, RATE, DECAY = 400, 1024, 0.01, 1e-3


class AttackModel(Protocol):
    """Learns from known records, then scores others: the higher, the rather a member."""

    def fit(self, evidence: ModelAnswers, member: Mask) -> Any: ...

    def score(self, evidence: ModelAnswers) -> Floats: ...


class LossThreshold:
    """A low loss speaks for a member (Yeom et al. 2018): nothing to learn but the threshold."""

    def fit(self, evidence: ModelAnswers, member: Mask) -> "LossThreshold":
        return self

    def score(self, evidence: ModelAnswers) -> Floats:
        return -evidence.loss


class Forest:
    """A random forest of 100 trees on f(x), the one-hot label and the loss.

    How many records a leaf holds at least (5 or 50) is chosen by the AUC of the votes of those trees that have not
    seen a record.
    """

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, evidence: ModelAnswers, member: Mask) -> "Forest":
        X = evidence.columns
        grown = [self._grown(X, member, least) for least in LEAVES]
        self._forest = max(grown, key=lambda forest: auc(np.nan_to_num(forest.oob_decision_function_[:, 1]), member))
        return self

    def _grown(self, X: Floats, member: Mask, least: int) -> Any:
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(TREES, min_samples_leaf=least, oob_score=True, random_state=self.random_state)
        return forest.fit(X, member)

    def score(self, evidence: ModelAnswers) -> Floats:
        return np.asarray(self._forest.predict_proba(evidence.columns)[:, 1], dtype=np.float64)


class AttackNetwork:
    """A network in the manner of Nasr et al. (2018), shallower and with smaller layers (PyTorch).

    The paper's own shape (Figure 7) is a picture only; ours, for n classes:

    - outputs: [f(x) as logits, f(x), loss], 2n + 1 numbers → 64 → 32;
    - label: one-hot y, n numbers → 32 → 16;
    - together: 32 + 16 → 32 → 1, a sigmoid gives the chance that the record is a member.

    ReLU between layers. The numbers are scaled to mean 0 and spread 1 on known records. Adam, 400 steps of 1,024 known
    records drawn at random (of all where there are fewer), rate 0.01 and a tenth of it in the second half, weight decay
    0.001. On a CPU and with numpy's random numbers, so that the same seed gives the same network.
    """

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, evidence: ModelAnswers, member: Mask) -> "AttackNetwork":
        torch = require("torch", extra="neural")
        random = np.random.default_rng(self.random_state)
        outputs = _outputs(evidence)
        self._middle, spread = outputs.mean(axis=0), outputs.std(axis=0)
        self._spread = np.where(spread > 0, spread, 1)
        said, label = self._inputs(torch, evidence)
        wide, classes = said.shape[1], label.shape[1]
        shapes = [(wide, 64), (64, 32), (classes, 32), (32, 16), (48, 32), (32, 1)]
        self._layers = [linear_layer(torch, random, rows, columns) for rows, columns in shapes]
        self._train(torch, random, said, label, torch.from_numpy(member.astype(np.float32)))
        return self

    def score(self, evidence: ModelAnswers) -> Floats:
        torch = require("torch", extra="neural")
        with torch.no_grad():
            found = self._forward(torch, *self._inputs(torch, evidence))
        return np.asarray(found.numpy(), dtype=np.float64)

    def _inputs(self, torch: Any, evidence: ModelAnswers) -> tuple[Any, Any]:
        said = np.clip((_outputs(evidence) - self._middle) / self._spread, -5, 5)
        return torch.from_numpy(said.astype(np.float32)), torch.from_numpy(evidence.one_hot.astype(np.float32))

    def _forward(self, torch: Any, said: Any, label: Any) -> Any:
        first, second, third, fourth, fifth, last = self._layers
        outputs = torch.relu(second(torch.relu(first(said))))
        truth = torch.relu(fourth(torch.relu(third(label))))
        return last(torch.relu(fifth(torch.cat([outputs, truth], dim=1))))[:, 0]

    def _train(self, torch: Any, random: np.random.Generator, said: Any, label: Any, member: Any) -> None:
        parameters = [p for layer in self._layers for p in layer.parameters()]
        optimizer = torch.optim.Adam(parameters, lr=RATE, weight_decay=DECAY)
        miss = torch.nn.functional.binary_cross_entropy_with_logits
        whole = len(member) <= BATCH
        for step in range(STEPS):
            rows = slice(None) if whole else torch.from_numpy(random.integers(0, len(member), BATCH))
            for group in optimizer.param_groups:
                group["lr"] = RATE if step < STEPS // 2 else RATE / 10
            optimizer.zero_grad()
            miss(self._forward(torch, said[rows], label[rows]), member[rows]).backward()
            optimizer.step()


def _outputs(evidence: ModelAnswers) -> Floats:
    return np.column_stack([evidence.logits, evidence.chances, evidence.loss])


def cross_scores(model: AttackModel, evidence: ModelAnswers, member: Mask, folds: Any) -> Floats:
    """Scores of known records by models that have not learned from them (nor from others of the same fold)."""
    found = np.zeros(len(evidence))
    for fold in range(int(folds.max()) + 1):
        inside = folds == fold
        if len(np.unique(member[~inside])) < 2:  # one person's records are nearly all: nothing to learn from the rest
            continue
        found[inside] = model.fit(evidence[~inside], member[~inside]).score(evidence[inside])
    return found
