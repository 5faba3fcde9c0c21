"""Filters in files of parquet-java, read by parquet-java: it skips exactly the row groups that umbel skips."""

import os
import subprocess

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from umbel.parquet import add_filters, remove_filters

PROGRAM = os.environ.get("UMBEL", "umbel")
ROWS = 30_000


class Reader:
    """parquet-java's reader, set to skip row groups by their Bloom filters alone."""

    def __init__(self, jvm, path, column):
        self.jvm, self.column = jvm, column
        hadoop = jvm.org.apache.hadoop
        path = hadoop.fs.Path(str(path))
        self.file = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, hadoop.conf.Configuration())
        self.starts = self.read(None)

    def read(self, condition):
        options = self.jvm.org.apache.parquet.ParquetReadOptions.builder()
        options.useStatsFilter(False).useDictionaryFilter(False).useColumnIndexFilter(False).useBloomFilter(True)
        if condition:
            options.withRecordFilter(self.jvm.org.apache.parquet.filter2.compat.FilterCompat.get(condition))
        reader = self.jvm.org.apache.parquet.hadoop.ParquetFileReader.open(self.file, options.build())
        groups = reader.getRowGroups()
        starts = [groups.get(i).getStartingPos() for i in range(groups.size())]
        reader.close()
        return starts

    def groups(self, key):
        api = self.jvm.org.apache.parquet.filter2.predicate.FilterApi
        if isinstance(key, str):
            column, key = api.binaryColumn(self.column), self.jvm.org.apache.parquet.io.api.Binary.fromString(key)
        else:
            # Py4J hands smaller numbers on as Integer, which has another hash.
            assert abs(key) >= 1 << 31
            column = api.longColumn(self.column)
        return [self.starts.index(start) for start in self.read(api.eq(column, key))]


def groups_by_umbel(path, column, keys):
    run = subprocess.run(
        [PROGRAM, "parquet", "which", "--quiet", "--column", column, path],
        input="".join(f"{key}\n" for key in keys), capture_output=True, text=True, check=False,
    )
    assert run.returncode in (0, 1), run.stderr
    answers = [line.split("\t")[-1] for line in run.stdout.splitlines()]
    return [[] if groups == "-" else [int(group) for group in groups.split(",")] for groups in answers]


VERSIONS = ["PARQUET_1_0", "PARQUET_2_0"]
# Spark 4.3 misreads text in its own uncompressed files of version 2.
CODECS = [("snappy", "false"), ("gzip", "true"), ("lz4_raw", "false"), ("zstd", "true")]
CASES = [(version, *codec) for codec in CODECS for version in VERSIONS]
if "UMBEL_TEST_FULL" not in os.environ:
    # Each version once, without dictionaries and with them.
    CASES = [CASES[0], CASES[7]]


@pytest.mark.parametrize(("version", "codec", "dictionary"), CASES)
def test_files_of_parquet_java(spark, tmp_path, version, codec, dictionary):
    number, other = F.xxhash64("id"), F.xxhash64("id", F.lit(1))
    some = lambda column: F.when(F.col("id") % 11 != 0, column)
    rows = spark.range(0, ROWS, 1, 1).select(
        some(number).alias("number"),
        some(F.concat(F.lit("user-"), F.hex(number))).alias("text"),
        F.struct(some(other).alias("id")).alias("user"),
        F.when(F.col("id") % 3 != 0, F.array(F.hex(number), some(F.hex(other)))).alias("tags"),
        (F.col("id") % 4).alias("state"),
    )
    options = {
        "compression": codec, "parquet.writer.version": version, "parquet.enable.dictionary": dictionary,
        "parquet.block.size": 1 << 20, "parquet.page.size": 1 << 14, "parquet.block.size.row.check.min": 1000,
        "parquet.page.size.row.check.min": 100, "parquet.page.size.row.check.max": 1000, "parquet.dictionary.page.size": 1 << 14,
    }
    rows.write.options(**options).parquet(f"file://{tmp_path}/rows")
    (path,) = (tmp_path / "rows").glob("*.parquet")
    before = path.read_bytes()
    assert pq.ParquetFile(path).metadata.num_row_groups > 1
    # Spark keeps sums of its files, which are right for the old one only.
    new = tmp_path / "new.parquet"
    report = add_filters(path, ["number", "text", "user.id", "tags.list.element", "state"], out=new)
    for column in report.columns[:4]:
        assert column.filters and not column.left_out, column
    assert not report.columns[4].filters
    expected = spark.read.parquet(f"file://{path}")
    found = spark.read.parquet(f"file://{new}")
    assert found.schema == expected.schema and found.collect() == expected.collect()
    assert pq.read_table(new).equals(pq.read_table(path))
    values = rows.where("number is not null").limit(20_000).sample(0.002, 3).collect()
    for column, keys in [("number", [row.number for row in values]), ("text", [row.text for row in values])]:
        keys += ["no user"] + [f"user-{i}" for i in range(40)] if column == "text" else list(range(1 << 40, (1 << 40) + 40))
        reader = Reader(spark._jvm, new, column)
        by_umbel = groups_by_umbel(new, column, keys)
        assert [reader.groups(key) for key in keys] == by_umbel
        assert all(by_umbel[: len(values)])
    remove_filters(new)
    assert new.read_bytes() == before
