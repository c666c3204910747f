"""A network with differentially private training: DP-SGD (Abadi et al. 2016) with Opacus, the extra `dp`."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from math import ceil
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from modicum.errors import DataError, ParameterError, check_number, require
from modicum.learners.network import linear_layer

_CLOSE = 0.01  # the noise is fitted until at most this share of ε is left
# The accountant uses the best of these orders. Opacus' own orders end at 63, too low for a small ε, and their fractions
# take most of its time.
_ORDERS = (*np.arange(1.25, 6, 0.25).tolist(), *range(6, 64), 64, 96, 128, 192, 256, 512, 1024)
_ASIDE = (  # warnings of Opacus and PyTorch in every training, which the caller cannot avoid
    "Optimal order is the",  # the accountant's bound is valid, but not the tightest
    "Full backward hook is firing when gradients are computed",  # the inputs need no gradient
)


class PrivateNetwork(ClassifierMixin, BaseEstimator):
    """Fully connected ReLU layers and a softmax, trained by DP-Adam: clipped gradients of single records, with noise.

    The trained network reveals at most what (ε, δ) allows about any single record. It is the comparator of [Goldsteen21
    §4.2] and the complement that [Staab24 §9] expects for minimized data. Each step draws every record independently
    with chance q = batch/n (Poisson sampling, as the accountant assumes), clips its gradient to length `clip` and adds
    Gaussian noise: the least with which all steps together spend at most ε, by Rényi accounting.

    The guarantee covers one call of `fit`, and tables that differ by one added record, at the same q. It assumes that
    the number of records, the number of columns and the classes are public, and that X was encoded without looking at
    values, with categories and ranges known beforehand. Trying several settings on the same records spends ε each time.

    The noise comes from a generator with a known seed, so that an experiment can be repeated. Anyone who knows the seed
    can remove the noise, and floating point leaks too. To publish a model, use secure randomness (Opacus' secure mode),
    which is off here.

    Parameters
    ----------
    epsilon : float > 0
        ε, the privacy budget.
    delta : float, 0 < δ < 1
        δ; 1/(10 n) by default, since 1/n would allow publishing one whole record.
    hidden : sequence of int
        Units of each hidden layer; an empty sequence gives a logistic regression.
    epochs : int
        How often each record is drawn on average.
    batch : int
        The mean number of records per step.
    clip : float
        The largest length of one record's gradient.
    learning_rate : float
    random_state : int

    Attributes
    ----------
    epsilon_, delta_ : the privacy budget spent, by the accountant
    noise_multiplier_ : the noise's standard deviation, in units of `clip`
    classes_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.learners import PrivateNetwork
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2_000, 2))
    >>> y = np.where(X[:, 0] > X[:, 1], "yes", "no")
    >>> network = PrivateNetwork(epsilon=3.0, learning_rate=0.03).fit(X, y)
    >>> network.epsilon_ <= 3.0, network.score(X, y) > 0.9
    (True, True)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        hidden: Sequence[int] = (50,),
        epochs: int = 10,
        batch: int = 512,
        clip: float = 1.0,
        learning_rate: float = 0.01,
        random_state: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.hidden = hidden
        self.epochs = epochs
        self.batch = batch
        self.clip = clip
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "PrivateNetwork":
        """Train on numbers X, one row per record, and labels y."""
        torch, _ = require("torch", extra="dp"), require("opacus", extra="dp")
        self._check()
        rows, labels = _numbers(X), np.asarray(y)
        if labels.ndim != 1 or len(labels) != len(rows):
            raise DataError("y must have one label for each row of X.")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError("PrivateNetwork needs labels of at least two classes.")
        self.n_features_in_ = rows.shape[1]
        self.delta_ = 1 / (10 * len(rows)) if self.delta is None else float(self.delta)
        random = np.random.default_rng(self.random_state)
        self._network = self._make_network(torch, random)
        self._train(torch, random, torch.from_numpy(rows), torch.from_numpy(codes))
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the chance of each class, in the order of `classes_`."""
        check_is_fitted(self)
        torch, rows = require("torch", extra="dp"), _numbers(X)
        if rows.shape[1] != self.n_features_in_:
            raise DataError(f"X has {rows.shape[1]} columns; PrivateNetwork learned from {self.n_features_in_}.")
        with torch.no_grad():
            scores = self._network(torch.from_numpy(rows)).double()
            return np.asarray(torch.softmax(scores, dim=1).numpy())

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most likely class of each record."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _check(self) -> None:
        for name in ("epsilon", "clip", "learning_rate"):
            self._check_number(name, getattr(self, name), Real, "a number > 0", float("inf"))
        for name in ("epochs", "batch"):
            self._check_number(name, getattr(self, name), Integral, "an int ≥ 1", float("inf"))
        if self.delta is not None:
            self._check_number("delta", self.delta, Real, "a number between 0 and 1", 1.0)
        check_number(self, "random_state", 0)
        for units in self.hidden if isinstance(self.hidden, Sequence) else [None]:
            self._check_number("hidden", units, Integral, "a sequence of ints ≥ 1", float("inf"))

    def _check_number(self, name: str, value: Any, kind: type, wanted: str, below: float) -> None:
        if not isinstance(value, kind) or isinstance(value, bool) or not 0 < value < below:  # type: ignore[operator]
            shown = getattr(self, name)
            raise ParameterError(f"The '{name}' parameter of PrivateNetwork must be {wanted}. Got {shown!r} instead.")

    def _make_network(self, torch: Any, random: np.random.Generator) -> Any:
        """Return linear layers with ReLU between them."""
        layers: list[Any] = []
        for a, b in pairwise([self.n_features_in_, *self.hidden, len(self.classes_)]):
            layers += [linear_layer(torch, random, a, b), torch.nn.ReLU()]
        return torch.nn.Sequential(*layers[:-1])

    def _train(self, torch: Any, random: np.random.Generator, rows: Any, codes: Any) -> None:
        grad_sample, optimizers = require("opacus.grad_sample", "dp"), require("opacus.optimizers", "dp")
        rate = min(1.0, self.batch / len(rows))
        steps = ceil(self.epochs / rate)
        self.noise_multiplier_, self.epsilon_ = self._noise(rate, steps)
        module = grad_sample.GradSampleModule(self._network, loss_reduction="sum")
        optimizer = optimizers.DPOptimizer(
            torch.optim.Adam(module.parameters(), lr=self.learning_rate),
            noise_multiplier=self.noise_multiplier_,
            max_grad_norm=self.clip,
            expected_batch_size=rate * len(rows),
            generator=torch.Generator().manual_seed(int(random.integers(2**62))),
        )
        with _quiet():
            for _ in range(steps):
                drawn = torch.from_numpy(np.flatnonzero(random.random(len(rows)) < rate))
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(module(rows[drawn]), codes[drawn], reduction="sum").backward()
                optimizer.step()
        module.to_standard_module()

    def _noise(self, rate: float, steps: int) -> tuple[float, float]:
        """Return the least noise that stays within ε, and the ε that it spends."""
        accountants = require("opacus.accountants", "dp")
        find = require("opacus.accountants.utils", "dp").get_noise_multiplier
        with _quiet():
            try:
                noise = find(
                    target_epsilon=self.epsilon,
                    target_delta=self.delta_,
                    epsilon_tolerance=_CLOSE * self.epsilon,
                    sample_rate=rate,
                    steps=steps,
                    accountant="rdp",
                    alphas=_ORDERS,
                )
            except ValueError:
                raise ParameterError(
                    f"The 'epsilon' parameter of PrivateNetwork is too small for {steps} steps at δ = {self.delta_:g}: "
                    f"no noise is large enough for it. Got {self.epsilon!r}."
                ) from None
            accountant = accountants.RDPAccountant()
            accountant.history = [(noise, rate, steps)]
            return float(noise), max(0.0, float(accountant.get_epsilon(self.delta_, alphas=_ORDERS)))


def _numbers(X: Any) -> npt.NDArray[np.float32]:
    """Return X as a matrix of finite numbers."""
    try:
        rows = np.ascontiguousarray(X, dtype=np.float32)
    except (TypeError, ValueError):
        raise DataError("X must contain only numbers; encode categories first.") from None
    if rows.ndim != 2 or not rows.size:
        raise DataError("X must be a table (2D) with at least one row and one column.")
    if not np.isfinite(rows).all():
        raise DataError("X has missing or infinite values; encode them first.")
    return rows


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        for message in _ASIDE:
            warnings.filterwarnings("ignore", message, UserWarning)
        yield
