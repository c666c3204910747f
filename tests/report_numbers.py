"""Whether every number of a report's data stands in its page and its Markdown, and whether its fields are documented.

What a picture draws does not count: its numbers must stand in the text or in a table.
"""

import math
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

NUMBER = re.compile(r"(?<![\w.,])[+−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?%?")
COMPLEMENT = "linkability|bounds|accuracy"  # told as what is left to one
BOUND = "certif|bound|mean_error|observed"  # rounded so that it still holds


class _Words(HTMLParser):
    """The text of a page without its style and its drawings."""

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
    """What a page tells in words and tables."""
    return " ".join(_Words(page).words)


def markdown_text(markdown: str) -> str:
    """What Markdown tells, without its escapes."""
    return re.sub(r"\\(.)", r"\1", markdown).replace("\u200b", "")


def shown_numbers(text: str) -> set[str]:
    """Every number as it is written; a percentage without its sign, which may belong to the words before it."""
    found = {number.rstrip(",").replace("−", "-") for number in NUMBER.findall(text)}
    return {number.lstrip("+-") if number.endswith("%") else number for number in found}


def leaves(content: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Path and value of every number; yes and no are none."""
    if isinstance(content, dict):
        for key, item in content.items():
            yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(content, list | tuple):
        for i, item in enumerate(content):
            yield from leaves(item, f"{path}.{i}")
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield path, content


def ways(value: float, path: str, complement: str = COMPLEMENT) -> set[str]:
    """How a number may be written: a count, a decimal, a share in percent, a change in points.

    Those whose path matches `complement` may be told as what is left to one.
    """
    if isinstance(value, int):
        return {f"{value:,}", str(value), f"{value}%"} | _percents(value, path)
    written = {f"{value:,.{digits}f}" for digits in (2, 3, 4)} | {f"{value:g}", f"{value:.2g}", f"{value:g}%"}
    written |= {f"{value:,.1f}"} if abs(value) >= 1 else set()
    written |= {f"{100 * value:+.{digits}f}" for digits in (1, 2)} | ({"0.0"} if abs(value) < 0.0005 else set())
    return written | _percents(value, path) | (_percents(1 - value, path) if re.search(complement, path) else set())


def _percents(value: float, path: str) -> set[str]:
    """With one or two digits, with none where it is whole, and a bound rounded down or up."""
    percent = abs(100 * value)
    written = {f"{percent:.{digits}f}%" for digits in (1, 2)} | {f"{percent:.6g}%"}
    if re.search(BOUND, path):
        rounded = (math.floor(10 * percent + 1e-6), math.ceil(10 * percent - 1e-6))
        written |= {f"{tenths / 10:.1f}%" for tenths in rounded}
    return written | ({f"{percent:.0f}%"} if abs(percent - round(percent)) < 1e-6 else set())


def missing(content: dict[str, Any], text: str, complement: str = COMPLEMENT) -> list[str]:
    """The paths of the numbers that a text does not tell."""
    told = shown_numbers(text)
    return [f"{path}: {value}" for path, value in leaves(content) if not ways(value, path, complement) & told]


def noticed(content: dict[str, Any], text: str, by: float = 0.0137) -> float:
    """Of all shares: how many would be found missing, were each of them a little different."""
    told = shown_numbers(text)
    shares = [(path, value) for path, value in leaves(content) if isinstance(value, float) and 0 < value < 1]
    return sum(not ways(abs(value - by), path) & told for path, value in shares) / len(shares)


def noticed_counts(content: dict[str, Any], text: str, least: int = 20, by: int = 3) -> float:
    """Of all counts from `least` on: how many would be found missing, were each of them a little different."""
    told = shown_numbers(text)
    counts = [(path, value) for path, value in leaves(content) if isinstance(value, int) and value >= least]
    return sum(not ways(value + by, path) & told for path, value in counts) / len(counts)


def undocumented(schema: dict[str, Any]) -> list[str]:
    """The fields of a JSON schema that do not say what they hold; a part may say it for the field that holds it."""
    parts = {"": schema} | schema.get("$defs", {})
    described = {f"#/$defs/{name}" for name, part in parts.items() if part.get("description", "").strip()}
    return [
        f"{name}.{field}"
        for name, part in parts.items()
        for field, told in part.get("properties", {}).items()
        if not told.get("description", "").strip() and told.get("$ref") not in described
    ]


def raw_markup(markdown: str) -> list[str]:
    """What Markdown would take for a tag, a link or a picture, and rows of a table with a cell too many or too few."""
    found = re.findall(r"(?<!\\)<[a-zA-Z/!][^\n]*|(?<!\\)\]\(|(?<!\\)!\[|\b(?:https?|ftp|www)[:.]\S+", markdown)
    for table in re.findall(r"(?:^\|.*\|$\n?)+", markdown, flags=re.MULTILINE):
        rows = [len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()]
        found += [f"a row of {many} bars among rows of {rows[0]}" for many in rows if many != rows[0]]
    return found
