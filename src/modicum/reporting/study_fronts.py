"""What a study compared: utility against privacy, the minimizers, the front, training sizes and later records."""

from collections.abc import Iterable, Sequence
from typing import Any

from modicum.measures.certificate import confidence_text
from modicum.reporting import study_charts
from modicum.reporting.disclosure import at_least
from modicum.reporting.document import Block, Cell, Column, Picture, Section, Sign, Table, Text
from modicum.reporting.formats import NONE, count_of, decimals, interval, number, percent

WORDS = (
    "A minimizer is a method that proposes what to collect, and each proposal is a candidate: some attributes are left "
    "out, others are asked in buckets (ranges or groups of values). For each candidate there are two errors. That of "
    "the classifier, which makes the prediction, should be low; that of the adversary, who guesses personal values "
    "from the collected record, should be high. The front are the candidates that no other one beats in both, and its "
    "inflection point is where a little more utility begins to cost much privacy."
)


def utility_against_privacy(content: dict[str, Any]) -> Section:
    """The picture of all candidates, and the ends that they lie between."""
    chosen = content["chosen"]
    signs = [*_signs(m["name"] for m in content["minimizers"]), *([Sign("◯ chosen")] if chosen else [])]
    ends = {"raw data, in full detail": content["raw_data"], "nothing collected": content["nothing_collected"]}
    columns = [Column("what is collected", False), Column("classifier’s error"), Column("adversary’s error")]
    rows: list[list[Cell | str]] = [
        [name, percent(end["error"]), percent(end["adversary_error"])] for name, end in ends.items()
    ]
    if chosen is not None:
        rows.insert(1, [f"chosen: {chosen['name']}", *_both(chosen)])
    blocks: list[Block] = [
        Text(WORDS),
        Text(_drawn(content), "soft"),
        Picture(study_charts.front_chart(content), [*signs, Sign("★ raw data, nothing collected")]),
        Table(columns, rows),
        *([] if content["front"] else [Text(_weights(content["weights"]), "soft")]),
    ]
    return Section("Utility against privacy", blocks)


def _weights(weights: dict[str, float]) -> str:
    """What the front's table tells where there is a front."""
    told = ", ".join(f"{name} ({percent(weight)})" for name, weight in weights.items())
    return f"The adversary’s error is the mean over the personal attributes with these weights: {told}."


def _drawn(content: dict[str, Any]) -> str:
    if content["fronts_of"] == "each":
        lines = "The lines are what each minimizer’s front reaches, as judged."
    else:
        all_together = ", the dark line what the front of all together reaches as judged" if content["front"] else ""
        lines = f"Thin lines are what each minimizer’s front reaches by counts{all_together}."
    return (
        f"Each dot is one of the {count_of(content['candidates_of_first_seed'], 'candidate')} of the first split of "
        f"the records, on its test records (of {count_of(content['test_people'], 'person', 'people')}): the further "
        "left, the better the model; the higher, the less is learned about people. Small faint dots are by counts (a "
        f"quick model that only counts); the {number(content['judged'])} larger ones were judged by stronger models. "
        f"{lines} Fronts are chosen on validation records, which are others than the test records. Every dot is a "
        "line of the annex."
    )


def _both(each: dict[str, Any]) -> list[Cell]:
    errors = ((each["error"], each["error_interval"]), (each["adversary_error"], each["adversary_interval"]))
    return [Cell(percent(value), _lines(interval(ends))) for value, ends in errors]


def minimizers(content: dict[str, Any]) -> Section:
    """Each minimizer beside the others."""
    by_judges, found = content["fronts_of"] == "each", content["minimizers"]
    columns = [Column("minimizer", False), Column("candidates"), Column("hypervolume by counts")]
    columns += [Column("hypervolume judged")] if by_judges else []
    columns += [Column(f"at raw +{percent(r['above_raw'])}") for r in (found[0]["reached"] if found else [])]
    told = (
        "The hypervolume is the share of the area between the two ends that a front reaches: 1 would be the raw "
        "model’s error with an adversary who learns nothing. It stands with its 95% interval over seeds. The columns "
        "“at raw +” are the adversary’s error that is reached, by counts with the first seed, where the classifier’s "
        "error is at most so much above that on raw data. Candidates are those of the first split, beside those of "
        "all seeds and training sizes; seconds are those of all."
    )
    blocks: list[Block] = [Text(content["comparison"])] if content["comparison"] else []
    rows = [_minimizer(each, by_judges) for each in found]
    return Section("Minimizer by minimizer", [*blocks, Text(told, "soft"), Table([*columns, Column("seconds")], rows)])


def _minimizer(each: dict[str, Any], by_judges: bool) -> list[Cell | str]:
    volume = each["hypervolume"]
    made = [f"{number(each['candidates_of_all_seeds'])} in all", f"{number(each['judged'])} judged"]
    return [
        each["name"],
        Cell(number(each["candidates"]), made),
        Cell(number(volume["mean"]), [*_lines(decimals(volume["interval"])), count_of(volume["seeds"], "seed")]),
        *([number(volume["judged"])] if by_judges else []),
        *(percent(reached["adversary_error"]) for reached in each["reached"]),
        number(each["seconds"], 1),
    ]


