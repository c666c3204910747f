"""How numbers read in a report: the same words in page, Markdown and terminal."""

from collections.abc import Callable, Sequence

from modicum.generalization.description import percent as bucket_share

NONE = "–"


def quote_name(name: object) -> str:
    """A name as it stands in a sentence.

    Examples
    --------
    >>> from modicum.reporting.formats import quote_name
    >>> quote_name("age")
    '“age”'
    """
    return f"“{name}”"


def percent(value: float | str | None, digits: int = 1) -> str:
    """A share for people; "< 10" as it is, and a number that does not exist as a dash.

    Examples
    --------
    >>> from modicum.reporting.formats import percent
    >>> percent(0.1234), percent(0.5, 0), percent("< 10"), percent(None)
    ('12.3%', '50%', '< 10', '–')
    """
    if value is None:
        return NONE
    return value if isinstance(value, str) else f"{value + 0.0:.{digits}%}"


def no_better(error: float | None, majority: float, who: str) -> tuple[bool, str]:
    """Whether a model's error is none the lower for what it sees, and the warning that says so.

    Examples
    --------
    >>> from modicum.reporting.formats import no_better
    >>> no_better(0.2, 0.2, "The model")
    (True, 'The model is wrong no less often (20.0%) than always guessing the majority (20.0%).')
    """
    told = f"{who} is wrong no less often ({percent(error)}) than always guessing the majority ({percent(majority)})."
    return error is not None and error >= majority, told


def in_disguise(raw: float | None, majority: float | None) -> tuple[bool, str]:
    """Whether raw data predicts the label so well that a column may be the label itself, and the warning.

    Examples
    --------
    >>> from modicum.reporting.formats import in_disguise
    >>> in_disguise(0.0, 0.3)[0], in_disguise(0.1, 0.3)[0], in_disguise(None, None)[0]
    (True, False, False)
    """
    told = "Raw data predicts the label almost perfectly: one of the attributes may be the label in disguise."
    return raw is not None and majority is not None and raw < 0.005 and majority > 0.05, told


def points(value: float | None, digits: int = 1) -> str:
    """A change of a share, with its sign, in percentage points.

    Examples
    --------
    >>> from modicum.reporting.formats import points
    >>> points(0.0123), points(-0.2), points(0.0), points(None)
    ('+1.2', '−20.0', '0.0', '–')
    """
    if value is None:
        return NONE
    shown = f"{abs(100 * value):.{digits}f}"
    sign = "" if not float(shown) else "+" if value > 0 else "−"
    return sign + shown


def number(value: float | str | None, digits: int = 3) -> str:
    """A count with commas, or a number with so many digits."""
    if value is None:
        return NONE
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"


def share(value: float | str | None) -> str:
    """A bucket's share of the records."""
    if value is None:
        return ""
    return value if isinstance(value, str) else bucket_share(value)


def interval(ends: Sequence[float | None] | None, digits: int = 1) -> str:
    """An interval of a share; nothing where there is none."""
    return _between(ends, lambda end: percent(end, digits))


def in_brackets(ends: Sequence[float | None] | None) -> str:
    """The interval of a share, to stand behind it in a sentence; nothing where there is none.

    Examples
    --------
    >>> from modicum.reporting.formats import in_brackets
    >>> "23.0%" + in_brackets([0.2, 0.26]), "23.0%" + in_brackets(None)
    ('23.0% (95% interval 20.0% to 26.0%)', '23.0%')
    """
    return f" (95% interval {between})" if (between := interval(ends)) else ""


def decimals(ends: Sequence[float | None] | None, digits: int = 3) -> str:
    """An interval of a number."""
    return _between(ends, lambda end: number(end, digits))


def points_interval(ends: Sequence[float | None] | None, digits: int = 1) -> str:
    """An interval of a change, in percentage points."""
    return _between(ends, lambda end: points(end, digits))


def _between(ends: Sequence[float | None] | None, show: Callable[[float | None], str]) -> str:
    if ends is None or any(end is None for end in ends):
        return ""
    return f"{show(ends[0])} to {show(ends[1])}"


def count_of(many: int | str, one: str, several: str | None = None) -> str:
    """So many of something, in words.

    Examples
    --------
    >>> from modicum.reporting.formats import count_of
    >>> count_of(1, "record"), count_of(1200, "record"), count_of("< 10", "person", "people")
    ('1 record', '1,200 records', '< 10 people')
    """
    return f"{number(many)} {one if many == 1 else several or one + 's'}"


def format_levels(percents: Sequence[float]) -> str:
    """Percentages as they are asked for, without the digits that they do not have.

    Examples
    --------
    >>> from modicum.reporting.formats import format_levels
    >>> format_levels([1.0, 2.5])
    '1%, 2.5%'
    """
    return ", ".join(f"{percent:g}%" for percent in percents)
