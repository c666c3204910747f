"""The reference holds every public name, and every public name has a text and an example."""

import importlib
import inspect
import re
import sys
from functools import cached_property
from pathlib import Path

import pytest
import typer.main

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PACKAGES = sorted(
    "modicum" if path.parent.name == "modicum" else f"modicum.{path.parent.name}"
    for path in [ROOT / "src/modicum/__init__.py", *(ROOT / "src/modicum").glob("*/__init__.py")]
    if "__all__" in path.read_text(encoding="utf-8")
)
WORDS, WORDS_OF_A_METHOD = 6, 3  # least length of the text of a name, and of a member of a class


def public() -> dict[str, object]:
    """Every public name, under the package where it is documented first."""
    found = {}
    for package in reversed(PACKAGES):
        module = importlib.import_module(package)
        for name in module.__all__:
            if not inspect.ismodule(getattr(module, name)):
                found[f"{package}.{name}"] = getattr(module, name)
    errors = importlib.import_module("modicum.errors")
    own = {name: value for name, value in vars(errors).items() if inspect.isclass(value)}
    return (
        found
        | {f"modicum.errors.{n}": v for n, v in own.items() if v.__module__ == "modicum.errors"}
        | imported_by_pages()
    )


def imported_by_pages() -> dict[str, object]:
    """Every name that a page or a notebook imports from modicum."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]
    found = {}
    for page in pages:
        lines = re.findall(r"^[ \"]*from (modicum[\w.]*) import ([\w, ]+)", page.read_text("utf-8"), flags=re.MULTILINE)
        for module, names in lines:
            for name in names.split(", "):
                found[f"{module}.{name}"] = getattr(importlib.import_module(module), name)
    return {name: value for name, value in found.items() if not inspect.ismodule(value)}


PUBLIC = public()


def directives() -> dict[str, list[str] | None]:
    """The modules that the reference pages show, with the named members or None for all public ones."""
    members_of: dict[str, list[str] | None] = {}
    for page in REFERENCE.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for module, options in re.findall(r"^::: (\S+)\n((?:[ ]{4,}.*\n?)*)", text, flags=re.MULTILINE):
            members = re.search(r"members: \[(.*)\]", options)
            members_of[module] = [*(members_of.get(module) or ()), *members[1].split(", ")] if members else None
    return members_of


def shown() -> list[object]:
    """The objects that the reference shows."""
    found = []
    for path, members in directives().items():
        module = importlib.import_module(path)
        names = (
            members or getattr(module, "__all__", None) or [n for n, v in vars(module).items() if inspect.isclass(v)]
        )
        found += [getattr(module, name) for name in names]
    return found


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_public_name_is_in_the_reference(name):
    assert any(PUBLIC[name] is value for value in shown()), f"no page under docs/reference shows {name}"


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_public_name_has_text_and_an_example(name):
    text = own_docstring(PUBLIC[name])
    assert len(text.split("Examples")[0].split()) >= WORDS, f"{name} does not say what it is"
    assert ">>> " in text, f"{name} shows no example"


@pytest.mark.parametrize("name", sorted(name for name, value in PUBLIC.items() if inspect.isclass(value)))
def test_the_members_of_a_public_class_have_text(name):
    assert silent_members(PUBLIC[name]) == []


def own_docstring(value: object) -> str:
    return (vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__) or ""


def silent_members(value: type) -> list[str]:
    """The methods and properties of modicum without their own text; the text of a base does not count."""
    classes = [each for each in value.__mro__ if each.__module__.startswith("modicum")]
    written = [(f"{each.__name__}.{name}", own) for each in classes for name, own in vars(each).items()]
    offered = [(name, function_of(own)) for name, own in written if not name.split(".")[1].startswith("_")]
    return [name for name, own in offered if own and len((own.__doc__ or "").split()) < WORDS_OF_A_METHOD]


def function_of(member: object) -> object | None:
    """The function behind a method or property."""
    if isinstance(member, property | cached_property):
        return member.fget if isinstance(member, property) else member.func
    member = getattr(member, "__func__", member)
    return member if inspect.isfunction(member) else None


def test_a_method_without_its_own_text_is_found():
    from sklearn.linear_model import LogisticRegression

    class Silent(LogisticRegression):
        __module__ = "modicum.made_up"

        def fit(self, X, y, sample_weight=None):
            return self

        @property
        def answer(self):
            """Too short."""

        @cached_property
        def slow(self): ...

        @classmethod
        def made(cls): ...

        def shown(self):
            """What is shown."""

    assert silent_members(Silent) == ["Silent.fit", "Silent.answer", "Silent.slow", "Silent.made"]


def test_every_reference_page_is_in_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    missing = [page.name for page in REFERENCE.glob("*.md") if f"reference/{page.name}" not in menu]
    assert missing == []


def test_the_page_of_the_command_line_has_every_command_with_its_options(monkeypatch):
    pytest.importorskip("mkdocs")
    from modicum.cli.main import app

    monkeypatch.syspath_prepend(ROOT / "docs")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import hooks

    assert hooks.COMMANDS in (REFERENCE / "command-line.md").read_text(encoding="utf-8")
    text = hooks.command_pages()
    commands = typer.main.get_command(app).commands
    assert len(commands) >= 15
    for name, command in commands.items():
        section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", text, flags=re.DOTALL | re.MULTILINE)
        assert section, name
        options = [spelled for one in command.params for spelled in one.opts if spelled.startswith("-")]
        assert [spelled for spelled in options if spelled not in section[1]] == []


def test_links_to_files_outside_the_documentation_are_changed_to_their_place_on_the_site(monkeypatch):
    pytest.importorskip("mkdocs")
    monkeypatch.syspath_prepend(ROOT / "docs")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import hooks

    text = "[a](../../src/modicum/errors.py) [b](../prism.md#x) [c](https://example.org) ![d](../../README.md)"
    turned = hooks.turned(text, "how-to/drift.md")
    assert turned == (
        "[a](../files/src/modicum/errors.py.md) [b](../prism.md#x) [c](https://example.org) ![d](../files/README.md)"
    )
    code = "```python notest\n[a](../../README.md)\n```"
    assert hooks.turned(code, "how-to/drift.md") == "```python\n[a](../../README.md)\n```"
    formula = "```text formula\nU = 1\n```"
    assert hooks.turned(formula, "how-to/drift.md") == "```text\nU = 1\n```"
    notebook = "[a](../notebooks/researcher.ipynb)"
    assert hooks.turned(notebook, "guides/researcher.md") == "[a](../notebooks/researcher.md)"
    assert hooks.turned("[a](docs/prism.md) [b](LICENSE)", "files/README.md") == "[a](../prism.md) [b](LICENSE)"
