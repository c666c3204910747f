"""The page on a report's JSON is generated from the models."""

import importlib.util
from pathlib import Path

import pytest
from report_numbers import undocumented

from modicum.reporting import json_schema
from modicum.reporting._report import KINDS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_has_every_kind_and_is_what_its_script_writes():
    spec = importlib.util.spec_from_file_location("schema_page", DOCS / "schema_page.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.TITLES.keys() == KINDS.keys()
    assert (DOCS / "report-schema.md").read_text(encoding="utf-8") == script.page()


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_every_kind_is_described(kind):
    assert undocumented(json_schema(kind)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_of_every_kind_names_the_kind(kind):
    assert json_schema(kind)["properties"]["modicum"]["const"] == kind
