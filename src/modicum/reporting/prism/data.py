"""The data of a report on a PriSM classifier: its fields, its sentences, and how evidence fills them."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from modicum.evaluation import AttributeReason, PrismAlternative, PrismEvidence
from modicum.evaluation.evidence.prism_cost import PARSIMONY, PRISM, SVM
from modicum.evaluation.evidence.prism_reasons import is_balanced
from modicum.measures.certificate import Certificate, confidence_text
from modicum.prism import Correlation
from modicum.reporting.disclosure import (
    FEW_TEXT,
    LEAST_RECORDS,
    at_most,
    change,
    change_outward,
    check_size,
    combinations,
    few,
    outward,
    tens,
    tens_up,
)
from modicum.reporting.formats import count_of, no_better, number, percent, quote_name
from modicum.reporting.parts import ContentPart, Ends, Few, Head, Share
from modicum.reporting.sources import provenance
from modicum.table.codes import FEW
from modicum.table.values import plain

Change = Annotated[float, Field(ge=-1, le=1)]


class PrismRule(ContentPart):
    """What it means that attributes reveal the sensitive one."""

    measure: str = Field(description="How strength is measured; cramers_v is Cramér's V.")
    threshold: float = Field(description="The strength from which a set reveals.")
    p_value: float = Field(description="The largest chance of such a strength if there were no relation.")
    max_size: int = Field(description="The most attributes of a set that was searched.")
    encoding: str = Field(description="Critical values together (single), one by one (multiple), both, or whole.")
    correction: str | None = Field(description="Of p-values for the number of tests; null for none.")
    bins: int = Field(description="Into how many ranges numbers are cut for this.")
    tested: list[int] = Field(description="How many sets of one attribute, of two, and so on were tested.")


class Strength(ContentPart):
    """How strongly attributes tell of the sensitive one."""

    strength: float = Field(description="The measured strength.")
    by_chance: float | None = Field(description="The strength that unrelated attributes with as many values have.")
    p_value: float | None = Field(description="The chance of such a strength if there were no relation.")


class Revealing(Strength):
    """A smallest set of attributes that reveals."""

    attributes: list[str] = Field(description="The set.")
    about: str = Field(description="The sensitive attribute, with the value where it is one; rare values unnamed.")
    is_known: bool = Field(description="Whether the data's owner named it.")
    kept_out: list[str] = Field(description="Those of its attributes that are not asked for.")


class Other(ContentPart):
    """What another choice of attributes would change."""

    instead_of: str | None = Field(description="The attribute whose place it takes; null where it takes none.")
    objective: float = Field(description="Relative change of what training minimizes; below 0 is better.")
    error: Change | None = Field(
        description="Change of the error on test records; below 0 is better; null as the errors are."
    )
    interval: Ends = Field(description="Its 95% interval.")


class PrismAttribute(ContentPart):
    """An attribute and why it is asked for or not."""

    name: str = Field(description="The attribute.")
    columns: list[str] = Field(description="Its columns in the data.")
    status: Literal["asked", "left out", "sensitive", "not considered"] = Field(description="What was decided.")
    reason: str = Field(description="The reason as a word; see AttributeReason.")
    why: str = Field(description="The reason in a sentence.")
    sets: int = Field(description="In how many of the smallest revealing sets it is.")
    completes: int = Field(description="How many of them would be whole if it were asked as well.")
    alone: Strength | None = Field(description="What it tells by itself.")
    other: Other | None = Field(description="Not asking for it, or asking for it as well.")
    instead: Other | None = Field(description="Asking for it in place of another of its set.")


class Proof(ContentPart):
    """How good the choice is."""

    is_proven: bool = Field(description="Whether no allowed choice is better, up to the gap asked for.")
    objective: float | None = Field(
        description="What training reached; null where nothing is asked for, since labels could be counted from it."
    )
    bound: float | None = Field(description="What no allowed choice falls below; null where the objective is.")
    gap: float = Field(description="(objective − bound) / objective.")
    max_predictors: int = Field(description="The most attributes that could be asked for.")
    max_feasible: int = Field(description="The most that hold no revealing set.")
    remeasured: int | None = Field(description="Sets of predictors that were measured once more; null for none.")
    together: Strength = Field(description="What all predictors tell together.")


class PrismModel(ContentPart):
    """One classifier's error."""

    model: Literal["PriSM", "Parsimony", "SVM"] = Field(description="Which one.")
    asks: int = Field(description="How many attributes it needs.")
    predictors: list[str] = Field(description="Which.")
    error: Share | None = Field(
        description="Share of test records predicted wrong; null where every label counts the same and one is rare."
    )
    interval: Ends = Field(description="Its 95% interval.")


