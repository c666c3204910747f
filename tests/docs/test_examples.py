"""The scripts in examples/ run unchanged."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.services
def test_a_collection_goes_from_raw_records_to_drift(tmp_path):
    command = [sys.executable, str(EXAMPLES / "collect.py"), str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    assert [line[:2] for line in found.stdout.splitlines()] == [f"{i}." for i in range(1, 8)]
    right = int(re.search(r"1,000 people asked, (\d+) of the predictions", found.stdout)[1])
    assert right > 800
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "records.duckdb"]
