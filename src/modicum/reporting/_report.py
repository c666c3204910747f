"""A report: the summary as JSON, and the same numbers as one HTML file that opens offline."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from modicum.attacks import SuiteResult
from modicum.errors import ParameterError
from modicum.evaluation import Choice, Judgement, Study
from modicum.generalization.describe import percent
from modicum.measures.certificate import confidence_text
from modicum.reporting import attack_charts, charts, study_charts
from modicum.reporting.attack_summary import attack_summary
from modicum.reporting.disclosure import at_least
from modicum.reporting.study_summary import study_summary
from modicum.reporting.summary import summary
from modicum.reporting.svg import readable
from modicum.table.replacing import replacing

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Report:
    """What was decided and what remains at risk, for people and for programs."""

    content: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Every number of the report as plain data."""
        return self.content

    def to_html(self) -> str:
        """One self-contained page: no script, nothing loaded from elsewhere."""
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # deferred: only reports need it

        environment = Environment(
            loader=FileSystemLoader(FOLDER, encoding="utf-8"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_readable,
        )
        environment.filters |= {"percent": _percent, "number": _number, "interval": _interval, "share": _share}
        environment.filters |= {"confidence": confidence_text, "certified": at_least}
        kind = self.content["modicum"]
        drawn = {"attacks": _attack_charts, "study": _study_charts, "report": _charts}[kind]
        return environment.get_template(f"{kind}.html.j2").render(**self.content, **drawn(self.content))

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


def report(judged: Judgement | SuiteResult | Study, purpose: str | None = None, choice: Choice | None = None) -> Report:
    """The report of a judgement, of what the adversaries found, or of a study.

    Parameters
    ----------
    judged : Judgement, SuiteResult or Study
        What `md.judge`, `md.attacks.suite` or `md.study` returns.
    purpose : str, optional
        What the prediction is for, in the user's words.
    choice : Choice, optional
        Of a study only: what `study.choose` returned. The knee of the front where none is given.

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
    if isinstance(judged, Study):
        _check_choice(judged, choice)
        return Report(study_summary(judged, purpose, choice))
    if choice is not None:
        raise ParameterError(f"A choice belongs to the report of a study, not of a {type(judged).__name__}.")
    if isinstance(judged, SuiteResult):
        return Report(attack_summary(judged, purpose))
    if not isinstance(judged, Judgement):
        raise ParameterError(
            f"A report is made of what `judge`, `attacks.suite` or `study` returns. Got {type(judged).__name__}."
        )
    return Report(summary(judged, purpose))


def _check_choice(study: Study, choice: Any) -> None:
    if choice is None:
        return
    if not isinstance(choice, Choice):
        raise ParameterError(
            f"The 'choice' parameter must be what `study.choose` returns. Got {type(choice).__name__} instead."
        )
    if choice.candidate.judged is None or choice.candidate not in study.of():
        raise ParameterError("The 'choice' parameter must be a choice of the same study.")


def _charts(content: dict[str, Any]) -> dict[str, Markup]:
    attributes = content["attributes"]
    return {
        "buckets_chart": charts.buckets_chart(attributes),
        "risk_chart": charts.risk_chart(attributes),
        "error_chart": charts.error_chart(content["utility"]["scores"]["error"]),
    }


def _attack_charts(content: dict[str, Any]) -> dict[str, Any]:
    return {
        "adversaries_chart": attack_charts.adversaries_chart(content["adversaries"]),
        "attributes_chart": attack_charts.attributes_chart(content["attributes"]),
        "confident_chart": attack_charts.confident_chart(content["confident"]) if content["confident"] else "",
        "sizes_chart": attack_charts.sizes_chart(content["singling_out"]["sizes"]),
        "colours": attack_charts.COLOURS,
    }


def _study_charts(content: dict[str, Any]) -> dict[str, Any]:
    chosen, sizes, later = content["chosen"], content["sizes"], content["later"]
    return {
        "front_chart": study_charts.front_chart(content),
        "attributes_chart": study_charts.attributes_chart(content) if content["front"] else "",
        "buckets_chart": charts.buckets_chart(chosen["attributes"]) if chosen else "",
        "sizes_chart": study_charts.sizes_chart(content) if sizes else "",
        "size_fronts_chart": study_charts.fronts_chart(sizes["series"], "Front for each training size")
        if sizes
        else "",
        "later_chart": study_charts.fronts_chart(later, "The front on later records", marks=True) if later else "",
        "colours": study_charts.PALETTE,
    }


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
    """Text that a page can show; what is drawn already is."""
    return value if not isinstance(value, str) or isinstance(value, Markup) else readable(value)
