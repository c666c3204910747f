"""ART's black-box membership inference with a random forest.

Input: the target model's scores (`*_scores`, one column per class) and the true class numbers (`*_labels`) of four
sets: `known_members`, `known_others` (the attack learns from them), `members` and `others` (to be distinguished);
option `seed`. Output arrays: `members` and `others`, the attack's probability that each record is a member.

The target model is not passed: ART gets its scores (`pred`), so that both attacks see exactly the same model. ART's
attack, from its source: scores and one-hot label, standardized together, into a `RandomForestClassifier()` with
scikit-learn's defaults (fully grown trees) and no seed, so numpy's global seed is set here; a record counts as a member
if its probability is above one half.
"""

import numpy as np
from art.attacks.inference.membership_inference import MembershipInferenceBlackBox
from art.estimators.classification import BlackBoxClassifier
from exchange import Arrays, answer, timed

PACKAGES = ("adversarial-robustness-toolbox", "numpy", "scikit-learn", "scipy")


def attacked(arrays: Arrays, options: dict) -> tuple[dict, Arrays]:
    """Return the attack's accuracy and seconds, and its probability for each record."""
    classes = arrays["known_members_scores"].shape[1]
    target = BlackBoxClassifier(lambda x: x, input_shape=(classes,), nb_classes=classes)
    attack = MembershipInferenceBlackBox(target, attack_model_type="rf")
    np.random.seed(options["seed"])  # noqa: NPY002 - the only seed that ART's forest uses
    sure, seconds = timed(lambda: run(attack, arrays))
    right = (np.round(sure["members"]) == 1).sum() + (np.round(sure["others"]) == 0).sum()
    return {"seconds": seconds, "accuracy": right / sum(map(len, sure.values()))}, sure


def run(attack: MembershipInferenceBlackBox, arrays: Arrays) -> Arrays:
    attack.fit(
        y=arrays["known_members_labels"],
        pred=arrays["known_members_scores"],
        test_y=arrays["known_others_labels"],
        test_pred=arrays["known_others_scores"],
    )
    return {name: sureness(attack, arrays, name) for name in ("members", "others")}


def sureness(attack: MembershipInferenceBlackBox, arrays: Arrays, name: str) -> np.ndarray:
    scores, labels = arrays[f"{name}_scores"], arrays[f"{name}_labels"]
    return attack.infer(None, labels, pred=scores, probabilities=True).ravel()


if __name__ == "__main__":
    answer(attacked, PACKAGES)
