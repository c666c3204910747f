"""Numbers in a page that look measured: what is left of its prose once code, links, marks and tables are taken away."""

import re
from collections.abc import Iterator

_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_UNITS = "ms|µs|ns|s|seconds?|milliseconds?|microseconds?|minutes?|hours?|KB|MB|GB|TB|KiB|MiB|GiB|bytes"
_THINGS = "records|rows|people|persons|sets|groups|candidates|buckets|cells|cores|requests|residents|households"
MEASURED = re.compile(
    rf"""(?<![\w.,/])(?:
        {_NUMBER}\s?(?:%|percent\b|points?\b|×|times\b|(?:{_UNITS})\b)  # shares, multiples, durations, sizes
      | \d[\d,]*\s+of\s+(?:the\s+|all\s+)?\d[\d,]*\b                    # so many of so many
      | \d{{1,3}}(?:,\d{{3}})+\s+(?:\w+\s+)?(?:{_THINGS})\b                # thousands of something
      | \d+\.\d+(?![\w.]*\d)                                            # decimals
    )""",
    re.VERBOSE,
)
# Not prose, or no measurement: taken away before numbers are looked for.
_TAKEN_AWAY = [
    re.compile(pattern, re.MULTILINE | re.DOTALL)
    for pattern in (
        r"\A---\n.*?\n---\n",  # front matter
        r"^([ \t]*)(`{3,}|~{3,})[^\n]*\n.*?(?:^\1\2[ \t]*$|\Z)",  # code blocks
        r"<!-- table: written by .*?<!-- end of .*?-->",
        r"<!--(?:f|paper|given)\s.*?-->.*?<!--/-->|<!--given-->.*?<!--/-->",
        r"<!--.*?-->",
        r"(`+)(?!`).*?(?<!`)\1(?!`)",  # code in a line
        r"\]\([^)]*\)|https?://\S+|^\[[^\]]+\]:.*?$",  # where links lead
        r"^#+[ \t]*[\d.]*",  # a heading's own number
        r"§+\s?[\w.]+(?:(?:,\s|\s?[–-]\s?|\sand\s)§?[\d.]*\d)*",
        r"\b(?:Theorem|Lemma|Definition|Figures?|Tables?|Appendix|Sections?|Equation|Article|Python|version|Opinion)"
        r"\s+[A-Z]?\.?\d[\d.]*(?:\s?[–-]\s?\d[\d.]*)?",
        r"\b(?:Apache|BY|TLS|CC0|HTTP)[ /-]\d\.\d\b|\b9\d(?:\.\d)?%\s+(?:confidence|intervals?)\b",
        r"\([1-9]\.\d+\)",  # a formula's number
        r"(?<![\w.])[a-zA-Zα-ωℓ]\s?=\s?[\d.,]*\d",  # k = 50
        r"\d+(?:/\d+)+|\d+(?:\.\d+){2,}|(?:[≥≤<>]=?|==)\s?\d+\.\d+(?:\.\d+)*(?=\s*(?:or newer|or later))",
    )
]


def measured(text: str) -> Iterator[tuple[int, str]]:
    """Each number of a page's prose that looks measured and has no mark: where it begins, and what is written.

    Examples
    --------
    >>> list(measured("With k=50 (§4.2) it loses 3% of 0.85."))
    [(26, '3%'), (32, '0.85')]
    """
    for match in MEASURED.finditer(prose(text)):
        yield match.start(), " ".join(match[0].split())


def prose(text: str) -> str:
    """The page with blanks where its code, links, marks and tables were, every line and place as before."""
    for pattern in _TAKEN_AWAY:
        text = pattern.sub(_blank, text)
    return "\n".join(_without_indented_code(text.split("\n")))


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _without_indented_code(lines: list[str]) -> Iterator[str]:
    """Lines four or more to the right after an empty one are code, except in a list or a note."""
    held, after_blank, in_code = False, True, False
    for line in lines:
        indented = line.startswith("    ")
        in_code = indented and not held and (in_code or after_blank)
        if line.strip() and not line.startswith(" "):
            held = bool(re.match(r"[-*+] |\d+\. |!!!|\?\?\?|===", line))
        after_blank = not line.strip()
        yield " " * len(line) if in_code else line
