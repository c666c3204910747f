"""Format numbers and names for reports, the same in page, Markdown and terminal."""

from collections.abc import Callable, Sequence

from modicum.generalization.description import percent as bucket_share

NONE = "–"


def quote_name(name: object) -> str:
    """Quote a name for a sentence.

    Examples
    --------
    >>> from modicum.reporting.formats import quote_name
    >>> quote_name("age")
    '“age”'
    """
    return f"“{name}”"


def percent(value: float | str | None, digits: int = 1) -> str:
    """Format a share; "< 10" stays unchanged, and None becomes a dash.

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
    """Return whether a model's error is at least the majority guess's, and the warning about it.

    Examples
    --------
    >>> from modicum.reporting.formats import no_better
    >>> no_better(0.2, 0.2, "The model")
    (True, 'The model is wrong at least as often (20.0%) as always guessing the majority (20.0%).')
    """
    guess = percent(majority)
    warning = f"{who} is wrong at least as often ({percent(error)}) as always guessing the majority ({guess})."
    return error is not None and error >= majority, warning


def in_disguise(raw: float | None, majority: float | None) -> tuple[bool, str]:
    """Return whether raw data predicts the label so well that a column may be the label, and the warning about it.

    Examples
    --------
    >>> from modicum.reporting.formats import in_disguise
    >>> in_disguise(0.0, 0.3)[0], in_disguise(0.1, 0.3)[0], in_disguise(None, None)[0]
    (True, False, False)
    """
    warning = "Raw data predicts the label almost perfectly: one of the attributes may be the label in disguise."
    return raw is not None and majority is not None and raw < 0.005 and majority > 0.05, warning


def points(value: float | None, digits: int = 1) -> str:
    """Format a change of a share in percentage points, with its sign.

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
    """Format a count with commas, or a decimal number with `digits` digits."""
    if value is None:
        return NONE
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"


def share(value: float | str | None) -> str:
    """Format a bucket's share of the records; None becomes empty text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else bucket_share(value)


def interval(ends: Sequence[float | None] | None, digits: int = 1) -> str:
    """Format an interval of a share; empty if there is none."""
    return _between(ends, lambda end: percent(end, digits))


def in_brackets(ends: Sequence[float | None] | None) -> str:
    """Format a share's interval in brackets, to follow the share; empty if there is none.

    Examples
    --------
    >>> from modicum.reporting.formats import in_brackets
    >>> "23.0%" + in_brackets([0.2, 0.26]), "23.0%" + in_brackets(None)
    ('23.0% (95% interval 20.0% to 26.0%)', '23.0%')
    """
    return f" (95% interval {between})" if (between := interval(ends)) else ""


def decimals(ends: Sequence[float | None] | None, digits: int = 3) -> str:
    """Format an interval of a number; empty if there is none."""
    return _between(ends, lambda end: number(end, digits))


def points_interval(ends: Sequence[float | None] | None, digits: int = 1) -> str:
    """Format an interval of a change in percentage points; empty if there is none."""
    return _between(ends, lambda end: points(end, digits))


def _between(ends: Sequence[float | None] | None, show: Callable[[float | None], str]) -> str:
    if ends is None or any(end is None for end in ends):
        return ""
    return f"{show(ends[0])} to {show(ends[1])}"


def count_of(many: int | str, one: str, several: str | None = None) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> from modicum.reporting.formats import count_of
    >>> count_of(1, "record"), count_of(1200, "record"), count_of("< 10", "person", "people")
    ('1 record', '1,200 records', '< 10 people')
    """
    return f"{number(many)} {one if many == 1 else several or one + 's'}"


def format_levels(percents: Sequence[float]) -> str:
    """Write percentages without needless digits.

    Examples
    --------
    >>> from modicum.reporting.formats import format_levels
    >>> format_levels([1.0, 2.5])
    '1%, 2.5%'
    """
    return ", ".join(f"{percent:g}%" for percent in percents)
