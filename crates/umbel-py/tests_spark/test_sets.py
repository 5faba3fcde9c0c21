"""The set operations next to Spark's own: random tables, with nulls and repeats, of many types."""

import datetime
import decimal
import os
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
# Columns whose types differ between the tables: Spark casts them before it compares.
# Their values are of the third type.
MIXED = [("int", "bigint", "int"), ("tinyint", "int", "tinyint"), ("bigint", "smallint", "smallint")]
COLUMNS = [(kind, kind, kind) for kind in TYPES] + MIXED
SCHEMAS = [
    ", ".join(f"c{place} {kind}" for place, kind in enumerate(["int", *(column[side] for column in COLUMNS), "int"]))
    for side in (0, 1)
]
KEYS = [f"c{place}" for place in range(len(COLUMNS) + 1)]
CASES = 500


def tables(seed):
    """The rows of two tables of `CASES` cases.

    Each case is a pair of small tables: its number, the first column, is part of all keys. Its rows differ in one to three
    columns; in the others all have the same value.
    """
    random_ = random.Random(seed)
    both = ([], [])
    for case in range(CASES):
        # Some tables are empty, and some have many repeats.
        sizes = [random_.choice([0, 1, 5, 20, 40]) for _ in both]
        different = random_.sample(range(len(COLUMNS)), random_.choice([1, 1, 2, 3]))
        # No key of a join without nulls would equal another if a constant were null.
        constant = [TYPES[kind][0] for _, _, kind in COLUMNS]
        for side, rows in enumerate(both):
            for _ in range(sizes[side]):
                row = list(constant)
                for place in different:
                    row[place] = random_.choice(TYPES[COLUMNS[place][2]])
                # Seldom a value that only one side has.
                rows.append((case, *row, random_.choice([None, 1, 2, 3, side * 10 + 4])))
    return both


def bag(df):
    """The rows with how often they occur, as text: NaN equals itself. Of equal rows Spark keeps any, so zeros are alike."""
    return Counter(repr(row).replace("-0.0", "0.0") for row in df.collect())


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

# Whether Spark changes its plans as it goes, and how many partitions tables and shuffles have.
FULL = "UMBEL_TEST_FULL" in os.environ
PLANS = [(adaptive, partitions) for adaptive in (True, False) for partitions in (1, 200)] if FULL else [(True, 2)]


@pytest.fixture(scope="module", params=PLANS, ids=lambda plan: f"{'adaptive' if plan[0] else 'fixed'}-{plan[1]}")
def pair(spark, request):
    adaptive, partitions = request.param
    rows = tables(22)
    assert sum(map(len, rows)) > 5_000
    names = {"spark.sql.adaptive.enabled": str(adaptive).lower(), "spark.sql.shuffle.partitions": str(partitions)}
    before = {name: spark.conf.get(name) for name in names}
    for name, value in names.items():
        spark.conf.set(name, value)
    frames = [spark.createDataFrame(rows[side], SCHEMAS[side], verifySchema=False) for side in (0, 1)]
    frames = [frame.repartition(partitions).cache() for frame in frames]
    yield *frames, {name: theirs(*frames, KEYS) for name, (_, theirs) in OPERATIONS.items()}, {}
    for frame in frames:
        frame.unpersist()
    for name, value in before.items():
        spark.conf.set(name, value)


# How candidates are found, and whether Java looks filters up; split ones Python always does.
WAYS = ["listed", "split", *(["listed in Python", "filtered", "filtered in Python"] if FULL else [])]


@pytest.mark.parametrize("way", WAYS)
def test_random_tables(pair, way, monkeypatch):
    """All cases by two ways to find candidates, with --full by all; one job per operation. With --full in four kinds of plans."""
    left, right, plain, bags = pair
    if way.endswith("in Python"):
        monkeypatch.setattr("umbel.spark._jvm._loader", lambda context: None)
    if way.startswith("filtered"):
        monkeypatch.setattr("umbel.spark._job._LISTED", -1)
        # As for a large table, whose different keys are counted.
        monkeypatch.setattr("umbel.spark._job._UNCOUNTED", -1)
    how = {"limit": 1} if way == "split" else {}
    for name, (ours, _) in OPERATIONS.items():
        pruned = ours(left, right, KEYS, prune=True, **how)
        assert pruned.dtypes == plain[name].dtypes, name
        found = bag(pruned)
        if name not in bags:
            bags[name] = bag(plain[name])
        assert found == bags[name], name
        assert len(found) > 500, name


