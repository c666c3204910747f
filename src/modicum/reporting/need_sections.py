"""Why each attribute is collected as it is, and what else could have been: two sections of a report."""

from dataclasses import replace
from typing import Any

from markupsafe import Markup

from modicum.reporting.document import Block, Cell, Column, Picture, Section, Sign, Table, Text
from modicum.reporting.formats import number, percent, points, points_interval
from modicum.reporting.svg import AMBER, BLUE, DARK, GREEN, GREY, RED, SOFT, WIDTH, circle, line, svg, text


def need_sections(content: dict[str, Any]) -> list[Section]:
    """What one step coarser or leaving out would cost, and what asking more would bring."""
    necessity = content["necessity"]
    asked = {n: a for n, a in necessity["attributes"].items() if a["without"]}
    left_out = {n: a for n, a in necessity["attributes"].items() if a["in_full"]}
    how = (
        f"Measured on {number(necessity['records'])} test records, each change for the same people with and without it "
        f"({necessity['estimator']}, trained on {number(necessity['trained_on'])} records; the adversary of these "
        f"differences is {necessity['adversary']}). Changes are in percentage points, with 95% intervals: of wrong "
        "predictions (above 0 the model gets worse), of the skill that is kept (below 0 it gets worse), and of the "
        "adversary’s mean error about personal values (above 0 it learns less). An interval that holds 0 shows no "
        "difference."
    )
    rule = (
        "“Needed” is what makes the prediction worse when it is left out, by the interval of the wrong predictions or "
        "of the skill, and also when it is asked one step coarser; where asking it coarser does no harm, it could be "
        "coarser. Where leaving it out is not shown to do harm, it is not shown to be needed. The verdicts rest on the "
        "intervals before these are widened to tens of people, which is why one that ends at 0.0 may still decide."
    )
    found = [Section("Why each attribute is needed", [Text(how, "soft"), Text(rule, "soft"), *_asked(asked)])]
    if left_out:
        found.append(Section("What is not asked, and what asking it would bring", [_table(left_out, ["in_full"])]))
    found[-1] = replace(found[-1], blocks=[*found[-1].blocks, Text(necessity["note"], "soft")])
    return found


def _asked(asked: dict[str, Any]) -> list[Block]:
    return [_table(asked, ["without", "coarser"])] if asked else [Text("Nothing is collected.")]


def _table(needs: dict[str, Any], kinds: list[str]) -> Table:
    columns = [Column(title, is_number=False) for title in ("attribute", "change")]
    columns += [Column("wrong predictions"), Column("skill kept"), Column("adversary’s error")]
    rows: list[list[Cell | str]] = []
    for name, need in needs.items():
        steps = [need[kind] for kind in kinds if need[kind]]
        for i, step in enumerate(steps):
            rows.append(["" if i else Cell(name, [need["verdict"]]), step["what"], *_changes(step)])
    return Table(columns, rows)


def _changes(step: dict[str, Any]) -> list[Cell]:
    return [
        Cell(points(step[f"{what}_change"]), [ends] if (ends := points_interval(step[f"{what}_interval"])) else [])
        for what in ("error", "skill", "adversary")
    ]


def alternatives_section(content: dict[str, Any], headline: tuple[float, float]) -> Section:
    """The points of the trade-off that were compared, the one that was taken, and why.

    `headline` is the model's and the adversary's error of the taken one elsewhere in the report.
    """
    shown = len(content["points"])
    of = f", of which {shown} are shown" if content["considered"] > shown else ""
    told = (
        f"{number(content['considered'])} ways to collect are compared{of}, from a {content['source']}; scored on "
        f"{number(content['records'])} test records, {content['judge']}. The further left, the better the model; the "
        "higher, the less is learned about people."
    )
    differs = (
        "These figures are for comparing the ways with each other. Those of the one that was taken may differ from the "
        f"rest of this report, where its model’s error is {percent(headline[0])} and the adversary’s "
        f"{percent(headline[1])}: there it alone is judged, by all records and the strongest of several adversaries. "
        "To choose another way after looking at these test records would need other test records."
    )
    columns = [Column("what is collected", is_number=False), Column("attributes"), Column("buckets")]
    columns += [Column("model’s error"), Column("skill kept"), Column("adversary’s error")]
    rows: list[list[Cell | str]] = [
        ["everything, as it is", "", "", *_ends(content["raw_data"])],
        *(_point(point) for point in content["points"]),
    ]
    if all(point["needed"] for point in content["points"]):
        rows.append(["nothing collected", "", "", *_ends(content["nothing_collected"])])
    signs = [Sign("considered", BLUE, "dot"), Sign("taken", RED, "dot"), Sign("raw data", AMBER, "dot")]
    signs.append(Sign("nothing collected", GREEN, "dot"))
    return Section(
        "Alternatives considered",
        [
            Text(f"Why this one: {_sentence(content['why'])}"),
            Text(told, "soft"),
            Text(differs, "soft"),
            Picture(trade_off_chart(content), signs),
            Table(columns, rows),
        ],
    )


def _sentence(words: str) -> str:
    return words if words.endswith(".") else f"{words}."


def _ends(end: dict[str, Any]) -> list[str]:
    return [percent(end["error"]), "", percent(end["adversary_error"])]


def _point(point: dict[str, Any]) -> list[Cell | str]:
    name = Cell(point["name"], ["taken"] if point["chosen"] else [])
    figures = [percent(point["error"]), percent(point["skill_kept"], 1), percent(point["adversary_error"])]
    return [name, number(point["needed"]), number(point["buckets"]), *figures]


def trade_off_chart(content: dict[str, Any]) -> Markup:
    """The model's error against the adversary's, for every point and the two ends."""
    ends = content["raw_data"], content["nothing_collected"]
    everyone = [*content["points"], *ends]
    low, high = (f(p["error"] for p in everyone) for f in (min, max))
    top = max(p["adversary_error"] for p in everyone) or 1.0
    span, height, left = max(high - low, 1e-9), 260, 70

    def place(point: dict[str, Any]) -> tuple[float, float]:
        across = left + 20 + (point["error"] - low) / span * (WIDTH - left - 60)
        return across, 20 + height - point["adversary_error"] / (1.08 * top) * height

    parts = [line(left, 20, left, 20 + height, GREY, 1), line(left, 20 + height, WIDTH - 20, 20 + height, GREY, 1)]
    for i in range(5):
        value = {"error": low + span * i / 4, "adversary_error": top * i / 4}
        x, y = place(value)
        parts += [
            line(left, y, WIDTH - 20, y, "#eef1f4", 1),
            text(left - 8, y + 4, percent(value["adversary_error"]), SOFT, "end"),
            text(x, 38 + height, percent(value["error"]), SOFT, "middle"),
        ]
    shown = sorted(content["points"], key=lambda p: (p["error"], -p["adversary_error"]))
    parts += [circle(*place(p), 5, BLUE) for p in shown if not p["chosen"]]
    parts += [circle(*place(end), 6, colour) for end, colour in zip(ends, (AMBER, GREEN), strict=True)]
    parts += [circle(*place(p), 8, RED) for p in shown if p["chosen"]]
    parts.append(text(left + 8, 14, "adversary’s error", DARK))
    parts.append(text(WIDTH - 20, 56 + height, "model’s error", DARK, "end"))
    return svg(parts, height + 66, "The model's error against the adversary's, for each way to collect")
