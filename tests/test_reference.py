"""The reference holds every public name, and every public name says what it is and shows it."""

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest
import typer.main

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
PACKAGES = sorted(
    "modicum" if path.parent.name == "modicum" else f"modicum.{path.parent.name}"
    for path in [ROOT / "src/modicum/__init__.py", *(ROOT / "src/modicum").glob("*/__init__.py")]
    if "__all__" in path.read_text(encoding="utf-8")
)
INSIDE = {"modicum.engines", "modicum.learners", "modicum.trees"}  # what the methods are made of: for who extends them


def public() -> dict[str, object]:
    """Every public name, under where it is documented first."""
    found = {}
    for package in [name for name in reversed(PACKAGES) if name not in INSIDE]:
        module = importlib.import_module(package)
        for name in module.__all__:
            if not inspect.ismodule(getattr(module, name)):
                found[f"{package}.{name}"] = getattr(module, name)
    errors = importlib.import_module("modicum.errors")
    own = {name: value for name, value in vars(errors).items() if inspect.isclass(value)}
    return found | {f"modicum.errors.{n}": v for n, v in own.items() if v.__module__ == "modicum.errors"}


PUBLIC = public()


def directives() -> dict[str, list[str] | None]:
    """What the reference pages ask for: a module, with the members that are named or None for all public ones."""
    asked = {}
    for page in REFERENCE.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for module, options in re.findall(r"^::: (\S+)\n((?:[ ]{4,}.*\n?)*)", text, flags=re.MULTILINE):
            members = re.search(r"members: \[(.*)\]", options)
            asked[module] = members[1].split(", ") if members else None
    return asked


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
    assert len(text.split("Examples")[0].split()) >= 3, f"{name} does not say what it is"
    assert ">>> " in text, f"{name} shows no example"


@pytest.mark.parametrize("name", sorted(name for name, value in PUBLIC.items() if inspect.isclass(value)))
def test_what_a_public_class_offers_has_text(name):
    silent = [member for member in own_members(PUBLIC[name]) if not inspect.getdoc(getattr(PUBLIC[name], member))]
    assert silent == []


def own_docstring(value: object) -> str:
    return (vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__) or ""


def own_members(value: type) -> list[str]:
    """The methods and properties that its modicum classes define, without what dataclasses and bases add."""
    classes = [each for each in value.__mro__ if each.__module__.startswith("modicum")]
    written = {name: own for each in classes for name, own in vars(each).items() if not name.startswith("_")}
    kinds = (property, classmethod, staticmethod)
    return sorted(name for name, own in written.items() if inspect.isfunction(own) or isinstance(own, kinds))


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


def test_links_to_files_outside_the_documentation_are_turned_to_their_place_on_the_site(monkeypatch):
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
    assert hooks.turned("[a](docs/prism.md) [b](LICENSE)", "files/README.md") == "[a](../prism.md) [b](LICENSE)"
