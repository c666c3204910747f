"""The words of a form's page, in a file per language that can be translated."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from modicum.errors import ParameterError

_FOLDER = Path(__file__).parent / "form_page" / "strings"
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z")


def languages() -> list[str]:
    """The languages that come with modicum.

    Examples
    --------
    >>> from modicum.export.form_strings import languages
    >>> languages()
    ['de', 'en']
    """
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def page_strings(strings: str | os.PathLike[str] | Mapping[str, str]) -> dict[str, str]:
    """All words by their key: of a language, of a JSON file, or as given; none may lack and none be unknown.

    Examples
    --------
    >>> from modicum.export.form_strings import page_strings
    >>> page_strings("de")["send"]
    'Senden'
    >>> page_strings({"send": "Envoyer"})
    Traceback (most recent call last):
    ...
    modicum.errors.ParameterError: The strings lack 'language'.
    """
    if isinstance(strings, Mapping):
        return _checked(dict(strings), "strings")
    if isinstance(strings, str) and strings in languages():
        return _read(_FOLDER / f"{strings}.json")
    if not isinstance(strings, str | os.PathLike) or (isinstance(strings, str) and not strings.endswith(".json")):
        raise ParameterError(f"The 'strings' parameter must be 'de', 'en' or a .json file. Got {strings!r} instead.")
    return _checked(_read(Path(strings)), f"strings in {os.fspath(strings)!r}")


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(f"The strings file {str(path)!r} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise ParameterError(f"The strings file {str(path)!r} is not readable as JSON.") from None


def _checked(found: Any, what: str) -> dict[str, str]:
    if not isinstance(found, dict):
        raise ParameterError(f"The {what} must be an object of texts by key.")
    known = _read(_FOLDER / "en.json")
    lacking = next((key for key in known if key not in found), None)
    if lacking is not None:
        raise ParameterError(f"The {what} lack {lacking!r}.")
    unknown = next((key for key in found if key not in known), None)
    if unknown is not None:
        raise ParameterError(f"The {what} have an unknown key {unknown!r}.")
    for key, text in found.items():
        _check_text(key, text, _places(known[key]), what)
    if not _LANGUAGE.match(found["language"]) or found["direction"] not in ("ltr", "rtl"):
        raise ParameterError(f"The {what} must have a 'language' such as en or pt-BR and a 'direction' ltr or rtl.")
    return {key: found[key] for key in known}


def _check_text(key: str, text: Any, places: set[str], what: str) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ParameterError(f"The {what} must have a text for {key!r}.")
    if _places(text) != places:
        listed = ", ".join(sorted(f"{{{place}}}" for place in places)) or "no {placeholder}"
        raise ParameterError(f"The {what} must use {listed} in {key!r}, and nothing else in braces.")


def _places(text: str) -> set[str]:
    return set(re.findall(r"\{([^{}]*)\}", text))
