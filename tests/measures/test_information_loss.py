"""NCP computed by hand, also where the existing toolkit (ai-privacy-toolkit 0.2.1) goes wrong; disclosure risk."""

import math

import numpy as np
import pandas as pd
import pytest

import modicum as md
from modicum.errors import DataError, ParameterError
from modicum.generalization.bins import Dropped, FullDetail
from modicum.generalization.build import groups, intervals
from modicum.generalization.cells import Ask, Cell
from modicum.measures import disclosure_risk, ncp
from modicum.measures.information_loss import share_of_width

AGE = md.Attribute(name="age", kind="number", storage="integer", domain=[0, 100])
PAY = md.Attribute(name="pay", kind="number", storage="float", domain=[-10.0, 30.0])
JOB = md.Attribute(name="job", kind="category", domain=["clerk", "cook", "nurse", "pilot"])
SCHEMA = md.Schema(attributes=[AGE, PAY, JOB])
X = pd.DataFrame({"age": [10, 30, 70, 100], "pay": [-5.0, 0.0, 2.0, 20.0], "job": ["clerk", "nurse", "cook", "pilot"]})


def of(*partitions):
    return md.Generalization(SCHEMA, partitions)


def test_a_range_counts_from_its_first_to_its_last_value_over_the_domain():
    g = of(intervals(AGE, [19.5, 69.5]), Dropped(attribute=PAY), Dropped(attribute=JOB))
    widths = [19 / 100, (69 - 20) / 100, (100 - 70) / 100, (100 - 70) / 100]  # 0–19, 20–69, 70–100 twice
    assert ncp(g, X).by_attribute["age"] == pytest.approx(np.mean(widths))


def test_the_upper_side_of_a_split_is_measured_from_the_split_to_the_end():
    """The toolkit measures the upper cell from the domain's lower end."""
    assert share_of_width(59.5, math.inf, AGE, (0, 100)) == pytest.approx(40 / 100)
    assert share_of_width(-math.inf, 59.5, AGE, (0, 100)) == pytest.approx(59 / 100)


def test_a_split_at_zero_is_a_split():
    """The toolkit takes a threshold of 0.0 for no bound at all."""
    g = of(Dropped(attribute=AGE), intervals(PAY, [0.0]), Dropped(attribute=JOB))
    # -10 to 0 for two records, 0 to 30 for two, of 40.
    assert ncp(g, X).by_attribute["pay"] == pytest.approx((10 + 10 + 30 + 30) / 4 / 40)


def test_categories_count_their_values_and_one_alone_counts_nothing():
    g = of(Dropped(attribute=AGE), Dropped(attribute=PAY), groups(JOB, [["clerk", "cook", "nurse"], ["pilot"]]))
    assert ncp(g, X).by_attribute["job"] == pytest.approx((3 / 4 + 3 / 4 + 3 / 4 + 0) / 4)


def test_an_attribute_that_is_not_collected_counts_one_and_full_detail_nothing():
    g = of(FullDetail(attribute=AGE), Dropped(attribute=PAY), groups(JOB, [[v] for v in JOB.domain]))
    found = ncp(g, X)
    assert found.by_attribute == {"age": 0.0, "pay": 1.0, "job": 0.0}
    assert found.gcp == pytest.approx(1 / 3)


def test_weights_apply_to_the_mean():
    g = of(FullDetail(attribute=AGE), Dropped(attribute=PAY), groups(JOB, [[v] for v in JOB.domain]))
    assert ncp(g, X, weights={"pay": 3, "age": 1, "job": 0}).gcp == pytest.approx(3 / 4)


def test_without_a_declared_domain_the_range_of_the_records_counts():
    free = md.Schema.infer(X[["age"]])
    g = md.Generalization(free, [intervals(free["age"], [49.5])])
    # 10–49 for two, 50–100 for two, of 10–100.
    assert ncp(g, X).gcp == pytest.approx((39 + 39 + 50 + 50) / 4 / 90)


