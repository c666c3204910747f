"""What an adversary sees of a record when it asks a model: chances, true label, loss (papers/2 §4.2)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.attacks.two_sides import Side
from modicum.learners.asking import AskedModel, true_chance
from modicum.table.values import Codes, Floats

LEAST = 1e-9  # chance; what is less counts as this


@dataclass(frozen=True)
class Evidence:
    """Of each record the chances f(x) and the number of its true class, -1 where the model does not know it."""

    chances: Floats
    labels: Codes

    @classmethod
    def of(cls, asked: AskedModel, side: Side) -> "Evidence":
        """What the model says of these records."""
        return cls(asked.chances(side.X), asked.labels(side.y))

    def followed_by(self, other: "Evidence") -> "Evidence":
        """Both as one."""
        return Evidence(np.vstack([self.chances, other.chances]), np.concatenate([self.labels, other.labels]))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Any) -> "Evidence":
        return Evidence(self.chances[rows], self.labels[rows])

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
