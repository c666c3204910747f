"""Where a report comes from: hashes, versions, settings, the day and the command, so that it can be made again."""

import datetime
import re
from collections.abc import Mapping
from typing import Any

from modicum import __version__
from modicum.errors import ParameterError
from modicum.reporting.document import Blanks, Column, Section, Table, Text
from modicum.reporting.formats import NONE, number

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
SIGN_OFF = (
    "Prepared by (name, role, date)",
    "Data protection officer: advice (name, date)",
    "Decision: accepted / accepted with measures / rejected",
    "Measures, who carries them out, and until when",
    "To be reviewed on",
    "Approved by (name, role, date, signature)",
)


def provenance(
    found: Mapping[str, Any] | None = None, date: str | None = None, command: str | None = None
) -> dict[str, Any]:
    """The provenance of a report: what was found of it, with the day (today where none is named) and the command.

    Examples
    --------
    >>> from modicum.reporting.sources import provenance
    >>> provenance({"hashes": {"records": "ab"}}, date="2026-11-16")["date"]
    '2026-11-16'
    """
    check_date(date)
    found = found or {}
    return {
        "modicum_version": __version__,
        "date": date or datetime.date.today().isoformat(),
        "hashes": dict(found.get("hashes", {})),
        "versions": dict(found.get("versions", {})),
        "settings": dict(found.get("settings", {})),
        "command": command,
    }


def check_date(date: Any) -> None:
    """Refuse what is no day."""
    wrong = ParameterError(f"The 'date' parameter must be a day such as '2026-11-16'. Got {date!r} instead.")
    if date is not None and (not isinstance(date, str) or not _DAY.fullmatch(date)):
        raise wrong
    try:
        datetime.date.fromisoformat(date or "2026-11-16")
    except ValueError:
        raise wrong from None


def day_in_words(date: str) -> str:
    """A day as people write it.

    Examples
    --------
    >>> from modicum.reporting.sources import day_in_words
    >>> day_in_words("2026-11-06")
    '6 November 2026'
    """
    day = datetime.date.fromisoformat(date)
    return f"{day.day} {day:%B %Y}"


def provenance_section(content: Mapping[str, Any]) -> Section:
    """How to make the report again."""
    told = [
        Text(
            f"Made on {day_in_words(content['date'])} by modicum {content['modicum_version']}. The same records, "
            "artifact, settings and versions give the same numbers; a hash that differs shows that something else went "
            f"in.{_of_hashes(content['hashes'])}"
        )
    ]
    if content["command"]:
        told.append(Text(f"Command: {content['command']}"))
    blocks: list[Any] = list(told)
    for title, key in (("what was hashed (SHA-256)", "hashes"), ("setting", "settings"), ("version of", "versions")):
        if content[key]:
            columns = [Column(title, is_number=False), Column("", is_number=False)]
            blocks.append(
                Table(columns, [[_format_name(name), _format_value(value)] for name, value in content[key].items()])
            )
    return Section("How to make this report again", blocks)


def _of_hashes(hashes: Mapping[str, str]) -> str:
    if not hashes:
        return ""
    told = (
        " A hash tells nothing of the records to who does not have them: only someone who knows all of them but a few "
        "values could try those out."
    )
    return told + (" That of the artifact is that of its file." if "artifact" in hashes else "")


def sign_off() -> Section:
    """Fields for those who decide."""
    return Section("Sign-off", [Blanks(SIGN_OFF)])


def _format_name(name: str) -> str:
    return name.replace("_", " ")


def _format_value(value: Any) -> str:
    if value is None:
        return NONE
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_format_value(each)}" for name, each in value.items()) or NONE
    if isinstance(value, list | tuple):
        return ", ".join(_format_value(each) for each in value) or NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
