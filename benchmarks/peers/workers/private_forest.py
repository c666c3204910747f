"""diffprivlib's differentially private random forest (after Fletcher and Islam), at several ε.

Input: `X`, `y` (class numbers) to train on, `low` and `high` (bounds of each column), and `ask_NAME`, arrays to predict
for; options `epsilons`, `trees`, `depth`, `classes`, `seed`. Output arrays: `EPSILON NAME`, the probabilities of the
classes for each row of `ask_NAME`.

diffprivlib's method, from its source: trees of fixed depth split on random columns at random places within the bounds,
without looking at the data; each record trains exactly one tree, so every tree may spend the whole ε on its leaves,
whose class is drawn by permute-and-flip. diffprivlib would read missing bounds and classes from the data, which leaks,
so both are given here. A tree answers with one class with certainty, so a probability is the share of trees. Without
shuffling each tree would get consecutive records, so `shuffle` is on.
"""

from diffprivlib.models import RandomForestClassifier
from exchange import Arrays, answer, timed

PACKAGES = ("diffprivlib", "numpy", "scikit-learn", "scipy")


def trained(arrays: Arrays, options: dict) -> tuple[dict, Arrays]:
    """Return the seconds of each training, and each forest's predictions."""
    seconds, probabilities = {}, {}
    for epsilon in options["epsilons"]:
        forest = private_forest(arrays, options, epsilon)
        _, seconds[str(epsilon)] = timed(lambda forest=forest: forest.fit(arrays["X"], arrays["y"]))
        for name in (name for name in arrays if name.startswith("ask_")):
            probabilities[f"{epsilon} {name[len('ask_') :]}"] = forest.predict_proba(arrays[name])
    return {"seconds": seconds, "classes": list(range(options["classes"]))}, probabilities


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
