"""A report: the summary as JSON, and the same numbers as one HTML file that opens offline."""

import json
import os
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from modicum.errors import ParameterError
from modicum.evaluation import Judgement
from modicum.generalization.describe import percent
from modicum.reporting import charts
from modicum.reporting.summary import summary
from modicum.table.replacing import replacing

TEMPLATE = Path(__file__).parent / "report.html.j2"


@dataclass(frozen=True)
class Report:
    """What was decided and what remains at risk, for people and for programs."""

    content: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Every number of the report as plain data."""
        return self.content

    def to_html(self) -> str:
        """One self-contained page: no script, nothing loaded from elsewhere."""
        from jinja2 import Environment, StrictUndefined  # deferred: only reports need it

        environment = Environment(
            autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_readable
        )
        environment.filters |= {"percent": _percent, "number": _number, "interval": _interval, "share": _share}
        template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
        attributes = self.content["attributes"]
        return template.render(
            **self.content,
            buckets_chart=charts.buckets_chart(attributes),
            risk_chart=charts.risk_chart(attributes),
            error_chart=charts.error_chart(self.content["utility"]["scores"]["error"]),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as HTML or JSON, by the file's ending; an existing file is replaced only by a complete one."""
        text = {".html": self.to_html, ".json": self._to_json}.get(Path(path).suffix.lower())
        if text is None:
            raise ParameterError(f"A report is written as .html or .json. Got {os.fspath(path)!r}.")
        content = text()
        with replacing(path) as temporary:
            Path(temporary).write_text(content, encoding="utf-8")

    def _to_json(self) -> str:
        return json.dumps(self.content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def report(judged: Judgement, purpose: str | None = None) -> Report:
    """The report of a judgement.

    Parameters
    ----------
    judged : Judgement
        What `md.judge` returns.
    purpose : str, optional
        What the prediction is for, in the user's words.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> g = md.PrivacyTree(max_leaves=4).fit(X[:9_000], y[:9_000]).generalization_
    >>> judged = md.judge(g, X[:9_000], y[:9_000], X[9_000:12_000], y[9_000:12_000], personal=["race", "sex"])
    >>> page = md.report(judged).to_html()
    >>> "<script" in page, page.startswith("<!DOCTYPE html>")
    (False, True)
    """
    return Report(summary(judged, purpose))


def _percent(value: Any, digits: int = 1) -> str:
    """A share for people; "< 10" and a missing number as they are."""
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:.{digits}%}"


def _share(value: float | str) -> str:
    """A bucket's share of the records."""
    return value if isinstance(value, str) else percent(value)


def _number(value: Any, digits: int = 3) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"


def _interval(value: Any, digits: int = 1) -> str:
    if value is None or None in value:
        return ""
    return f"{value[0]:.{digits}%} to {value[1]:.{digits}%}"


def _readable(value: Any) -> Any:
    """Text without the characters that a page cannot show."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join("\ufffd" if unicodedata.category(c) == "Cc" and c not in "\n\t" else c for c in value)
