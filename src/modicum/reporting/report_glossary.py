"""The words of a report that not everyone knows, explained once."""

from modicum.reporting.document import Column, Section, Table

WORDS = {
    "95% interval": "Where the figure would lie for other people of the same kind: such intervals hold the true value "
    "19 times in 20.",
    "AUC": "The chance that the model ranks a record of a class above one of another: 0.5 is guessing, 1 is perfect.",
    "adversary": "Someone with collected records in hand who tries to learn more about the people.",
    "back-off": "Where too few people gave the same answers, counting goes on with fewer of the answers.",
    "boosted trees, network": "Kinds of models: many small decision trees, each mending the last; or layers of sums.",
    "bucket": "One answer that can be chosen: a range or a group of values. Only the bucket is collected.",
    "certified": "Proved for every adversary who sees only the answers, with the confidence that is named.",
    "inflection point": "The point of the trade-off after which a little more utility costs much privacy.",
    "log-loss": "A score of chances, not of yes or no: it punishes most what was wrong and sure of itself; 0 is "
    "perfect.",
    "majority guess": "Predicting without seeing any answer, by the shares of the classes.",
    "merge path": "A row of ways to collect, from much detail to none, each made of the one before by merging buckets.",
    "naive guess": "Naming everyone’s most frequent value without seeing any answer.",
    "percentage point": "The difference of two shares: from 10% to 12% are 2 points.",
    "skill": "What a model on raw data takes off the majority guess’s log-loss; how much of that is kept is told in "
    "percent.",
    "test records, holdout": "Records that are kept apart from those that are learned from, to count on.",
}
OF_ATTACKS = ("inflection point", "merge path", "percentage point")  # told of in the full report alone


def words(is_full: bool) -> Section:
    """What the words mean; those of sections that a short report does not have are left out."""
    rows = [[word, meaning] for word, meaning in WORDS.items() if is_full or word not in OF_ATTACKS]
    return Section("Words used here", [Table([Column("word", False), Column("what it means", False)], rows)])