def test_self_join_and_repeated_names(spark):
    """The same table twice, and rows with two columns of one name."""
    table = spark.range(100).withColumn("value", F.col("id") % 7)
    evens = table.where("id % 2 = 0")
    assert bag(us.semi_join(table, evens, "id", prune=True)) == bag(evens)
    assert us.anti_join(table, evens, ["id", "value"], prune=True).count() == 50
    twice = table.toDF("same", "same")
    assert bag(us.except_(twice, twice.limit(0).localCheckpoint(), prune=True)) == bag(twice)
    assert us.common(twice, twice, prune=True).columns == ["same", "same"]


@pytest.mark.parametrize("few", [0, 1])
def test_either_table_may_be_smaller(spark, few):
    """With the filter of the right table, the left one's keys that pass are settled before they are listed."""
    small, large = spark.range(90, 110), spark.range(100).union(spark.range(50))
    left, right = (small, large) if few == 0 else (large, small)
    for name, (ours, theirs) in OPERATIONS.items():
        assert bag(ours(left, right, "id", prune=True)) == bag(theirs(left, right, "id")), name


@pytest.mark.parametrize("within", ["{}", "array({})", "named_struct('a', {})"] if FULL else ["array({})"])
def test_a_type_that_does_not_go_through_arrow(spark, within):
    """Intervals of years and months are never listed."""
    months = F.expr(within.format("make_ym_interval(0, if(id % 13 = 0, null, cast(id % 20 as int)))")).alias("c")
    left, right = spark.range(60).select(months), spark.range(50, 75).select(months)
    for name, (ours, theirs) in OPERATIONS.items():
        pruned, plain = ours(left, right, "c", prune=True), theirs(left, right, "c")
        text = [F.col(column).cast("string") for column in plain.columns]
        assert bag(pruned.select(text)) == bag(plain.select(text)), name