class PrismUtility(ContentPart):
    """What the restriction costs."""

    is_balanced: bool = Field(description="Whether an error is the mean of each label's own.")
    majority: Share = Field(description="The error of always guessing the same label.")
    models: list[PrismModel] = Field(description="PriSM's classifier beside the best few attributes and all of them.")


class PrismGuess(ContentPart):
    """What an adversary guesses who sees what one classifier asks for."""

    model: Literal["PriSM", "Parsimony", "SVM"] = Field(description="Whose attributes it sees.")
    asks: int = Field(description="How many.")
    accuracy: Share = Field(description="Share of training records whose value it guesses, held out in turn.")
    interval: Ends = Field(description="Its 95% interval.")
    mcc: float = Field(description="Matthews' correlation of guess and truth, when it aims at that; 0 is chance.")
    mcc_interval: Ends = Field(description="Its 95% interval.")


class PrismSensitive(ContentPart):
    """A sensitive attribute and what can be inferred of it."""

    name: str = Field(description="The attribute.")
    values: int | None = Field(description="How many values it has; null where several columns hold it.")
    critical: list[str] | None = Field(description="The values to protect; null for all.")
    naive: Share | None = Field(description="How often always guessing the most frequent value is right.")
    guesses: list[PrismGuess] = Field(description="What adversaries reach; none where they were not asked for.")
    certified: Share | None = Field(description="What no adversary exceeds who sees the answers; null without.")
    certified_naive: Share | None = Field(description="The most frequent value's share of the test records.")
    sentence: str = Field(description="The certificate in a sentence to quote, or why there is none.")


class PrismSinglingOut(ContentPart):
    """Who is alone with the answers."""

    alone: Share = Field(
        description="Share of test people whose answers nobody else gives, rounded up to tens of people."
    )
    interval: Ends = Field(description="Its 95% interval.")
    raw: Share = Field(description="The same with all attributes.")
    naive: Share = Field(description="The same where nothing is asked.")
    groups: Few = Field(description="How many different combinations of answers there are.")
    smallest: Few = Field(description="How many people have a rarest one.")
    people: int = Field(description="How many test people there are.")


class PrismLinkability(ContentPart):
    """Halves of the answers, joined."""

    linked: Share = Field(description="Share of people whose halves are joined rightly.")
    interval: Ends = Field(description="Its 95% interval.")
    naive: Share = Field(description="The same for a random matching.")
    k: int = Field(description="How many people are joined at once.")
    halves: list[list[str]] = Field(description="The columns of either half.")


class PrismContent(Head):
    """The report on a PriSM classifier."""

    modicum: Literal["prism"] = Field(description="The kind of report.")
    label: str = Field(description="What is predicted.")
    unit: str = Field(description="Of what shares are: people, or records where one person has several.")
    trained_on: int = Field(description="Records that trained.")
    tested_on: int = Field(description="Records that are reported on.")
    confidence: float = Field(description="Of the certificate.")
    sensitive: list[PrismSensitive] = Field(description="The sensitive attributes.")
    rule: PrismRule = Field(description="What it means that attributes reveal the sensitive one.")
    sets: list[Revealing] = Field(description="The smallest revealing sets, smaller and stronger ones first.")
    attributes: list[PrismAttribute] = Field(description="Attribute by attribute, and why.")
    proof: Proof = Field(description="How good the choice is.")
    utility: PrismUtility = Field(description="What the restriction costs.")
    singling_out: PrismSinglingOut = Field(description="Who is alone with the answers.")
    linkability: PrismLinkability | None = Field(description="Null where fewer than two columns are asked for.")


# The sentences of a report on a PriSM classifier: decision, certificate, warnings and limits.

_SHOWN = 8
_MEASURES = {
    "cramers_v": "Cramér's V",
    "bias_corrected": "Cramér's V without its bias",
    "pearson": "the multiple correlation R",
    "classifier": "the balanced accuracy of a decision tree",
}


def measure_words(measure: str) -> str:
    """What strength is measured by, in words; a measure of the user's own by its name."""
    return _MEASURES.get(measure, measure)


