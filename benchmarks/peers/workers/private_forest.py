"""diffprivlib's differentially private random forest (after Fletcher and Islam), at several ε.

Given: `X`, `y` (class numbers) to train on, `low` and `high` (bounds of each column), and `ask_NAME`, arrays to predict
for; options `epsilons`, `trees`, `depth`, `classes`, `seed`. Left beside: `EPSILON NAME`, the probabilities of the
classes for each row of `ask_NAME`.

What diffprivlib does, from its source: trees of fixed depth split on random columns at random places within the bounds,
without looking at the data; each record trains exactly one tree, so every tree may spend the whole ε on its leaves,
whose class is drawn by permute-and-flip. Bounds and classes that are not given would be read from the data, which
leaks: both are given here. A tree answers with one class and certainty, so a probability is the share of trees. With
the records in order each tree would get one stretch of them: `shuffle` is on.
"""

from diffprivlib.models import RandomForestClassifier
from exchange import Arrays, answer, timed

PACKAGES = ("diffprivlib", "numpy", "scikit-learn", "scipy")


def trained(arrays: Arrays, options: dict) -> tuple[dict, Arrays]:
    """The seconds of each training, and what each forest says."""
    seconds, said = {}, {}
    for epsilon in options["epsilons"]:
        forest = private_forest(arrays, options, epsilon)
        _, seconds[str(epsilon)] = timed(lambda forest=forest: forest.fit(arrays["X"], arrays["y"]))
        for name in (name for name in arrays if name.startswith("ask_")):
            said[f"{epsilon} {name[len('ask_') :]}"] = forest.predict_proba(arrays[name])
    return {"seconds": seconds, "classes": list(range(options["classes"]))}, said


def private_forest(arrays: Arrays, options: dict, epsilon: float) -> RandomForestClassifier:
    return RandomForestClassifier(
        n_estimators=options["trees"],
        epsilon=epsilon,
        bounds=(arrays["low"], arrays["high"]),
        classes=list(range(options["classes"])),
        max_depth=options["depth"],
        shuffle=True,
        random_state=options["seed"],
    )


if __name__ == "__main__":
    answer(trained, PACKAGES)
