"""Take the picture of the form: questions on a desktop, and the preview of the answers on a phone.

python docs/form_picture.py
"""

import base64
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import modicum as md
from modicum.export.web_form import form_page

HERE = Path(__file__).parent
ASKED = ["age", "education", "hours-per-week"]
QUESTIONS = {
    "age": {"question": "How old are you?"},
    "education": {"question": "What is the highest degree you have?"},
    "hours-per-week": {"question": "How many hours do you work in a usual week?", "help": "All jobs together."},
}
DEGREES = {
    "A doctorate, a master's or a professional degree": ["Doctorate", "Masters", "Prof-school"],
    "A bachelor's or an associate degree": ["Bachelors", "Assoc-acdm", "Assoc-voc"],
}
SIDE_BY_SIDE = """<!DOCTYPE html><style>
body {{ margin: 0; background: #e4e7e3; display: flex; gap: 24px; padding: 24px; align-items: flex-start; }}
img {{ border-radius: 14px; box-shadow: 0 2px 14px #0002; display: block; }}
</style><img src="{left}" width="680"><img src="{right}" width="360">"""


def artifact() -> md.Generalization:
    """Return a generalization of the embedded census data with an officer's wording."""
    X, y = md.datasets.load_adult(return_X_y=True)
    g = md.PrivacyTree(max_leaves=8, privacy=0.3).fit(X[ASKED], y).generalization_
    attributes = {entry["name"]: entry for entry in g.to_dict()["attributes"]}
    none = sorted(set(X["education"]) - {degree for degrees in DEGREES.values() for degree in degrees})
    groups = {**DEGREES, "None of these": none}
    attributes["education"] = {
        "name": "education",
        "buckets": [{"values": values, "label": label} for label, values in groups.items()],
    }
    schema = md.Schema.infer(X, label=None)
    for name, words in QUESTIONS.items():
        schema = schema.replace(name, **words)
    dropped = [{"name": name, "collected": False} for name in schema.names if name not in ASKED]
    return md.Generalization.from_dict(
        g.to_dict() | {"schema": schema.to_dict(), "attributes": [*attributes.values(), *dropped]}
    )


def fill_in(page: Any) -> None:
    for group in page.locator("fieldset:visible:has([type=radio])").all():
        group.locator("input[type=radio]").first.check()


def picture() -> None:
    chromium = shutil.which("chromium") or sys.exit("Chromium is needed to take the picture.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-background-networking", "--disable-gpu"]
        )
        file = Path(folder) / "form.html"
        file.write_text(form_page(artifact(), endpoint="/records", title="About you"), encoding="utf-8")
        desktop = browser.new_page(viewport={"width": 680, "height": 880}, device_scale_factor=2)
        desktop.goto(file.as_uri())
        typed = desktop.locator("fieldset:has(summary)").first
        typed.locator("summary").first.click()
        typed.locator("input:not([type=radio])").first.fill("43")
        typed.locator("input:not([type=radio])").first.press("Tab")
        desktop.evaluate("scrollTo(0, 0)")
        desktop.wait_for_timeout(300)
        questions = desktop.screenshot()
        phone = browser.new_page(viewport={"width": 360, "height": 880}, device_scale_factor=2)
        phone.goto(file.as_uri())
        fill_in(phone)
        phone.locator(".actions .primary").click()
        preview = phone.screenshot()
        both = browser.new_page(viewport={"width": 1112, "height": 928}, device_scale_factor=1.25)
        both.set_content(SIDE_BY_SIDE.format(left=_inline(questions), right=_inline(preview)))
        both.wait_for_timeout(300)
        both.screenshot(path=HERE / "form.png")
        browser.close()


def _inline(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


if __name__ == "__main__":
    picture()