def decision(content: dict[str, Any]) -> str:
    """What is asked for, what it costs and what it protects, in one paragraph."""
    asked = [each["name"] for each in content["attributes"] if each["status"] == "asked"]
    usable = [each for each in content["attributes"] if each["status"] in ("asked", "left out")]
    hidden = join_names([each["name"] for each in content["sensitive"]])
    if not asked:
        return (
            f"To predict {quote_name(content['label'])} without revealing {hidden}, no attribute is asked for: the "
            f"classifier can only say the most frequent label. {_cost(content)}"
        )
    many = count_of(len(usable), "attribute")
    return (
        f"To predict {quote_name(content['label'])} without revealing {hidden}, ask for {len(asked)} of {many}: "
        f"{join_names(asked, _SHOWN)}. {_cost(content)} {_promise(content)}"
        f"{_adversaries(content)}"
    )


def _cost(content: dict[str, Any]) -> str:
    utility = content["utility"]
    errors = {each["model"]: each for each in utility["models"]}
    if not _has_error_rates(content):
        return "How often it is then wrong is not told: too few people have the rarest label."
    unit = f"{content['unit']}, every label counting the same" if utility["is_balanced"] else content["unit"]
    return (
        f"It is then wrong for {percent(errors['PriSM']['error'])} of {unit} ({percent(errors['SVM']['error'])} with "
        f"all attributes but the sensitive, {percent(utility['majority'])} when always guessing the same)."
    )


def _has_error_rates(content: dict[str, Any]) -> bool:
    return all(each["error"] is not None for each in content["utility"]["models"])


def _promise(content: dict[str, Any]) -> str:
    size = content["rule"]["max_size"]
    of = "None of them reveals it by itself" if size == 1 else f"No set of up to {size} of them reveals it"
    best = (
        "the choice is proven to be the best that is allowed, both on the training records"
        if content["proof"]["is_proven"]
        else "this was counted on the training records; time ran out before the choice was proven to be the best"
    )
    return f"{of}, in the sense defined below, and {best}."


def _adversaries(content: dict[str, Any]) -> str:
    told = []
    for each in content["sensitive"]:
        rows = {guess["model"]: guess for guess in each["guesses"]}
        if rows:
            told.append(
                f" An adversary who sees the answers is right about {quote_name(each['name'])} for "
                f"{percent(rows['PriSM']['accuracy'])} of {content['unit']} ({percent(each['naive'])} without seeing "
                f"them, {percent(rows['SVM']['accuracy'])} from all other attributes)."
            )
    return "".join(told)


def certificate_sentence(name: str, found: Certificate | None, bound: float | None, date: str, records: int) -> str:
    """The claim about one sensitive attribute, to be quoted, or why there is none."""
    if found is None or bound is None:
        return "No bound is certified: the sensitive attribute is spread over several columns."
    if bound >= 1:
        return f"No bound can be certified for {quote_name(name)}: the answers differ so much that nothing is excluded."
    return (
        f"With {confidence_text(found.confidence)} confidence, no adversary who sees only the answers guesses "
        f"{quote_name(name)} correctly for more than {at_most(bound)} of {found.unit} like those of the "
        f"{number(records)} test records, on average ({date})."
    )


def warnings_of(content: dict[str, Any]) -> list[str]:
    """What a reader must know first."""
    proof, found = content["proof"], _errors_words(content)
    if not proof["is_proven"]:
        found.append(
            f"Training ended before the best choice was proven: a better one may lower the objective by "
            f"{percent(proof['gap'])}. The reasons below hold for the choice that was made."
        )
    if _reveals(proof["together"], content["rule"]):
        found.append(
            "All attributes that are asked for reveal it together: sets above "
            f"{count_of(content['rule']['max_size'], 'attribute')} were not searched. Search larger sets, or allow "
            "fewer attributes."
        )
    for each in content["sensitive"]:
        guess = next((one for one in each["guesses"] if one["model"] == "PriSM"), None)
        if guess is None:
            found.append(f"No adversary has tried to guess {quote_name(each['name'])}; its risk was not measured.")
        elif guess["mcc_interval"] and guess["mcc_interval"][0] > 0:
            found.append(
                f"The answers still tell something about {quote_name(each['name'])}: the correlation of an adversary's "
                f"guess with the truth is {number(guess['mcc'])}, and lies above 0 beyond chance. The threshold "
                "says how much is accepted."
            )
    return found


