"""Draws the pictures of the concepts; the figures in them are counted on the Adult data.

python docs/concepts/draw.py [--check] [NAME …]   # --check writes nothing, and fails where a picture is another
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pictures.adversaries import adversaries
from pictures.anatomy import anatomy
from pictures.anonymity import anonymity
from pictures.certificate import certificate
from pictures.correlations import correlations
from pictures.generalization import generalization

HERE = Path(__file__).parent

PICTURES: dict[str, Callable[[], str]] = {
    "generalization": generalization,
    "adversaries": adversaries,
    "certificate": certificate,
    "anonymity": anonymity,
    "anatomy": anatomy,
    "correlations": correlations,
}


def differing(names: Iterable[str] = tuple(PICTURES)) -> list[str]:
    """The pictures that are not what this script draws."""
    places = {name: HERE / f"{name}.svg" for name in names}
    return [n for n, at in places.items() if not at.exists() or at.read_text(encoding="utf-8") != PICTURES[n]()]


def main(asked: Sequence[str]) -> None:
    """Draw the pictures named, or all; with --check only compare."""
    names = [name for name in asked if name != "--check"] or list(PICTURES)
    if "--check" in asked:
        wrong = differing(names)
        sys.exit(f"Draw again: {', '.join(wrong)}." if wrong else 0)
    for name in names:
        (HERE / f"{name}.svg").write_text(PICTURES[name](), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
