"""`constraints-lowest.txt` pins what pyproject.toml declares as the lowest version, so that CI tests just these."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_lower_bound_is_the_version_that_is_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = [*project["dependencies"], *extras["serve"], *extras["scale"], *_named(extras["dev"], "polars")]
    bounds = dict(re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", each).groups() for each in declared)
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split()[0].split("==") for line in lines if not line.startswith("#"))
    pinned = {name.lower(): version for name, version in pinned.items()}
    assert {name: _numbers(pinned[name]) for name in bounds} == {name: _numbers(v) for name, v in bounds.items()}


def _named(requirements, name):
    return [each for each in requirements if each.startswith(name)]


def _numbers(version):
    """The version without zeros at the end: 2.1 is 2.1.0."""
    return re.sub(r"(\.0)+$", "", version)
