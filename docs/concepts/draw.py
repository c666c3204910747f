"""Draw the pictures of the concept pages; their figures are computed from the Adult data.

python docs/concepts/draw.py [--check] [NAME …]   # --check writes nothing, and fails if a picture is out of date
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
    """List the pictures whose files differ from what this script draws."""
    paths = {name: HERE / f"{name}.svg" for name in names}
    return [n for n, path in paths.items() if not path.exists() or path.read_text(encoding="utf-8") != PICTURES[n]()]


def main(arguments: Sequence[str]) -> None:
    """Draw the named pictures, or all; with --check only compare."""
    names = [name for name in arguments if name != "--check"] or list(PICTURES)
    if "--check" in arguments:
        outdated = differing(names)
        sys.exit(f"Draw again: {', '.join(outdated)}." if outdated else 0)
    for name in names:
        (HERE / f"{name}.svg").write_text(PICTURES[name](), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
