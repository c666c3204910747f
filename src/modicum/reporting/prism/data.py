"""The data of a report on a PriSM classifier: its fields, and how evidence fills them.

No number reveals fewer than ten people (`modicum.reporting.disclosure`), and sensitive values of so few are not named.
"""

from typing import Annotated, Literal, Self

from pydantic import Field

from modicum.attacks import LinkResult, SensitiveInferenceResult, SinglingOutResult
from modicum.evaluation import AttributeReason, PrismAlternative, PrismCost, PrismEvidence
from modicum.evaluation.evidence.prism_cost import PARSIMONY, PRISM, SVM
from modicum.evaluation.evidence.prism_reasons import Reason, Status, is_balanced
from modicum.measures.intervals import Interval
from modicum.prism import Correlation
from modicum.reporting.disclosure import (
    FEW_TEXT,
    LEAST_RECORDS,
    change,
    change_outward,
    check_size,
    combinations,
    outward,
    tens,
    tens_up,
)
from modicum.reporting.parts import (
    ContentPart,
    Count,
    Ends,
    Few,
    Head,
    Heading,
    Provenance,
    Share,
    Tens,
    TensEnds,
    TensUp,
    ThreeDigits,
    round_by,
)
from modicum.reporting.prism.prism_sentences import certificate_sentence, decision, limits, warnings
from modicum.table.codes import FEW

ErrorChange = Annotated[float, Field(ge=-1, le=1)]
Model = Literal["PriSM", "Parsimony", "SVM"]

_ORDER: tuple[Model, ...] = (PRISM, PARSIMONY, SVM)


class PrismRule(ContentPart):
    """When attributes count as revealing the sensitive one."""

    measure: str = Field(description="How strength is measured; cramers_v is Cramér's V.")
    threshold: float = Field(description="The least strength at which a set reveals.")
    p_value: float = Field(description="The largest chance of such a strength if there were no relation.")
    max_size: int = Field(description="The most attributes of a set that was searched.")
    encoding: str = Field(description="Critical values together (single), one by one (multiple), both, or whole.")
    correction: str | None = Field(description="The correction of p-values for the number of tests; null for none.")
    bins: int = Field(description="How many ranges numbers are cut into for this.")
    tested: list[int] = Field(description="How many sets of one attribute, of two, and so on were tested.")

    @classmethod
    def of(cls, cost: PrismCost) -> Self:
        """Fill the rule of a search, with the bins of its model."""
        return cls.fill(cost.correlations, bins=cost.prism.bins)


class Strength(ContentPart):
    """How strongly attributes are related to the sensitive one."""

    strength: ThreeDigits = Field(description="The measured strength.")
    by_chance: ThreeDigits | None = Field(
        description="The strength that unrelated attributes with as many values have."
    )
    p_value: Annotated[float, round_by(lambda value, _: _digits(value, 2))] | None = Field(
        description="The chance of such a strength if there were no relation."
    )


class RevealingSet(Strength):
    """A set of attributes that reveals, without a smaller set in it that does."""

    attributes: list[str] = Field(description="The set.")
    about: str = Field(description="The sensitive attribute, with the value if it is about one; rare values unnamed.")
    is_known: bool = Field(description="Whether the data's owner named it.")
    kept_out: list[str] = Field(description="Those of its attributes that are not asked for.")

    @classmethod
    def of(cls, each: Correlation, found: PrismEvidence) -> Self:
        """Fill one of the sets that were found."""
        return cls.fill(
            each,
            about=_describe_sensitive(each, found),
            is_known=each.encoding == "given",
            kept_out=[name for name in each.attributes if name not in found.cost.prism.predictors_],
        )


class OtherChoice(ContentPart):
    """What another choice of attributes would change."""

    instead_of: str | None = Field(description="The attribute it replaces; null if none.")
    objective: float = Field(description="Relative change of what training minimizes; below 0 is better.")
    error: ErrorChange | None = Field(
        description="Change of the error on test records; below 0 is better; null if the errors are."
    )
    interval: Ends = Field(description="Its 95% interval.")

    @classmethod
    def of(cls, found: PrismAlternative | None, n: int | None) -> Self | None:
        """Describe another choice, if there is one; the change of the error in tens of n people."""
        if found is None:
            return None
        ends = None if n is None else change_outward(found.interval, n)
        return cls(
            instead_of=found.instead_of,
            objective=round(found.objective, 4) + 0.0,
            error=None if n is None else _clip(change(found.error, n)),
            interval=None if ends is None else [_clip(end) for end in ends],
        )


