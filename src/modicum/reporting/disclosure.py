"""Round numbers for publication: no count of fewer than ten people, and no share that reveals one.

A count below ten is written "< 10", and groups or buckets of so few people are not distinguished. Every other count of
people, and every share of them, is rounded to tens: then nobody can find a small count by multiplying a share or by
subtracting counts. Intervals are rounded outward, so that they still hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from modicum.errors import DataError
from modicum.table.codes import FEW
from modicum.table.estimator_input import person_codes

if TYPE_CHECKING:
    from modicum.generalization.description import BucketLine, Description
    from modicum.measures.certificate import Certificate
    from modicum.table.schema import Schema

FewText = Literal["< 10"]
FEW_TEXT: Final = "< 10"
LEAST_RECORDS = 100  # in the test part, since shares are rounded to tens of people
COARSE = 1000
COMPARED = f"Groups of fewer than {LEAST_RECORDS} people are listed, but not compared, if there are larger ones."


def check_size(n: int, what: str = "test records (30% of the rows)") -> None:
    """Raise `DataError` if a report would rest on too few records."""
    if n < LEAST_RECORDS:
        raise DataError(
            f"There are {n} {what}; a report needs at least {LEAST_RECORDS}. With fewer, its "
            "numbers would mean little and could reveal single people."
        )


def check_people(schema: Schema, X: Any, what: str = "test records (30% of the rows)") -> int:
    """Return the number of people, whose rows count once; raise `DataError` if they are too few for a report.

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.reporting.disclosure import check_people
    >>> adult = md.datasets.load_adult()
    >>> check_people(adult.schema, adult.X[:300])
    300
    """
    persons = person_codes(schema, X)
    people = len(X) if persons is None or not len(persons) else int(persons.max()) + 1
    check_size(people, what if people == len(X) else f"people in the {what}")
    return people


def few(count: int) -> int | FewText:
    """Round a count of people to the nearest ten; "< 10" below ten.

    Examples
    --------
    >>> from modicum.reporting.disclosure import few
    >>> few(3), few(17), few(1234)
    ('< 10', 20, 1230)
    """
    return FEW_TEXT if count < FEW else FEW * round(count / FEW)


def tens(share: float, n: int) -> float:
    """Round a share of n people to tens of people, among n rounded to tens.

    Examples
    --------
    >>> from modicum.reporting.disclosure import tens
    >>> tens(0.234, 1000), tens(0.234, 51), tens(0.001, 1000)
    (0.23, 0.2, 0.0)
    """
    return _to_share(round(share * n / FEW), n)


def tens_up(share: float, n: int) -> float:
    """Round a share of n people up to tens of people, so that a bound still holds."""
    return _to_share(math.ceil(share * n / FEW - 1e-9), n)


AnyEnds = Sequence[float | None]


def both_ends(interval: AnyEnds | None) -> tuple[float, float] | None:
    """Return the ends of an interval; None if one is missing.

    Examples
    --------
    >>> from modicum.reporting.disclosure import both_ends
    >>> both_ends((0.1, 0.2)), both_ends((0.1, float("nan"))), both_ends([0.1, None])
    ((0.1, 0.2), None, None)
    """
    low, high = interval or (None, None)
    return None if low is None or high is None or low != low or high != high else (low, high)


def outward(interval: AnyEnds | None, n: int) -> list[float] | None:
    """Widen an interval of a share of n people to whole tens."""
    ends = both_ends(interval)
    return None if ends is None else [_to_share(math.floor(ends[0] * n / FEW + 1e-9), n), tens_up(ends[1], n)]


def change(value: float, n: int) -> float:
    """Round a change of a share of n people to tens of people.

    Examples
    --------
    >>> from modicum.reporting.disclosure import change
    >>> change(-0.0234, 1000), change(0.0234, 1000)
    (-0.02, 0.02)
    """
    return float(math.copysign(tens(abs(value), n), value)) + 0.0


def change_outward(interval: AnyEnds | None, n: int) -> list[float] | None:
    """Widen an interval of a change of a share of n people to whole tens."""
    ends = both_ends(interval)
    if ends is None:
        return None
    many = max(1, round(n / FEW))
    return [math.floor(ends[0] * n / FEW + 1e-9) / many + 0.0, math.ceil(ends[1] * n / FEW - 1e-9) / many + 0.0]


@overload
def decimals_of(value: float, digits: int = 4) -> float: ...
@overload
def decimals_of(value: None, digits: int = 4) -> None: ...
@overload
def decimals_of(value: AnyEnds, digits: int = 4) -> list[float | None]: ...
def decimals_of(value: float | AnyEnds | None, digits: int = 4) -> float | list[float | None] | None:
    """Round a mean score, or the ends of its interval; with all digits, a count could be derived.

    Examples
    --------
    >>> from modicum.reporting.disclosure import decimals_of
    >>> decimals_of(0.123456), decimals_of([0.1, None]), decimals_of(None)
    (0.1235, [0.1, None], None)
    """
    if value is None:
        return None
    return [decimals_of(each, digits) for each in value] if isinstance(value, Sequence) else round(value, digits)


@overload
def ranking_of(value: float, n: int) -> float: ...
@overload
def ranking_of(value: None, n: int) -> None: ...
@overload
def ranking_of(value: AnyEnds, n: int) -> list[float | None]: ...
def ranking_of(value: float | AnyEnds | None, n: int) -> float | list[float | None] | None:
    """Round a ranking score of n records (AUC), or the ends of its interval: fewer records, fewer digits.

    AUC is a share of pairs of records from two classes: with more digits, only some counts of a rare class would fit. A
    step of the last digit is at least one pair of a class of one.

    Examples
    --------
    >>> from modicum.reporting.disclosure import ranking_of
    >>> ranking_of(0.81234, 400), ranking_of(0.81234, 4_000), ranking_of([0.81234, None], 40_000)
    (0.81, 0.812, [0.8123, None])
    """
    return decimals_of(value, min(4, len(str(n)) - 1))


def _to_share(tens_of_people: int, n: int) -> float:
    return min(1.0, tens_of_people / max(1, round(n / FEW)))


def round_certificate(exact: Certificate) -> Certificate:
    """Round a certificate to tens of people; bounds are rounded up, so that they still hold.

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.reporting.disclosure import round_certificate
    >>> X = md.datasets.load_adult().X[["age", "sex"]]
    >>> g = md.Uniform(buckets=2).fit(X[:2_000]).generalization_
    >>> exact = md.certify(g, X[2_000:2_100], personal=["sex"])
    >>> round_certificate(exact).bounds["sex"] >= exact.bounds["sex"], round_certificate(exact).observed["sex"]
    (True, 1.0)
    """
    n = exact.persons
    return replace(
        exact,
        bounds={name: tens_up(bound, n) for name, bound in exact.bounds.items()},
        observed={name: tens_up(share, n) for name, share in exact.observed.items()},
        naive={name: tens(share, n) for name, share in exact.naive.items()},
    )


def lowest_error(certificate: Certificate) -> float:
    """Return the lowest mean error that follows from the bounds; rounding errors do not make it negative."""
    return max(0.0, 1 - certificate.mean)


def combinations(groups: int, least: int) -> int | FewText:
    """Return a number of combinations: exact if ten people share even the rarest, else rounded like people.

    Examples
    --------
    >>> from modicum.reporting.disclosure import combinations
    >>> combinations(17, least=12), combinations(17, least=3), combinations(2, least=1)
    (17, 20, '< 10')
    """
    return groups if least >= FEW else few(groups)


def at_least(error: float | None) -> str:
    """Format the lowest error of any adversary, rounded down so that it still holds.

    Examples
    --------
    >>> from modicum.reporting.disclosure import at_least
    >>> at_least(0.2129), at_least(None)
    ('21.2%', '–')
    """
    return "–" if error is None else f"{math.floor(1000 * error + 1e-9) / 1000:.1%}"


def at_most(accuracy: float) -> str:
    """Format the highest accuracy of any adversary, rounded up so that it still holds.

    Examples
    --------
    >>> from modicum.reporting.disclosure import at_most
    >>> at_most(0.7121), at_most(0.999999)
    ('71.3%', '100.0%')
    """
    return f"{min(1.0, math.ceil(1000 * accuracy - 1e-9) / 1000):.1%}"


def disclose_description(description: Description) -> dict[str, object]:
    """Return a description as plain data, rounded for publication."""
    if description.records is None:
        return description.to_dict()
    lines = [
        asdict(line)
        | {
            "buckets": [
                {"label": each.label, "takes": each.takes, "share": disclose_share(each, description.records)}
                for each in line.buckets
            ]
        }
        for line in description.attributes
    ]
    smallest = description.smallest_group or 0
    counts = {"groups": combinations(description.groups or 0, smallest), "smallest_group": few(smallest)}
    return description.to_dict() | {"attributes": lines} | counts


def disclose_share(bucket: BucketLine, records: int) -> float | FewText | None:
    """Round a bucket's share of the records to tens of people; "< 10" if it holds fewer."""
    if not bucket.share:
        return bucket.share
    return FEW_TEXT if (bucket.persons or 0) < FEW else tens(bucket.share, records)


def compute_weighted_mean(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the weighted mean share over attributes; rounding errors do not lift it above one.

    Examples
    --------
    >>> from modicum.reporting.disclosure import compute_weighted_mean
    >>> compute_weighted_mean({"age": 0.5, "sex": 0.25}, {"age": 0.5, "sex": 0.5})
    0.375
    """
    return min(1.0, sum(weights[name] * value for name, value in values.items()))


def select_comparable_groups(people: Mapping[str, int]) -> list[str]:
    """Return the groups whose errors are compared: those of a hundred people, or all if none is so large.

    Shares are in tens of people, which is too coarse to compare smaller groups.

    Examples
    --------
    >>> from modicum.reporting.disclosure import select_comparable_groups
    >>> select_comparable_groups({"a": 12, "b": 300, "c": 100}), select_comparable_groups({"a": 12, "d": 40})
    (['b', 'c'], ['a', 'd'])
    """
    return [name for name, many in people.items() if many >= LEAST_RECORDS] or list(people)


def highest(errors: Mapping[str, float], names: Iterable[str]) -> str | None:
    """Return the group with the highest error among `names`; None if there is none."""
    return max(names, key=errors.__getitem__, default=None)
