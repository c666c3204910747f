"""Check that a report's page and Markdown show every number of its data, and that its fields are documented.

Pictures do not count: their numbers must be in the text or in a table.
"""

import math
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

NUMBER = re.compile(r"(?<![\w.,])[+−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?%?")
COMPLEMENT = "linkability|bounds|accuracy"  # shown as one minus the value
BOUND = "certif|bound|mean_error|observed"  # rounded so that the bound still holds


class _Words(HTMLParser):
    """The text of a page without its style and drawings."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.hidden = 0
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.hidden += tag in ("svg", "style")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("svg", "style")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.words.append(data)


def page_text(page: str) -> str:
    """Return the words and tables of a page as text."""
    return " ".join(_Words(page).words)


def markdown_text(markdown: str) -> str:
    """Return Markdown without its escapes."""
    return re.sub(r"\\(.)", r"\1", markdown).replace("\u200b", "")


def shown_numbers(text: str) -> set[str]:
    """Return every number as written; percentages without their sign, which may belong to the words before it."""
    found = {number.rstrip(",").replace("−", "-") for number in NUMBER.findall(text)}
    return {number.lstrip("+-") if number.endswith("%") else number for number in found}


def leaves(content: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield path and value of every number, but not of booleans."""
    if isinstance(content, dict):
        for key, item in content.items():
            yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(content, list | tuple):
        for i, item in enumerate(content):
            yield from leaves(item, f"{path}.{i}")
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield path, content


def ways(value: float, path: str, complement: str = COMPLEMENT) -> set[str]:
    """Return the ways to write a number: as a count, a decimal, a share in percent, a change in points.

    Numbers whose path matches `complement` may be shown as one minus the value.
    """
    if isinstance(value, int):
        return {f"{value:,}", str(value), f"{value}%"} | _percents(value, path)
    written = {f"{value:,.{digits}f}" for digits in (2, 3, 4)} | {f"{value:g}", f"{value:.2g}", f"{value:g}%"}
    written |= {f"{value:,.1f}"} if abs(value) >= 1 else set()
    written |= {f"{100 * value:+.{digits}f}" for digits in (1, 2)} | ({"0.0"} if abs(value) < 0.0005 else set())
    return written | _percents(value, path) | (_percents(1 - value, path) if re.search(complement, path) else set())


def _percents(value: float, path: str) -> set[str]:
    """Return percentages with one or two digits, without digits if whole, and bounds rounded down or up."""
    percent = abs(100 * value)
    written = {f"{percent:.{digits}f}%" for digits in (1, 2)} | {f"{percent:.6g}%"}
    if re.search(BOUND, path):
        rounded = (math.floor(10 * percent + 1e-6), math.ceil(10 * percent - 1e-6))
        written |= {f"{tenths / 10:.1f}%" for tenths in rounded}
    return written | ({f"{percent:.0f}%"} if abs(percent - round(percent)) < 1e-6 else set())


def missing(content: dict[str, Any], text: str, complement: str = COMPLEMENT) -> list[str]:
    """Return the paths of the numbers that a text does not show."""
    shown = shown_numbers(text)
    return [f"{path}: {value}" for path, value in leaves(content) if not ways(value, path, complement) & shown]


def noticed(content: dict[str, Any], text: str, by: float = 0.0137) -> float:
    """Return the fraction of shares that would be missing if each were slightly different."""
    shown = shown_numbers(text)
    shares = [(path, value) for path, value in leaves(content) if isinstance(value, float) and 0 < value < 1]
    return sum(not ways(abs(value - by), path) & shown for path, value in shares) / len(shares)


def noticed_counts(content: dict[str, Any], text: str, least: int = 20, by: int = 3) -> float:
    """Return the fraction of counts from `least` on that would be missing if each were slightly different."""
    shown = shown_numbers(text)
    counts = [(path, value) for path, value in leaves(content) if isinstance(value, int) and value >= least]
    return sum(not ways(value + by, path) & shown for path, value in counts) / len(counts)


def undocumented(schema: dict[str, Any]) -> list[str]:
    """Return the fields of a JSON schema without a description; the description of a field's model counts, too."""
    parts = {"": schema} | schema.get("$defs", {})
    described = {f"#/$defs/{name}" for name, part in parts.items() if part.get("description", "").strip()}
    return [
        f"{name}.{field}"
        for name, part in parts.items()
        for field, definition in part.get("properties", {}).items()
        if not definition.get("description", "").strip() and definition.get("$ref") not in described
    ]


def raw_markup(markdown: str) -> list[str]:
    """Return Markdown that renders as a tag, a link or a picture, and table rows with a cell too bars or too few."""
    found = re.findall(r"(?<!\\)<[a-zA-Z/!][^\n]*|(?<!\\)\]\(|(?<!\\)!\[|\b(?:https?|ftp|www)[:.]\S+", markdown)
    for table in re.findall(r"(?:^\|.*\|$\n?)+", markdown, flags=re.MULTILINE):
        rows = [len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()]
        found += [f"a row of {bars} bars among rows of {rows[0]}" for bars in rows if bars != rows[0]]
    return found
