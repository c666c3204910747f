"""The correlations with the sensitive attribute."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import overload

import pandas as pd

from modicum.table.plain_data import PlainResult

_SHOWN = 15  # sets in a printed table


@dataclass(frozen=True)
class Correlation(PlainResult):
    """One set of attributes that reveals a sensitive attribute.

    Attributes
    ----------
    attributes : the set, in the data's order
    sensitive : the sensitive attribute
    strength : the measure's value
    p_value : the probability that independent attributes reach this strength; None if not computed
    by_chance : the expected strength of independent attributes with as many joint values
    encoding : "single" (critical values together), "multiple" (one critical value), "whole" (all values at once), or
        "given" for a set that the data owner named
    value : the sensitive value, for "multiple"
    cells : how many joint values of the set occur; None if the measure does not count them

    Examples
    --------
    >>> import numpy as np, pandas as pd, modicum as md
    >>> random = np.random.default_rng(0)
    >>> X = pd.DataFrame(random.integers(0, 2, (1000, 3)), columns=["work", "home", "pet"])
    >>> X["ill"] = np.where(X["work"] ^ X["home"], "yes", "no")
    >>> found = md.prism.correlations(X, "ill", threshold=0.2)
    >>> found[0].attributes, found[0].about, round(found[0].strength, 2)
    (('work', 'home'), 'ill', 1.0)
    """

    attributes: tuple[str, ...]
    sensitive: str
    strength: float
    p_value: float | None
    by_chance: float | None
    encoding: str
    value: str | None = None
    cells: int | None = None

    @property
    def about(self) -> str:
        """The sensitive attribute, with its value if the correlation is with a single value."""
        return self.sensitive if self.value is None else f"{self.sensitive} = {self.value}"


@dataclass(frozen=True)
class Correlations(PlainResult, Sequence[Correlation]):
    """The minimal sensitive correlations of a dataset [Barbato25 Definition 1], smaller and stronger ones first.

    Attributes
    ----------
    found : the sets, each with its strength
    tested : how many sets of one attribute, of two, … were tested
    measure, threshold, p_value, max_size, encoding, correction : the settings of the search
    records : the number of records
    critical_values : sensitive attribute → its critical values; None if all are

    Examples
    --------
    >>> import numpy as np, pandas as pd, modicum as md
    >>> random = np.random.default_rng(0)
    >>> X = pd.DataFrame(random.integers(0, 2, (1000, 3)), columns=["work", "home", "pet"])
    >>> X["ill"] = np.where(X["work"] ^ X["home"], "yes", "no")
    >>> found = md.prism.correlations(X, "ill", threshold=0.2)
    >>> len(found), found.sets, found.tested
    (1, [('work', 'home')], (3, 3))
    """

    found: tuple[Correlation, ...]
    tested: tuple[int, ...]
    measure: str
    threshold: float
    p_value: float
    max_size: int
    encoding: str
    correction: str | None
    records: int
    critical_values: dict[str, tuple[str, ...] | None] = field(default_factory=dict)

    @overload
    def __getitem__(self, index: int) -> Correlation: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Correlation, ...]: ...
    def __getitem__(self, index: int | slice) -> Correlation | tuple[Correlation, ...]:
        return self.found[index]

    def __len__(self) -> int:
        return len(self.found)

    @property
    def sets(self) -> list[tuple[str, ...]]:
        """The sets, without their strengths."""
        return [correlation.attributes for correlation in self.found]

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per set."""
        names = list(Correlation.__dataclass_fields__)
        return pd.DataFrame([asdict(correlation) for correlation in self.found], columns=names)

    def __str__(self) -> str:
        lines = [self._headline()]
        if self.found:
            lines += _table(self.found[:_SHOWN])
        if len(self) > _SHOWN:
            lines.append(f"… and {len(self) - _SHOWN:,} more")
        return "\n".join(lines)

    def _headline(self) -> str:
        about = " and ".join(self.critical_values)
        tested = f"{sum(self.tested):,} set{'s' * (sum(self.tested) != 1)} of up to {max(len(self.tested), 1)} tested"
        corrected = f", {self.correction}" if self.correction else ""
        rule = f"{self.measure} ≥ {self.threshold:g}, p ≤ {self.p_value:g}{corrected}"
        found = f"{len(self):,} minimal correlation{'s' * (len(self) != 1)} with {about}"
        return f"{found} ({rule}; {self.records:,} records, {tested})"


def _table(found: Sequence[Correlation]) -> list[str]:
    rows = [("attributes", "tells about", "strength", "by chance", "p", "encoding")]
    rows += [
        (_clip(" + ".join(c.attributes), 60), _clip(c.about, 30), f"{c.strength:.3f}", _number(c.by_chance, ".3f"),
         _p_value(c.p_value), c.encoding)
        for c in found
    ]  # fmt: skip
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _clip(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _p_value(p_value: float | None) -> str:
    return "< 1e-300" if p_value is not None and p_value < 1e-300 else _number(p_value, ".2g")