def front(content: dict[str, Any]) -> list[Section]:
    """The candidates to choose from, and what each attribute has to do with it."""
    found, many = content["front"], content["candidates"]
    if not found:
        return []
    holds = "holds" if many == 1 else f"holds for all {number(many)} candidates together"
    told = (
        f"The {count_of(len(found), 'judged candidate')} that no other one beats in both errors on validation records; "
        f"the numbers are those of test records, with 95% intervals. The certified error is from validation records "
        f"and {holds}, with {confidence_text(content['confidence'])} confidence. The smallest group is how many people "
        "share the rarest combination of answers."
    )
    columns = [Column("candidate", False), Column("attributes"), Column("buckets"), Column("classifier’s error")]
    columns += [
        Column("adversary’s error"),
        Column("certified at least"),
        Column("smallest group"),
        Column("skill kept"),
    ]
    table = Table(columns, [_candidate(each) for each in found])
    return [Section("The front", [Text(told, "soft"), table]), _along(content)]


def _candidate(each: dict[str, Any]) -> list[Cell | str]:
    return [
        Cell(each["name"], ["the chosen one"] if each["chosen"] else []),
        number(each["needed"]),
        number(each["buckets"]),
        *_both(each),
        at_least(each["certified_error"]),
        number(each["smallest_group"]),
        percent(each["skill_kept"]),
    ]


def _along(content: dict[str, Any]) -> Section:
    found = content["personal"]
    drawn = [each for each in found if each["drawn"]]
    some = f" Drawn are the {len(drawn)} with the largest change; the table has all." if len(drawn) < len(found) else ""
    told = (
        "The adversary’s error about each personal attribute for the points of the front, with the error of the naive "
        f"guess (the usual value, without seeing a record) as a faint dotted line.{some}"
    )
    columns = [Column("personal attribute", False), Column("weight"), Column("lowest error on the front")]
    columns += [Column("highest error on the front"), Column("naive guess")]
    rows = [[each["name"], *(percent(each[key]) for key in ("weight", "lowest", "highest", "naive"))] for each in found]
    picture = Picture(study_charts.attributes_chart(content))
    return Section("Attribute by attribute along the front", [Text(told, "soft"), picture, Table(columns, rows)])


def sizes(content: dict[str, Any]) -> Section:
    """How many records it takes."""
    seeds, found = len(content["seeds"]), content["sizes"]
    ends = ", with its 95% interval" if seeds > 1 else ""
    told = (
        "Hypervolume by counts where the minimizers learn from a part of the training records, mean over "
        f"{count_of(seeds, 'seed')}{ends}."
    )
    reaches = (
        f"What {found['minimizer']} reaches with the first seed, by counts, from these shares of the training records; "
        "the points are in the annex."
    )
    columns = [Column("minimizer", False), Column("share of the training records"), Column("hypervolume")]
    columns += [Column("95% interval"), Column("seeds")]
    rows = [
        [each["name"], size_text(s), number(s["mean"]), decimals(s["interval"]) or NONE, number(s["seeds"])]
        for each in content["minimizers"]
        for s in each["sizes"]
    ]
    fronts = study_charts.fronts_chart(found["series"], "Front for each training size")
    blocks: list[Block] = [
        Text(told, "soft"),
        Picture(study_charts.sizes_chart(content), _signs(each["name"] for each in content["minimizers"])),
        Table(columns, rows),
        Text(reaches, "soft"),
        Picture(fronts, _signs(size_text(s) for s in found["series"])),
    ]
    return Section("How many records it takes", blocks)


def later(content: dict[str, Any]) -> Section:
    """The same generalizations on other records."""
    found = content["later"]
    told = (
        "The same generalizations on other records: classifier and adversary learn anew there. Stars are raw data and "
        "nothing collected; the points are in the annex."
    )
    columns = [Column("records", False), Column("candidates of the front"), Column("error on raw data")]
    columns += [Column("majority guess"), Column("naive adversary")]
    keys = ("raw_error", "majority_error", "naive")
    rows = [[each["name"], number(len(each["points"])), *(percent(each[key]) for key in keys)] for each in found]
    drawing = study_charts.fronts_chart(found, "The front on later records", marks=True)
    picture = Picture(drawing, _signs(each["name"] for each in found))
    return Section("On later records", [Text(told, "soft"), picture, Table(columns, rows)])


def size_text(each: dict[str, Any]) -> str:
    """A share of the training records."""
    return f"{100 * each['train_size']:.4g}%"


def _signs(names: Iterable[str]) -> list[Sign]:
    return [Sign(name, study_charts.colour(i)) for i, name in enumerate(names)]


def _lines(text: str) -> Sequence[str]:
    return [text] if text else []
