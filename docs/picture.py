"""Takes the README's pictures: the report that `modicum demo` writes, and the front of a study of the same data.

python docs/picture.py [report|study]
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import modicum as md
from modicum.cli import demo
from modicum.reporting.study_charts import colour, front_chart

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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        for name in sys.argv[1:] or ["report", "study"]:
            {"report": report, "study": study}[name](Path(temporary))