@pytest.mark.parametrize("within", ["{}", "array({})", "named_struct('a', {})"] if FULL else ["{}", "named_struct('a', {})"])
@pytest.mark.parametrize(("zone", "hour"), [("America/Sao_Paulo", "2018-11-04 00:00:00"), ("America/New_York", "2024-11-03 01:30:00")])
def test_times_without_a_zone_in_any_session(spark, zone, hour, within):
    """Hours that clocks there skip or repeat."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        time = F.expr(within.format(f"timestamp_ntz'{hour}' + make_interval(0, 0, 0, 0, id)")).alias("k")
        left, right = spark.range(5).select(time), spark.range(3, 9).select(time)
        left = left.unionAll(spark.range(1).select(F.expr(within.format(f"timestamp_ntz'{hour}'")).alias("k")))
        for name, (ours, theirs) in OPERATIONS.items():
            assert bag(ours(left, left, "k", prune=True)) == bag(theirs(left, left, "k")), name
            assert bag(ours(left, right, "k", prune=True)) == bag(theirs(left, right, "k")), name
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"prune": "no"}, TypeError, "prune is True, False or None, found 'no'"),
        ({"prune": 0}, TypeError, "prune is True, False or None, found 0"),
        ({"limit": 0}, ValueError, "limit is at least 1 byte, found 0"),
        ({"limit": -1}, ValueError, "limit is at least 1 byte, found -1"),
        ({"limit": "64MiB"}, TypeError, "limit is a number of bytes, such as 64 << 20, found '64MiB'"),
        ({"limit": 1e9}, TypeError, "limit is a number of bytes, .* found 1000000000.0"),
        ({"limits": 1}, TypeError, "has no option limits; its options are prune, limit and explain"),
    ],
)
def test_options_are_checked(spark, how, error, message):
    for name, (ours, _) in OPERATIONS.items():
        with pytest.raises(error, match=message):
            ours(spark.range(3), spark.range(3), "id", **how)


def test_a_table_with_a_column_of_changes(spark):
    table = spark.range(3).select("id", F.lit("x").alias("Change"))
    with pytest.raises(ValueError, match='the tables have a column Change; name the first one by change=, as in change="side"'):
        us.diff(table, table)
    assert us.diff(table, table.where("id > 0"), change="side").columns == ["side", "id", "Change"]


def test_columns_are_in_the_order_of_spark(spark):
    left = spark.range(10).select(F.lit("x").alias("first"), "id")
    for ours, how in [(us.semi_join, "left_semi"), (us.anti_join, "left_anti")]:
        pruned = ours(left, spark.range(5), "id", prune=True)
        plain = left.join(spark.range(5), "id", how)
        assert pruned.columns == plain.columns
        assert bag(pruned) == bag(plain)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda spark: spark.range(9).select(F.rand().alias("id")), "a table has rand(), which differs each time"),
        (lambda spark: spark.range(9).limit(5), "a table has a GlobalLimit, whose rows may differ each time; localCheckpoint() it first"),
        (
            lambda spark: spark.range(9).select(F.collate(F.col("id").cast("string"), "UTF8_LCASE").alias("id")),
            "id has the collation UTF8_LCASE",
        ),
    ],
)
def test_what_is_left_to_spark(spark, make, reason):
    table = make(spark)
    plan = us.distinct(table, explain=True)
    assert not plan.prunes
    assert reason in plan.reason
    with pytest.raises(ValueError, match="distinct cannot prune"):
        us.distinct(table, prune=True)
    assert us.distinct(table).count() <= 9


def test_what_is_kept_is_the_same_each_time(spark):
    """What is only cached is computed again if its executor is lost; what is checkpointed never is."""
    table = spark.range(1_000).select((F.rand() * 100).cast("int").alias("id"))
    with pytest.raises(ValueError, match=r"a table has rand\(\), .*, because persisted rows may be computed again"):
        us.distinct(table.cache(), prune=True)
    table = table.localCheckpoint()
    assert us.distinct(table, prune=True).count() == table.distinct().count()


def test_collations_are_compared_by_spark(spark):
    texts = spark.createDataFrame([("a",), ("A",), ("b",)], "t string").select(F.collate("t", "UTF8_LCASE").alias("t"))
    other = spark.createDataFrame([("A",)], "t string").select(F.collate("t", "UTF8_LCASE").alias("t"))
    assert us.semi_join(texts, other, "t").count() == 2


def test_types_that_differ_are_left_to_spark(spark):
    numbers, texts = spark.range(10), spark.range(5).select(F.col("id").cast("decimal(10,0)").alias("id"))
    plan = us.semi_join(numbers, texts, "id", explain=True)
    assert "id is of different types, bigint and decimal(10,0); cast one side" in str(plan)
    assert us.semi_join(numbers, texts, "id").count() == 5


def written(spark):
    """The bytes that each stage so far has written to the shuffle, by its number."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    store = context.statusStore()
    others = [getattr(store, f"stageList$default${place}")() for place in range(2, 6)]
    stages = store.stageList(spark._jvm.java.util.ArrayList(), *others)
    stages = [stages.apply(place) for place in range(stages.size())]
    return {stage.stageId(): stage.shuffleWriteBytes() for stage in stages}


