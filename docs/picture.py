"""Takes docs/report.png, the README's picture: the report that `modicum demo` writes, as Chromium shows it.

python docs/picture.py
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from modicum.cli import demo

if __name__ == "__main__":
    chromium = shutil.which("chromium") or sys.exit("Chromium is needed to take the picture.")
    with tempfile.TemporaryDirectory() as folder:
        demo.demo(Path(folder))
        command = [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-sync",
            f"--user-data-dir={folder}/profile",
            "--hide-scrollbars",
            "--force-device-scale-factor=1.25",
            "--window-size=1000,900",
            f"--screenshot={Path(__file__).parent / 'report.png'}",
            (Path(folder) / "report.html").as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
