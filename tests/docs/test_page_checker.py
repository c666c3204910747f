"""The tests of the pages find what is broken: broken blocks must fail their page, and correct ones must pass."""

import contextlib

import pytest
from page_blocks import BadBlock, Block, blocks_of
from page_commands import NOT_RUN, SETTING_UP, commands_in, run_command
from page_notebooks import stale
from page_run import run_page

PRINTS = "```python\nprint('one two')\n```\n\n```sh\necho three '0.375 (15.5%) 36' >&2\n```\n\nIt says:\n\n"


def page_of(tmp_path, text):
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    return path


def fenced(code, language):
    return f"```{language}\n{code}\n```\n"


def test_blocks_are_read_with_their_lines_also_in_lists(tmp_path):
    page = page_of(
        tmp_path,
        "- one\n  ```python\n  x = 1\n  if x:\n      y = 2\n  ```\n\n  goes on\n    - and on\n\n"
        "This is not run,\nsince it fails:\n\n```python notest\nraise\n```\n\n```text formula\na = b\n```\n"
        "\n```sh\n.venv/bin/modicum a \\\n  'b #c'  # why\n# nothing\n```\n",
    )
    found = blocks_of(page)
    assert found[0] == Block("python", "x = 1\nif x:\n    y = 2\n", 2)
    assert [(block.language, block.line, block.mark) for block in found[1:]] == [
        ("python", 14, "notest"),
        ("text", 18, "formula"),
        ("sh", 22, ""),
    ]
    assert commands_in(found[3].code) == ["modicum a    'b #c'"]


@pytest.mark.parametrize(
    "text",
    [
        *(fenced("x = 1", language) for language in ("bash", "shell", "console", "py", "", "python title=a", "Python")),
        "~~~python\nx = 1\n~~~\n",
        "````python\nx = 1\n````\n",
        "> ```python\n> x = 1\n> ```\n",
        "- ```python\n  x = 1\n  ```\n",
        "```python\nx = 1\n",
        "<pre>modicum apply</pre>\n",
        "So:\n\n    modicum nonsense\n",
        "So:\n\n\tmodicum nonsense\n",
        "So:\n\n    x = 1\n",
        "    modicum nonsense\n",
        "So:\n\n    anything at all\n",
        "- a list\n\n    modicum nonsense\n",
        "- a list\n\n      import modicum\n",
        fenced("x = 1", "python notest"),
        "It runs:\n\n" + fenced("x = 1", "python notest"),
        "Not run.\n\nAnother paragraph:\n\n" + fenced("x = 1", "sh notest"),
        fenced("one two", "text formula"),
        fenced("x = 1", "python formula"),
        fenced("one", "text notest"),
    ],
)
def test_a_block_that_no_test_would_run_is_refused(tmp_path, text):
    with pytest.raises(BadBlock, match=r"^page.md, line \d+: "):
        blocks_of(page_of(tmp_path, text))


@pytest.mark.parametrize("text", ["- a list\n\n    that goes on\n", "::: a.module\n    options:\n      members: [A]\n"])
def test_indented_text_that_is_not_code_is_ignored(tmp_path, text):
    assert blocks_of(page_of(tmp_path, text)) == []


@pytest.mark.parametrize(
    ("language", "code", "why"),
    [
        ("sh", "true\nfalse", "false"),
        ("sh", "false | true", "false"),
        ("sh", "no-such-command", "not found"),
        ("sh", "modicum nonsense", "No such command"),
        ("sh", "pip no-such && false", "sets up"),
        ("sh", "pip install anything", "sets up"),
        ("sh", "python -m pip install anything", "sets up"),
        ("sh", "true && git clone https://example.org", "sets up"),
        ("sh", "cd /nowhere", "sets up"),
        ("sh", "make demo nonsense", "sets up"),
        ("sh", "make nonsense", "sets up"),
        ("sh", "modicum serve nowhere --no-such-option", "No such option"),
        ("sh", "modicum serve nowhere --port many", "valid integer"),
        ("sh", "modicum no-such people/ --engine spark", "No such command"),
        ("sh", "modicum apply g.json people/ -o out/ --no-such-option --engine spark", "No such option"),
        ("text", "modicum serve shop", "not printed"),
        ("text", "make it so", "not printed"),
        ("json", '{"modicum": "nothing"}', "no file shows"),
        ("yaml", "name: hours", "no list of attributes"),
    ],
)
def test_a_broken_block_fails_its_page(tmp_path, language, code, why):
    with pytest.raises(AssertionError, match=rf"(?s)^page.md, line 1: .*(?:{why})"):
        run_page(page_of(tmp_path, fenced(code, language)), tmp_path)


@pytest.mark.parametrize("code", ["- {name: hours, kind: sometimes}", "- {name: hours, kind: number, no_such: 1}"])
def test_an_attribute_that_no_schema_accepts_fails_its_page(tmp_path, code):
    from modicum.errors import ModicumError

    with pytest.raises(ModicumError):
        run_page(page_of(tmp_path, fenced(code, "yaml")), tmp_path)


def test_a_service_whose_bundle_is_missing_fails_its_page(tmp_path):
    from modicum.errors import ModicumError

    with pytest.raises(ModicumError, match="nowhere"):
        run_page(page_of(tmp_path, fenced("modicum serve nowhere", "sh")), tmp_path)


