"""Predictions, each computed once while it is remembered: thousands of records share a handful of distinct z."""

import json
from collections import OrderedDict
from typing import Any

from modicum.export.model_bundle import Bundle
from modicum.generalization.record_format import Told
from modicum.service.together import Together

REMEMBERED = 10_000


class Predictions:
    """A bundle's predictions as JSON; what is asked at once is predicted at once.

    Parameters
    ----------
    bundle : with something that predicts
    remembered : how many answers are kept; those asked for least recently are forgotten
    """

    def __init__(self, bundle: Bundle, remembered: int = REMEMBERED) -> None:
        self._bundle = bundle
        self._most = remembered
        self._known: OrderedDict[Told, bytes] = OrderedDict()
        self._together: Together[Told, bytes] = Together(self._predicted, "modicum-predicting")

    async def __call__(self, told: Told) -> bytes:
        """The answer for a checked record."""
        found = self._known.get(told)
        if found is not None:
            self._known.move_to_end(told)
            return found
        found = await self._together(told)
        self._known[told] = found
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return found

    def close(self) -> None:
        """Stop predicting."""
        self._together.close()

    def _predicted(self, told: list[Told]) -> list[bytes]:
        distinct = list(dict.fromkeys(told))
        answers = dict(zip(distinct, map(_content, self._bundle.predict(distinct)), strict=True))
        return [answers[each] for each in told]


def _content(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, allow_nan=False).encode()
