"""The sentences of a report on a generalization, written from the numbers of its content and from no others."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from modicum.evaluation._necessity import NOT_SHOWN, WOULD_HELP
from modicum.measures.certificate import confidence_text
from modicum.reporting.disclosure import COARSE, at_least, at_most
from modicum.reporting.formats import in_disguise, points, points_interval, quote_name
from modicum.reporting.parts import day_in_words

if TYPE_CHECKING:
    from modicum.reporting.generalization.data import CertificateContent, GeneralizationContent, StepContent

# What was decided, what must be known before believing it, and what it does not say: in words.


def decision(content: "GeneralizationContent") -> str:
    """The decision in one paragraph: what is asked, what that costs and leaves at risk, and what it rests on."""
    collected, utility, attack = content.collected, content.utility, content.attack
    label = quote_name(content.label)
    if not collected.needed:
        return " ".join(
            [f"To predict {label}, nothing is collected; the model can only guess the majority.", *_needs(content)]
        )
    kept = collected.in_full_detail
    detail = "none in full detail" if not kept else f"{kept} in full detail"
    told = (
        f"To predict {label}, ask for {collected.needed} of {collected.attributes} attributes, {detail}: the "
        f"model is then wrong for {utility.error:.1%} of {content.unit} ({utility.raw_error:.1%} on raw data, "
        f"{utility.majority_error:.1%} when always guessing the majority), while an adversary who sees the answers "
        f"is wrong about {attack.error:.1%} of personal values ({attack.naive:.1%} without seeing them, "
        f"{attack.raw:.0%} on raw data)."
    )
    return " ".join([told, *_needs(content)])


def _needs(content: "GeneralizationContent") -> list[str]:
    """What matters most, and which attributes are not shown to be needed or would help, where that was measured."""
    if content.necessity is None:
        return []
    needs = content.necessity.attributes
    unshown, helpful = (
        [quote_name(name) for name, need in needs.items() if need.verdict == verdict]
        for verdict in (NOT_SHOWN, WOULD_HELP)
    )
    needed = {n: need.without for n, need in needs.items() if need.without and need.verdict.startswith("needed")}
    told = [_matters_most(needed)] if needed else []
    if unshown:
        told.append(f"Collected, but not shown to be needed: {', '.join(unshown)}.")
    if helpful:
        told.append(f"Not collected, though asked in full it would help the prediction: {', '.join(helpful)}.")
    return told


def _matters_most(steps: "Mapping[str, StepContent]") -> str:
    """Of what is shown to be needed, what the prediction loses most without."""
    name = min(steps, key=lambda each: (steps[each].skill_change or 0.0, -steps[each].error_change))
    step = steps[name]
    ends = points_interval(step.error_interval)
    change = step.skill_change
    skill = "" if change is None else f", and the share of skill kept by {points(change)} points"
    return (
        f"What matters most is {quote_name(name)}: leaving it out changes the share of wrong predictions by "
        f"{points(step.error_change)} percentage points (95% interval {ends}){skill}."
    )


def warnings(content: "GeneralizationContent") -> list[str]:
    utility, collected, bounds = content.utility, content.collected, content.certificate.bounds
    empty = [name for name, bound in bounds.items() if bound >= 1]
    told = [
        (
            utility.is_weak,
            "Even the raw data barely predicts the label: it takes only "
            f"{max(0.0, utility.raw_skill):.1%} off the majority guess’s log-loss, so keeping that skill means "
            "little.",
        ),
        (
            not utility.is_weak and (utility.skill_kept or 0) > 1.02,
            "The model on minimized data predicts better than the one on raw data, which learned chance patterns: "
            "there are few records for so much detail.",
        ),
        in_disguise(utility.raw_error, utility.majority_error),
        (
            isinstance(collected.smallest_group, str),
            "Some combinations of answers are shared by fewer than ten people in the test records: they stand out.",
        ),
        (
            bool(empty),
            f"The certificate says nothing about {', '.join(empty)}: an adversary could always be right, or there are "
            "too few test records to exclude it.",
        ),
        (
            collected.records < COARSE,
            f"There are only {collected.records} test records: shares are rounded to tens of them, which is coarse "
            "here.",
        ),
    ]
    return [text for applies, text in told if applies]


def limits(content: "GeneralizationContent") -> list[str]:
    """What the method does and does not say."""
    certificate = content.certificate
    strongest, *others = describe_limits(certificate.bins)
    return [
        strongest,
        f"The certificate holds, with {confidence_text(certificate.confidence)} confidence, for every adversary who "
        f"sees only the collected record, but only on average over {certificate.unit}: a single person may be "
        "easier.",
        "It holds only if the test records had no part in making or choosing what is collected. That is so after "
        "the command minimize with the same seed; not for a generalization that was made from all rows, nor for one "
        "that was edited after looking at these results.",
        *others,
    ]


def describe_limits(bins: int) -> list[str]:
    """What holds wherever the adversary A1 is measured on a sample; numbers are guessed within so many ranges."""
    return [
        "The adversary is the strongest of several that were tried, not the strongest there can be. It sees the "
        "collected record and nothing else: someone who knows more about a person can guess more.",
        "All of this speaks of people like those in the test records: it assumes that they are a random sample of the "
        "people whose data will be collected.",
        f"A number or date counts as guessed when it is placed in the right one of {bins} ranges of about equal "
        "frequency (fewer where it has fewer values).",
    ]


# The certificate in sentences that can be quoted: for whom, when, about what, how sure, and "on average".


def certificate_sentences(content: "GeneralizationContent") -> list[str]:
    """One sentence about the attribute of which most could be learned, and one about all of them together."""
    certificate = content.certificate
    speaking = [name for name, bound in certificate.bounds.items() if bound < 1]
    told = [_of_attribute(content, _worst(certificate, speaking))] if speaking else []
    if len(certificate.bounds) > 1 and certificate.mean_error > 0:
        told.append(_of_mean(content))
    return told


def describe_most_exposed(content: "GeneralizationContent") -> str | None:
    """What the adversary A2 achieves about the people it is surest of, since the certificate is an average."""
    found = None if content.attacks is None else content.attacks.a2_most_exposed
    if found is None:
        return None
    return (
        f"An average hides who is most exposed. {found.sentence} These are the people about whom the adversary is "
        "surest, other people for each attribute, and the figures are rounded to tens of them: this (adversary A2) "
        "is measured, not certified."
    )


def _worst(certificate: "CertificateContent", names: list[str]) -> str:
    return max(names, key=lambda name: certificate.bounds[name] - certificate.naive[name])


def _of_attribute(content: "GeneralizationContent", name: str) -> str:
    certificate = content.certificate
    return (
        f"{_opening(content)}, no one who sees only the answers collected here, whatever their method or computing "
        f"power, {_names(content, name)} more often than {at_most(certificate.bounds[name])} of the time, on "
        f"average over {_whom(content)}, where the same guess for everyone is right {certificate.naive[name]:.1%} "
        f"of the time; {_describe_basis(content)}."
    )


def _names(content: "GeneralizationContent", name: str) -> str:
    """What a right guess is: a number's range, or the value itself."""
    (attribute,) = (each for each in content.attributes if each.name == name)
    if attribute.kind in ("category", "ordered"):
        return f"names the value of “{name}” rightly"
    return f"places “{name}” in the right one of at most {content.certificate.bins} ranges"


def _of_mean(content: "GeneralizationContent") -> str:
    weights = content.certificate.weights.values()
    weighted = "" if max(weights) - min(weights) < 1e-9 else ", each with its weight"
    return (
        f"{_opening(content)}, anyone who sees only the answers collected here is wrong about at least "
        f"{at_least(content.certificate.mean_error)} of the personal values (of a number: about its range), on "
        f"average over {_whom(content)} and over the {len(weights)} personal attributes{weighted}; "
        f"{_describe_basis(content)}."
    )


def _opening(content: "GeneralizationContent") -> str:
    return f"With {confidence_text(content.certificate.confidence)} confidence"


def _describe_basis(content: "GeneralizationContent") -> str:
    """On what it rests, and what is taken for granted: nobody can see this from the records."""
    certificate = content.certificate
    return (
        f"as counted on {day_in_words(content.provenance.date)} on {certificate.records:,} records, provided "
        "that these are a random sample of them and had no part in deciding what is collected"
    )


def _whom(content: "GeneralizationContent") -> str:
    """Whom the average is over; where one person has several records, it is over these."""
    unit, people = content.certificate.unit, content.people
    if not people:
        return f"the {unit} of the population that the test records were drawn from"
    return people if unit == "people" else f"the records of {people}"