def test_a_join_of_pruned_tables(spark):
    """The rows of Spark's join, and fewer bytes of shuffle, including the bytes that pruning writes."""

    def table(first, name):
        """Each of 20,000 keys twice; every ninth is null."""
        number = F.expr("id div 2")
        key = F.when(number % 9 != 0, F.sha1(number.cast("string"))).alias("key")
        return spark.range(2 * first, 2 * first + 40_000, 1, 2).select(key, F.col("id").alias(name))

    left, right = table(0, "old"), table(19_800, "new")
    ways = [
        lambda: (left, right),
        lambda: (us.semi_join(left, right, "key", prune=True), right),
        lambda: (us.semi_join(left, right, "key", prune=True), us.semi_join(right, left, "key", prune=True)),
    ]
    rows, sizes = [], []
    for way in ways:
        before = written(spark)
        ours, theirs = way()
        # Spark would broadcast tables of this size.
        rows.append(bag(ours.join(theirs.hint("merge"), "key")))
        sizes.append(sum(size for stage, size in written(spark).items() if stage not in before))
    assert rows[0] == rows[1] == rows[2]
    assert sum(rows[0].values()) == 4 * sum(number % 9 != 0 for number in range(19_800, 20_000))
    plain, one, both = sizes
    assert both < plain / 10
    assert both < one < plain


# Rows of large tables. With fewer, all limits are as much lower.
LARGE = 3_000_000 if FULL else 600_000


@pytest.fixture
def large(spark, scaled):
    """A table, and two others of as many rows that share 1 % and 90 % of its keys."""
    scaled(LARGE / 3_000_000)

    def rows(first):
        return spark.range(first, first + LARGE, 1, 4).select(F.sha1(F.col("id").cast("string")).alias("key"))

    return rows(0), rows(LARGE * 99 // 100), rows(LARGE // 10)


def test_the_plan(spark, large):
    left, few, many = large
    plan = us.semi_join(left, few, "key", explain=True)
    assert plan.prunes
    assert plan.tables[0].common < 0.02
    assert plan.pruned_bytes < plan.plain_bytes / 10
    assert plan.tables[0].rows == LARGE
    plan = us.semi_join(left, many, "key", explain=True)
    assert not plan.prunes
    # The first rows of each partition are among those in common.
    assert plan.tables[0].common > 0.9
    assert "of the rows would pass the filter, which costs more than it saves" in str(plan)
    plain = us.semi_join(left, many, "key")
    assert "UDF(" not in plain._jdf.queryExecution().toString()
    plan = us.semi_join(left, spark.range(10_000).select(F.sha1(F.col("id").cast("string")).alias("key")), "key", explain=True)
    assert not plan.prunes
    assert "small enough for Spark to broadcast" in plan.reason


def test_first_rows_that_are_unlike_the_others(spark, large):
    """The plan expects few candidates; there are many, and tasks stop before the driver has them all."""
    left, _, _ = large
    id = F.col("id").cast("string")
    part, first = LARGE // 4, LARGE // 50
    rows = spark.range(0, LARGE, 1, 4).select(F.sha1(F.when(F.col("id") % part > first, id).otherwise("no")).alias("key"), "id")
    assert us.semi_join(left, rows, "key", explain=True).listed
    for how in ({}, {"prune": True}):
        found = us.semi_join(left, rows, "key", **how)
        pruned = "UDF(" in found._jdf.queryExecution().toString()
        assert pruned == ("prune" in how)
        assert found.count() == 4 * (part - first - 1)


def test_an_executor_is_killed(spark, large):
    """While the filter is made: tasks are repeated on another, and the rows are the same."""
    from cluster import executors, kill_one

    left, few, _ = large
    expected = left.join(few, "key", "left_semi").agg(F.count("*"), F.sum(F.xxhash64("key").cast("decimal(38,0)"))).first()
    before = set(executors())
    with kill_one(spark) as killed:
        pruned = us.semi_join(left, few, "key", prune=True)
        found = pruned.agg(F.count("*"), F.sum(F.xxhash64("key").cast("decimal(38,0)"))).first()
    assert killed and killed[0] in before
    assert found == expected
    assert found[0] == LARGE // 100


def test_an_option_that_is_none_is_refused(spark):
    """It was ignored."""
    table = spark.range(3)
    for call in (lambda: us.semi_join(table, table, "id", how="left"), lambda: us.distinct(table, prunes=True)):
        with pytest.raises(TypeError, match="has no option (how|prunes); its options are prune, limit and explain"):
            call()
