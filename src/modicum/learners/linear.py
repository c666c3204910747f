"""One layer of a PyTorch network, whose start the caller's seed alone decides."""

from typing import Any

import numpy as np


def linear_layer(torch: Any, random: np.random.Generator, inputs: int, outputs: int, scale: float = 1.0) -> Any:
    """A linear layer with He's start, times `scale`, and no bias yet.

    The weights are drawn by numpy: PyTorch's generator is one for all threads.
    """
    layer = torch.nn.utils.skip_init(torch.nn.Linear, inputs, outputs)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(random.standard_normal((outputs, inputs)) * np.sqrt(2 / inputs) * scale))
        layer.bias.zero_()
    return layer
