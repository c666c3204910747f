"""Draws docs/demo.svg, the README's picture: what `modicum demo` prints.

python docs/picture.py
"""

import io
import re
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from modicum.cli import demo

if __name__ == "__main__":
    demo.out = Console(record=True, width=104, highlight=False, file=io.StringIO())
    with tempfile.TemporaryDirectory() as folder:
        demo.demo(Path(folder))
    lines = demo.out.export_text(clear=False, styles=True).splitlines()
    drawn = Console(record=True, width=104, highlight=False, file=io.StringIO())
    for line in lines[:-2]:  # without the place of the file
        drawn.print(Text.from_ansi(line))
    picture = re.sub(r"@font-face \{.*?\}\s*", "", drawn.export_svg(title="modicum demo"), flags=re.DOTALL)
    (Path(__file__).parent / "demo.svg").write_text(picture, encoding="utf-8")