class PrismAttribute(ContentPart):
    """An attribute and why it is asked for or not."""

    name: str = Field(description="The attribute.")
    columns: list[str] = Field(description="Its columns in the data.")
    status: Status = Field(description="What was decided.")
    reason: Reason = Field(description="The reason as a word; see AttributeReason.")
    why: str = Field(description="The reason in a sentence.")
    sets: int = Field(description="In how many of the smallest revealing sets it is.")
    completes: int = Field(description="How many of them would be complete if it were also asked.")
    alone: Strength | None = Field(description="How strongly it is related by itself.")
    other: OtherChoice | None = Field(description="The effect of not asking for it, or of also asking for it.")
    instead: OtherChoice | None = Field(description="The effect of asking for it instead of another of its set.")

    @classmethod
    def of(cls, each: AttributeReason, n: int | None) -> Self:
        """Describe an attribute; changes of the error in tens of n people."""
        return cls.fill(
            each,
            completes=len(each.completes),
            other=OtherChoice.of(each.other, n),
            instead=OtherChoice.of(each.instead, n),
        )


class Proof(ContentPart):
    """How good the choice is."""

    is_proven: bool = Field(description="Whether no allowed choice is better, up to the requested gap.")
    objective: float | None = Field(
        description="What training reached; null if nothing is asked for, since it would reveal label counts."
    )
    bound: float | None = Field(description="A lower bound for every allowed choice; null if the objective is.")
    gap: float = Field(description="(objective − bound) / objective.")
    max_predictors: int = Field(description="The most attributes that could be asked for.")
    max_feasible: int = Field(description="The most attributes without a revealing set among them.")
    remeasured: int | None = Field(description="How many sets of predictors were measured again; null for none.")
    together: Strength = Field(description="The strength of all predictors together.")

    @classmethod
    def of(cls, found: PrismEvidence) -> Self:
        """Fill the proof; without predictors, the objective would reveal how many people have the rarer labels."""
        model = found.cost.prism
        return cls(
            is_proven=model.optimality_gap_ <= model.tol,
            objective=_digits(model.objective_, 6) if model.predictors_ else None,
            bound=_digits(model.bound_, 6) if model.predictors_ else None,
            gap=_digits(model.optimality_gap_, 2),
            max_predictors=model.max_predictors,
            max_feasible=found.cost.max_feasible,
            remeasured=found.remeasured,
            together=Strength.fill(model.association_),
        )


class PrismModel(ContentPart):
    """One classifier's error."""

    model: Model = Field(description="Which classifier.")
    asks: int = Field(description="How many attributes it needs.")
    predictors: list[str] = Field(description="Which attributes.")
    error: Share | None = Field(
        description="Share of test records predicted wrong; null if every label counts the same and one is rare."
    )
    interval: Ends = Field(description="Its 95% interval.")


class PrismUtility(ContentPart):
    """What the restriction costs."""

    is_balanced: bool = Field(description="Whether an error is the mean of the labels' errors.")
    majority: Share = Field(description="The error of always guessing the same label.")
    models: list[PrismModel] = Field(description="PriSM's classifier, one on the best few attributes, and one on all.")

    @classmethod
    def of(cls, found: PrismEvidence, n: int | None) -> Self:
        """Round the errors to tens of n people."""
        balanced = is_balanced(found.cost.prism)
        models = {each.model: each for each in found.cost.models}
        scores = {name: each.balanced_accuracy if balanced else each.accuracy for name, each in models.items()}
        naive = 1 - (scores[PRISM].naive or 0.0)  # with balanced labels, it depends only on how many there are
        return cls(
            is_balanced=balanced,
            majority=naive if balanced or n is None else tens(naive, n),
            models=[
                PrismModel(
                    model=name,
                    asks=len(models[name].predictors),
                    predictors=models[name].predictors,
                    error=None if n is None else tens(1 - (scores[name].value or 0.0), n),
                    interval=None if n is None else outward(_flip_interval(scores[name].interval), n),
                )
                for name in _ORDER
            ],
        )


