"""Tables whose rows may differ each time they are computed: the result is Spark's own, or Spark's own plan."""

import os
import random

import pytest
from pyspark.sql import functions as F
from test_sets import OPERATIONS, bag

from umbel import spark as us
from umbel.spark._stable import stable

FULL = "UMBEL_TEST_FULL" in os.environ
# How many plans are compared.
CASES = 500 if FULL else 160

# Spark functions that are non-deterministic by its registry, depend on the order of rows, or contain the time or the session.
# The calls use a long `id`, a string `s`, a double `d` and a binary `b`.
CALLS = {
    "approx_percentile": "(id, 0.5)", "percentile_approx": "(id, 0.5)", "approx_top_k_combine": None,
    "approx_top_k_estimate": None, "aes_encrypt": "(s, '0000111122223333')", "collect_union": "(array(id))",
    "corr": "(d, d)", "count_min_sketch": "(id, 0.5d, 0.5d, 1)", "counter_diff": None, "covar_pop": "(d, d)",
    "covar_samp": "(d, d)", "bitmap_and_agg": "(b)", "bitmap_construct_agg": "(0)", "bitmap_or_agg": "(b)",
    "kll_sketch_agg_float": "(cast(d as float))", "grouping": None, "grouping_id": None, "measure": None, "histogram_numeric": "(id, 3)", "java_method": "('java.util.UUID', 'randomUUID')",
    "max_by": "(id, d)", "min_by": "(id, d)", "ntile": "(2)", "nth_value": "(id, 2)", "percentile": "(id, 0.5)",
    "percentile_cont": "(0.5) within group (order by d)", "percentile_disc": "(0.5) within group (order by d)",
    "randstr": "(5)", "reflect": "('java.util.UUID', 'randomUUID')", "shuffle": "(array(id, 1, 2))",
    "try_reflect": "('java.util.UUID', 'randomUUID')", "uniform": "(1, 1000000)", "unix_timestamp": "()",
    **{f"regr_{name}": "(d, d)" for name in ["avgx", "avgy", "intercept", "r2", "slope", "sxx", "sxy", "syy"]},
    **{name: "()" for name in [
        "rand", "random", "randn", "uuid", "input_file_name", "input_file_block_start", "input_file_block_length",
        "monotonically_increasing_id", "spark_partition_id", "now", "current_timestamp", "current_date", "curdate",
        "current_time", "localtime", "localtimestamp", "current_user", "user", "session_user", "current_database", "current_schema",
        "current_catalog", "current_path", "current_timezone", "row_number", "rank", "dense_rank", "percent_rank", "cume_dist",
    ]},
}  # fmt: skip
# Of these the same rows in any order give the same.
ALIKE = {
    "any", "approx_count_distinct", "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "count", "count_if", "every", "max", "min",
    "regr_count", "some", "sum", "try_sum",
}  # fmt: skip
PER_ROW = {"math_funcs", "misc_funcs", "datetime_funcs", "array_funcs"}


def functions(spark):
    """All functions of Spark by name, with their group, and whether Spark notes that they are not deterministic."""
    registry = spark._jsparkSession.sessionState().functionRegistry()
    names = registry.listFunction().iterator()
    while names.hasNext():
        info = registry.lookupFunction(names.next())
        if info.isDefined():
            info = info.get()
            yield info.getName(), info.getGroup(), "non-deterministic" in (info.getNote() or "")


def base(spark, count=60, first=0):
    return spark.range(first, first + count, 1, 2).selectExpr("id", "cast(id % 7 as string) s", "id / 3 d", "cast('x' as binary) b")


@pytest.fixture(scope="module")
def unstable(spark):
    base(spark).createOrReplaceTempView("t")
    return list(calls(spark))


def calls(spark):
    """One table of each function that is not the same each time, as SQL of a table `t`."""
    for name, group, _ in sorted(functions(spark)):
        if name in ALIKE or CALLS.get(name, "") is None:
            continue
        if group == "window_funcs":
            call = CALLS.get(name, "(id)")
            yield name, f"select {name}{call} over (order by s) id from t"
        elif group == "agg_funcs":
            for call in [CALLS[name]] if name in CALLS else ["(id)", "(d)", "(s)", "(s, ',')", "(id, d)", "(b)"]:
                query = f"select {name}{call} id from t group by s"
                try:
                    spark.sql(query)
                except Exception:
                    continue
                yield name, query
                break
        elif name in CALLS and group in PER_ROW:
            yield name, f"select {name}{CALLS[name]} id from t"


