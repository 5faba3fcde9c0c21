"""Filters for Parquet files that have none, as other systems write and read them."""

import contextlib
import datetime
import decimal
import os
import random
import subprocess

import duckdb
import polars
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import umbel
from umbel.parquet import add_filters, filters, may_hold, remove_filters

PROGRAM = os.environ.get("UMBEL", "umbel")
ROWS = 3000
# Columns of all types with filters, by their paths in files of pyarrow.
FLAT = ["i64", "i32", "u32", "f32", "f64", "text", "bytes", "fixed", "money", "at", "day"]
NESTED = ["tags.list.element", "user.id", "user.name"]


def table(rows=ROWS, nulls=True, seed=1):
    number = random.Random(seed)
    some = lambda value: None if nulls and number.random() < 0.1 else value
    column = lambda value, kind: pa.array([some(value()) for _ in range(rows)], kind)
    day = datetime.date(2026, 1, 1)
    return pa.table({
        "i64": column(lambda: number.getrandbits(62), pa.int64()),
        "i32": column(lambda: number.getrandbits(30), pa.int32()),
        "u32": column(lambda: number.getrandbits(32), pa.uint32()),
        "f32": column(number.random, pa.float32()),
        "f64": column(number.random, pa.float64()),
        "text": column(lambda: f"user-{number.getrandbits(50):x}", pa.string()),
        "bytes": column(lambda: number.randbytes(number.randrange(20)), pa.binary()),
        "fixed": column(lambda: number.randbytes(16), pa.binary(16)),
        "money": column(lambda: decimal.Decimal(number.getrandbits(60)) / 100, pa.decimal128(22, 2)),
        "at": column(lambda: number.getrandbits(50), pa.timestamp("us", "UTC")),
        "day": column(lambda: day + datetime.timedelta(number.getrandbits(15)), pa.date32()),
        "tags": column(lambda: [some(f"t{number.getrandbits(40):x}") for _ in range(number.randrange(4))], pa.list_(pa.string())),
        "user": column(
            lambda: {"id": some(number.getrandbits(40)), "name": f"n{number.getrandbits(40):x}"},
            pa.struct([("id", pa.int64()), ("name", pa.string())]),
        ),
        "state": pa.array([number.choice("abc") for _ in range(rows)]),
        "same": pa.array([7] * rows),
    })


def body(path):
    content = path.read_bytes()
    return content[: len(content) - 8 - int.from_bytes(content[-8:-4], "little")]


def groups_by_duckdb(path, column, keys):
    """The row groups that DuckDB would read for each key, by its look into the filters."""
    answers = []
    for key in keys:
        rows = duckdb.execute("FROM parquet_bloom_probe($1, $2, $3)", [str(path), column, key]).fetchall()
        answers.append([group for _, group, excluded in rows if not excluded])
    return answers


def groups_by_umbel(path, column, keys):
    lines = "".join(f"{key}\n" for key in keys)
    run = subprocess.run(
        [PROGRAM, "parquet", "which", "--quiet", "--column", column, path], input=lines, capture_output=True, text=True, check=False
    )
    assert run.returncode in (0, 1), run.stderr
    answers = [line.split("\t")[-1] for line in run.stdout.splitlines()]
    return [[] if groups == "-" else [int(group) for group in groups.split(",")] for groups in answers]


