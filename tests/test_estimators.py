"""Every minimizer keeps scikit-learn's contract; an expected failure is named with its reason."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import modicum as md

ESTIMATORS = [
    md.PrivacyTree(min_leaf=5, max_leaves=8, privacy=0.1),
    md.Uniform(buckets=3),
    md.FeatureSelection(keep=2),
]


_SCORE_IS_A_PARAMETER = "the public parameter `score` bears the name of a method that these checks then call"


def expected_failures(estimator):
    if not isinstance(estimator, md.FeatureSelection):
        return {}
    checks = ("check_fit_score_takes_y", "check_n_features_in_after_fitting", "check_pipeline_consistency")
    return dict.fromkeys(checks, _SCORE_IS_A_PARAMETER)


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
