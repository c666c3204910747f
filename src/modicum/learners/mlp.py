"""The larger networks of papers/0 Appendix G, with PyTorch, on a GPU where there is one."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from modicum.errors import require
from modicum.learners.inputs import Counts, Frequent, Inputs, Scores, chunks
from modicum.learners.network import MOST_VALUES, number_scale, scale_numbers, schedule, target_shares

# One layer of a PyTorch network, whose start the caller's seed alone decides.


def linear_layer(torch: Any, random: np.random.Generator, inputs: int, outputs: int, scale: float = 1.0) -> Any:
    """A linear layer with He's start, times `scale`, and no bias yet.

    The weights are drawn by numpy: PyTorch's generator is one for all threads.
    """
    layer = torch.nn.utils.skip_init(torch.nn.Linear, inputs, outputs)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(random.standard_normal((outputs, inputs)) * np.sqrt(2 / inputs) * scale))
        layer.bias.zero_()
    return layer


# The networks

ARCHITECTURES = {"MLP-2": (50,), "MLP-3": (100, 100), "MLP-5": (256, 256, 256, 256)}
_SLOWER = {"MLP-2": 1.0, "MLP-3": 0.3, "MLP-5": 0.1}  # at the paper's rate of 0.01 deep networks do not settle
_DENSE = 50_000_000  # answers held on the device at once; beyond, each batch brings its own


class MLP:
    """Fully connected ReLU layers and a softmax for each target, trained like `Network`: on cells with counts.

    MLP-2 has one hidden layer of 50 (the paper's adversary), MLP-3 two of 100, MLP-5 four of 256. With the same seed
    the result is the same on one machine; a GPU rounds differently from a CPU.

    Parameters
    ----------
    architecture : "MLP-2", "MLP-3" or "MLP-5"
    l2 : l2/2 times the squared weights is added to the loss
    device : "cpu", "cuda", …; a GPU where there is one by default
    """

    def __init__(
        self, architecture: str = "MLP-3", l2: float = 0.0, random_state: int = 0, device: str | None = None
    ) -> None:
        self.architecture = architecture
        self.l2 = l2
        self.random_state = random_state
        self.device = device

    def fit(self, inputs: Inputs, counts: Sequence[Counts]) -> "MLP":
        torch = require("torch", extra="neural")
        self._device = self.device or ("cuda" if torch.cuda.is_available() else "cpu")
        random = np.random.default_rng(self.random_state)
        records = np.asarray(counts[0].sum(axis=1), dtype=np.float64)
        self._scale = number_scale(inputs.numbers, records)
        self._frequent = [Frequent(table, MOST_VALUES) for table in counts]
        tables = [frequent.pool_counts(table) for frequent, table in zip(self._frequent, counts, strict=True)]
        shares, self._starts = target_shares(tables)
        batches, portions, rates = schedule(records, random)
        self._layers = self._make_layers(torch, random, inputs.width, sum(table.shape[1] for table in tables))
        self._train(torch, self._rows(torch, inputs), shares, batches, portions, rates)
        return self

    def predict(self, inputs: Inputs) -> list[Scores]:
        """The chance of each value, one table per target."""
        torch = require("torch", extra="neural")
        parts: list[list[Any]] = [[] for _ in self._frequent]
        with torch.no_grad():
            for piece in chunks(len(inputs), inputs.width + 256 * len(self._layers)):
                codes, numbers = self._rows(torch, inputs[piece])
                scores = self._scores(torch, codes, numbers)
                for i, score in enumerate(torch.tensor_split(scores, self._starts[1:].tolist(), dim=1)):
                    parts[i].append(torch.softmax(score, dim=1).cpu().numpy())
        return [frequent.spread(np.vstack(part)) for frequent, part in zip(self._frequent, parts, strict=True)]

    def _make_layers(self, torch: Any, random: np.random.Generator, width: int, answers: int) -> list[Any]:
        """He's start for the hidden layers; the output starts at each target's shares."""
        shares = np.log(np.concatenate([f.places for f in self._frequent]) + 1e-6)
        layers: list[Any] = []
        for a, b in pairwise([max(1, width), *ARCHITECTURES[self.architecture], answers]):
            is_last = len(layers) == len(ARCHITECTURES[self.architecture])
            layer = linear_layer(torch, random, a, b, 0.1 if is_last else 1.0)
            if is_last:
                with torch.no_grad():
                    layer.bias.copy_(torch.from_numpy(shares))
            layers.append(layer.to(self._device))
        return layers

    def _rows(self, torch: Any, inputs: Inputs) -> tuple[Any, Any]:
        offsets = np.cumsum([0, *inputs.sizes])[:-1]
        places = torch.from_numpy(np.ascontiguousarray(inputs.codes + offsets))
        numbers = torch.from_numpy(scale_numbers(inputs, self._scale))
        return places.to(self._device), numbers.to(self._device)

    def _scores(self, torch: Any, places: Any, numbers: Any) -> Any:
        """One-hot rows times the first weights is a sum of their columns: nothing is spread out to zeros and ones."""
        first = self._layers[0]
        columns = first.weight.T
        plain = columns.shape[0] - numbers.shape[1]
        hidden = torch.nn.functional.embedding_bag(places, columns, mode="sum") if places.shape[1] else 0
        hidden = hidden + numbers @ columns[plain:] + first.bias
        for layer in self._layers[1:]:
            hidden = layer(torch.relu(hidden))
        return hidden

    def _train(self, torch: Any, rows: Any, shares: Counts, batches: Any, portions: Any, rates: Any) -> None:
        parameters = [p for layer in self._layers for p in (layer.weight, layer.bias)]
        optimizer = torch.optim.Adam(parameters)
        starts = self._starts[1:].tolist()
        portions = torch.from_numpy(portions).to(self._device)
        drawn = torch.from_numpy(batches).to(self._device)
        is_small = shares.shape[0] * shares.shape[1] <= _DENSE
        answers = torch.from_numpy(shares.toarray()).to(self._device) if is_small else None
        for step, rate in enumerate(rates.tolist()):
            if step < len(batches):  # a single batch of all cells stays what it is
                chosen = drawn[step]
                places, numbers = rows[0][chosen], rows[1][chosen]
                own = None if is_small else torch.from_numpy(shares[batches[step]].toarray()).to(self._device)
                wanted = own if answers is None else answers[chosen]
            scores = self._scores(torch, places, numbers)
            chances = [torch.log_softmax(part, dim=1) for part in torch.tensor_split(scores, starts, dim=1)]
            loss = -((torch.cat(chances, dim=1) * wanted).sum(dim=1) * portions).sum()
            loss = loss + self.l2 / 2 * sum((layer.weight**2).sum() for layer in self._layers)
            for group in optimizer.param_groups:
                group["lr"] = rate * _SLOWER[self.architecture]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
