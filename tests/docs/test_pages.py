"""Every code block of every page and every notebook runs, and the page shows its output.

A page's blocks share one folder that holds `people.csv` (a part of the embedded data with an `id`, a label `bought` and
a sensitive `illness`), the same records as Parquet in `people/`, and other people with the same columns in `later/`.
page_blocks.py reads blocks, page_run.py and page_commands.py run them, and test_page_checker.py tests that broken
blocks are found.
"""

import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from page_blocks import blocks_of
from page_commands import SPARK
from page_notebooks import run_notebook, stale
from page_run import run_page

import modicum as md

ROOT = Path(__file__).parents[2]
QUICK = {"README.md", "CONTRIBUTING.md"}


def pages() -> list[str]:
    """All pages: those in the root, and those of the documentation."""
    every = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    return [path.relative_to(ROOT).as_posix() for path in every]


def with_blocks() -> list[str]:
    """The pages that have a fence; another test checks how their blocks are written."""
    return [page for page in pages() if "```" in (ROOT / page).read_text(encoding="utf-8")]


def on_spark() -> list[str]:
    """The pages with a command that asks for Spark."""
    command = re.compile(rf"^modicum .*{SPARK}", flags=re.MULTILINE)
    return [page for page in pages() if command.search((ROOT / page).read_text(encoding="utf-8"))]


def make_people(rows: slice) -> pd.DataFrame:
    """People of the embedded data with an id, a label `bought`, and an illness that depends on age a little."""
    X, y = md.datasets.load_adult(return_X_y=True)
    X, y = X[rows], y[rows]
    random = np.random.default_rng(rows.start or 0)
    names = np.array(["asthma", "back pain", "diabetes", "flu", "heart disease", "migraine"])
    illness = names[(random.integers(0, 6, len(X)) + (X["age"] > 50) * random.integers(0, 2, len(X))) % 6]
    bought = np.where(y == y.max(), "yes", "no")
    return X.assign(id=np.arange(len(X)) + 100_000, illness=illness, bought=bought)


@pytest.fixture(scope="session")
def people_tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """3,000 people, and 1,000 others."""
    return make_people(slice(3_000)), make_people(slice(3_000, 4_000))


@pytest.fixture
def folder(tmp_path, monkeypatch, people_tables) -> Path:
    """A folder with only the people's files, to run a page in."""
    people, later = people_tables
    people.to_csv(tmp_path / "people.csv", index=False)
    for name, table in (("people", people), ("later", later)):
        (tmp_path / name).mkdir()
        table.drop(columns="id").to_parquet(tmp_path / name / "part-0.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", pages())
def test_every_block_of_a_page_is_one_that_the_tests_run(page):
    blocks_of(ROOT / page)


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=() if page in QUICK else pytest.mark.slow) for page in with_blocks()]
)
def test_the_blocks_of_a_page_run(page, folder):
    run_page(ROOT / page, folder)


@pytest.mark.services
@pytest.mark.parametrize("page", on_spark())
def test_the_blocks_of_a_page_run_on_spark(page, folder):
    if shutil.which("java") is None:
        pytest.skip("Java is not here")
    run_page(ROOT / page, folder, spark=True)


NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.name for path in NOTEBOOKS])
def test_a_notebook_prints_its_stored_output(path, folder):
    import nbformat

    assert stale(nbformat.read(path, as_version=4), run_notebook(path, folder)) == []