# More cases that are not functions, or not functions alone.
OTHERS = {
    "limit": "select * from t limit 30",
    "offset": "select * from t limit 30 offset 5",
    "order and limit": "select * from t order by s limit 30",
    "sample": "select * from t tablesample (50 percent)",
    "sum of doubles": "select s, sum(d) over () d from t",
    "avg": "select s, avg(id) d from t group by s",
    "sum": "select s, sum(d) d from t group by s",
    "max of doubles": "select max(d) d from t group by s",
    "window": "select id, sum(id) over (order by s rows 3 preceding) n from t",
    "having": "select s from t group by s having first(id) > 3",
    "subquery": "select id from t where id < (select first(id) from t)",
    "in": "select id from t where id in (select cast(rand() * 60 as bigint) from t)",
    "lambda": "select transform(array(id), x -> x + rand()) id from t",
    "union": "select id from t union all select cast(uuid() as bigint) from t",
    "cte": "with c as (select id, rand() r from t) select id from c where r < 0.5",
    "filter": "select id from t where rand() < 0.5",
    "time": "select id from t where id < unix_timestamp() % 60",
    "nested time": "select concat('at ', date_format(now(), 'S')) s from t",
    "pivot": "select * from (select id, s from t) pivot (first(id) for s in ('1', '2'))",
    "cached": None,
    "dropDuplicates": None,
    "collation": None,
    "rdd": None,
    "mapInArrow": None,
    "function": None,
    "jdbc": None,
}


def other(spark, name, table):
    if name == "cached":
        return table.withColumn("r", F.rand()).cache()
    if name == "dropDuplicates":
        return table.dropDuplicates(["s", "s"])
    if name == "collation":
        return table.select(F.collate(F.concat("s", F.lit("x")), "UTF8_LCASE").alias("s")).distinct().select(F.collate("s", "UTF8_BINARY").alias("s"))
    if name == "rdd":
        return spark.createDataFrame(table.repartition(2).rdd, table.schema)
    if name == "mapInArrow":
        return table.mapInArrow(lambda batches: batches, table.schema)
    if name == "function":
        return table.select(F.udf(lambda id: id, "long").asNondeterministic()("id").alias("id"))
    # Otherwise Derby writes a log where the test runs.
    spark._jvm.java.lang.System.setProperty("derby.stream.error.file", "/dev/null")
    view = spark._jsparkSession.read().format("jdbc").option("url", "jdbc:derby:memory:umbel;create=true")
    from pyspark.sql import DataFrame

    return DataFrame(view.option("dbtable", "sysibm.sysdummy1").load(), spark)


# Plans around an unstable one: the difference is somewhere below.
AROUND = [
    lambda df, t: df,
    lambda df, t: df.distinct(),
    lambda df, t: df.unionAll(df),
    lambda df, t: df.select(F.struct(*df.columns).alias("x")),
    lambda df, t: df.crossJoin(t.select("s").distinct().toDF("other")),
    lambda df, t: df.where(F.hash(*df.columns) % 2 == 0),
    lambda df, t: df.repartition(3),
    lambda df, t: df.hint("shuffle_hash"),
]


def test_unstable_tables_are_left_to_spark(spark, unstable):
    """Each of Spark's functions whose results vary, and other reasons, in many plans and all operations.

    No plan is computed: umbel returns Spark's own plan.
    """
    assert len(unstable) > 100
    table, found = base(spark), [*unstable, *OTHERS.items()]
    table.createOrReplaceTempView("t")
    random_ = random.Random(7)
    # Each once, as it is; the rest at random.
    cases = [(name, query, AROUND[0]) for name, query in found]
    while len(cases) < CASES:
        cases.append((*random_.choice(found), random_.choice(AROUND)))
    for name, query, around in cases:
        left = spark.sql(query) if query else other(spark, name, table)
        left = around(left, table)
        right = left if random_.random() < 0.5 else around(spark.sql(query) if query else other(spark, name, table), table)
        operation = random_.choice([*OPERATIONS])
        ours, _ = OPERATIONS[operation]
        with pytest.raises(ValueError, match=f"{operation} cannot prune: "):
            ours(left, right, left.columns, prune=True)
        result = ours(left, right, left.columns)
        plan = result._jdf.queryExecution().analyzed().toString()
        assert not any(sign in plan for sign in ("umbel_", "of_arrow", "UDF(")), name


def test_every_call_is_known(spark, unstable):
    """Every function that is non-deterministic by Spark's registry, or contains the time, has a case."""
    cases = {name for name, _ in unstable} | {name for name, call in CALLS.items() if call is None}
    patterns = spark._jvm.org.apache.spark.sql.catalyst.trees.TreePattern
    unknown = []
    for name, group, noted in functions(spark):
        if noted or group in ("agg_funcs", "window_funcs"):
            unknown += {name} - cases - ALIKE
        if not FULL:
            continue
        try:
            plan = spark.sql(f"select {name}()")._jdf.queryExecution().analyzed()
        except Exception:
            continue
        if not plan.deterministic() or plan.containsPattern(patterns.CURRENT_LIKE()):
            unknown += {name} - cases
    assert not unknown


