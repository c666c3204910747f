"""The sentences of a report on a generalization, written only from the numbers of its content."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from modicum.evaluation._necessity import NOT_SHOWN, WOULD_HELP
from modicum.measures.certificate import confidence_text
from modicum.reporting.disclosure import COARSE, at_least, at_most
from modicum.reporting.formats import in_disguise, points, points_interval, quote_name
from modicum.reporting.parts import day_in_words

if TYPE_CHECKING:
    from modicum.reporting.generalization.data import CertificateContent, GeneralizationContent, StepContent

# Decision, warnings and limits.


def decision(content: "GeneralizationContent") -> str:
    """Write the decision in one paragraph: what is asked, what that costs, and what remains at risk."""
    collected, utility, attack = content.collected, content.utility, content.attack
    label = quote_name(content.label)
    if not collected.needed:
        nothing = f"To predict {label}, nothing is collected; the model can only guess the majority."
        return " ".join([nothing, *_describe_needs(content)])
    kept = collected.in_full_detail
    detail = "none in full detail" if not kept else f"{kept} in full detail"
    text = (
        f"To predict {label}, ask for {collected.needed} of {collected.attributes} attributes, {detail}. The "
        f"model is then wrong for {utility.error:.1%} of {content.unit} ({utility.raw_error:.1%} on raw data, "
        f"{utility.majority_error:.1%} when always guessing the majority). An adversary who sees the answers "
        f"is wrong about {attack.error:.1%} of personal values ({attack.naive:.1%} without seeing them, "
        f"{attack.raw:.0%} on raw data)."
    )
    return " ".join([text, *_describe_needs(content)])


def _describe_needs(content: "GeneralizationContent") -> list[str]:
    """Name the most important attribute, and those not shown to be needed or that would help; empty if not measured."""
    if content.necessity is None:
        return []
    needs = content.necessity.attributes
    unshown, helpful = (
        [quote_name(name) for name, need in needs.items() if need.verdict == verdict]
        for verdict in (NOT_SHOWN, WOULD_HELP)
    )
    needed = {n: need.without for n, need in needs.items() if need.without and need.verdict.startswith("needed")}
    sentences = [_describe_most_important(needed)] if needed else []
    if unshown:
        sentences.append(f"Collected, but not shown to be needed: {', '.join(unshown)}.")
    if helpful:
        sentences.append(f"Not collected, but full detail would help the prediction: {', '.join(helpful)}.")
    return sentences


def _describe_most_important(steps: "Mapping[str, StepContent]") -> str:
    """Name the needed attribute without which the prediction loses most."""
    name = min(steps, key=lambda each: (steps[each].skill_change or 0.0, -steps[each].error_change))
    step = steps[name]
    ends = points_interval(step.error_interval)
    change = step.skill_change
    skill = "" if change is None else f", and the share of skill kept by {points(change)} points"
    return (
        f"The most important attribute is {quote_name(name)}: leaving it out changes the share of wrong predictions by "
        f"{points(step.error_change)} percentage points (95% interval {ends}){skill}."
    )


def warnings(content: "GeneralizationContent") -> list[str]:
    """Write what a reader must know before relying on the numbers."""
    utility, collected, bounds = content.utility, content.collected, content.certificate.bounds
    empty = [name for name, bound in bounds.items() if bound >= 1]
    found = [
        (
            utility.is_weak,
            "Even the raw data barely predicts the label: it lowers the majority guess’s log-loss by only "
            f"{max(0.0, utility.raw_skill):.1%}, so keeping that skill means little.",
        ),
        (
            not utility.is_weak and (utility.skill_kept or 0) > 1.02,
            "The model on minimized data predicts better than the one on raw data, which learned chance patterns: "
            "there are too few records for so much detail.",
        ),
        in_disguise(utility.raw_error, utility.majority_error),
        (
            isinstance(collected.smallest_group, str),
            "Some combinations of answers are shared by fewer than ten people in the test records: they stand out.",
        ),
        (
            bool(empty),
            f"The certificate says nothing about {', '.join(empty)}: an adversary could always be right, or there are "
            "too few test records to rule this out.",
        ),
        (
            collected.records < COARSE,
            f"There are only {collected.records} test records: rounding shares to tens of people is coarse for so few.",
        ),
    ]
    return [text for applies, text in found if applies]


def limits(content: "GeneralizationContent") -> list[str]:
    """Write what the report does and does not say."""
    certificate = content.certificate
    strongest, *others = describe_limits(certificate.bins)
    return [
        strongest,
        f"The certificate holds, with {confidence_text(certificate.confidence)} confidence, for every adversary who "
        f"sees only the collected record, but only on average over {certificate.unit}: a single person may be "
        "easier to guess.",
        "The certificate holds only if the test records had no part in deciding what is collected. This is the case "
        "after `modicum minimize` with the same seed, but not for a generalization that was made from all rows or "
        "edited after looking at these results.",
        *others,
    ]


def describe_limits(bins: int) -> list[str]:
    """Write the limits of measuring the adversary A1 on a sample; numbers are guessed within `bins` ranges."""
    return [
        "The adversary is the strongest of several that were tried, not the strongest possible. It sees only the "
        "collected record: someone who knows more about a person can guess more.",
        "All results are about people like those in the test records: they assume that these are a random sample of "
        "the people whose data will be collected.",
        f"A guess of a number or date is right if it names the right one of {bins} ranges of about equal frequency "
        "(fewer ranges if there are fewer values).",
    ]


# The certificate in sentences to quote: each says for whom, when, about what, how sure, and "on average".


def certificate_sentences(content: "GeneralizationContent") -> list[str]:
    """Write a sentence about the most exposed attribute, and one about the mean of all attributes."""
    certificate = content.certificate
    speaking = [name for name, bound in certificate.bounds.items() if bound < 1]
    sentences = [_describe_attribute(content, _find_worst(certificate, speaking))] if speaking else []
    if len(certificate.bounds) > 1 and certificate.mean_error > 0:
        sentences.append(_describe_mean(content))
    return sentences


def describe_most_exposed(content: "GeneralizationContent") -> str | None:
    """Say what the adversary A2 achieves for its surest guesses, since the certificate is an average."""
    found = None if content.attacks is None else content.attacks.a2_most_exposed
    if found is None:
        return None
    return (
        f"An average hides who is most exposed. {found.sentence} These guesses are about different people for each "
        "attribute. The figures (adversary A2) are rounded to tens of people, and are measured, not certified."
    )


def _find_worst(certificate: "CertificateContent", names: list[str]) -> str:
    return max(names, key=lambda name: certificate.bounds[name] - certificate.naive[name])


def _describe_attribute(content: "GeneralizationContent", name: str) -> str:
    certificate = content.certificate
    return (
        f"{_opening(content)}, no one who sees only the answers collected here, whatever their method or computing "
        f"power, {_describe_guess(content, name)} more often than {at_most(certificate.bounds[name])} of the time, on "
        f"average over {_name_population(content)}, where the same guess for everyone is right "
        f"{certificate.naive[name]:.1%} of the time; {_describe_basis(content)}."
    )


def _describe_guess(content: "GeneralizationContent", name: str) -> str:
    """Say what a right guess is: a number's range, or the value itself."""
    (attribute,) = (each for each in content.attributes if each.name == name)
    if attribute.kind in ("category", "ordered"):
        return f"guesses the value of “{name}” correctly"
    return f"places “{name}” in the correct one of at most {content.certificate.bins} ranges"


def _describe_mean(content: "GeneralizationContent") -> str:
    weights = content.certificate.weights.values()
    weighted = "" if max(weights) - min(weights) < 1e-9 else ", each with its weight"
    return (
        f"{_opening(content)}, anyone who sees only the answers collected here is wrong about at least "
        f"{at_least(content.certificate.mean_error)} of the personal values (of a number: about its range), on "
        f"average over {_name_population(content)} and over the {len(weights)} personal attributes{weighted}; "
        f"{_describe_basis(content)}."
    )


def _opening(content: "GeneralizationContent") -> str:
    return f"With {confidence_text(content.certificate.confidence)} confidence"


def _describe_basis(content: "GeneralizationContent") -> str:
    """State the records and the assumptions, which nobody can check from the records alone."""
    certificate = content.certificate
    return (
        f"as counted on {day_in_words(content.provenance.date)} on {certificate.records:,} records, provided "
        "that these are a random sample of this population and had no part in deciding what is collected"
    )


def _name_population(content: "GeneralizationContent") -> str:
    """Name the population of the average: people, or records if one person has several."""
    unit, people = content.certificate.unit, content.people
    if not people:
        return f"the {unit} of the population that the test records were drawn from"
    return people if unit == "people" else f"the records of {people}"