def check(path, columns, tmp_path, keys=("i64", "text")):
    """Adds filters: the file still reads the same, every value is found, and other systems skip the row groups that umbel does."""
    new, back = tmp_path / "new.parquet", tmp_path / "back.parquet"
    report = add_filters(path, columns, out=new, always=True)
    assert [column.name for column in report.columns] == columns
    old_file, new_file = pq.ParquetFile(path), pq.ParquetFile(new)
    assert new_file.metadata.num_row_groups == old_file.metadata.num_row_groups
    assert new_file.read().equals(old_file.read()) or pq.read_table(path).num_rows == 0
    assert new_file.metadata.metadata == old_file.metadata.metadata
    assert polars.read_parquet(new).equals(polars.read_parquet(path))
    both = "(SELECT count(*) FROM (FROM read_parquet($1) EXCEPT ALL FROM read_parquet($2)))"
    assert duckdb.execute(f"SELECT {both}", [str(path), str(new)]).fetchone() == (0,)
    assert body(new).startswith(body(path))
    for column in report.columns:
        assert set(column.left_out) <= {"empty"}, column
        assert all(new.fpp <= 0.01 for new in column.filters)
    meta, read = new_file.metadata, new_file.read()
    for column in set(keys) & set(columns):
        values = read[column].drop_null().unique().to_pylist()[::29]
        absent = [f"no {i}" for i in range(200)] if column == "text" else [-1 - i for i in range(200)]
        asked = values + absent
        by_duckdb, by_umbel = groups_by_duckdb(new, column, asked), groups_by_umbel(new, column, asked)
        # DuckDB lists a group without a filter as one to read, as umbel does.
        assert by_duckdb == by_umbel, (path, column)
        offset = 0
        there = {value: set() for value in values}
        for group in range(meta.num_row_groups):
            rows = meta.row_group(group).num_rows
            for value in set(read[column].slice(offset, rows).to_pylist()) & there.keys():
                there[value].add(group)
            offset += rows
        assert all(there[value] <= set(groups) for value, groups in zip(values, by_umbel, strict=False))
        # 200 look-ups per group at 1 % at most: more than 3 % have a chance below 1e-6 in four groups together.
        with_filters = sum(len(new.filters) for new in report.columns if new.name == column)
        wrong = sum(len(groups) for groups in by_umbel[len(values) :])
        assert wrong <= 6 + 0.03 * 200 * with_filters + 200 * (meta.num_row_groups - with_filters)
    remove_filters(new, out=back)
    assert back.read_bytes() == path.read_bytes()
    return report


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "lz4", "zstd"])
def test_pyarrow(tmp_path, codec, version):
    path = tmp_path / "old.parquet"
    pq.write_table(
        table(), path, row_group_size=1100, compression=codec, data_page_version=version, use_dictionary=False,
        data_page_size=5000, write_page_index=True, write_page_checksum=True,
    )
    report = check(path, FLAT + NESTED + ["state"], tmp_path)
    assert all(len(column.filters) == 3 for column in report.columns)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_encodings_of_pyarrow(tmp_path, version):
    path = tmp_path / "old.parquet"
    # Of fixed lengths, Polars reads plain ones only; the crate's own tests have the others.
    encodings = {
        "i64": "DELTA_BINARY_PACKED", "i32": "BYTE_STREAM_SPLIT", "f32": "BYTE_STREAM_SPLIT", "f64": "BYTE_STREAM_SPLIT",
        "text": "DELTA_BYTE_ARRAY", "bytes": "DELTA_LENGTH_BYTE_ARRAY",
        "tags.list.element": "DELTA_LENGTH_BYTE_ARRAY", "user.id": "DELTA_BINARY_PACKED", "user.name": "DELTA_BYTE_ARRAY",
    }
    pq.write_table(
        table(), path, row_group_size=900, use_dictionary=False, column_encoding=encodings, data_page_version=version,
        data_page_size=3000,
    )
    check(path, FLAT + NESTED, tmp_path)


def test_dictionaries_of_pyarrow(tmp_path):
    # Complete dictionaries, and dictionaries abandoned at 2000 bytes.
    for limit in (1 << 20, 2000):
        path = tmp_path / f"{limit}.parquet"
        pq.write_table(table(), path, row_group_size=1500, dictionary_pagesize_limit=limit, data_page_size=2000)
        check(path, FLAT + NESTED + ["state"], tmp_path)
        report = add_filters(path, ["text", "state", "same"], out=tmp_path / "other")
        text, state, same = report.columns
        assert (len(text.filters), text.left_out) == ((0, {"dictionary": (0, 1)}) if limit > 2000 else (2, {}))
        assert state.left_out == {"dictionary": (0, 1)} and same.left_out == {"one_value": (0, 1)}


def test_polars(tmp_path):
    path = tmp_path / "old.parquet"
    frame = polars.from_arrow(table().drop(["state", "same"]))
    for codec in ["uncompressed", "snappy", "gzip", "brotli", "lz4", "zstd"]:
        frame.write_parquet(path, compression=codec, row_group_size=800, data_page_size=4000)
        columns = pq.ParquetFile(path).schema
        paths = [columns.column(i).path for i in range(len(columns))]
        check(path, paths, tmp_path)


def test_duckdb(tmp_path):
    path = tmp_path / "old.parquet"
    for version in ("v1", "v2"):
        for codec in ["uncompressed", "snappy", "gzip", "brotli", "lz4_raw", "zstd"]:
            # pyarrow and the crate parquet do not read DuckDB's deltas of unsigned numbers, which have 33 bits.
            data = table(5000).drop(["same", "u32"] if version == "v2" else ["same"])
            duckdb.execute(
                f"COPY data TO '{path}' (FORMAT parquet, CODEC {codec}, ROW_GROUP_SIZE 2048, PARQUET_VERSION {version}, WRITE_BLOOM_FILTER false)"
            )
            columns = pq.ParquetFile(path).schema
            check(path, [columns.column(i).path for i in range(len(columns))], tmp_path)


