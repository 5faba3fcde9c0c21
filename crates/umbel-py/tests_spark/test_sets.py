"""The set operations next to Spark's own: random tables, with nulls and repeats, of many types."""

import datetime
import decimal
import random
from collections import Counter

import pytest
from pyspark.sql import functions as F

from umbel import spark as us

INF, NAN = float("inf"), float("nan")
# Types of columns, and values of which some are equal without being alike.
TYPES = {
    "string": ["", "a", "A", "ä", "a ", "long enough to be hashed in stripes of thirty-two bytes", None, None],
    "binary": [b"", b"\0", b"\0\0", b"\xff\xfe", b"a", None],
    "tinyint": [-128, -1, 0, 1, 127, None],
    "smallint": [-32768, -1, 0, 1, None],
    "int": [-(2**31), -1, 0, 1, 2**31 - 1, None],
    "bigint": [-(2**63), -1, 0, 1, 2**63 - 1, None],
    "boolean": [True, False, None],
    "float": [0.0, -0.0, NAN, INF, -INF, 1.5, None],
    "double": [0.0, -0.0, NAN, -NAN, INF, -INF, 1.5, None],
    "decimal(10,2)": [decimal.Decimal("1.00"), decimal.Decimal("-1.00"), decimal.Decimal(0), None],
    "decimal(38,10)": [decimal.Decimal("1e20"), decimal.Decimal("-1.5"), decimal.Decimal(0), None],
    "date": [datetime.date(1, 1, 1), datetime.date(1970, 1, 1), datetime.date(2026, 11, 23), None],
    "timestamp": [datetime.datetime(1970, 1, 1), datetime.datetime(2026, 11, 23, 1, 2, 3, 4), None],
    "timestamp_ntz": [datetime.datetime(1970, 1, 1), datetime.datetime(2026, 11, 23, 1, 2, 3, 4), None],
    "interval day to second": [datetime.timedelta(0), datetime.timedelta(days=-1), None],
    "array<double>": [[], [0.0], [-0.0], [NAN], [None], [1.5, None], None],
    "struct<x:float,y:string>": [(0.0, None), (-0.0, None), (None, "a"), (NAN, "a"), None],
}
# Types on the left and on the right that Spark compares after a cast.
MIXED = [("int", "bigint"), ("tinyint", "int"), ("bigint", "smallint")]


def tables(seed, columns, cases):
    """Two tables of so many cases, which have a number each: the first column."""
    random_ = random.Random(seed)
    result = []
    for side in (0, 1):
        rows = []
        for case in range(cases):
            # Some tables are empty, and some have many repeats.
            for _ in range(random.Random(seed * 1000 + case * 2 + side).choice([0, 1, 5, 20, 40])):
                values = [random_.choice(TYPES[column if isinstance(column, str) else column[side]]) for column in columns]
                # Seldom a row that only one side can have.
                rows.append((case, *values, random_.choice([None, 1, 2, side * 10 + 3])))
        result.append(rows)
    return result


def frames(spark, columns, rows):
    frames = []
    for side in (0, 1):
        names = [column if isinstance(column, str) else column[side] for column in columns]
        schema = ", ".join(f"c{place} {name}" for place, name in enumerate(["int", *names, "int"]))
        frames.append(spark.createDataFrame(rows[side], schema).repartition(3))
    return frames


def bag(df):
    """The rows with how often they occur; as text, so that NaN equals itself and -0.0 does not equal 0.0."""
    return Counter(map(repr, df.collect()))


def zeros(rows):
    """The same with all zeros alike: of equal rows Spark keeps any."""
    return Counter({text: 0 for text in ()}) + sum_of((text.replace("-0.0", "0.0"), count) for text, count in rows.items())


def sum_of(pairs):
    total = Counter()
    for text, count in pairs:
        total[text] += count
    return total


OPERATIONS = {
    "semi_join": (
        lambda a, b, keys, **how: us.semi_join(a, b, keys, **how),
        lambda a, b, keys: a.join(b, keys, "left_semi"),
    ),
    "anti_join": (
        lambda a, b, keys, **how: us.anti_join(a, b, keys, **how),
        lambda a, b, keys: a.join(b, keys, "left_anti"),
    ),
    "common": (lambda a, b, _, **how: us.common(a, b, **how), lambda a, b, _: a.intersect(b)),
    "except_": (lambda a, b, _, **how: us.except_(a, b, **how), lambda a, b, _: a.subtract(b)),
    "distinct": (lambda a, b, _, **how: us.distinct(a, **how), lambda a, b, _: a.distinct()),
    "diff": (
        lambda a, b, _, **how: us.diff(a, b, **how),
        lambda a, b, _: a.subtract(b).select(F.lit("-").alias("change"), "*").unionAll(
            b.subtract(a).select(F.lit("+").alias("change"), "*")
        ),
    ),
}

GROUPS = [
    ["string"], ["binary"], ["bigint"], ["double"], ["float", "boolean"], ["int", "date"], ["tinyint", "smallint"],
    ["decimal(10,2)", "decimal(38,10)"], ["timestamp", "timestamp_ntz"], ["interval day to second", "string"],
    ["array<double>"], ["struct<x:float,y:string>"], *[[pair] for pair in MIXED],
]  # fmt: skip


@pytest.fixture
def cases_per_group(request):
    cases = 500 if request.config.getoption("--full") else 60
    return -(-cases // len(GROUPS))


@pytest.mark.parametrize("group", range(len(GROUPS)))
def test_random_tables(spark, group, cases_per_group):
    """Cases are told apart by their first column, so that many of them are one job."""
    columns = GROUPS[group]
    left, right = frames(spark, columns, tables(22 + group, columns, cases_per_group))
    keys = [f"c{place}" for place in range(len(columns) + 1)]
    # The three ways of finding candidates, in turn.
    ways = [{}, {"limit": 0}, {"list": False}]
    for number, (name, (ours, theirs)) in enumerate(OPERATIONS.items()):
        way = dict(ways[(group + number) % len(ways)])
        with pytest.MonkeyPatch.context() as patch:
            if way.pop("list", True) is False:
                patch.setattr("umbel.spark._sets._LISTED", -1)
            pruned = ours(left, right, keys, prune=True, **way)
        plain = theirs(left, right, keys)
        assert pruned.dtypes == plain.dtypes, name
        assert zeros(bag(pruned)) == zeros(bag(plain)), (name, columns)