def _errors_words(content: dict[str, Any]) -> list[str]:
    """What must be known of the errors: that they are not told, or are none the lower for what is asked."""
    if not _has_error_rates(content):
        return [
            "The errors are not told: every label counts the same in them, and the rarest label of the test records "
            f"has so few people that they would rest on fewer than {LEAST_RECORDS}. More test records, or a classifier "
            "without class weights, can be judged."
        ]
    own = next(each for each in content["utility"]["models"] if each["model"] == "PriSM")
    applies, told = no_better(own["error"], content["utility"]["majority"], "The classifier")
    return [told] if applies else []


def _reveals(found: dict[str, Any], rule: dict[str, Any]) -> bool:
    return found["strength"] >= rule["threshold"] and (found["p_value"] or 0.0) <= rule["p_value"]


def limits_of(content: dict[str, Any]) -> list[str]:
    """What the method does not say."""
    rule = content["rule"]
    found = [
        f"The promise is about relations measured on {number(content['trained_on'])} training records. In other people "
        "the same attributes may tell more, or less; a relation too weak or too rare to show there is not excluded.",
        f"Revealing is defined by a threshold ({rule['threshold']:g}) that somebody chose. Weaker relations are "
        "accepted, and what they add up to is what the adversaries measure.",
        f"Sets of more than {count_of(rule['max_size'], 'attribute')} were not searched, and numbers were cut into "
        f"{rule['bins']} ranges first: what their digits tell within a range is not seen by the search.",
        "With many tests some sets pass by chance alone; such a set is then forbidden without need, which protects no "
        "less. The strength that chance would give stands beside each.",
        "Best means lowest objective of a linear support vector machine on the training records. Another kind of model "
        "may find use in attributes that this one does not need.",
        "The answers are collected in full detail: PriSM chooses attributes, it does not coarsen them. Who is alone "
        "with the answers can be singled out.",
        "Adversaries learn from records like these, with the sensitive value known. One with other knowledge of a "
        "person, such as an attribute that was left out, may infer more.",
        "An interval covers the chance of having drawn these records and not others. It does not cover a population "
        "that differs from them, or that changes.",
    ]
    if rule["correction"] is not None:
        found.append("P-values were corrected for the number of tests, which forbids fewer sets and protects less.")
    return found


def join_names(names: Sequence[str], most: int | None = None) -> str:
    """Names in a row, in quotes; so many of them.

    Examples
    --------
    >>> from modicum.reporting.prism.data import join_names
    >>> join_names(["age"]), join_names(["age", "job", "pay"]), join_names(["age", "job", "pay"], 1)
    ('“age”', '“age”, “job” and “pay”', '“age” and 2 more')
    """
    shown = [quote_name(name) for name in (names if most is None else names[:most])]
    more = len(names) - len(shown)
    last = [f"{more:,} more"] if more else []
    parts = [*shown, *last]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def proof_words(content: dict[str, Any]) -> list[str]:
    """The proof, for people."""
    proof, rule = content["proof"], content["rule"]
    best = (
        "No other allowed choice of attributes reaches a lower one, apart from the gap."
        if proof["is_proven"]
        else "Time ran out: another allowed choice may reach a lower one, down to the bound."
    )
    again = (
        "The sets of chosen attributes were not measured once more: there are too many, or measuring takes long."
        if proof["remeasured"] is None
        else f"{count_of(proof['remeasured'], 'set')} of up to {rule['max_size']} of the chosen attributes "
        f"{'was' if proof['remeasured'] == 1 else 'were'} then measured one by one: none reveals."
    )
    reached = (
        "What is reached is not told: with nothing asked for it follows from how many records have each label. Nothing "
        f"allowed falls below it by more than a gap of {proof['gap']:.2g} of it."
        if proof["objective"] is None
        else f"The choice reaches {proof['objective']:.6g}; nothing allowed falls below {proof['bound']:.6g}, a gap of "
        f"{proof['gap']:.2g} of it."
    )
    return [
        f"Training minimizes an objective: the size of the weights plus what errors cost. {reached} {best}",
        f"Allowed were choices of at most {proof['max_predictors']} attributes that hold no revealing set whole; "
        f"{proof['max_feasible']} is the most that hold none. That no set above is asked for whole was checked once "
        f"more, by its names alone. {again}",
    ]


