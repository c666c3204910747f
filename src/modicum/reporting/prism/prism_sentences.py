"""The sentences of a report on a PriSM classifier: decision, certificate, warnings, limits and proof."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from modicum.evaluation.evidence.prism_cost import PRISM, SVM
from modicum.measures.certificate import Certificate, confidence_text
from modicum.reporting.disclosure import LEAST_RECORDS, at_most
from modicum.reporting.formats import count_of, no_better, number, percent, quote_name

if TYPE_CHECKING:
    from modicum.reporting.prism.data import PrismContent, PrismRule, Proof

_SHOWN = 8


def decision(content: "PrismContent") -> str:
    """Write in one paragraph what is asked for, what it costs and what it protects."""
    asked = [each.name for each in content.attributes if each.status == "asked"]
    usable = [each for each in content.attributes if each.status in ("asked", "left out")]
    hidden = join_names([each.name for each in content.sensitive])
    if not asked:
        return (
            f"To predict {quote_name(content.label)} without revealing {hidden}, no attribute is asked for: the "
            f"classifier can only predict the most frequent label. {_describe_cost(content)}"
        )
    many = count_of(len(usable), "attribute")
    return (
        f"To predict {quote_name(content.label)} without revealing {hidden}, ask for {len(asked)} of {many}: "
        f"{join_names(asked, _SHOWN)}. {_describe_cost(content)} {_describe_promise(content.rule, content.proof)}"
        f"{_describe_adversaries(content)}"
    )


def _describe_cost(content: "PrismContent") -> str:
    utility = content.utility
    errors = {each.model: each.error for each in utility.models}
    if None in errors.values():
        return "How often it is then wrong is not shown: too few people have the rarest label."
    unit = f"{content.unit}, every label counting the same" if utility.is_balanced else content.unit
    return (
        f"It is then wrong for {percent(errors[PRISM])} of {unit} ({percent(errors[SVM])} with all attributes except "
        f"the sensitive, {percent(utility.majority)} when always guessing the same label)."
    )


def _describe_promise(rule: "PrismRule", proof: "Proof") -> str:
    size = rule.max_size
    of = "None of them reveals it by itself" if size == 1 else f"No set of up to {size} of them reveals it"
    best = (
        "the choice is proven to be the best allowed one, both on the training records"
        if proof.is_proven
        else "this was counted on the training records; time ran out before the choice was proven to be the best"
    )
    return f"{of} (as defined below), and {best}."


def _describe_adversaries(content: "PrismContent") -> str:
    found = []
    for each in content.sensitive:
        rows = {guess.model: guess.accuracy for guess in each.guesses}
        if rows:
            found.append(
                f" An adversary who sees the answers is right about {quote_name(each.name)} for "
                f"{percent(rows[PRISM])} of {content.unit} ({percent(each.naive)} without seeing them, "
                f"{percent(rows[SVM])} from all other attributes)."
            )
    return "".join(found)


def certificate_sentence(name: str, found: Certificate | None, bound: float | None, date: str, records: int) -> str:
    """Write the claim about one sensitive attribute, to be quoted, or why there is none."""
    if found is None or bound is None:
        return "No bound is certified: the sensitive attribute is spread over several columns."
    if bound >= 1:
        return f"No bound can be certified for {quote_name(name)}: the answers differ too much to rule anything out."
    return (
        f"With {confidence_text(found.confidence)} confidence, no adversary who sees only the answers guesses "
        f"{quote_name(name)} correctly for more than {at_most(bound)} of {found.unit} like those of the "
        f"{number(records)} test records, on average ({date})."
    )


def warnings(content: "PrismContent") -> list[str]:
    """Write what a reader must know before relying on the numbers."""
    proof, rule, found = content.proof, content.rule, _warn_of_errors(content)
    if not proof.is_proven:
        found.append(
            f"Training ended before the best choice was proven: a better one may lower the objective by "
            f"{percent(proof.gap)}. The reasons below hold for the choice that was made."
        )
    if proof.together.strength >= rule.threshold and (proof.together.p_value or 0.0) <= rule.p_value:
        found.append(
            "All attributes that are asked for reveal it together: sets of more than "
            f"{count_of(rule.max_size, 'attribute')} were not searched. Search larger sets, or allow fewer attributes."
        )
    for each in content.sensitive:
        guess = next((one for one in each.guesses if one.model == PRISM), None)
        if guess is None:
            found.append(f"No adversary has tried to guess {quote_name(each.name)}; its risk was not measured.")
        elif guess.mcc_interval and guess.mcc_interval[0] > 0:
            found.append(
                f"The answers still reveal something about {quote_name(each.name)}: the correlation of an adversary's "
                f"guess with the truth is {number(guess.mcc)}, more than chance explains. The threshold defines how "
                "much is accepted."
            )
    return found


def _warn_of_errors(content: "PrismContent") -> list[str]:
    """Warn if the errors are not shown, or are no better than guessing."""
    errors = {each.model: each.error for each in content.utility.models}
    if None in errors.values():
        return [
            "The errors are not shown: every label counts the same in them, and the rarest label has so few people in "
            f"the test records that the errors would rest on fewer than {LEAST_RECORDS} people. Use more test records "
            "or a classifier without class weights."
        ]
    applies, warning = no_better(errors[PRISM], content.utility.majority, "The classifier")
    return [warning] if applies else []


def limits(content: "PrismContent") -> list[str]:
    """Write what the report does not say."""
    rule = content.rule
    found = [
        f"The promise is about relations measured on {number(content.trained_on)} training records. In other people "
        "the same attributes may reveal more or less. A relation that is too weak or too rare to show there may exist.",
        f"Revealing is defined by a threshold ({rule.threshold:g}) that somebody chose. Weaker relations are "
        "accepted; the adversaries measure what these add up to.",
        f"Sets of more than {count_of(rule.max_size, 'attribute')} were not searched, and numbers were cut into "
        f"{rule.bins} ranges first: the search does not see differences within a range.",
        "With many tests, some sets pass by chance. Such a set is forbidden without need, which does not weaken the "
        "protection. The strength by chance is shown next to each set.",
        "Best means the lowest objective of a linear support vector machine on the training records. Other kinds of "
        "models may benefit from attributes that this one does not need.",
        "The answers are collected in full detail: PriSM chooses attributes, it does not coarsen them. People who are "
        "alone with their answers can be singled out.",
        "Adversaries learn from records like these, with the sensitive value known. Someone who knows more about a "
        "person, such as an attribute that was left out, may infer more.",
        "An interval covers the chance of having drawn these records instead of others. It does not cover a population "
        "that differs or changes.",
    ]
    if rule.correction is not None:
        found.append("P-values were corrected for the number of tests, which forbids fewer sets and protects less.")
    return found


def join_names(names: Sequence[str], most: int | None = None) -> str:
    """List names in quotes, at most `most` of them.

    Examples
    --------
    >>> from modicum.reporting.prism.prism_sentences import join_names
    >>> join_names(["age"]), join_names(["age", "job", "pay"]), join_names(["age", "job", "pay"], 1)
    ('“age”', '“age”, “job” and “pay”', '“age” and 2 more')
    """
    parts = [quote_name(name) for name in names[:most]]
    if more := len(names) - len(parts):
        parts.append(f"{more:,} more")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def explain_proof(proof: "Proof", rule: "PrismRule") -> list[str]:
    """Explain the proof."""
    best = (
        "No other allowed choice of attributes reaches a lower one, except within the gap."
        if proof.is_proven
        else "Time ran out: another allowed choice may reach a lower one, down to the bound."
    )
    again = (
        "The sets of chosen attributes were not measured again: there are too many, or it would take too long."
        if proof.remeasured is None
        else f"{count_of(proof.remeasured, 'set')} of up to {rule.max_size} of the chosen attributes "
        f"{'was' if proof.remeasured == 1 else 'were'} then measured again: none reveals."
    )
    reached = (
        "The objective reached is not shown: with nothing asked for, it would reveal how many records have each label. "
        f"No allowed choice is lower by more than {proof.gap:.2g} of it (the gap)."
        if proof.objective is None
        else f"The choice reaches {proof.objective:.6g}; no allowed choice is below {proof.bound:.6g}, a gap of "
        f"{proof.gap:.2g} of it."
    )
    return [
        f"Training minimizes an objective: the size of the weights plus the cost of errors. {reached} {best}",
        f"A choice was allowed if it has at most {count_of(proof.max_predictors, 'attribute')} and contains no "
        f"complete revealing set, which is possible with at most {count_of(proof.max_feasible, 'attribute')}. A second "
        f"check, by names alone, confirmed that no set above is asked for completely. {again}",
    ]
