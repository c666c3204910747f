"""The page on a report's JSON is what the models say."""

import importlib.util
from pathlib import Path

import pytest
from report_numbers import undocumented

from modicum.reporting import json_schema
from modicum.reporting._report import KINDS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_made_of_the_models():
    spec = importlib.util.spec_from_file_location("schema_page", DOCS / "schema_page.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert (DOCS / "report-schema.md").read_text(encoding="utf-8") == script.page()


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_every_kind_is_described(kind):
    assert undocumented(json_schema(kind)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_says_which_it_is(kind):
    assert json_schema(kind)["properties"]["modicum"]["const"] == kind
