"""AdvTrain: buckets learned against an adversary [Staab24 §6, Appendix C]."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from modicum.errors import check_number
from modicum.minimizers.base import make_guess_codes
from modicum.minimizers.neural.base import RATE, NeuralMinimizer, Perceptron, Training, set_rate
from modicum.table.codes import Weights
from modicum.table.schema import Schema
from modicum.typing import Codes


class AdversarialTraining(NeuralMinimizer):
    """AdvTrain: buckets from which a network predicts the label well and an adversary guesses badly [Staab24 §6].

    Buckets g, classifier f and adversary h are trained together:

        min_{f, g} max_h  E[ (1 − λ) L_clf(f(g(x)), y) − λ Σ_p w_p L_adv(h(g(x))_p, x_p) ],

    both losses cross-entropies, the weights w_p summing to 1. For each step of f and g, h takes `inner_steps`. Every
    attribute starts with `buckets` buckets and may leave some of them unused. The soft buckets of `neural.soft_buckets`
    harden as the temperature falls from 2.0 to 0.5 over the epochs; in the end each value goes to its likeliest bucket,
    which makes a strict generalization. Needs PyTorch (`pip install 'modicum[neural]'`).

    Three things differ from the paper; without them `privacy` had hardly any effect on the hard buckets in trials on
    ACS Employment (they were tried together, not one by one). All values of a category start in one bucket. The
    adversary's loss about an attribute is capped at that of the naive guess: beyond it an adversary is not ignorant but
    misled, and notices. Buckets move without momentum, those of categories at a tenth of the rate, so that the
    adversary can follow; in a training of fewer than 4,000 batches they are slowed less, since they would hardly move.

    An epoch sees all records in batches of 256, but no more than 200 batches of a large table and no fewer than 50 of a
    small one. A personal number is guessed by tenths of the records.

    Parameters
    ----------
    privacy : float from 0 to 1
        The paper's λ: 0 considers the prediction only, 1 the adversary only.
    buckets : int
        The paper's k.
    inner_steps : int
        The paper's N_inner.
    epochs : int
        Number of epochs. The learning rate, 0.01 at first, is multiplied by 0.1 after each quarter of them.
    personal : list of str, optional
        The attributes to protect; overrides the schema; all if neither names any.
    weights : dict, optional
        Weight of each personal attribute, 1 by default.
    label_bins : int, optional
        For a numeric label: predict one of this many ranges of about equal frequency.
    schema : Schema, optional
        Kinds and roles; inferred if not given.
    device : "cpu", "cuda", …; by default a GPU if there is one
        On a CPU the same seed gives the same artifact, byte for byte; a GPU may round differently from run to run.
    random_state : int
    progress : bool
        Whether to show a progress bar on a terminal.

    Attributes
    ----------
    generalization_ : Generalization

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> method = md.AdversarialTraining(privacy=0.2, epochs=1, device="cpu")
    >>> g = method.fit(X[:1_000], y[:1_000]).generalization_
    >>> all(partition.n_buckets <= 5 for partition in g.partitions)
    True
    """

    def __init__(
        self,
        *,
        privacy: float = 0.5,
        buckets: int = 5,
        inner_steps: int = 1,
        epochs: int = 20,
        personal: Iterable[str] | None = None,
        weights: Mapping[str, float] | None = None,
        label_bins: int | None = None,
        schema: Schema | None = None,
        device: str | None = None,
        random_state: int = 0,
        progress: bool = True,
    ) -> None:
        super().__init__(
            privacy=privacy,
            buckets=buckets,
            epochs=epochs,
            personal=personal,
            weights=weights,
            label_bins=label_bins,
            schema=schema,
            device=device,
            random_state=random_state,
            progress=progress,
        )
        self.inner_steps = inner_steps

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "inner_steps", 1)

    def _aim(self, training: Training) -> "_Adversary":
        return _Adversary(training, self.inner_steps)


class _Adversary:
    """The network h and its own optimizer."""

    def __init__(self, training: Training, inner_steps: int) -> None:
        torch, data = training.torch, training.data
        self.training, self.inner_steps = training, inner_steps
        places = [data.coder.names.index(name) for name in training.weights]
        guessed = [make_guess_codes(data.coder.codings[j]) for j in places]
        values = [own[data.codes[:, j]] for own, j in zip(guessed, places, strict=True)]
        self._truth = torch.stack([torch.from_numpy(v) for v in values], dim=1).to(training.device)
        self._weights = torch.tensor(list(training.weights.values()), dtype=torch.float32, device=training.device)
        self._most = torch.tensor(
            [_entropy(v, data.weights) for v in values], dtype=torch.float32, device=training.device
        )
        self._network = Perceptron(training, [int(own.max()) + 1 for own in guessed])
        self._optimizer = torch.optim.Adam(self._network.parameters, lr=RATE)

    def penalty(self, table: Any, seen: Any, batch: Any, rate: float) -> Any:
        """−L_adv of each run, after the adversary has learned from this batch (and further ones)."""
        set_rate(self._optimizer, rate)
        self._learn(seen.detach(), batch)
        for _ in range(self.inner_steps - 1):
            more = self.training.draw_rows(len(batch))
            self._learn(self.training.encode_batch(table.detach(), more), more)
        losses = self._network.losses(seen, self._truth[batch])
        return -(self.training.torch.minimum(losses, self._most) @ self._weights)

    def _learn(self, seen: Any, batch: Any) -> None:
        self._optimizer.zero_grad()
        (self._network.losses(seen, self._truth[batch]) @ self._weights).sum().backward()
        self._optimizer.step()


def _entropy(values: Codes, weights: Weights | None) -> float:
    """The cross-entropy of a guess that knows only the values' frequencies."""
    counts = np.bincount(values, weights)
    shares = counts / counts.sum()
    return float(-(shares[shares > 0] * np.log(shares[shares > 0])).sum())