# Evidence on a PriSM classifier as plain data: every number that page, Markdown and JSON show.
#
# No number tells of fewer than ten people (`modicum.reporting.disclosure`), and a sensitive value that so few have is
# not
# named.

_ORDER = (PRISM, PARSIMONY, SVM)


def prism_summary(
    found: PrismEvidence,
    purpose: str | None = None,
    date: str | None = None,
    command: str | None = None,
    people: str | None = None,
) -> dict[str, Any]:
    """Everything that a report on a PriSM classifier shows, ready for JSON.

    Parameters
    ----------
    found : what `md.evidence` returned
    purpose : what the prediction is for, in the user's words
    date : YYYY-MM-DD; today where none is given
    command : what makes it again
    people : whom the records are of, in the user's words
    """
    check_size(found.people["test"], "test records" if found.unit == "people" else "people in the test records")
    made, model = provenance(found.provenance, date, command), found.cost.prism
    content: dict[str, Any] = {
        "modicum": "prism",
        "version": 1,
        "purpose": purpose,
        "people": people,
        "provenance": made,
        "label": found.label,
        "unit": found.unit,
        "trained_on": found.cost.trained_on,
        "tested_on": found.cost.tested_on,
        "confidence": found.confidence,
        "sensitive": [_sensitive(name, found, made["date"]) for name in model.correlations_.critical_values],
        "rule": _rule(found),
        "sets": [_set(each, found) for each in model.correlations_],
        "attributes": [_attribute(each, _errors_of(found)) for each in found.attributes],
        "proof": _proof(found),
        "utility": _utility(found),
        "singling_out": _singling_out(found),
        "linkability": _linkability(found),
    }
    content |= {"decision": decision(content), "warnings": warnings_of(content), "limits": limits_of(content)}
    content = dict(plain(content))
    PrismContent.model_validate(content)
    return content


def _rule(found: PrismEvidence) -> dict[str, Any]:
    sets, model = found.cost.correlations, found.cost.prism
    names = ("measure", "threshold", "p_value", "max_size", "encoding", "correction")
    return {name: getattr(sets, name) for name in names} | {"bins": model.bins, "tested": list(sets.tested)}


def _strength(found: Correlation) -> dict[str, Any]:
    return {name: _round_or_none(getattr(found, name)) for name in ("strength", "by_chance")} | {
        "p_value": None if found.p_value is None else float(f"{found.p_value:.2g}")
    }