def test_python_that_fails_names_the_pages_own_line(tmp_path):
    page = page_of(tmp_path, "```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n")
    with pytest.raises(AssertionError) as error:
        run_page(page, tmp_path)
    assert error.traceback[-1].lineno + 1 == 6


@pytest.mark.parametrize(("language", "code"), [("python", "x ="), ("sh", "if true")])
def test_a_block_that_is_not_run_must_have_valid_syntax(tmp_path, language, code):
    page = page_of(tmp_path, "This is not run:\n\n" + fenced(code, f"{language} notest"))
    with pytest.raises((SyntaxError, AssertionError)):
        run_page(page, tmp_path)


@pytest.mark.parametrize(
    ("shown", "is_right"),
    [
        ("one  two\nthree", True),
        ("one\n…\nthree\n", True),
        ("one\nthree", False),  # nothing says that a line is left out
        ("three\n...\none", False),  # not in this order
        ("one two four", False),
        ("make it so", False),
        ("modicum one", False),
        ("one two\n…\n0.374 (15.6%) 36", True),  # another processor
        ("one two\n…\n0.404 (15.6%) 36", False),
        ("one two\n…\n0.375 (18.1%) 36", False),
        ("one two\n…\n0.375 (15.6%) 37", False),
    ],
)
def test_a_page_shows_what_its_blocks_printed(tmp_path, shown, is_right):
    page = page_of(tmp_path, PRINTS + fenced(shown, "text"))
    right = contextlib.nullcontext()
    with right if is_right else pytest.raises(AssertionError, match=r"line 11: this was not printed"):
        run_page(page, tmp_path)


@pytest.mark.parametrize(
    ("shown", "is_right"),
    [
        ('  "a": 1,', True),
        ('{\n"a": 1,\n  ...\n}', True),
        ('{\n  "b": 2', False),  # a line is left out
        ('"b": 2\n...\n"a": 1,', False),
        ('"a": 3,', False),
    ],
)
def test_a_page_shows_lines_of_a_file_in_its_folder(tmp_path, shown, is_right):
    (tmp_path / "g.json").write_text('{\n  "a": 1,\n  "b": 2\n}\n')
    page = page_of(tmp_path, fenced(shown, "json"))
    right = contextlib.nullcontext()
    with right if is_right else pytest.raises(AssertionError, match="no file shows these lines"):
        run_page(page, tmp_path)


@pytest.mark.parametrize("command", sorted(NOT_RUN))
def test_commands_that_are_never_run_are_known_to_this_project(command, tmp_path):
    assert run_command(command, tmp_path, "") == ""
    assert command == "modicum demo" or command.split()[0] in {*SETTING_UP, "python"}


def notebook_of(*outputs):
    return {"cells": [{"cell_type": "markdown"}, {"cell_type": "code", "id": "first", "outputs": list(outputs)}]}


def printed(text):
    return {"output_type": "stream", "name": "stdout", "text": text}


def test_a_stored_output_that_is_no_longer_printed_is_stale():
    shown = {"output_type": "execute_result", "data": {"text/plain": "0.5"}}
    assert stale(notebook_of(printed("error 0.374\n")), notebook_of(printed("error 0.404\n")))
    assert stale(notebook_of(printed("wrong for 15.0%\n")), notebook_of(printed("wrong for 17.5%\n")))
    assert stale(notebook_of(printed("up to 36\n")), notebook_of(printed("up to 37\n")))
    assert stale(notebook_of(printed("up to 36.5\n")), notebook_of(printed("up to 37.0\n")))
    assert stale(notebook_of(printed("by +0.193\n")), notebook_of(printed("by -0.193\n")))
    assert stale(notebook_of(printed("a 0.374\n")), notebook_of(printed("b 0.374\n")))
    assert stale(notebook_of(printed("0.374 0.5\n")), notebook_of(printed("0.374\n")))
    assert stale(notebook_of(), notebook_of(printed("one\n")))
    assert stale(notebook_of(printed("one\n")), notebook_of())
    assert stale(notebook_of(shown), notebook_of({**shown, "data": {"text/plain": "0.6"}}))
    assert stale(notebook_of(printed("a b\n")), notebook_of(printed("a  b\n")))
    assert stale(notebook_of(), notebook_of({"output_type": "error", "ename": "ValueError", "evalue": "no"}))
    assert stale(notebook_of(printed("one\ntwo\n")), notebook_of(printed(["one\n"]), printed("two\n"))) == []


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("error 0.374", "error 0.375"),
        ("wrong for 33.1%", "wrong for 33.2%"),
        ("changes by −29.1 (+1.3 to +3.3)", "changes by −29.3 (+1.2 to +3.3)"),
        ("took 1.5 s", "took 22 s"),
        ("on 2025-01-31 12:30", "on 2026-02-01 09:00"),
        ("modicum 0.1.0", "modicum 0.2.1"),
        ("<object at 0x7f00aa11>", "<object at 0x7f00bb22>"),
        ("in /tmp/one/g.json", "in /tmp/two/x/g.json"),
    ],
)
def test_outputs_that_may_vary_are_not_stale(before, now):
    assert stale(notebook_of(printed(before)), notebook_of(printed(now))) == []
