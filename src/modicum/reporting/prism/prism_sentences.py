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
    """What is asked for, what it costs and what it protects, in one paragraph."""
    asked = [each.name for each in content.attributes if each.status == "asked"]
    usable = [each for each in content.attributes if each.status in ("asked", "left out")]
    hidden = join_names([each.name for each in content.sensitive])
    if not asked:
        return (
            f"To predict {quote_name(content.label)} without revealing {hidden}, no attribute is asked for: the "
            f"classifier can only say the most frequent label. {_cost(content)}"
        )
    many = count_of(len(usable), "attribute")
    return (
        f"To predict {quote_name(content.label)} without revealing {hidden}, ask for {len(asked)} of {many}: "
        f"{join_names(asked, _SHOWN)}. {_cost(content)} {_promise(content.rule, content.proof)}"
        f"{_adversaries(content)}"
    )


def _cost(content: "PrismContent") -> str:
    utility = content.utility
    errors = {each.model: each.error for each in utility.models}
    if None in errors.values():
        return "How often it is then wrong is not told: too few people have the rarest label."
    unit = f"{content.unit}, every label counting the same" if utility.is_balanced else content.unit
    return (
        f"It is then wrong for {percent(errors[PRISM])} of {unit} ({percent(errors[SVM])} with all attributes but the "
        f"sensitive, {percent(utility.majority)} when always guessing the same)."
    )


def _promise(rule: "PrismRule", proof: "Proof") -> str:
    size = rule.max_size
    of = "None of them reveals it by itself" if size == 1 else f"No set of up to {size} of them reveals it"
    best = (
        "the choice is proven to be the best that is allowed, both on the training records"
        if proof.is_proven
        else "this was counted on the training records; time ran out before the choice was proven to be the best"
    )
    return f"{of}, in the sense defined below, and {best}."


def _adversaries(content: "PrismContent") -> str:
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


def warnings(content: "PrismContent") -> list[str]:
    """What a reader must know first."""
    proof, rule, found = content.proof, content.rule, _warn_of_errors(content)
    if not proof.is_proven:
        found.append(
            f"Training ended before the best choice was proven: a better one may lower the objective by "
            f"{percent(proof.gap)}. The reasons below hold for the choice that was made."
        )
    if proof.together.strength >= rule.threshold and (proof.together.p_value or 0.0) <= rule.p_value:
        found.append(
            "All attributes that are asked for reveal it together: sets above "
            f"{count_of(rule.max_size, 'attribute')} were not searched. Search larger sets, or allow fewer attributes."
        )
    for each in content.sensitive:
        guess = next((one for one in each.guesses if one.model == PRISM), None)
        if guess is None:
            found.append(f"No adversary has tried to guess {quote_name(each.name)}; its risk was not measured.")
        elif guess.mcc_interval and guess.mcc_interval[0] > 0:
            found.append(
                f"The answers still tell something about {quote_name(each.name)}: the correlation of an adversary's "
                f"guess with the truth is {number(guess.mcc)}, and lies above 0 beyond chance. The threshold "
                "says how much is accepted."
            )
    return found


def _warn_of_errors(content: "PrismContent") -> list[str]:
    """Warnings about the errors: not shown, or no better than guessing."""
    errors = {each.model: each.error for each in content.utility.models}
    if None in errors.values():
        return [
            "The errors are not told: every label counts the same in them, and the rarest label of the test records "
            f"has so few people that they would rest on fewer than {LEAST_RECORDS}. More test records, or a classifier "
            "without class weights, can be judged."
        ]
    applies, warning = no_better(errors[PRISM], content.utility.majority, "The classifier")
    return [warning] if applies else []


def limits(content: "PrismContent") -> list[str]:
    """What the method does not say."""
    rule = content.rule
    found = [
        f"The promise is about relations measured on {number(content.trained_on)} training records. In other people "
        "the same attributes may tell more, or less; a relation too weak or too rare to show there is not excluded.",
        f"Revealing is defined by a threshold ({rule.threshold:g}) that somebody chose. Weaker relations are "
        "accepted, and what they add up to is what the adversaries measure.",
        f"Sets of more than {count_of(rule.max_size, 'attribute')} were not searched, and numbers were cut into "
        f"{rule.bins} ranges first: what their digits tell within a range is not seen by the search.",
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
    if rule.correction is not None:
        found.append("P-values were corrected for the number of tests, which forbids fewer sets and protects less.")
    return found


def join_names(names: Sequence[str], most: int | None = None) -> str:
    """Names in a row, in quotes; so many of them.

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


def proof_words(proof: "Proof", rule: "PrismRule") -> list[str]:
    """The proof, for people."""
    best = (
        "No other allowed choice of attributes reaches a lower one, apart from the gap."
        if proof.is_proven
        else "Time ran out: another allowed choice may reach a lower one, down to the bound."
    )
    again = (
        "The sets of chosen attributes were not measured once more: there are too many, or measuring takes long."
        if proof.remeasured is None
        else f"{count_of(proof.remeasured, 'set')} of up to {rule.max_size} of the chosen attributes "
        f"{'was' if proof.remeasured == 1 else 'were'} then measured one by one: none reveals."
    )
    reached = (
        "What is reached is not told: with nothing asked for it follows from how many records have each label. Nothing "
        f"allowed falls below it by more than a gap of {proof.gap:.2g} of it."
        if proof.objective is None
        else f"The choice reaches {proof.objective:.6g}; nothing allowed falls below {proof.bound:.6g}, a gap of "
        f"{proof.gap:.2g} of it."
    )
    return [
        f"Training minimizes an objective: the size of the weights plus what errors cost. {reached} {best}",
        f"Allowed were choices of at most {proof.max_predictors} attributes that hold no revealing set whole; "
        f"{proof.max_feasible} is the most that hold none. That no set above is asked for whole was checked once "
        f"more, by its names alone. {again}",
    ]