STABLE_TABLES = {
    "rows": "select * from t",
    # New names: Spark's subtract applies the filter to a computed column that has the name of the filtered one, which gives
    # rows of a table minus itself (its rule ReplaceExceptWithFilter, in 4.3).
    "projection": "select id % 11 n, upper(s) u from t where id > 3",
    "aggregate": "select s, count(*) n, sum(id) m, min(id) a, max(s) z, bool_or(id > 7) f, approx_count_distinct(id) c from t group by s",
    "decimals": "select s, avg(cast(id as decimal(9, 2))) v, sum(cast(d as decimal(9, 2))) w from t group by s",
    "having": "select s from t group by s having count(*) > 8",
    "rollup": "select s, count(*) n from t group by rollup(s)",
    "distinct": "select distinct s from t",
    "distinct counts": "select count(distinct s) a, count(distinct id) b from t",
    "join": "select a.id, b.s from t a join t b on a.id = b.id + 1",
    "subquery": "select id from t where id < (select max(id) from t) and exists (select 1 from t u where u.id = t.id)",
    "cte": "with c as (select id from t) select a.id from c a left join c b on a.id = b.id + 1",
    "set operations": "select id from t intersect select id + 1 from t except select 7 id",
    "explode": "select id, explode(array(1, 2)) n from t",
    "values": "select * from values (1L, 'a'), (2L, 'b') v(id, s)",
    "time given": "select date_add(date'2026-01-01', cast(id as int)) d from t",
    "sorted": "select id from t order by s",
}


@pytest.mark.parametrize("way", ["plain", "checkpoint", "file", "list", "cached"])
def test_stable_tables_are_pruned(spark, way, tmp_path):
    """Rows that are the same each time, by what they are computed from, or because they are kept."""
    table = base(spark)
    if way == "checkpoint":
        table = table.withColumn("id", (F.rand() * 50).cast("bigint")).limit(55).localCheckpoint()
    elif way == "file":
        table.write.parquet(f"{tmp_path}/t")
        table = spark.read.parquet(f"{tmp_path}/t")
    elif way == "list":
        table = spark.createDataFrame(table.toPandas().values.tolist(), table.schema)
    elif way == "cached":
        table = table.cache()
    table.createOrReplaceTempView("t")
    random_ = random.Random(8)
    queries = list(STABLE_TABLES) if way == "plain" else ["rows", "aggregate"]
    for name in queries:
        left, right = spark.sql(STABLE_TABLES[name]), spark.sql(STABLE_TABLES[name])
        stable(left)
        for operation in random_.sample([*OPERATIONS], 6 if FULL else name == "rows"):
            ours, theirs = OPERATIONS[operation]
            pruned, plain = ours(left, right, left.columns, prune=True), theirs(left, right, left.columns)
            assert bag(pruned) == bag(plain), (name, operation)


def test_the_time(spark):
    """Each job of a pruned operation would have another time."""
    now = F.current_timestamp()
    a, b = spark.range(1000).withColumn("t", now), spark.range(500, 1500).withColumn("t", now)
    for use in [us.common, us.except_, us.diff]:
        with pytest.raises(ValueError, match=r"cannot prune: a table has current_timestamp\(\), which differs each time; localCheckpoint"):
            use(a, b, prune=True)
    assert us.common(a, b).count() == 500
    assert us.except_(a, b).count() == 500
    assert us.distinct(a.unionAll(a)).count() == 1000


def test_one_row_of_several(spark):
    left = spark.range(0, 200_000, 1, 2).selectExpr("id % 100000 id", "id v").dropDuplicates(["id"])
    with pytest.raises(ValueError, match=r"a dropDuplicates\(\) of some columns, which keeps any row"):
        us.semi_join(left, spark.range(0, 1_000_000, 1, 4).toDF("v"), "v", prune=True)
    assert us.semi_join(left, spark.range(0, 1_000_000, 1, 4).toDF("v"), "v").count() == 100_000
    # Of rows that are equal as a whole, any is the same.
    assert us.distinct(spark.range(9).dropDuplicates(), prune=True, explain=True).prunes


def test_large_tables_with_the_time(spark):
    """As large as pays for a filter."""
    now = F.current_timestamp()
    a, b = (spark.range(first, first + 900_000).withColumn("t", now) for first in (0, 890_000))
    assert us.common(a, b).count() == 10_000
