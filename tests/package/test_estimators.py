"""Every minimizer, anonymizer and model keeps scikit-learn's contract; an expected failure is named with its reason."""

import warnings

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import modicum as md


class EvenOrOdd:
    """A model for any numbers: whether the first number times 1001 is even."""

    def __call__(self, X):
        return np.floor(np.asarray(X, dtype=float)[:, 0] * 1001) % 2 == 0

    def __repr__(self):  # without an address, so that tests have the same name in every process
        return "EvenOrOdd()"


NEURAL = [
    md.AdversarialTraining(epochs=1, buckets=2, device="cpu"),
    md.MutualInformation(epochs=1, buckets=2, device="cpu"),
]
ESTIMATORS = [
    md.PrivacyTree(min_leaf=5, max_leaves=8, privacy=0.1),
    md.Uniform(buckets=3),
    md.FeatureSelection(k=2),
    md.MergePath(),
    md.Iterative(max_error=0.1),
    md.ModelGuided(EvenOrOdd()),
    *NEURAL,
]
ANONYMIZERS = [md.AccuracyGuided(k=3), md.Mondrian(k=3), md.Hilbert(k=3), md.RPlusTree(k=3)]
PRISM = [
    md.PrismClassifier("x0", p_value=0.0, progress=False),
    md.prism.PrismRegressor("x0", p_value=0.0, progress=False),
]
ANATOMY = [md.Anatomy(l=2, sensitive="x0"), md.AnatomyClassifier(l=2, sensitive="x0", random_state=0)]


_ROWS_ARE_DRAWN = "rows are drawn at random (set aside or into batches): a weighted row differs from repeated rows"


def expected_failures(estimator):
    if isinstance(estimator, md.AnatomyClassifier):
        pickles = ("check_estimators_pickle", "check_estimators_pickle(readonly_memmap=True)")
        return {
            "check_classifier_data_not_an_array": "the frame of this check has no column 'x0' to be sensitive",
            **dict.fromkeys(pickles, "this check makes values of the sensitive column missing, which is refused"),
        }
    if type(estimator) in map(type, PRISM):
        frames = ("sample_weights_pandas_series", "classifier_data_not_an_array", "regressor_data_not_an_array")
        return {
            **{f"check_{name}": "the frame of this check has no column 'x0' to be sensitive" for name in frames},
            "check_classifiers_train": "one of its two columns is sensitive, and the other one predicts too little",
        }
    if isinstance(estimator, md.Anatomy):
        return {"check_estimators_pickle": "the check makes values of the sensitive column missing, which is refused"}
    if isinstance(estimator, md.Iterative | md.AdversarialTraining | md.MutualInformation):
        return {"check_sample_weight_equivalence_on_dense_data": _ROWS_ARE_DRAWN}
    return {}


@parametrize_with_checks([*ESTIMATORS, ANONYMIZERS[1], PRISM[0], ANATOMY[0]], expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    keep_contract(estimator, check)


@pytest.mark.slow
@parametrize_with_checks(
    [ANONYMIZERS[0], *ANONYMIZERS[2:], PRISM[1], ANATOMY[1]], expected_failed_checks=expected_failures
)
def test_scikit_learn_contract_of_the_others(estimator, check):
    keep_contract(estimator, check)


def keep_contract(estimator, check):
    if type(estimator) in map(type, NEURAL):
        pytest.importorskip("torch", reason="PyTorch is not there; it comes with the extra 'neural'")
    with warnings.catch_warnings():
        # All columns of the checks' records are numbers.
        if type(estimator) in map(type, ANATOMY):
            warnings.simplefilter("ignore", md.errors.PrivacyWarning)
        check(estimator)