def _round_or_none(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _set(each: Correlation, found: PrismEvidence) -> dict[str, Any]:
    asked = set(found.cost.prism.predictors_)
    return {
        **_strength(each),
        "attributes": list(each.attributes),
        "about": _about(each, found),
        "is_known": each.encoding == "given",
        "kept_out": [name for name in each.attributes if name not in asked],
    }


def _about(each: Correlation, found: PrismEvidence) -> str:
    """What a set tells of; a value that few people have is not named."""
    if each.value is None:
        return each.sensitive
    many = found.values.get(each.sensitive, {}).get(each.value)
    if many is None:
        return f"{each.sensitive} (one of its values)"
    return f"{each.sensitive} = a value of {FEW_TEXT} records" if many < FEW else each.about


def _attribute(each: AttributeReason, n: int | None) -> dict[str, Any]:
    return {
        **{name: getattr(each, name) for name in ("name", "status", "reason", "why", "sets")},
        "columns": list(each.columns),
        "completes": len(each.completes),
        "alone": None if each.alone is None else _strength(each.alone),
        "other": _other(each.other, n),
        "instead": _other(each.instead, n),
    }


def _other(found: PrismAlternative | None, n: int | None) -> dict[str, Any] | None:
    """Another choice; the change of the error in tens of people."""
    if found is None:
        return None
    return {
        "instead_of": found.instead_of,
        "objective": round(found.objective, 4) + 0.0,
        "error": None if n is None else max(-1.0, min(1.0, change(found.error, n))),
        "interval": None if n is None else _within(change_outward(found.interval, n)),
    }


def _within(ends: list[float] | None) -> list[float] | None:
    return None if ends is None else [max(-1.0, ends[0]), min(1.0, ends[1])]


def _proof(found: PrismEvidence) -> dict[str, Any]:
    model = found.cost.prism
    told = bool(model.predictors_)  # else the objective is as many times the rarer labels' count
    return {
        "is_proven": model.optimality_gap_ <= model.tol,
        "objective": float(f"{model.objective_:.6g}") if told else None,
        "bound": float(f"{model.bound_:.6g}") if told else None,
        "gap": float(f"{model.optimality_gap_:.2g}"),
        "max_predictors": model.max_predictors,
        "max_feasible": found.cost.max_feasible,
        "remeasured": found.remeasured,
        "together": _strength(model.association_),
    }


def _is_balanced(found: PrismEvidence) -> bool:
    return is_balanced(found.cost.prism)


def _errors_of(found: PrismEvidence) -> int | None:
    """Of how many people errors are told in tens: where every label counts the same, the rarest label's count most.

    None where these are too few for a share to say anything.
    """
    people = found.people["test"]
    many = min(people, found.labels * found.rarest) if _is_balanced(found) else people
    return many if many >= LEAST_RECORDS else None


def _utility(found: PrismEvidence) -> dict[str, Any]:
    balanced, n = _is_balanced(found), _errors_of(found)
    models = {each.model: each for each in found.cost.models}
    scores = {name: each.balanced_accuracy if balanced else each.accuracy for name, each in models.items()}
    naive = 1 - float(scores[PRISM].naive or 0.0)  # with balanced labels it follows from their number alone
    return {
        "is_balanced": balanced,
        "majority": naive if balanced or n is None else tens(naive, n),
        "models": [
            {
                "model": name,
                "asks": len(models[name].predictors),
                "predictors": models[name].predictors,
                "error": None if n is None else tens(1 - float(scores[name].value or 0.0), n),
                "interval": None if n is None else outward(_flip_interval(scores[name].interval), n),
            }
            for name in _ORDER
        ],
    }


def _flip_interval(ends: Any) -> tuple[float, float] | None:
    """Of an error, from that of an accuracy."""
    return None if ends is None else (1 - ends[1], 1 - ends[0])


def _sensitive(name: str, found: PrismEvidence, date: str) -> dict[str, Any]:
    n, models = found.people["train"], {each.model: each for each in found.cost.models}
    attacks = {model: models[model].adversaries[name] for model in _ORDER if name in models[model].adversaries}
    guesses = [
        {
            "model": model,
            "asks": len(models[model].predictors),
            "accuracy": tens(float(each.accuracy.value or 0.0), n),
            "interval": outward(each.accuracy.interval, n),
            "mcc": _round_or_none(each.mcc.value),
            "mcc_interval": None if each.mcc.interval is None else [_round_or_none(end) for end in each.mcc.interval],
        }
        for model, each in attacks.items()
    ]
    values = found.values.get(name)
    critical = found.cost.correlations.critical_values[name]
    return {
        "name": name,
        "values": None if values is None else len(values),
        "critical": None if critical is None else list(critical),
        "naive": tens(next(iter(attacks.values())).class_frequency, n) if attacks else None,
        "guesses": guesses,
        **_summarize_certificate(name, found, date),
    }


def _summarize_certificate(name: str, found: PrismEvidence, date: str) -> dict[str, Any]:
    certificate = found.exposure.certificate
    known = certificate is not None and name in certificate.bounds
    bound = tens_up(certificate.bounds[name], certificate.persons) if certificate is not None and known else None
    sentence = certificate_sentence(name, certificate if known else None, bound, date, found.cost.tested_on)
    naive = tens(certificate.naive[name], certificate.persons) if certificate is not None and known else None
    says = bound is not None and bound < 1
    return {"certified": bound if says else None, "certified_naive": naive if says else None, "sentence": sentence}


def _singling_out(found: PrismEvidence) -> dict[str, Any]:
    alone = found.exposure.singling_out
    n = alone.people
    return {
        "alone": tens_up(1 - alone.error, n),
        "interval": outward(_flip_interval(alone.interval), n),
        "raw": tens_up(1 - alone.raw, n),
        "naive": tens(1 - alone.naive, n),
        "groups": combinations(alone.groups, alone.least),
        "smallest": few(alone.least),
        "people": n,
    }


def _linkability(found: PrismEvidence) -> dict[str, Any] | None:
    linked = found.exposure.linkability
    if linked is None:
        return None
    return {
        "linked": tens(linked.linked, linked.people),
        "interval": outward(_flip_interval(linked.interval), linked.people),
        "naive": tens(1 - linked.naive, linked.people),
        "k": linked.k,
        "halves": [list(linked.a), list(linked.b)],
    }
