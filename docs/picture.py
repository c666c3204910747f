"""Make the pictures: the report of `modicum demo` and a path's buckets with a browser, benchmark curves without.

    python docs/picture.py [--check] [NAME …]

--check writes nothing, and fails if a benchmark drawing differs from benchmarks/results. Screenshots are not compared,
because their bytes depend on the browser and its fonts.
"""

import json
import math
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import modicum as md
from modicum.cli.commands import demo
from modicum.reporting.charts import DARK, NAMES, RIGHT, ROW, SOFT, WIDTH, bar, circle, line, row_name, svg, text
from modicum.reporting.study.study_charts import colour

HERE = Path(__file__).parent
RESULTS = HERE.parent / "benchmarks" / "results"
PAGE = """<!DOCTYPE html><meta charset="utf-8"><style>
body {{ margin: 12px 16px; font: 15px system-ui, "DejaVu Sans", sans-serif; color: #1f2933; width: 880px; }}
svg {{ font: 13px system-ui, "DejaVu Sans", sans-serif; width: 880px; }}
i {{ display: inline-block; width: .9em; height: .9em; border-radius: 2px; margin: 0 .35em 0 1.2em; }}
</style><p>{legend}</p>{chart}"""


def shot(page: Path, name: str, size: str) -> None:
    """Save Chromium's screenshot of a page as docs/NAME.png."""
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


def drawing(chart: object) -> str:
    """Return a chart as the content of an SVG file with a white background."""
    opening = '<svg xmlns="http://www.w3.org/2000/svg" font-family="DejaVu Sans, sans-serif" font-size="13"'
    paper = '<rect width="100%" height="100%" fill="#fff"/>'
    text = str(chart).replace("<svg", opening, 1).replace(">", f">{paper}", 1)
    return text + "\n"


def report(folder: Path) -> None:
    demo.demo(folder)
    shot(folder / "report.html", "report", "1000,1560")


def merge(folder: Path) -> None:
    """Draw how many buckets each attribute of Adult has along the path, and mark the knee."""
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
        x, point = NAMES + (i + 0.5) * width, points[i]
        side = "middle" if i else "start"
        parts.append(text(x, bottom + 22, f"{point.adversary_error:.0%}", SOFT, side))
        parts.append(text(x, bottom + 40, f"{point.error:.1%}", SOFT, side))
    parts += [text(NAMES - 10, bottom + 22, "adversary wrong", SOFT, "end")]
    parts += [text(NAMES - 10, bottom + 40, "classifier wrong", SOFT, "end")]
    page = folder / "merge.html"
    drawn = svg(parts, bottom + 54, "Buckets of every attribute of Adult along the path")
    page.write_text(PAGE.format(legend="", chart=drawn), encoding="utf-8")
    shot(page, "merge-path", f"920,{bottom + 110}")


