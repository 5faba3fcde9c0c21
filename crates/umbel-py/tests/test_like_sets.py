"""Set-like methods, checked against sets; copies and pickles of subclasses of filters, and of reports."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import umbel

keys = st.sets(st.integers(0, 40), max_size=12)
# A filter of few keys in many bits: no other key passes by chance, but for one in 10**9.
RATE = 1e-9
MADE = [lambda: umbel.Bloom(100, RATE), lambda: umbel.Bloom(100, RATE, kind="classic"), lambda: umbel.Counting(100, RATE)]
FORMS = [
    list,
    iter,
    lambda keys: np.array(sorted(keys), "int64"),
    lambda keys: pa.array(sorted(keys), "int64"),
    lambda keys: pl.Series(sorted(keys), dtype=pl.Int64),
    lambda keys: pd.Series(sorted(keys), dtype="Int64"),
    lambda keys: pd.Series([None, *keys], dtype=object),
]


def filled(make, keys):
    filter = make()
    filter.update(keys)
    return filter


def members(filter):
    return {key for key in range(41) if key in filter}


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(MADE), keys, keys, keys, st.sampled_from(FORMS))
def test_against_sets(make, left, right, third, form):
    one, other = filled(make, left), filled(make, right)
    for as_other in [lambda: other, lambda: form(right)]:
        assert members(one.union(as_other())) == left | right
        assert members(one.intersection(as_other())) == left & right
        assert members(one.union(as_other(), form(third))) == left | right | third
        assert members(one.intersection(as_other(), form(third))) == left & right & third
        assert one.issubset(as_other()) == left.issubset(right)
        assert one.issuperset(as_other()) == left.issuperset(right)
        assert not one.isdisjoint(as_other()) or left.isdisjoint(right)
    assert one.isdisjoint(form(right)) == left.isdisjoint(right)
    assert members(one) == left
    assert one.union() == one.intersection() == one
    changed = one.copy()
    changed.update(other, form(third))
    changed.update()
    assert members(changed) == left | right | third
    changed.intersection_update(other, form(right))
    assert members(changed) == right
    one.update(one)
    assert members(one) == left and one.issubset(one) and one.issuperset(one)


def test_sets_of_other_kinds():
    growing = umbel.Scalable(10, RATE)
    assert members(growing.union([1, 2], {3: "a"})) == {1, 2, 3}
    assert growing.isdisjoint([1]) and growing.issuperset([]) and not growing.issuperset([1])
    with pytest.raises(ValueError, match="scalable"):
        growing.intersection([1])
    words = umbel.Foreign("guava", 100, RATE)
    assert 7 in words.union([7]) and words.isdisjoint([7])
    with pytest.raises(TypeError, match="guava"):
        words.issubset([7])
    with pytest.raises(ValueError, match="seed"):
        umbel.Bloom(10, seed=1).isdisjoint(umbel.Bloom(10))
    with pytest.raises(TypeError, match="one key"):
        umbel.Bloom(10).union("abc")


class Seen(umbel.Bloom):
    def __new__(cls, name, keys):
        return super().__new__(cls, keys, RATE)

    def __init__(self, name, keys):
        self.name = name


class Slotted(umbel.Bloom):
    __slots__ = ("name",)


class Both(Slotted):
    pass


@pytest.mark.parametrize("make", [lambda: Seen("a", 100), lambda: Slotted(100, RATE), lambda: Both(100, RATE)])
@pytest.mark.parametrize("twin", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy])
def test_copies_of_classes_that_extend_one(make, twin):
    filter = make()
    filter.name = ["a"]
    if type(filter) is Both:
        filter.other = "b"
    filter.update(range(50))
    other = twin(filter)
    assert type(other) is type(filter) and other == filter and other.name == ["a"]
    assert (other.name is filter.name) == (twin is copy.copy)
    assert type(filter) is not Both or other.other == "b"
    other.add(1000)
    assert 1000 in other and 1000 not in filter
    with pytest.warns(umbel.OverfilledWarning):
        other.update(range(2000))


class Own(umbel.Bloom):
    """One with a state of its own."""

    def __getstate__(self):
        return ["own", self.name]

    def __setstate__(self, state):
        _, self.name = state


@pytest.mark.parametrize("twin", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy])
def test_copies_of_classes_with_a_state_of_their_own(twin):
    filter = Own(100, RATE)
    filter.name = ["a"]
    filter.add(7)
    other = twin(filter)
    assert type(other) is Own and 7 in other and other.name == ["a"]
    assert (other.name is filter.name) == (twin is copy.copy)


@pytest.mark.parametrize("make", [lambda: Seen("a", 100), lambda: Slotted(100, RATE)])
@pytest.mark.parametrize("twin", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_copies_of_filters_that_lead_to_themselves(make, twin):
    filter = make()
    filter.name = {"filter": filter}
    other = twin(filter)
    assert other.name["filter"] is other is not filter
    assert filter.__deepcopy__(None).name["filter"] is not filter


def test_filters_of_other_systems_and_protocols():
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        words = umbel.Foreign("guava", 100, key_type="utf16")
        words.add("a")
        other = pickle.loads(pickle.dumps(words, protocol))
        assert type(other) is umbel.Foreign and "a" in other and other == words
        assert "a" in pickle.loads(pickle.dumps(filled(MADE[0], ["a"]), protocol))


def test_what_is_reported_is_pickled(tmp_path):
    filter = filled(lambda: umbel.Counting(1000), range(500))
    plan = umbel.plan(1e6, 0.01)
    cascade = umbel.Cascade(range(100), range(100, 200))
    values = [
        filter.receipt(),
        umbel.Foreign("guava", 10).receipt(),
        cascade.receipt(),
        plan,
        plan.best,
        umbel.compare(filter, filter),
        umbel.dedup(["a", "a"], out=tmp_path / "out"),
        umbel.dedup(["a", "a"]).report,
    ]
    for value in values:
        for other in [pickle.loads(pickle.dumps(value)), copy.deepcopy(value)]:
            assert other == value and repr(other) == repr(value) and str(other) == str(value)
    assert filter.receipt() != filled(lambda: umbel.Counting(1000), range(400)).receipt()
    for choice, other in zip(plan.choices, pickle.loads(pickle.dumps(plan)).choices):
        assert choice.predicted_fpp(2e6) == other.predicted_fpp(2e6)
    receipt = pickle.loads(pickle.dumps(filter.receipt()))
    assert receipt.predicted_fpp(1000) == filter.receipt().predicted_fpp(1000) <= 0.01
    assert umbel.Foreign("guava", 10).receipt().predicted_fpp(10) is None
    parts = umbel.Parts(16, seed=7)
    other = pickle.loads(pickle.dumps(parts))
    assert [other.part(key) for key in range(100)] == [parts.part(key) for key in range(100)]
    with pytest.raises(ValueError, match="secret"):
        pickle.dumps(umbel.Parts(16, secret=bytes(16)))


def test_a_name_where_names_are_expected():
    table = pa.table({"user": ["ann", "bob"]})
    filter = umbel.Bloom(100, RATE)
    assert filter.add_rows(table, "user").to_pylist() == [True, True]
    assert filter.contains_rows(table, columns="user").to_pylist() == [True, True]
    assert "ann" in filter
    assert umbel.Attributes("user", 100).names == ["user"]
    for columns in [["user", 7], 7, [b"user"]]:
        with pytest.raises(TypeError, match="expected a name, or a list of names"):
            filter.add_rows(table, columns)
