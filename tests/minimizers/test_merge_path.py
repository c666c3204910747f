"""MergePath: what it collects, what it guarantees, and what it refuses."""

import json
import os
import signal

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars, tables
from hypothesis import given, settings
from hypothesis import strategies as st

import modicum as md
from modicum.errors import DataError, ParameterError, StoppedWarning
from modicum.generalization.bins import Dropped, FullDetail
from modicum.measures import k_anonymity
from modicum.minimizers.merge_path import path


def planted(n: int = 4_000, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """A label that one boundary of a number and one group of a category decide; all else is noise."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": random.integers(18, 90, n),
            "job": random.choice(list("abcdefgh"), n),
            "height": random.normal(170, 10, n).round(1),
            "town": random.choice([f"t{i}" for i in range(40)], n),
        }
    )
    odds = np.where(X["age"] > 52, 2.0, -2.0) + np.where(X["job"].isin(["b", "e"]), 2.0, -1.0)
    return X, pd.Series(np.where(random.logistic(size=n) < odds, "yes", "no"), name="label")


def refines(finer: md.Generalization, coarser: md.Generalization) -> bool:
    """Return whether the two intersect, bucket by bucket, in the finer one."""
    both = finer.intersect(coarser)
    return [p.labels for p in both.partitions] == [p.labels for p in finer.partitions]


@pytest.fixture(scope="module")
def merged() -> md.MergePath:
    return md.MergePath().fit(*planted())


def test_only_deciding_attributes_are_collected_at_their_own_boundaries():
    X, y = planted(12_000)
    found = md.MergePath().fit(X, y)
    assert found.choice_.why.startswith("the inflection point of the path, after which")
    g = found.generalization_
    assert g.needed == ["age", "job"]
    age, job = (next(p for p in g.partitions if p.name == name) for name in ("age", "job"))
    assert [bucket.up_to for bucket in age.buckets][:-1] == [52.5]
    assert {frozenset(bucket.values) for bucket in job.buckets} == {frozenset("be"), frozenset("acdfgh")}


def test_the_path_is_nested_and_ends_with_nothing(merged):
    finer = merged.path_[0].generalization
    for point in merged.path_[1:]:
        assert refines(finer, point.generalization)
        finer = point.generalization
    assert merged.path_[-1].generalization.needed == []
    assert [p.buckets for p in merged.path_] == sorted((p.buckets for p in merged.path_), reverse=True)
    assert [p.groups for p in merged.path_] == sorted((p.groups for p in merged.path_), reverse=True)
    errors = [p.log_loss for p in merged.path_]
    assert errors == sorted(errors), "whoever knows less predicts no better"


def test_points_agree_with_the_records(merged):
    X, _ = planted()
    for point in merged.path_[:: max(1, len(merged.path_) // 6)]:
        described = point.generalization.describe(X)
        assert point.groups == described.groups
        assert point.smallest_group == described.smallest_group
        assert 0 <= point.error <= 0.5
        assert 0 <= point.adversary_error <= 1


def test_two_points_together_reveal_no_more_than_the_finer_one():
    """A6 [Staab24 §5]: the joint refinement of nested generalizations is the finer one, so nothing is gained."""
    X, y = md.datasets.load_adult(return_X_y=True)
    found = md.MergePath(personal=["age", "race", "sex"]).fit(X[:8_000], y[:8_000])
    finer, coarser = (found.path_[int(len(found.path_) * share)].generalization for share in (0.5, 0.9))
    assert refines(finer, coarser)
    attack = md.attacks.MultiBreach(personal=["age", "race", "sex"], progress=False)
    together = attack.run([finer, coarser], known=X[:8_000], breached=X[8_000:12_000])
    assert together.error >= together.alone[0] - 0.01  # two fits of a model differ by about this much
    apart = [md.Uniform(buckets=k).fit(X[:8_000]).generalization_ for k in (2, 3)]
    crossed = attack.run(apart, known=X[:8_000], breached=X[8_000:12_000])
    assert crossed.error < min(crossed.alone) - 0.01, "where they cross, something is gained"


@pytest.mark.parametrize("keep", [0.5, 0.9, 0.97])
def test_the_coarsest_point_that_keeps_enough_is_chosen(keep):
    X, y = planted()
    found = md.MergePath(keep=keep).fit(X, y)
    assert found.choice_.skill_kept >= keep
    assert found.generalization_ is found.path_[found.choice_.index].generalization
    later = planted(seed=1)
    assert md.utility(found.generalization_, X, y, *later).skill_kept > keep - 0.1


def test_max_error_is_respected_and_a_high_one_collects_nothing():
    X, y = planted()
    found = md.MergePath(max_error=0.25).fit(X, y)
    assert found.choice_.error <= 0.25
    assert md.MergePath(max_error=0.9).fit(X, y).generalization_.needed == []


def test_validation_records_can_be_given():
    X, y = planted()
    X_val, y_val = planted(1_000, seed=3)
    found = md.MergePath(keep=0.9).fit(X, y, X_val=X_val, y_val=y_val)
    model_error = md.utility(found.generalization_, X, y, X_val, y_val).error
    assert found.choice_.error == pytest.approx(model_error, abs=0.02)
    assert found.path_[-1].smallest_group == len(X), "all records make the path"
    with pytest.raises(ParameterError, match="X_val and y_val"):
        md.MergePath().fit(X, y, X_val=X_val)
    with pytest.raises(DataError, match="X_val is empty"):
        md.MergePath().fit(X, y, X_val=X_val[:0], y_val=y_val[:0])
    assert not hasattr(found.fit_path(X, y) and found, "choice_"), "nothing was chosen"


def test_the_same_seed_gives_the_same_bytes_and_polars_gives_what_pandas_gives(people):
    X, y = people
    schema = md.Schema.infer(X)
    given = ((X, y), (X, y), (as_polars(X), y.to_numpy()))
    found = [md.MergePath(schema=schema, random_state=3).fit(*one).generalization_.to_dict() for one in given]
    assert json.dumps(found[0]) == json.dumps(found[1]) == json.dumps(found[2])


@given(tables(min_rows=8, max_rows=80), st.sampled_from(["adversary", "certificate"]))
@settings(max_examples=40, deadline=None)
def test_every_table_has_a_nested_path(random_table, risk):
    X, y, schema = random_table
    found = md.MergePath(schema=schema, risk=risk).fit(X, y)
    finer = found.path_[0].generalization
    for point in found.path_:
        assert refines(finer, point.generalization)
        assert len(point.generalization.transform(X)) == len(X)
        finer = point.generalization
    assert finer.needed == []


@given(tables(min_rows=20, max_rows=80), st.integers(2, 6))
@settings(max_examples=25, deadline=None)
def test_no_group_is_smaller_than_min_group(random_table, least):
    X, y, schema = random_table
    found = md.MergePath(schema=schema, min_group=least).fit(X, y)
    for point in found.path_:
        assert k_anonymity(pd.DataFrame(point.generalization.codes(X))) >= least
        assert point.smallest_group >= least


def test_no_group_has_fewer_people_than_min_group():
    X, y = planted(2_000)
    X["who"] = np.random.default_rng(0).integers(0, 700, len(X))
    schema = md.Schema.infer(X).with_roles(person="who")
    found = md.MergePath(schema=schema, min_group=15).fit(X, y)
    assert len(found.path_) > 3
    for point in found.path_:
        assert point.generalization.describe(X).smallest_group >= 15


def test_locked_attributes_are_kept_and_forbidden_ones_never_collected():
    X, y = planted()
    schema = md.Schema.infer(X)
    ruled = [
        a.model_copy(update={"locked": a.name == "height", "forbidden": a.name == "age"}) for a in schema.attributes
    ]
    found = md.MergePath(schema=schema.model_copy(update={"attributes": tuple(ruled)})).fit(X, y)
    for point in found.path_:
        kinds = {p.name: type(p) for p in point.generalization.partitions}
        assert kinds["height"] is FullDetail
        assert kinds["age"] is Dropped
    assert found.path_[-1].generalization.needed == ["height"]
    assert "job" in found.generalization_.needed


def test_a_locked_attribute_counts_in_full_detail():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"pay": random.normal(size=900).round(6), "town": random.integers(0, 300, 900).astype(str)})
    y = X["pay"] > 0
    for name in X:
        locked = [a.model_copy(update={"locked": a.name == name}) for a in md.Schema.infer(X).attributes]
        schema = md.Schema(attributes=tuple(locked))
        with pytest.raises(DataError, match=f"Even with '{name}' in full detail"):
            md.MergePath(schema=schema, min_group=5).fit(X, y)
        last = md.MergePath(schema=schema).fit(X, y).path_[-1]
        described = last.generalization.describe(X)
        assert (last.groups, last.smallest_group) == (described.groups, described.smallest_group)
    alone = md.MergePath(schema=schema, personal=["town"]).fit(X, y).path_[-1]
    assert alone.adversary_error == pytest.approx(0), "it is read off"


def test_a_forbidden_attribute_is_not_learned_from_and_all_may_be_forbidden():
    X, y = planted(1_000)
    X["told"] = y.map({"yes": 1, "no": 0})  # the label itself, which must not be collected
    ruled = [a.model_copy(update={"forbidden": a.name == "told"}) for a in md.Schema.infer(X).attributes]
    found = md.MergePath(schema=md.Schema(attributes=tuple(ruled))).fit(X, y)
    assert found.choice_.raw_error == 0
    assert "age" in found.path_[len(found.path_) // 2].generalization.needed
    nothing = [a.model_copy(update={"forbidden": True}) for a in md.Schema.infer(X).attributes]
    only = md.MergePath(schema=md.Schema(attributes=tuple(nothing))).fit(X, y)
    assert [point.generalization.needed for point in only.path_] == [[]]


def test_a_class_of_rows_of_weight_zero_counts_as_absent():
    X, _ = planted(1_200)
    y = np.select([X["age"] < 40, X["age"] < 60], ["a", "b"], "c")
    some = y != "a"
    weighted = md.MergePath().fit(X, y, sample_weight=some.astype(int), X_val=X[some][:200], y_val=y[some][:200])
    without = md.MergePath().fit(X[some], y[some], X_val=X[some][:200], y_val=y[some][:200])
    assert weighted.choice_ == without.choice_


def test_the_records_of_one_person_are_never_on_both_sides():
    X, y = planted(600)
    X["who"] = np.arange(len(X)) // 10
    y.iloc[70:73] = "rare"  # one person has all of a class, and other rows too
    schema = md.Schema.infer(X).with_roles(person="who")
    for seed in range(12):
        method = md.MergePath(schema=schema, random_state=seed)
        aside = method._aside(method._encode_data(X, y, None), method._seed())
        assert not set(X["who"][aside]) & set(X["who"][~aside])
        assert aside.any()


def test_weights_say_what_is_worth_hiding():
    """Two attributes predict the label equally well; the one with the large weight is not collected."""
    random = np.random.default_rng(0)
    n = 3_000
    cause = random.integers(0, 2, n)
    noisy = [np.where(random.random(n) < 0.1, 1 - cause, cause) for _ in range(2)]
    X = pd.DataFrame({"a": noisy[0].astype(str), "b": noisy[1].astype(str), "c": random.choice(list("xyz"), n)})
    for hidden, shown in (("a", "b"), ("b", "a")):
        found = md.MergePath(weights={hidden: 20}).fit(X, cause)
        assert found.generalization_.needed == [shown]


def test_the_certificates_own_figure_can_be_minimized():
    X, y = planted()
    X = X.drop(columns="height")  # a number of few values is guessed by the same tenths in both
    lowered = md.MergePath(risk="certificate").fit_path(X, y)
    for point in lowered[::5]:
        certificate = md.certify(point.generalization, X, known=X)
        u = np.mean(list(certificate.observed.values()))
        assert point.adversary_error == pytest.approx(1 - u, abs=1e-6)


def test_the_prediction_is_kept_even_if_nothing_can_leak():
    """The one personal attribute is never collected, and nothing predicts it."""
    X, y = planted()
    X["faith"] = np.random.default_rng(5).choice(["a", "b"], len(X))
    ruled = [a.model_copy(update={"forbidden": a.name == "faith"}) for a in md.Schema.infer(X).attributes]
    found = md.MergePath(schema=md.Schema(attributes=tuple(ruled)), personal=["faith"], keep=0.95).fit(X, y)
    assert found.choice_.skill_kept >= 0.95
    assert {"age", "job"} <= set(found.generalization_.needed)


def test_missing_values_join_a_similar_bucket_or_get_their_own():
    random = np.random.default_rng(0)
    n = 3_000
    value = random.integers(0, 100, n).astype(float)
    absent = random.random(n) < 0.3
    y = np.where(absent, random.random(n) < 0.9, value < 50)  # missing is nearly like a low value
    X = pd.DataFrame({"v": np.where(absent, np.nan, value), "other": random.choice(list("abc"), n)})
    found = md.MergePath(keep=0.5, personal=["v", "other"]).fit(X, y)
    codes = found.generalization_.transform(pd.DataFrame({"v": [np.nan, 10, 90], "other": "a"}), output="codes")["v"]
    assert codes.iloc[0] == codes.iloc[1] != codes.iloc[2]
    unlike = md.MergePath(personal=["v", "other"]).fit(X, np.where(absent, 2, value < 50))
    codes = unlike.generalization_.transform(pd.DataFrame({"v": [np.nan, 10, 90], "other": "a"}), output="codes")["v"]
    assert len(set(codes)) == 3


def test_a_numeric_label_is_cut_into_bins():
    X, _ = planted(1_500)
    found = md.MergePath(label_bins=3, keep=0.5).fit(X, X["age"] * 1.5 + X["height"])
    assert "age" in found.generalization_.needed
    with pytest.raises(DataError, match="label_bins"):
        md.MergePath().fit(X, X["age"] * 1.5 + X["height"])


def test_a_row_of_weight_n_counts_as_n_rows():
    X, y = planted(1_000)
    twice = md.MergePath().fit_path(pd.concat([X, X], ignore_index=True), pd.concat([y, y], ignore_index=True))
    found = md.MergePath(knee=True).fit(X, y, sample_weight=np.full(len(X), 2))
    assert found.path_[-1].smallest_group == 2 * len(X)
    assert found.path_[0].groups == twice[0].groups


def test_a_useful_attribute_is_collected_even_if_one_class_dominates():
    """The majority guess is nearly always right: judged by error, nothing would be worth collecting."""
    random = np.random.default_rng(0)
    n = 6_000
    X = pd.DataFrame({"age": random.integers(18, 90, n), "town": random.choice(list("abcdefgh"), n)})
    found = md.MergePath().fit(X, random.random(n) < np.where(X["age"] > 60, 0.3, 0.01))
    assert found.generalization_.needed == ["age"]
    assert found.choice_.skill_kept > 0.7


def test_the_knee_never_predicts_worse_than_nothing():
    """An identifier predicts the label of the records it was learned from, but of no others."""
    X, _ = planted(2_000)
    X["id"] = [f"C{i:05}" for i in range(len(X))]
    y = np.random.default_rng(0).random(len(X)) < 0.12
    choice = md.MergePath().fit(X[["id", "town"]], y).choice_
    assert choice.error <= choice.majority_error
    assert not choice.skill_kept < 0


def test_noise_collects_nothing():
    random = np.random.default_rng(0)
    X = pd.DataFrame({f"x{i}": random.integers(0, 50, 2_000) for i in range(4)})
    found = md.MergePath().fit(X, random.integers(0, 2, 2_000))
    assert found.choice_.error >= found.choice_.majority_error - 0.05
    assert found.generalization_.n_buckets < 20


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"risk": "low"}, "'risk' parameter of MergePath must be 'adversary' or 'certificate'"),
        ({"keep": 0.9, "max_error": 0.1}, "Say one of"),
        ({"keep": 1.5}, "'keep' parameter must be a number from 0 to 1"),
        ({"knee": True, "keep": 0.9}, "Say one of"),
        ({"min_group": 0}, "'min_group' parameter of MergePath must be an int ≥ 1"),
        ({"weights": {"nobody": 1}}, "'nobody', which is not a personal attribute"),
    ],
)
def test_an_invalid_parameter_is_refused(people, parameters, message):
    with pytest.raises(ParameterError, match=message):
        md.MergePath(**parameters).fit(*people)


def test_unreachable_targets_are_refused(people):
    X, y = people
    with pytest.raises(
        DataError, match=r"No point of the path has an error of at most 0\.01: the finest has an error of"
    ):
        md.MergePath(max_error=0.01).fit(X, y)
    guesses = np.random.default_rng(1).integers(0, 2, 2_000)
    with pytest.raises(DataError, match="no skill to keep"):
        md.MergePath(keep=0.9).fit(planted(2_000)[0], guesses)
    with pytest.raises(DataError, match="Even with nothing collected, the smallest group has 600 of the 601 people"):
        md.MergePath(min_group=601).fit(X, y)
    locked = [a.model_copy(update={"locked": a.name == "age"}) for a in md.Schema.infer(X).attributes]
    with pytest.raises(DataError, match="Even with 'age' in full detail, the smallest group has"):
        md.MergePath(min_group=50, schema=md.Schema(attributes=tuple(locked))).fit(X, y)


def test_ctrl_c_keeps_a_path_to_nothing(monkeypatch):
    X, y = planted()
    whole = len(md.MergePath().fit(X, y).path_)
    original = path.descend

    def interrupted(*given):
        os.kill(os.getpid(), signal.SIGINT)
        monkeypatch.setattr(path, "descend", original)
        return original(*given)

    monkeypatch.setattr(path, "descend", interrupted)
    with pytest.warns(StoppedWarning, match="Stopped merging buckets early"):
        found = md.MergePath().fit(X, y)
    assert len(found.path_) < whole
    assert found.path_[-1].generalization.needed == []


def test_a_table_of_thousands_of_categories_is_merged():
    random = np.random.default_rng(0)
    n = 5_000
    town = random.integers(0, 900, n)
    X = pd.DataFrame({"town": np.char.add("t", town.astype(str)), "sex": random.choice(["f", "m"], n)})
    y = random.random(n) < np.where(town < 300, 0.9, 0.1)
    found = md.MergePath(keep=0.5).fit(X, y)
    assert found.generalization_.needed == ["town"]
    assert 2 <= found.generalization_.n_buckets <= 20