class PrismGuess(ContentPart):
    """What an adversary guesses from the attributes that one classifier asks for."""

    model: Model = Field(description="Whose attributes it sees.")
    asks: int = Field(description="How many attributes that are.")
    accuracy: Share = Field(description="Share of training records guessed right, each held out in turn.")
    interval: Ends = Field(description="Its 95% interval.")
    mcc: float = Field(description="Matthews' correlation of guess and truth, if aimed for; 0 is chance.")
    mcc_interval: Ends = Field(description="Its 95% interval.")

    @classmethod
    def of(cls, model: Model, asks: int, found: SensitiveInferenceResult, n: int) -> Self:
        """Describe what is guessed from a classifier's attributes, in tens of n people."""
        return cls(
            model=model,
            asks=asks,
            accuracy=tens(found.accuracy.value or 0.0, n),
            interval=outward(found.accuracy.interval, n),
            mcc=round(found.mcc.value or 0.0, 3),
            mcc_interval=None if found.mcc.interval is None else [round(end, 3) for end in found.mcc.interval],
        )


class PrismSensitive(ContentPart):
    """A sensitive attribute and what can be inferred about it."""

    name: str = Field(description="The attribute.")
    values: int | None = Field(description="How many values it has; null if several columns hold it.")
    critical: list[str] | None = Field(description="The values to protect; null for all.")
    naive: Share | None = Field(description="How often always guessing the most frequent value is right.")
    guesses: list[PrismGuess] = Field(description="What adversaries guess; empty if they were not run.")
    certified: Share | None = Field(
        description="The most that any adversary who sees the answers reaches; null if none."
    )
    certified_naive: Share | None = Field(description="The most frequent value's share of the test records.")
    sentence: str = Field(description="The certificate in a sentence to quote, or why there is none.")

    @classmethod
    def of(cls, name: str, found: PrismEvidence, date: str) -> Self:
        """Describe a sensitive attribute; shares in tens of people, and a bound of 1 counts as none."""
        n, models = found.people["train"], {each.model: each for each in found.cost.models}
        attacks = {model: models[model].adversaries[name] for model in _ORDER if name in models[model].adversaries}
        values, critical = found.values.get(name), found.cost.correlations.critical_values[name]
        certificate = found.exposure.certificate
        bound = naive = None
        if certificate is not None and name in certificate.bounds:
            bound = tens_up(certificate.bounds[name], certificate.persons)
            naive = tens(certificate.naive[name], certificate.persons)
        is_bound = bound is not None and bound < 1
        return cls(
            name=name,
            values=None if values is None else len(values),
            critical=None if critical is None else list(critical),
            naive=tens(next(iter(attacks.values())).class_frequency, n) if attacks else None,
            guesses=[PrismGuess.of(each, len(models[each].predictors), attacks[each], n) for each in attacks],
            certified=bound if is_bound else None,
            certified_naive=naive if is_bound else None,
            sentence=certificate_sentence(name, certificate, bound, date, found.cost.tested_on),
        )


class PrismSinglingOut(ContentPart):
    """How many people are alone with their answers."""

    alone: TensUp = Field(
        description="Share of test people whose answers nobody else gives, rounded up to tens of people."
    )
    interval: TensEnds = Field(description="Its 95% interval.")
    raw: TensUp = Field(description="The same with all attributes.")
    naive: Tens = Field(description="The same if nothing is asked.")
    groups: Count = Field(description="How many different combinations of answers there are.")
    smallest: Few = Field(description="How many people share the rarest combination.")
    people: int = Field(description="How many test people there are.")

    @classmethod
    def of(cls, found: SinglingOutResult) -> Self:
        """Round the shares to tens of people, upward, so that 0 means nobody is alone."""
        return cls.fill(
            found,
            found.people,
            alone=1 - found.error,
            interval=_flip_interval(found.interval),
            raw=1 - found.raw,
            naive=1 - found.naive,
            groups=combinations(found.groups, found.least),
            smallest=found.least,
        )


