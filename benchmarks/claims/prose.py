"""Find numbers in a page's prose that look measured, after code, links, claims and tables are removed.

Found are numbers in digits: shares, multiples, durations, sizes, decimals, powers of ten, "n of m", large counts, and
counts that only a benchmark makes; also in headings, in emphasis, alone in code marks, and in blocks of text that no
test compares with printed output. Not found are small whole numbers (20 leaves, 11 columns), years, versions, sections,
parameters with their letter (k = 50), numbers in code, and most numbers in words.
"""

import re
from collections.abc import Iterable, Iterator

_NUMBER = r"(?:\d[\d,]*(?:\.\d+)?|\.\d+)"
_UNIT = (
    r"(?:%|per\s?cent\b|percentage\b|pp\b|points?\b"  # shares
    r"|×|[xX]\b|-?\s?fold\b|-?\s?times\b"  # multiples
    r"|(?:ms|µs|ns|s|sec|min|seconds?|milliseconds?|microseconds?|minutes?|hours?"
    r"|[kKMGT]B|[KMGT]iB|bytes|[kM]|thousand|million|billion)\b)"
)
_COUNTED = "records|rows|people|persons|sets|groups|candidates|buckets|cores|requests|residents|households"
_WORDS = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|fifty|hundred"
_JUDGED = "cells|comparisons|wins|losses|faults|failures"  # small counts of these are findings, not settings
MEASURED = re.compile(
    rf"""(?<![\w.,/])(?:
        {_NUMBER}\s*{_UNIT}
      | [×x]\s?{_NUMBER}|\bfactor\s+(?:of\s+)?{_NUMBER}
      | \d[\d,]*\s+(?:out\s+)?of\s+(?:the\s+|all\s+)?\d[\d,]*\b       # n of m
      | \d[\d,]*/\d[\d,]*(?![\w/])                                   # the same as a fraction
      | {_NUMBER}[eE][-+−]?\d+|10\s?(?:\^|[⁻⁰¹²³⁴-⁹])                # powers of ten
      | (?:\d+|\b(?:{_WORDS}))\s+(?:{_JUDGED})\b
      | \b(?:{_WORDS})\s+times\s+(?:faster|slower|smaller|larger)\b
      | (?:\d{{1,3}}(?:,\d{{3}})+|\d{{3,}})(?![\w.,]*\w)              # large counts
      | (?:\d+\.\d+|\.\d+)(?![\w.]*\d)                               # decimals
    )""",
    re.VERBOSE,
)
_SECTION = r"[A-Z]?\.?[1-9]\d*(?:\.\d+)*"
# Not measurements: removed after the code, before numbers are searched.
_TAKEN_AWAY = [
    re.compile(pattern, re.MULTILINE | re.DOTALL)
    for pattern in (
        r"<!--.*?-->|</?[a-z][^>\n]*>",
        r"\]\([^)]*\)|https?://\S+|^\[[^\]]+\]:[ \t]+\S+$",  # where links lead
        r"^ {4,}(?:\.venv/bin/)?(?:modicum|make|python3?|pip|spark-submit|curl) (?:\\\n|(?! #)[^\n])*",  # commands
        rf"§+\s?{_SECTION}(?:\s?[–-]\s?{_SECTION})?",
        rf"\b(?:Tables|Figures|Sections)\s+{_SECTION}(?:(?:\s?[–-]\s?|,\s|\sand\s|\sto\s){_SECTION}(?!\s*{_UNIT}))*",
        r"\b(?:Theorem|Lemma|Definition|Figure|Table|Appendix|Section|[Ee]quation|Article|Python|Spark|[Vv]ersion"
        rf"|port|seed|HTTP)\s+(?:\({_SECTION}\)|{_SECTION}|0(?:\.\d+)+)(?:\s?[–-]\s?{_SECTION})?(?!\s*{_UNIT})",
        r"\bSHA-\d+|\b[Oo]pinion\s+\d\d/\d{4}|\b(?:Apache|BY|TLS|CC0|HTTP)[ /-]\d\.\d\b",
        r"\b9\d(?:\.\d)?%\s+(?:confidence|intervals?)\b",
        rf"(?<![\w.])(?:[klm]\*?\s?[=≥≤]\s?\d[\d,]*(?![\d.])|[tCαβγδελτℓ]\s?[=≥≤]\s?\d[\d.,]*)(?!\s*{_UNIT})",  # k = 50
        r"\d+(?:/\d+){2,}|\d+(?:\.\d+){2,}",  # a split, a date; a version
        r"(?:[≥≤<>]=?|==)\s?\d+\.\d+(?=\s*(?:or newer|or later))",
        rf"(?<![\d.,/])(?:19|20)\d\d(?!\w|[.,/]\d|\s*{_UNIT}|\s+(?:\w+\s+)?(?:{_COUNTED}|{_JUDGED})\b)",  # years
    )
]
_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*(\w*)[^\n]*\n(.*?)(^\1\2[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_IN_A_LINE = re.compile(r"(`+)(?!`)((?:(?!\n\s*\n).)*?)(?<!`)\1(?!`)", re.DOTALL)
_SPACE = re.compile("&nbsp;|&#160;|[\u00a0\u2007\u2009\u202f]")
_EMPHASIS = re.compile(r"(?<=[\d%])[*_]{1,3}|[*_]{1,3}(?=[\d.]*\d)")


def find_measured(text: str, known: Iterable[tuple[int, int]] = ()) -> Iterator[tuple[int, str]]:
    """Yield each number in a page's prose that looks measured, with its position.

    `known` holds the starts and ends of claims. Blocks of text are skipped on a page that has code, because tests
    compare them with its output (tests/docs/test_pages.py).

    Examples
    --------
    >>> list(find_measured("With k=50 (§4.2) it loses 3% of 0.85.", [(32, 36)]))
    [(26, '3%')]
    """
    for match in MEASURED.finditer(_prose(text, known)):
        yield match.start(), " ".join(match[0].split())


def _prose(text: str, known: Iterable[tuple[int, int]]) -> str:
    """Return the page with blanks instead of code, links, claims and tables; all positions stay the same."""
    is_printed = bool(re.search(r"^ *```(?:python|sh) *$", text, re.MULTILINE))
    for start, end in known:
        text = text[:start] + _blanks(text[start:end]) + text[end:]
    text = _FENCE.sub(_blank if is_printed else _block, text)
    text = _IN_A_LINE.sub(_code_in_a_line, text)
    text = _SPACE.sub(_blank, text)
    for pattern in _TAKEN_AWAY:
        text = pattern.sub(_blank, text)
    return _EMPHASIS.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    return _blanks(match[0])


def _blanks(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _block(match: re.Match[str]) -> str:
    """Blank out a block of code; of a block of text only its fences."""
    if match[3] not in ("", "text"):
        return _blank(match)
    start, end = match.start(4) - match.start(), match.end(4) - match.start()
    return _blanks(match[0][:start]) + match[4] + _blanks(match[0][end:])


def _code_in_a_line(match: re.Match[str]) -> str:
    """Blank out inline code; a number alone between backticks stays."""
    alone = re.fullmatch(r"[\s\d.,%]+", match[2]) or MEASURED.fullmatch(match[2].strip())
    return match[0].replace("`", " ") if alone else _blank(match)
