"""MutualInf: buckets that reveal little about the values in them [Staab24 §6, Appendix C]."""

from typing import Any

import numpy as np

from modicum.minimizers.neural.base import NeuralMinimizer, Training
from modicum.table.codes import all_counts


class MutualInformation(NeuralMinimizer):
    """MutualInf: buckets from which a network predicts the label well and which reveal little of x [Staab24 §6].

    Buckets g and classifier f are trained together:

        min_{f, g}  E[ (1 − λ) L_clf(f(g(x)), y) + λ L_inf(g(x), x) ].

    L_inf approximates I(z, x) = H(z) − H(z|x). As every z_i depends on x_i alone, Appendix C derives with Jensen

        H(z) ≤ −E_z E_x Σ_i log P(z_i | x_i)  with z and x independent,   H(z|x) = −E_x E_{z|x} Σ_i log P(z_i | x_i),

    and approximates both by sampling. Here they are sums over an attribute's values with the training records' shares
    s_i(v), without sampling: with q_i(j) = Σ_v s_i(v) p_j(v),

        L_inf = Σ_i v_i [ −Σ_j q_i(j) Σ_v s_i(v) log p_j(v) + Σ_v s_i(v) Σ_j p_j(v) log p_j(v) ].

    v_i is 1, as in the paper, and for a personal attribute its weight relative to the mean weight of the personal ones.
    A sum over many attributes outweighs the classifier's loss, so only small values of `privacy` are useful.
    Everything else is as in `AdversarialTraining`. Needs PyTorch (`pip install 'modicum[neural]'`).

    Parameters
    ----------
    privacy : float from 0 to 1
        The paper's λ: 0 considers the prediction only, 1 the information only.
    buckets : int
        The paper's k.
    epochs : int
        Number of epochs. The learning rate, 0.01 at first, is multiplied by 0.1 after each quarter of them.
    personal : list of str, optional
        The attributes that `weights` may name; overrides the schema; all if neither names any.
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
    >>> method = md.MutualInformation(privacy=0.01, epochs=1, device="cpu")
    >>> g = method.fit(X[:1_000], y[:1_000]).generalization_
    >>> all(partition.n_buckets <= 5 for partition in g.partitions)
    True
    """

    def _aim(self, training: Training) -> "_Information":
        return _Information(training)


class _Information:
    """The shares of an attribute's values, with which L_inf is computed from the table of probabilities."""

    def __init__(self, training: Training) -> None:
        torch, coder = training.torch, training.data.coder
        offsets = training.soft.offsets
        shares = np.zeros((len(training.columns), int(offsets[-1])), dtype=np.float32)
        for i, j in enumerate(training.columns):
            counts = all_counts(coder.codings[j])
            shares[i, offsets[i] : offsets[i + 1]] = counts / counts.sum()
        relative = {name: weight * len(training.weights) for name, weight in training.weights.items()}
        weights = [relative.get(coder.names[j], 1.0) for j in training.columns]
        self._shares = torch.from_numpy(shares).to(training.device)
        self._weights = torch.tensor(weights, dtype=torch.float32, device=training.device)

    def penalty(self, table: Any, seen: Any, batch: Any, rate: float) -> Any:
        """L_inf of each run."""
        logs = table.clamp_min(1e-12).log()
        shape = (len(self._shares), *table.shape[1:])
        mean, mean_log = ((self._shares @ t.flatten(1)).view(shape) for t in (table, logs))
        unsure = self._shares @ (table * logs).sum(dim=2)  # −H(z_i | x_i), attributes × runs
        return self._weights @ (unsure - (mean * mean_log).sum(dim=2))