def test_unsigned_numbers_of_duckdb(tmp_path):
    path = tmp_path / "old.parquet"
    data = table(5000).select(["u32"])
    duckdb.execute(f"COPY data TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048, PARQUET_VERSION v2, WRITE_BLOOM_FILTER false)")
    report = add_filters(path, "u32")
    values = data["u32"].to_pylist()
    groups = [sorted({row // 2048}) for row, value in enumerate(values) if value is not None]
    keys = [value for value in values if value is not None]
    found = groups_by_umbel(path, "u32", keys)
    assert all(set(there) <= set(groups) for there, groups in zip(groups, found, strict=True))
    assert found[::100] == groups_by_duckdb(path, "u32", keys[::100])
    # Two of three groups can be wrong for each key, at 1 % each.
    assert sum(map(len, found)) <= len(keys) + 2 * 0.015 * len(keys)
    assert sum(new.keys for new in report.columns[0].filters) == pytest.approx(len(keys), rel=0.03)


def test_empty_files(tmp_path):
    path = tmp_path / "old.parquet"
    for rows in (0, 1):
        pq.write_table(table(rows, nulls=False), path, use_dictionary=False)
        before = path.read_bytes()
        report = add_filters(path, FLAT)
        written = [len(column.filters) for column in report.columns]
        # One row has one value, the minimum and the maximum.
        assert sum(written) == 0 and report.bytes_written == 0 and path.read_bytes() == before
    pq.write_table(pa.table({"none": pa.array([None] * 10, pa.int64())}), path, use_dictionary=False)
    assert add_filters(path, "none", always=True).columns[0].left_out == {"empty": (0,)}


def test_filters_of_pyarrow_stay_and_are_removed(tmp_path):
    path = tmp_path / "old.parquet"
    pq.write_table(table(), path, row_group_size=1000, use_dictionary=False, bloom_filter_options={"i64": {"ndv": 1000, "fpp": 0.01}})
    asked = list(range(500))
    before = groups_by_umbel(path, "i64", asked)
    report = add_filters(path, ["i64", "text"])
    assert report.columns[0].left_out == {"present": (0, 1, 2)} and len(report.columns[1].filters) == 3
    assert groups_by_umbel(path, "i64", asked) == before
    report = remove_filters(path, "i64")
    assert report.removed == {"i64": 3} and report.unreachable_bytes > 0
    assert groups_by_duckdb(path, "i64", [5]) == [[0, 1, 2]] or groups_by_duckdb(path, "i64", [5]) == [[]]
    assert pq.read_table(path).equals(table())


def test_keys_are_looked_up_in_many_files(tmp_path):
    """As on the command line, whatever type the keys have in Python."""
    files = [tmp_path / f"{i}.parquet" for i in range(3)]
    for i, path in enumerate(files[:2]):
        data = table(nulls=False, seed=i)
        pq.write_table(data, path, row_group_size=1000, use_dictionary=False)
        add_filters(path, FLAT, fpp=1e-6)
    pq.write_table(table(10).select(["i64"]), files[2])
    for column in FLAT:
        values = data[column].to_pylist()[::301]
        with pytest.warns(UserWarning, match="2.parquet: there is no column") if column != "i64" else contextlib.nullcontext():
            found = may_hold(files, column, values)
        # The third file has no filters.
        for row, groups in zip(range(0, ROWS, 301), found, strict=True):
            assert row // 1000 in groups[str(files[1])], (column, row)
            assert (groups.get(str(files[2])) == (0,)) == (column == "i64")
    # Two files have the row groups 0 to 2, and 10 values of a chance below 1e-6 each.
    assert sum(len(groups.get(str(files[1]), ())) for groups in may_hold(files[:2], "text", [f"none-{i}" for i in range(10)])) == 0
    with pytest.warns(UserWarning, match='0.parquet: "abc" is not a value of type INT64') as told:
        assert may_hold(files[0], "i64", ["abc", "abcd"]) == [{}, {}]
    assert len(told) == 1
    with pytest.raises(FileNotFoundError, match="none"):
        may_hold([*files, tmp_path / "none"], "i64", [1])
    text = data["text"][0].as_py().encode()
    assert may_hold(files[1], "text", [bytearray(text), memoryview(text)]) == [{str(files[1]): (0,)}] * 2
    assert may_hold(files[1], "i64", [np.int64(values := data["i64"][0].as_py())]) == may_hold(files[1], "i64", [values])
    for wrong, words in [("k7", "a str is one key; put it in a list"), ([None], "None is no key: give text, bytes, a number"), ([[1]], "is no key")]:
        with pytest.raises(TypeError, match=words):
            may_hold(files[1], "text", wrong)


def test_filters_of_a_column_are_opened(tmp_path):
    path, rows = tmp_path / "t.parquet", table(nulls=False)
    pq.write_table(rows, path, row_group_size=1000)
    columns = ["i64", "i32", "f32", "f64", "text", "bytes", "fixed"]
    add_filters(path, columns, fpp=1e-6, always=True)
    for column in columns:
        found, values = filters(path, column), rows[column].to_pylist()
        assert list(found) == [0, 1, 2] and all(isinstance(of, umbel.Foreign) for of in found.values())
        for group, of in found.items():
            own = values[1000 * group : 1000 * (group + 1)]
            assert all(of.contains_many(own)) and sum(of.contains_many(values)) <= len([value for value in values if value in set(own)]) + 3
    with pytest.raises(ValueError, match="t.parquet: column day has no Bloom filter in any row group; columns with Bloom filters: i64, i32"):
        filters(path, "day")
    with pytest.raises(ValueError, match="t.parquet: there is no column days"):
        filters(path, "days")
    with pytest.raises(ValueError, match="memory"):
        filters(path, "i64", memory="16KiB")
    with pytest.raises(FileNotFoundError, match="none"):
        filters(tmp_path / "none", "i64")


def test_errors(tmp_path):
    path = tmp_path / "old.parquet"
    pq.write_table(table(100), path)
    before = path.read_bytes()
    for columns, words in [("txet", 'did you mean "text"'), ("user", "user.id, user.name"), ([], "name a column")]:
        with pytest.raises(ValueError, match=words):
            add_filters(path, columns)
    with pytest.raises(ValueError, match="fpp"):
        add_filters(path, "text", fpp=1)
    with pytest.raises(FileNotFoundError):
        add_filters(tmp_path / "none", "text")
    with pytest.raises(ValueError, match="memory cap"):
        add_filters(path, "text", memory="1KiB")
    (tmp_path / "cut").write_bytes(before[:-100])
    with pytest.raises(ValueError, match="truncated"):
        remove_filters(tmp_path / "cut")
    assert path.read_bytes() == before and (tmp_path / "cut").read_bytes() == before[:-100]


def test_encrypted_files_are_refused(tmp_path):
    pe = pytest.importorskip("pyarrow.parquet.encryption")
    path = tmp_path / "old.parquet"

    class Keys(pe.KmsClient):
        def wrap_key(self, key, _):
            return key.hex()

        def unwrap_key(self, key, _):
            return bytes.fromhex(key)

    factory = pe.CryptoFactory(lambda _: Keys())
    for plaintext in (True, False):
        settings = pe.EncryptionConfiguration(
            footer_key="f", column_keys={"c": ["text"]}, plaintext_footer=plaintext, double_wrapping=False
        )
        properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), settings)
        with pq.ParquetWriter(path, table(10).schema, encryption_properties=properties) as writer:
            writer.write_table(table(10))
        before = path.read_bytes()
        for columns in ("text", "i64"):
            with pytest.raises(ValueError, match="signed with their key" if plaintext else "footer is encrypted"):
                add_filters(path, columns)
        assert path.read_bytes() == before


def test_damage_breaks_no_file(tmp_path):
    path, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    pq.write_table(table(300), path, row_group_size=150, use_dictionary=["text"], compression="zstd", write_page_checksum=True)
    content = path.read_bytes()
    number = random.Random(5)
    for _ in range(400):
        damaged = bytearray(content)
        for _ in range(number.randrange(1, 4)):
            damaged[number.randrange(len(damaged))] = number.getrandbits(8)
        cut = number.randrange(len(damaged)) if number.random() < 0.2 else len(damaged)
        path.write_bytes(damaged[:cut])
        new.unlink(missing_ok=True)
        try:
            add_filters(path, ["i64", "text", "user.name", "tags.list.element"], out=new, always=True)
        except (ValueError, OSError):
            assert not new.exists()
            continue
        if not new.exists():
            continue
        try:
            expected = pq.read_table(path)
        except Exception:
            continue
        assert pq.read_table(new).equals(expected)


def test_the_documented_defaults(tmp_path):
    path = tmp_path / "old.parquet"
    pq.write_table(table(), path, use_dictionary=False)
    umbel.parquet.add_filters(str(path), "text", threads=1, memory="64MiB")
    once = path.read_bytes()
    umbel.parquet.remove_filters(path, ["text"])
    umbel.parquet.add_filters(path, ["text"], threads=2)
    assert path.read_bytes() == once