def guided() -> str:
    """Draw agreement against NCP for every dataset and model of `reproduce_apt.py` [Goldsteen22 Figures 2 and 3]."""
    figures = json.loads((RESULTS / "reproduce_apt.json").read_text())["figures"]
    titles = {"adult": "Adult", "nursery": "Nursery", "gss": "GSS", "loan": "Loan"}
    models = list(figures["adult"]["models"])
    parts: list[Any] = []
    for i, model in enumerate(models):
        parts += [line(60 + i * 170, 16, 90 + i * 170, 16, colour(i), 3), text(98 + i * 170, 21, model)]
    parts += [text(60 + 3 * 170, 21, "● chosen for 0.98"), text(60 + 4 * 170, 21, "○ the paper's search")]
    for k, (name, title) in enumerate(titles.items()):
        parts += _panel(figures[name], title, 60 + (k % 2) * 430, 60 + (k // 2) * 300)
    label = "Agreement with the model against information loss, for four datasets and three models"
    return drawing(svg(parts, 660, label))


def _panel(figures: dict, title: str, left: float, top: float) -> list[Any]:
    width, height = 370, 220
    floor = math.floor(10 * min(point[1] for own in figures["models"].values() for point in own["curve"])) / 10

    def at(ncp: float, agreement: float) -> tuple[float, float]:
        return left + ncp * width, top + (1 - (agreement - floor) / (1 - floor)) * height

    parts: list[Any] = [text(left, top - 12, title)]
    for step in range(5):
        x, y = left + step * width / 4, top + step * height / 4
        parts += [line(x, top, x, top + height, "#e5e9ee", 1), line(left, y, left + width, y, "#e5e9ee", 1)]
        parts.append(text(x, top + height + 18, f"{step / 4:g}", SOFT, "middle"))
        parts.append(text(left - 6, y + 4, f"{1 - step * (1 - floor) / 4:.0%}", SOFT, "end"))
    parts.append(text(left + width / 2, top + height + 36, "NCP", SOFT, "middle"))
    for i, own in enumerate(figures["models"].values()):
        points = [at(ncp, agreement) for ncp, agreement in own["curve"]]
        parts += [line(*a, *b, colour(i), 2) for a, b in pairwise(points)]
        best, paper = (own["0.98"][search]["global"] for search in ("best", "paper"))
        parts.append(circle(*at(best["ncp"], best["agreement"]), 6, colour(i)))
        there = at(paper["ncp"], paper["agreement"])
        parts += [circle(*there, 6, colour(i)), circle(*there, 4, "#ffffff")]
    return parts


def speed() -> str:
    """Draw time against rows of benchmarks/speed/guided_speed.py, both on logarithmic axes."""
    runs = json.loads((RESULTS / "guided_speed.json").read_text())["figures"]["runs"]
    left, top, width, height = 90, 30, 700, 260

    def at(rows: float, seconds: float) -> tuple[float, float]:
        return left + math.log10(rows / 5_000) / math.log10(200) * width, top + (1 - math.log10(seconds) / 2) * height

    parts: list[Any] = []
    for seconds in (1, 10, 100):
        y = at(5_000, seconds)[1]
        parts += [line(left, y, left + width, y, "#e5e9ee", 1), text(left - 8, y + 4, f"{seconds} s", SOFT, "end")]
    for i, key in enumerate(("seconds", "model_seconds")):
        points = [at(int(rows), run[key]) for rows, run in runs.items()]
        parts += [line(*a, *b, colour(i), 2) for a, b in pairwise(points)]
        parts += [circle(*point, 5, colour(i)) for point in points]
        parts.append(text(points[-1][0] + 10, points[-1][1] + 4, ("fit", "the model")[i], colour(i)))
    for rows in runs:
        parts.append(text(at(int(rows), 1)[0], top + height + 20, f"{int(rows):,}", SOFT, "middle"))
    return drawing(svg(parts, top + height + 34, "Seconds by rows"))


def anonymous() -> str:
    """Draw accuracy against k on Adult with twelve quasi-identifiers, from `reproduce_anonymization.py`."""
    cells = json.loads((RESULTS / "reproduce_anonymization.json").read_text())["figures"]["adult_12"]["cells"]
    methods = ["accuracy-guided", "R+ tree", "Mondrian", "Hilbert"]
    parts: list[Any] = []
    for i, method in enumerate(methods):
        parts += [line(60 + i * 170, 16, 90 + i * 170, 16, colour(i), 3), text(98 + i * 170, 21, method)]
    parts += [line(60 + 4 * 170, 16, 90 + 4 * 170, 16, SOFT, 1), text(98 + 4 * 170, 21, "raw data")]
    for place, model in enumerate(dict.fromkeys(cell["model"] for cell in cells)):
        own = [cell for cell in cells if cell["model"] == model]
        parts += _against_k(own, methods, model, 60 + (place % 2) * 430, 60 + (place // 2) * 290)
    return drawing(svg(parts, 640, "Accuracy against k for four models and four methods"))


def _against_k(cells: list[dict], methods: list[str], title: str, left: float, top: float) -> list[Any]:
    width, height = 370, 210
    found = {method: [(c["k"], c["accuracy"]) for c in cells if c["method"] == method] for method in methods}
    raw = next(cell["accuracy"] for cell in cells if cell["method"] == "raw")
    low = math.floor(50 * min(each for points in found.values() for _, each in points)) / 50
    high = math.ceil(50 * max(raw, *(each for points in found.values() for _, each in points))) / 50

    def at(k: float, accuracy: float) -> tuple[float, float]:
        return left + math.log10(k / 2) / math.log10(500) * width, top + (high - accuracy) / (high - low) * height

    parts: list[Any] = [text(left, top - 12, title)]
    for step in range(round(50 * (high - low)) + 1):
        y = at(2, low + step / 50)[1]
        parts += [line(left, y, left + width, y, "#e5e9ee", 1)]
        parts.append(text(left - 6, y + 4, f"{low + step / 50:.0%}", SOFT, "end"))
    for k in (2, 10, 50, 250, 1000):
        parts.append(text(at(k, low)[0], top + height + 18, f"k = {k}" if k == 2 else str(k), SOFT, "middle"))
    parts.append(line(left, at(2, raw)[1], left + width, at(2, raw)[1], SOFT, 1))
    for i, method in reversed(list(enumerate(methods))):
        points = [at(k, accuracy) for k, accuracy in sorted(found[method])]
        parts += [line(*a, *b, colour(i), 3 if i == 0 else 2) for a, b in pairwise(points)]
    return parts


def prism() -> str:
    """Draw Figures 6 and 7 of [Barbato25], from benchmarks/papers/reproduce_prism.py."""
    figures = json.loads((RESULTS / "reproduce_prism.json").read_text())["figures"]
    shown = [("synthetic", "0.2", "Synthetic, τ = 0.2"), ("bank_balanced", "0.2", "Bank, labels balanced, τ = 0.2")]
    parts: list[Any] = []
    for i, model in enumerate(("SVM", "Parsimony", "PriSM")):
        parts += [line(60 + i * 150, 16, 90 + i * 150, 16, colour(i), 3), text(98 + i * 150, 21, model)]
    parts += [line(60 + 3 * 150, 16, 90 + 3 * 150, 16, SOFT, 1), text(98 + 3 * 150, 21, "nothing asked")]
    for row, (name, threshold, title) in enumerate(shown):
        own, models = figures[name], figures[name]["thresholds"][threshold]["models"]
        score = "balanced_accuracy" if own["class_weight"] else "accuracy"
        attack = "accuracy" if name == "synthetic" else "mcc"
        names = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "mcc": "Matthews correlation"}
        left = _by_predictors(models, lambda m, s=score: m[s], f"{title}: {names[score]}", 60, 70 + row * 290)
        right = _by_predictors(
            models, lambda m, a=attack: m["adversary"][a], f"the adversary's {names[attack]}", 490, 70 + row * 290
        )
        parts += left + right
    parts += [text(left, 615, "attributes that may be asked for", SOFT, "middle") for left in (245, 675)]
    return drawing(svg(parts, 630, "Accuracy and adversary by the number of attributes asked for"))


def _by_predictors(models: list[dict], of: Any, title: str, left: float, top: float) -> list[Any]:
    width, height = 370, 210
    curves = {
        name: [(m["max_predictors"], of(m)["value"]) for m in models if m["model"] == name]
        for name in ("Parsimony", "PriSM")
    }
    whole = of(next(m for m in models if m["model"] == "SVM"))
    every = [value for points in curves.values() for _, value in points] + [whole["value"], whole["naive"]]
    low, high = math.floor(20 * min(every)) / 20, math.ceil(20 * max(every)) / 20

    def at(most: float, value: float) -> tuple[float, float]:
        return left + (most - 3) / 9 * width, top + (high - value) / (high - low) * height

    parts: list[Any] = [text(left, top - 12, title)]
    for step in range(round(20 * (high - low)) + 1):
        y = at(3, low + step / 20)[1]
        parts += [line(left, y, left + width, y, "#e5e9ee", 1)]
        parts.append(text(left - 6, y + 4, f"{low + step / 20:.2f}", SOFT, "end"))
    for most in range(3, 13):
        parts.append(text(at(most, low)[0], top + height + 18, str(most), SOFT, "middle"))
    for value, stroke, thick in ((whole["naive"], SOFT, 1), (whole["value"], colour(0), 2)):
        parts.append(line(*at(3, value), *at(12, value), stroke, thick))
    for i, points in enumerate(curves.values(), 1):
        parts += [line(*at(*a), *at(*b), colour(i), 3) for a, b in pairwise(sorted(points))]
    return parts


def anatomy() -> str:
    """Draw the boxplots of [Mancuhan16] (Figures 5, 6 and C.1 to C.8), from benchmarks/papers/reproduce_anatomy.py."""
    figures = json.loads((RESULTS / "reproduce_anatomy.json").read_text())["figures"]
    kinds = ["original", "identifying", "pruned", "k-anonymous, Mondrian", "k-anonymous, full-domain"]
    parts: list[Any] = []
    for i, (kind, x) in enumerate(zip(kinds, (60, 165, 285, 380, 585), strict=True)):
        parts += [bar(x, 8, 16, colour(i), 16), text(x + 22, 21, kind)]
    for row, name in enumerate(("adult", "bank", "fars", "acs")):
        for column, model in enumerate(("SVC", "SVM")):
            cells = [c for c in figures[name]["variants"] if c["model"] == model and c["kind"] in kinds]
            title = f"{figures[name]['title']}: error of the {'linear SVC' if model == 'SVC' else 'SVM (RBF, Nyström)'}"
            parts += _boxes(cells, kinds, title, 60 + column * 430, 70 + row * 250)
    return drawing(svg(parts, 1060, "Errors over ten folds by training data, on four tables and for two classifiers"))


def _boxes(cells: list[dict], kinds: list[str], title: str, left: float, top: float) -> list[Any]:
    width, height = 370, 170
    cells = sorted(cells, key=lambda cell: (kinds.index(cell["kind"]), cell["level"] or 0))
    every = [end for cell in cells for end in (cell["quartiles"][0], cell["quartiles"][-1])]
    unit = next(u for u in (0.005, 0.01, 0.02, 0.05, 0.1) if (max(every) - min(every)) / u <= 6 or u == 0.1)
    low, high = math.floor(min(every) / unit), math.ceil(max(every) / unit)

    def at(error: float) -> float:
        return top + (high - error / unit) / (high - low) * height

    parts: list[Any] = [text(left, top - 12, title)]
    for step in range(low, high + 1):
        parts += [line(left, at(step * unit), left + width, at(step * unit), "#e5e9ee", 1)]
        parts.append(text(left - 6, at(step * unit) + 4, f"{step * unit:.3f}".rstrip("0") or "0", SOFT, "end"))
    for i, cell in enumerate(cells):
        x, fill = left + (i + 0.5) / len(cells) * width, colour(kinds.index(cell["kind"]))
        least, first, middle, third, most = map(at, cell["quartiles"])
        parts += [line(x, least, x, most, fill, 2), bar(x - 8, third, 16, fill, max(2.0, first - third))]
        parts.append(line(x - 8, middle, x + 8, middle, "#ffffff", 2))
        letter = "k" if cell["kind"].startswith("k-anonymous") else "ℓ"
        under = {"original": "org.", "identifying": "id."}.get(cell["kind"], f"{letter}={cell['level']}")
        parts.append(
            text(x, top + height + 18, under if cell["level"] in (None, 2) else str(cell["level"]), SOFT, "middle")
        )
    return parts


def _shade(left: int) -> str:
    """Return a colour: nearly white if nothing is collected, darker for more buckets."""
    if left <= 1:
        return "#f1f3f6"
    return f"hsl(210, 65%, {92 - 62 * math.log(left) / math.log(128):.0f}%)"


def _key(x: float) -> list:
    shown = []
    for i, (word, left) in enumerate([("none", 1), ("2", 2), ("8", 8), ("32", 32), ("128", 128)]):
        shown += [bar(x + i * 70, 8, 16, _shade(left), 16), text(x + i * 70 + 22, 21, word, SOFT)]
    return shown


TAKEN: dict[str, Callable[[Path], None]] = {"report": report, "merge-path": merge}
DRAWN: dict[str, Callable[[], str]] = {
    "model-guided": guided,
    "model-guided-speed": speed,
    "anonymization": anonymous,
    "prism": prism,
    "anatomy": anatomy,
}


def differing(names: Iterable[str] = tuple(DRAWN)) -> list[str]:
    """List the drawings whose files differ from the results."""
    paths = {name: HERE / f"{name}.svg" for name in names}
    return [n for n, path in paths.items() if not path.exists() or path.read_text(encoding="utf-8") != DRAWN[n]()]


def main(arguments: Sequence[str]) -> None:
    """Make the named pictures, or all; with --check only compare the drawings."""
    names = [name for name in arguments if name != "--check"]
    if "--check" in arguments:
        outdated = differing(names or DRAWN)
        sys.exit(f"Draw again: {', '.join(outdated)}." if outdated else 0)
    for name in names or (*TAKEN, *DRAWN):
        if name in DRAWN:
            (HERE / f"{name}.svg").write_text(DRAWN[name](), encoding="utf-8")
        else:
            with tempfile.TemporaryDirectory() as folder:
                TAKEN[name](Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
