"""The settings of an estimator as evidence prints them: plain data, without schemas and models."""

from typing import Any


def told_settings(owner: Any) -> dict[str, Any]:
    """An estimator's parameters as plain data; a schema is hashed elsewhere, a model is named.

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.evaluation.told_settings import told_settings
    >>> told_settings(md.Mondrian(k=7, quasi_identifiers=["age"]))["quasi_identifiers"]
    ['age']
    """
    found = {name: value for name, value in owner.get_params(deep=False).items() if name != "schema"}
    return {
        name: value if isinstance(value, str | int | float | None) else _told(value) for name, value in found.items()
    }


def told_by(by: Any) -> Any:
    """By what groups were shown, as a setting; never the values of records.

    Examples
    --------
    >>> from modicum.evaluation.told_settings import told_by
    >>> told_by("sex"), told_by(["sex", "race"]), told_by([1, 2, 3])
    ('sex', ['sex', 'race'], 'one value per test record')
    """
    if by is None or isinstance(by, str):
        return by
    return list(by) if isinstance(by, list | tuple) and _is_short(by) else "one value per test record"


def _is_short(by: Any) -> bool:
    return len(by) < 20 and all(isinstance(each, str) for each in by)


def _told(value: Any) -> Any:
    return [str(each) for each in value] if isinstance(value, list | tuple | set) else type(value).__name__
