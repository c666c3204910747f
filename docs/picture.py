"""Takes the pictures: the report that `modicum demo` writes, the front of a study of the same data, a path's buckets.

python docs/picture.py [report|study|merge]
"""

import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import modicum as md
from modicum.cli import demo
from modicum.reporting.study_charts import colour, front_chart
from modicum.reporting.svg import DARK, NAMES, RIGHT, ROW, SOFT, WIDTH, bar, line, row_name, svg, text

HERE = Path(__file__).parent
PAGE = """<!DOCTYPE html><meta charset="utf-8"><style>
body {{ margin: 12px 16px; font: 15px system-ui, "DejaVu Sans", sans-serif; color: #1f2933; width: 880px; }}
svg {{ font: 13px system-ui, "DejaVu Sans", sans-serif; width: 880px; }}
i {{ display: inline-block; width: .9em; height: .9em; border-radius: 2px; margin: 0 .35em 0 1.2em; }}
</style><p>{legend}</p>{chart}"""


def shot(page: Path, name: str, size: str) -> None:
    """One page as Chromium shows it, as docs/NAME.png."""
    chromium = shutil.which("chromium") or sys.exit("Chromium is needed to take the picture.")
    command = [
        chromium,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-sync",
        f"--user-data-dir={page.parent}/profile",
        "--hide-scrollbars",
        "--force-device-scale-factor=1.25",
        f"--window-size={size}",
        f"--screenshot={HERE / f'{name}.png'}",
        page.as_uri(),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def report(folder: Path) -> None:
    demo.demo(folder)
    shot(folder / "report.html", "report", "1000,900")


def study(folder: Path) -> None:
    adult = md.datasets.load_adult()
    content = md.study(adult.X, adult.y, schema=adult.schema, seeds=1).report().to_dict()
    named = [f'<i style="background:{colour(i)}"></i>{m["name"]}' for i, m in enumerate(content["minimizers"])]
    page = folder / "study.html"
    page.write_text(PAGE.format(legend="".join(named), chart=front_chart(content)), encoding="utf-8")
    shot(page, "study", "920,590")


def merge(folder: Path) -> None:
    """How many buckets each attribute of Adult has left along the path, and where the knee is."""
    adult = md.datasets.load_adult()
    found = md.MergePath(schema=adult.schema, progress=False).fit(adult.X, adult.y)
    points = found.path_
    names = points[0].generalization.names
    width, top = (WIDTH - NAMES - RIGHT) / len(points), 56
    parts = [text(NAMES, 20, "buckets left: "), *_key(NAMES + 110)]
    for r, name in enumerate(names):
        parts.append(row_name(name, top + r * ROW))
        for i, point in enumerate(points):
            left = point.generalization[name].n_buckets
            parts.append(bar(NAMES + i * width, top + r * ROW + 3, width + 0.3, _shade(left), 20))
    knee = NAMES + (found.choice_.index + 0.5) * width
    bottom = top + len(names) * ROW
    parts += [line(knee, top - 6, knee, bottom + 6, DARK, 2), text(knee, top - 12, "knee", DARK, "middle")]
    for i in (0, len(points) // 4, len(points) // 2, 3 * len(points) // 4, len(points) - 1):
        x, told = NAMES + (i + 0.5) * width, points[i]
        side = "middle" if i else "start"
        parts.append(text(x, bottom + 22, f"{told.adversary_error:.0%}", SOFT, side))
        parts.append(text(x, bottom + 40, f"{told.error:.1%}", SOFT, side))
    parts += [text(NAMES - 10, bottom + 22, "adversary wrong", SOFT, "end")]
    parts += [text(NAMES - 10, bottom + 40, "classifier wrong", SOFT, "end")]
    page = folder / "merge.html"
    drawn = svg(parts, bottom + 54, "Buckets of every attribute of Adult along the path")
    page.write_text(PAGE.format(legend="", chart=drawn), encoding="utf-8")
    shot(page, "merge-path", f"920,{bottom + 110}")


def _shade(left: int) -> str:
    """White where nothing is collected, darker the more buckets are left."""
    if left <= 1:
        return "#f1f3f6"
    return f"hsl(210, 65%, {92 - 62 * math.log(left) / math.log(128):.0f}%)"


def _key(x: float) -> list:
    shown = []
    for i, (word, left) in enumerate([("none", 1), ("2", 2), ("8", 8), ("32", 32), ("128", 128)]):
        shown += [bar(x + i * 70, 8, 16, _shade(left), 16), text(x + i * 70 + 22, 21, word, SOFT)]
    return shown


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        for name in sys.argv[1:] or ["report", "study", "merge"]:
            {"report": report, "study": study, "merge": merge}[name](Path(temporary))
