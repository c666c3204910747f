"""Write docs/report-schema.md: every field of a report's JSON, from the models that validate it.

python docs/schema_page.py
"""

from pathlib import Path
from typing import Any

from modicum.reporting._report import json_schema

PAGE = Path(__file__).parent / "report-schema.md"
TITLES = {
    "report": "A generalization (`md.evidence`; `modicum report`, `minimize --report`)",
    "attacks": "The adversaries (`md.attacks.suite`; `modicum attack --report`)",
    "study": "A study (`md.study`; `modicum study --report`)",
    "release": "A k-anonymous release (`md.evidence`; `modicum anonymize --report`)",
    "anatomy": "An anatomized release (`md.evidence`; `modicum anatomize --report`)",
    "prism": "A PriSM classifier (`md.evidence`; `modicum prism --report`)",
}
HEAD = """# The JSON of a report

A report is one JSON object; the HTML page and the Markdown file hold the same numbers. `modicum` is the kind of report,
`version` the version of its format. This page is generated from the models that validate every report before it is
written (`docs/schema_page.py`); `modicum.reporting.json_schema(kind)` returns the same as a JSON Schema for programs:

```python
from modicum.reporting import json_schema

assert json_schema("report")["properties"]["certificate"]
```

Shares run from 0 to 1. Counts of people are rounded to tens, and counts below ten are shown as "< 10"; shares of people
are rounded in the same way, so that no count under ten can be derived. A number that does not exist is `null`.
"""


def page() -> str:
    """Return the page's text."""
    parts = [HEAD]
    for kind, title in TITLES.items():
        parts += [f"## {title}", f"`modicum: {kind}`", *_objects(json_schema(kind))]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _objects(schema: dict[str, Any]) -> list[str]:
    parts = {f"#/$defs/{name}": part for name, part in schema.get("$defs", {}).items()}
    found = [_table(schema, parts)]
    for name, part in sorted(schema.get("$defs", {}).items()):
        if "properties" in part:
            found += [f"**{_name(name)}.** {' '.join(part.get('description', '').split())}", _table(part, parts)]
    return found


def _table(schema: dict[str, Any], parts: dict[str, Any]) -> str:
    lines = ["| field | type | content |", "| --- | --- | --- |"]
    for name, field in schema["properties"].items():
        held = parts.get(field.get("$ref", ""), {})
        text = field.get("description") or held.get("description", "")
        description = " ".join(text.split()).replace("|", "\\|")
        lines.append(f"| `{name}` | {_type(field)} | {description} |")
    return "\n".join(lines)


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return _name(field["$ref"].rsplit("/", 1)[1])
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_type(each) for each in field["anyOf"]))
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return " or ".join(f"`{each}`" for each in field["enum"])
    match field.get("type"):
        case "array":
            held = _type(field.get("items", {}))
            return f"list of ({held})" if " or " in held else f"list of {held}"
        case "object":
            inside = field.get("additionalProperties")
            return f"name → {_type(inside)}" if isinstance(inside, dict) else "object"
        case "string":
            return "text"
        case "boolean":
            return "true or false"
        case None:
            return "any"
        case other:
            return str(other)


def _name(definition: str) -> str:
    return definition.rsplit("__", 1)[-1].removesuffix("Content") or "report"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
