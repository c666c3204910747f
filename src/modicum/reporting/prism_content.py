"""The data of a report on a PriSM classifier: every field, and what it holds."""

from typing import Annotated, Literal

from pydantic import Field

from modicum.reporting.content import Ends, Few, Head, Part, Share

Change = Annotated[float, Field(ge=-1, le=1)]


class Rule(Part):
    """What it means that attributes reveal the sensitive one."""

    measure: str = Field(description="How strength is measured; cramers_v is Cramér's V.")
    threshold: float = Field(description="The strength from which a set reveals.")
    p_value: float = Field(description="The largest chance of such a strength if there were no relation.")
    max_size: int = Field(description="The most attributes of a set that was searched.")
    encoding: str = Field(description="Critical values together (single), one by one (multiple), both, or whole.")
    correction: str | None = Field(description="Of p-values for the number of tests; null for none.")
    bins: int = Field(description="Into how many ranges numbers are cut for this.")
    tested: list[int] = Field(description="How many sets of one attribute, of two, and so on were tested.")


class Strength(Part):
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


class Other(Part):
    """What another choice of attributes would change."""

    instead_of: str | None = Field(description="The attribute whose place it takes; null where it takes none.")
    objective: float = Field(description="Relative change of what training minimizes; below 0 is better.")
    error: Change | None = Field(
        description="Change of the error on test records; below 0 is better; null as the errors are."
    )
    interval: Ends = Field(description="Its 95% interval.")


class Attribute(Part):
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


class Proof(Part):
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


class Model(Part):
    """One classifier's error."""

    model: Literal["PriSM", "Parsimony", "SVM"] = Field(description="Which one.")
    asks: int = Field(description="How many attributes it needs.")
    predictors: list[str] = Field(description="Which.")
    error: Share | None = Field(
        description="Share of test records predicted wrong; null where every label counts the same and one is rare."
    )
    interval: Ends = Field(description="Its 95% interval.")


class Utility(Part):
    """What the restriction costs."""

    is_balanced: bool = Field(description="Whether an error is the mean of each label's own.")
    majority: Share = Field(description="The error of always guessing the same label.")
    models: list[Model] = Field(description="PriSM's classifier beside the best few attributes and all of them.")


class Guess(Part):
    """What an adversary guesses who sees what one classifier asks for."""

    model: Literal["PriSM", "Parsimony", "SVM"] = Field(description="Whose attributes it sees.")
    asks: int = Field(description="How many.")
    accuracy: Share = Field(description="Share of training records whose value it guesses, held out in turn.")
    interval: Ends = Field(description="Its 95% interval.")
    mcc: float = Field(description="Matthews' correlation of guess and truth, when it aims at that; 0 is chance.")
    mcc_interval: Ends = Field(description="Its 95% interval.")


class Sensitive(Part):
    """A sensitive attribute and what can be inferred of it."""

    name: str = Field(description="The attribute.")
    values: int | None = Field(description="How many values it has; null where several columns hold it.")
    critical: list[str] | None = Field(description="The values to protect; null for all.")
    naive: Share | None = Field(description="How often always guessing the most frequent value is right.")
    guesses: list[Guess] = Field(description="What adversaries reach; none where they were not asked for.")
    certified: Share | None = Field(description="What no adversary exceeds who sees the answers; null without.")
    certified_naive: Share | None = Field(description="The most frequent value's share of the test records.")
    sentence: str = Field(description="The certificate in a sentence to quote, or why there is none.")


class SinglingOut(Part):
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


class Linkability(Part):
    """Halves of the answers, joined."""

    linked: Share = Field(description="Share of people whose halves are joined rightly.")
    interval: Ends = Field(description="Its 95% interval.")
    naive: Share = Field(description="The same for a random matching.")
    k: int = Field(description="How many people are joined at once.")
    halves: list[list[str]] = Field(description="The columns of either half.")


class Content(Head):
    """The report on a PriSM classifier."""

    modicum: Literal["prism"] = Field(description="The kind of report.")
    label: str = Field(description="What is predicted.")
    unit: str = Field(description="Of what shares are: people, or records where one person has several.")
    trained_on: int = Field(description="Records that trained.")
    tested_on: int = Field(description="Records that are reported on.")
    confidence: float = Field(description="Of the certificate.")
    sensitive: list[Sensitive] = Field(description="The sensitive attributes.")
    rule: Rule = Field(description="What it means that attributes reveal the sensitive one.")
    sets: list[Revealing] = Field(description="The smallest revealing sets, smaller and stronger ones first.")
    attributes: list[Attribute] = Field(description="Attribute by attribute, and why.")
    proof: Proof = Field(description="How good the choice is.")
    utility: Utility = Field(description="What the restriction costs.")
    singling_out: SinglingOut = Field(description="Who is alone with the answers.")
    linkability: Linkability | None = Field(description="Null where fewer than two columns are asked for.")
