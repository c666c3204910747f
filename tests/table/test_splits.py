"""Splits: disjoint, complete, seeded; persons together; every class in train."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modicum.errors import DataError, ParameterError
from modicum.table.splits import split_rows


@given(st.integers(3, 400), st.integers(2, 5), st.integers(1, 60), st.integers(0, 9))
def test_parts_are_disjoint_and_complete_and_keep_persons_together(n, classes, households, seed):
    random = np.random.default_rng(seed)
    y, persons = random.integers(0, classes, n), random.integers(0, households, n)
    parts = split_rows(y, persons=persons, random_state=seed)
    rows = np.concatenate([parts.train, parts.validation, parts.test])
    assert sorted(rows) == list(range(n))
    people = [set(persons[part]) for part in (parts.train, parts.validation, parts.test)]
    assert not people[0] & people[1]
    assert not people[0] & people[2]
    assert not people[1] & people[2]
    left = set(y) - (set(y[parts.test]) - set(np.delete(y, parts.test)))
    assert set(y[parts.train]) == left


def test_shares_and_seed():
    y = np.arange(10_000) % 7
    parts = split_rows(y)
    assert (len(parts.train), len(parts.validation), len(parts.test)) == (6000, 1000, 3000)
    again, other = split_rows(y), split_rows(y, random_state=1)
    assert np.array_equal(parts.test, again.test)
    assert not np.array_equal(parts.test, other.test)


def test_a_single_record_of_a_class_goes_to_train_unless_the_holdout_drew_it():
    y = np.zeros(200, dtype=int)
    y[17] = 1
    in_test = [17 in split_rows(y, random_state=seed).test for seed in range(60)]
    in_train = [17 in split_rows(y, random_state=seed).train for seed in range(60)]
    assert 8 <= sum(in_test) <= 30  # the holdout stays a random 30%
    assert sum(in_test) + sum(in_train) == 60


def test_bad_shares_are_refused():
    with pytest.raises(ParameterError, match="must leave rows"):
        split_rows([0, 1] * 10, validation=0.5, test=0.5)
    with pytest.raises(DataError, match="at least 3"):
        split_rows([0, 1])
