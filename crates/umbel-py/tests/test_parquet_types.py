"""A filter loses no row: for each type, engines find the same by a value before and after filters were added."""

import datetime
import decimal
import json
import random

import datafusion
import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from umbel.parquet import add_filters

try:
    import chdb
except ImportError:  # Only where filters are exchanged with other systems: it is large.
    chdb = None

ROWS = 400
# Values of each column that are looked up, of as many rows.
ASKED = 40
NUMBER = random.Random(7)
DAY = datetime.date(2026, 1, 1)
ZONES = [None, "UTC", "Europe/Berlin"]
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# DuckDB reads them as FLOAT and DOUBLE.
AS_FLOATS = ["half", "decimal_39_3", "decimal_50_10", "decimal_76_20"]


def below(limit, least=0):
    return lambda: NUMBER.randrange(least, limit)


def digits(precision, scale):
    context = decimal.Context(prec=80)
    return lambda: decimal.Decimal(NUMBER.randrange(1 - 10**precision, 10**precision)).scaleb(-scale, context)


def floats(dtype):
    numbers = [0.0, -0.0, float("inf"), -float("inf"), *(NUMBER.uniform(-1000, 1000) for _ in range(ROWS - 4))]
    return pa.array(np.array(numbers, dtype))


def columns():
    """One of each type that has filters, and some that have none."""
    ints = {f"int{bits}": (below(2 ** (bits - 1), -(2 ** (bits - 1))), getattr(pa, f"int{bits}")()) for bits in (8, 16, 32, 64)}
    ints |= {f"uint{bits}": (below(2**bits), getattr(pa, f"uint{bits}")()) for bits in (8, 16, 32, 64)}
    decimals = {
        f"decimal_{precision}_{scale}": (digits(precision, scale), (pa.decimal128 if precision < 39 else pa.decimal256)(precision, scale))
        for precision, scale in [(3, 1), (9, 2), (10, 2), (18, 4), (19, 4), (28, 5), (38, 10), (39, 3), (50, 10), (76, 20)]
    }
    times = {
        f"timestamp_{unit}_{zone}": (below(1_900_000_000 * ticks, 1_500_000_000 * ticks), pa.timestamp(unit, zone))
        for unit, ticks in TICKS.items()
        for zone in ZONES
    }
    of = ints | decimals | times | {
        "text": (lambda: f"größe-{NUMBER.getrandbits(50):x}", pa.string()),
        "binary": (lambda: NUMBER.randbytes(NUMBER.randrange(1, 20)), pa.binary()),
        "fixed": (lambda: NUMBER.randbytes(5), pa.binary(5)),
        "date": (lambda: DAY + datetime.timedelta(NUMBER.getrandbits(14)), pa.date32()),
        "time_ms": (below(86_400_000), pa.time32("ms")),
        "time_us": (below(86_400_000_000), pa.time64("us")),
        "time_ns": (below(86_400_000_000_000), pa.time64("ns")),
        "duration": (below(2**40), pa.duration("us")),
        "bool": (lambda: NUMBER.random() < 0.5, pa.bool_()),
    }
    made = {name: pa.array([value() for _ in range(ROWS)], kind) for name, (value, kind) in of.items()}
    wrap = pa.ExtensionArray.from_storage
    return made | {
        "half": pa.array(np.array([NUMBER.uniform(-100, 100) for _ in range(ROWS)], np.float16)),
        "float": floats(np.float32),
        "double": floats(np.float64),
        "uuid": wrap(pa.uuid(), pa.array([NUMBER.randbytes(16) for _ in range(ROWS)], pa.binary(16))),
        "json": wrap(pa.json_(), pa.array([json.dumps({"a": NUMBER.getrandbits(40)}) for _ in range(ROWS)])),
        "enum": pa.array([NUMBER.choice(["red", "green"]) for _ in range(ROWS)]).dictionary_encode(),
        "user": pa.array([{"id": NUMBER.getrandbits(40), "name": f"n{NUMBER.getrandbits(40):x}"} for _ in range(ROWS)]),
    }


def by_duckdb(path, column):
    name = '"' + column.replace(".", '"."') + '"'
    rows = f"read_parquet('{path}')"
    (kind,) = duckdb.execute(f"SELECT typeof({name}) FROM {rows} LIMIT 1").fetchone()
    texts = duckdb.execute(f"SELECT DISTINCT {name}::VARCHAR FROM {rows} ORDER BY 1 LIMIT {ASKED}").fetchall()
    count = f"SELECT count(*) FROM {rows} WHERE {name} = CAST($1 AS {kind})"
    return {text: duckdb.execute(count.replace("$1", "'" + text.replace("'", "''") + "'")).fetchone() for (text,) in texts}


def by_polars(path, column):
    rows = polars.scan_parquet(path)
    values = rows.select(polars.col(column).unique(maintain_order=True).head(ASKED)).collect().to_series()
    count = lambda i: rows.filter(polars.col(column) == polars.lit(values[i : i + 1]).first()).select(polars.len()).collect().item()
    return {str(values[i]): count(i) for i in range(len(values))}


def by_datafusion(path, column):
    rows = datafusion.SessionContext(datafusion.SessionConfig().set("datafusion.execution.parquet.pushdown_filters", "true"))
    rows = rows.read_parquet(str(path))
    values = pq.read_table(path, columns=[column]).column(0)
    values = values.cast(values.type.storage_type) if isinstance(values.type, pa.BaseExtensionType) else values
    name = datafusion.col(f'"{column}"')
    return {str(value): rows.filter(name == datafusion.literal(value)).count() for value in values.unique()[:ASKED]}


def by_chdb(path, column):
    ask = lambda what: json.loads(chdb.query(f"SELECT {what} SETTINGS input_format_parquet_bloom_filter_push_down = 1", "JSONCompact").data())["data"]
    name, rows = "`" + column.replace(".", "`.`") + "`", f"FROM file('{path}', Parquet)"
    [[kind]] = ask(f"toTypeName({name}) {rows} LIMIT 1")
    texts = ask(f"DISTINCT toString({name}) AS text {rows} ORDER BY text LIMIT {ASKED}")
    quoted = lambda text: text.replace("\\", "\\\\").replace("'", "\\'")
    return {text: ask(f"count() {rows} WHERE {name} = CAST('{quoted(text)}' AS {kind})") for (text,) in texts}


@pytest.mark.parametrize("as_integers", [False, True])
def test_engines_find_each_row_as_before(tmp_path, as_integers):
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    pq.write_table(pa.table(columns()), old, row_group_size=ROWS // 4, use_dictionary=False, store_decimal_as_integer=as_integers)
    schema = pq.ParquetFile(old).schema
    paths = [schema.column(i).path for i in range(len(schema))]
    report = add_filters(old, [path for path in paths if path != "bool"], out=new, always=True)
    for column in report.columns:
        left_out = column.name in AS_FLOATS
        assert (len(column.filters), dict(column.left_out)) == ((0, {"read_as_float": (0, 1, 2, 3)}) if left_out else (4, {})), column.name
    for path in paths:
        readers = [by_duckdb]
        if "." not in path:
            # Polars has no decimals of more than 38 digits.
            readers += [by_chdb] if chdb else []
            readers += [by_datafusion, *([by_polars] if path not in AS_FLOATS[1:] else [])]
        for reader in readers:
            before = reader(old, path)
            assert before and reader(new, path) == before, (reader.__name__, path)