def test_missing_is_one_more_category_if_it_occurs():
    job = md.Attribute(name="job", kind="category")
    g = md.Generalization(md.Schema(attributes=[job]), [groups(job, [["a", "b"], ["c"]], missing_in=0)])
    records = pd.DataFrame({"job": ["a", "c", None]})
    assert ncp(g, records).gcp == pytest.approx((3 / 4 + 0 + 3 / 4) / 3)
    assert ncp(g, records[:2]).gcp == pytest.approx((2 / 3 + 0) / 2)


def test_an_unseen_value_may_be_anything():
    job = md.Attribute(name="job", kind="category")
    g = md.Generalization(md.Schema(attributes=[job]), [groups(job, [["a"], ["b"]])])
    assert ncp(g, pd.DataFrame({"job": ["a", "zebra"]})).gcp == pytest.approx(0.5)


def two_cells():
    """Old people give no more; the young give their job."""
    detail = of(intervals(AGE, [49.5]), Dropped(attribute=PAY), groups(JOB, [["clerk", "cook"], ["nurse", "pilot"]]))
    young = [Ask(ask="job", left=(0,)), Cell(prediction="a", values=(20, 0, "cook"))]
    return md.CellPartition(
        detail,
        [
            Ask(ask="age", left=(0,)),
            *young,
            Cell(prediction="b", values=(20, 0, "pilot")),
            Cell(prediction="a", values=(70, 0, "cook")),
        ],
    )


def test_a_suppressed_attribute_counts_once_per_record():
    """The toolkit counts it once for each cell."""
    found = ncp(two_cells(), X)
    assert found.by_attribute["pay"] == 1.0
    # Young: 0–49 of 100 and two of four jobs. Old: 50–100, and any job.
    assert found.by_attribute["age"] == pytest.approx((49 + 49 + 50 + 50) / 4 / 100)
    assert found.by_attribute["job"] == pytest.approx((2 / 4 + 2 / 4 + 1 + 1) / 4)
    assert found.gcp == pytest.approx((1.0 + 0.495 + 0.75) / 3)


def test_equal_cells_and_buckets_have_the_same_loss():
    detail = of(intervals(AGE, [49.5]), Dropped(attribute=PAY), Dropped(attribute=JOB))
    cells = md.CellPartition(
        detail,
        [Ask(ask="age", left=(0,)), Cell(prediction=1, values=(20, 0, "cook")), Cell(values=(70, 0, "cook"))],
    )
    assert ncp(cells, X) == ncp(detail, X)


def test_disclosure_risk_is_the_share_of_distinct_records():
    """By equation (4) the paper's counts for GSS give 0.852, 0.840 and 0.091, not the printed values."""
    for distinct, printed in ((2085, 0.788), (2054, 0.771), (222, 0.047)):
        frame = pd.DataFrame({"z": np.minimum(np.arange(2446), distinct - 1)})
        sizes = frame["z"].value_counts()
        by_formula = float((1 / sizes.loc[frame["z"]].to_numpy()).sum() / len(frame))
        assert disclosure_risk(frame) == pytest.approx(by_formula)
        assert disclosure_risk(frame) == pytest.approx(distinct / 2446)
        assert abs(by_formula - printed) > 0.04
    assert [round(d / 2446, 3) for d in (2085, 2054, 222)] == [0.852, 0.84, 0.091]


def test_missing_values_are_equal_in_the_risk():
    assert disclosure_risk(pd.DataFrame({"a": [1.0, None, None]})) == pytest.approx(2 / 3)
    assert disclosure_risk(pd.DataFrame({"a": [1, 2, 2], "b": [1, 2, 3]}), ["a"]) == pytest.approx(2 / 3)


def test_bad_input_is_refused():
    g = of(intervals(AGE, [49.5]), Dropped(attribute=PAY), Dropped(attribute=JOB))
    with pytest.raises(DataError, match="no rows"):
        ncp(g, X[:0])
    with pytest.raises(ParameterError, match="'salary'"):
        ncp(g, X, weights={"salary": 2})
    with pytest.raises(ParameterError, match="needs a generalization or cells"):
        ncp(X, X)
    with pytest.raises(DataError, match="'age'"):
        ncp(g, X.drop(columns="age"))