class PrismLinkability(ContentPart):
    """Linking halves of the answers."""

    linked: Tens = Field(description="Share of people whose halves are joined correctly.")
    interval: TensEnds = Field(description="Its 95% interval.")
    naive: Tens = Field(description="The same for a random matching.")
    k: int = Field(description="How many people are joined at once.")
    halves: list[list[str]] = Field(description="The columns of each half.")

    @classmethod
    def of(cls, found: LinkResult) -> Self:
        """Round the shares to tens of people."""
        return cls.fill(
            found,
            found.people,
            interval=_flip_interval(found.interval),
            naive=1 - found.naive,
            halves=[found.a, found.b],
        )


class PrismContent(Head):
    """The report on a PriSM classifier."""

    modicum: Literal["prism"] = Field(default="prism", description="The kind of report.")
    label: str = Field(description="What is predicted.")
    unit: str = Field(description="What shares are of: people, or records where one person has several.")
    trained_on: int = Field(description="Training records.")
    tested_on: int = Field(description="Test records.")
    confidence: float = Field(description="The confidence of the certificate.")
    sensitive: list[PrismSensitive] = Field(description="The sensitive attributes.")
    rule: PrismRule = Field(description="When attributes count as revealing the sensitive one.")
    sets: list[RevealingSet] = Field(description="The smallest revealing sets, smaller and stronger ones first.")
    attributes: list[PrismAttribute] = Field(description="The attributes, and why each is asked for or not.")
    proof: Proof = Field(description="How good the choice is.")
    utility: PrismUtility = Field(description="What the restriction costs.")
    singling_out: PrismSinglingOut = Field(description="How many people are alone with their answers.")
    linkability: PrismLinkability | None = Field(description="Linking halves; null with fewer than two columns.")

    @classmethod
    def of(cls, found: PrismEvidence, heading: Heading) -> Self:
        """Fill the report; each number is rounded here and nowhere else."""
        check_size(found.people["test"], "test records" if found.unit == "people" else "people in the test records")
        source, n = Provenance.of(found.provenance, heading), _count_people_of_errors(found)
        sets, linked = found.cost.prism.correlations_, found.exposure.linkability
        content = cls.fill(
            found,
            purpose=heading.purpose,
            people=heading.people,
            provenance=source,
            trained_on=found.cost.trained_on,
            tested_on=found.cost.tested_on,
            sensitive=[PrismSensitive.of(name, found, source.date) for name in sets.critical_values],
            rule=PrismRule.of(found.cost),
            sets=[RevealingSet.of(each, found) for each in sets],
            attributes=[PrismAttribute.of(each, n) for each in found.attributes],
            proof=Proof.of(found),
            utility=PrismUtility.of(found, n),
            singling_out=PrismSinglingOut.of(found.exposure.singling_out),
            linkability=None if linked is None else PrismLinkability.of(linked),
        )
        return content.with_sentences(decision(content), warnings(content), limits(content))


def _digits(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _clip(value: float) -> float:
    return max(-1.0, min(1.0, value))


def _flip_interval(ends: Interval | None) -> Interval | None:
    """Turn the interval of an accuracy into that of an error, or the reverse."""
    return None if ends is None else (1 - ends[1], 1 - ends[0])


def _describe_sensitive(each: Correlation, found: PrismEvidence) -> str:
    """Name what a set reveals; a value that few people have is not named."""
    if each.value is None:
        return each.sensitive
    many = found.values.get(each.sensitive, {}).get(each.value)
    if many is None:
        return f"{each.sensitive} (one of its values)"
    return f"{each.sensitive} = a value of {FEW_TEXT} records" if many < FEW else each.about


def _count_people_of_errors(found: PrismEvidence) -> int | None:
    """Return the number of people by which errors are rounded; None if they are too few.

    If every label counts the same, the rarest label limits this number.
    """
    people = found.people["test"]
    many = min(people, found.labels * found.rarest) if is_balanced(found.cost.prism) else people
    return many if many >= LEAST_RECORDS else None
