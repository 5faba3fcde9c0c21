#!/usr/bin/env python3
"""The other side of `cargo x roundtrip`: other systems make filters, and are asked about those that umbel wrote.

    roundtrip.py make FOLDER    writes NAME.theirs for each case of FOLDER/cases.json, and data.parquet
    roundtrip.py ask FOLDER     asks each system about NAME.umbel, writes FOLDER/answers.json

Only cases of systems that this Python has are done: pybloom-live 3 and 4 cannot be in one.
"""

import json
import sys
from importlib import metadata
from pathlib import Path


class Jvm:
    """Java's systems, in the jars of PySpark, without a Spark session."""

    def __init__(self):
        from pyspark.java_gateway import launch_gateway

        self.gateway = launch_gateway()
        self.jvm = self.gateway.jvm

    def output(self):
        return self.jvm.java.io.ByteArrayOutputStream()

    def input(self, content):
        return self.jvm.java.io.ByteArrayInputStream(content)

    def version(self, class_of):
        """Of the jar that a class is from."""
        loader = self.jvm.Thread.currentThread().getContextClassLoader()
        source = loader.loadClass(class_of).getProtectionDomain().getCodeSource()
        return Path(source.getLocation().getPath()).stem

    def enum(self, name, constant):
        loader = self.jvm.Thread.currentThread().getContextClassLoader()
        return next(c for c in loader.loadClass(name).getEnumConstants() if c.name() == constant)


class Guava:
    CLASS = "com.google.common.hash.BloomFilter"

    def __init__(self, java, case):
        self.java, self.case = java, case
        funnels = java.jvm.com.google.common.hash.Funnels
        utf8 = java.jvm.java.nio.charset.StandardCharsets.UTF_8
        self.funnel = {
            "utf16": lambda: funnels.unencodedCharsFunnel(),
            "text": lambda: funnels.stringFunnel(utf8),
            "i64": lambda: funnels.longFunnel(),
        }[case["keys"]]()

    def new(self):
        create = self.java.jvm.com.google.common.hash.BloomFilter.create
        return create(self.funnel, self.case["n"], self.case["fpp"])

    def put(self, filter, key):
        filter.put(key)

    def has(self, filter, key):
        return filter.mightContain(key)

    def save(self, filter):
        out = self.java.output()
        filter.writeTo(out)
        return out.toByteArray()

    def load(self, content):
        read = self.java.jvm.com.google.common.hash.BloomFilter.readFrom
        return read(self.java.input(content), self.funnel)


class Spark:
    CLASS = "org.apache.spark.util.sketch.BloomFilter"

    def __init__(self, java, case):
        self.java, self.case = java, case
        self.filters = java.jvm.org.apache.spark.util.sketch.BloomFilter

    def new(self):
        version = self.java.enum(self.CLASS + "$Version", f"V{self.case['version']}")
        return self.filters.create(version, self.case["n"], self.case["bits"], self.case["seed"])

    def put(self, filter, key):
        filter.putString(key) if isinstance(key, str) else filter.putLong(key)

    def has(self, filter, key):
        if isinstance(key, str):
            return filter.mightContainString(key)
        return filter.mightContainLong(key)

    def save(self, filter):
        out = self.java.output()
        filter.writeTo(out)
        return out.toByteArray()

    def load(self, content):
        return self.filters.readFrom(self.java.input(content))


class DataSketches:
    CLASS = "org.apache.datasketches.filters.bloomfilter.BloomFilter"

    def __init__(self, java, case):
        self.java, self.case = java, case
        self.package = java.jvm.org.apache.datasketches.filters.bloomfilter

    def new(self):
        build = self.package.BloomFilterBuilder.createByAccuracy
        return build(self.case["n"], self.case["fpp"], self.case["seed"])

    def put(self, filter, key):
        filter.update(key)

    def has(self, filter, key):
        return filter.query(key)

    def save(self, filter):
        return filter.toByteArray()

    def load(self, content):
        memory = self.java.jvm.org.apache.datasketches.memory.Memory.wrap(content)
        return self.package.BloomFilter.heapify(memory)


class Hadoop:
    CLASS = "org.apache.hadoop.util.bloom.BloomFilter"

    def __init__(self, java, case):
        self.java, self.case = java, case
        self.package = java.jvm.org.apache.hadoop.util.bloom

    def new(self):
        murmur = 1
        return self.package.BloomFilter(self.case["bits"], self.case["probes"], murmur)

    def put(self, filter, key):
        filter.add(self.package.Key(key.encode()))

    def has(self, filter, key):
        return filter.membershipTest(self.package.Key(key.encode()))

    def save(self, filter):
        out = self.java.output()
        filter.write(self.java.jvm.java.io.DataOutputStream(out))
        return out.toByteArray()

    def load(self, content):
        filter = self.package.BloomFilter()
        filter.readFields(self.java.jvm.java.io.DataInputStream(self.java.input(content)))
        return filter


class Hive:
    CLASS = "org.apache.hive.common.util.BloomKFilter"

    def __init__(self, java, case):
        self.java, self.case = java, case
        self.filters = java.jvm.org.apache.hive.common.util.BloomKFilter

    def new(self):
        return self.filters(self.case["n"])

    def put(self, filter, key):
        filter.addString(key) if isinstance(key, str) else filter.addLong(key)

    def has(self, filter, key):
        return filter.testString(key) if isinstance(key, str) else filter.testLong(key)

    def save(self, filter):
        out = self.java.output()
        self.filters.serialize(out, filter)
        return out.toByteArray()

    def load(self, content):
        return self.filters.deserialize(self.java.input(content))


class ParquetJava:
    CLASS = "org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter"

    def __init__(self, java, case):
        self.java, self.case = java, case
        self.package = java.jvm.org.apache.parquet.column.values.bloomfilter

    def new(self):
        bits = self.package.BlockSplitBloomFilter.optimalNumOfBits(self.case["n"], self.case["fpp"])
        return self.package.BlockSplitBloomFilter(bits // 8)

    def hash(self, filter, key):
        if isinstance(key, str):
            key = self.java.jvm.org.apache.parquet.io.api.Binary.fromString(key)
        return filter.hash(key)

    def put(self, filter, key):
        filter.insertHash(self.hash(filter, key))

    def has(self, filter, key):
        return filter.findHash(self.hash(filter, key))

    def save(self, filter):
        out = self.java.output()
        filter.writeTo(out)
        return out.toByteArray()

    def load(self, content):
        return self.package.BlockSplitBloomFilter(content)


class Pybloom:
    def __init__(self, _, case):
        import pybloom_live

        self.case = case
        scalable = case["format"].endswith("scalable")
        self.kind = pybloom_live.ScalableBloomFilter if scalable else pybloom_live.BloomFilter

    def new(self):
        return self.kind(self.case["n"], self.case["fpp"])

    def put(self, filter, key):
        filter.add(key)

    def has(self, filter, key):
        return key in filter

    def save(self, filter):
        import io

        out = io.BytesIO()
        filter.tofile(out)
        return out.getvalue()

    def load(self, content):
        import io

        return self.kind.fromfile(io.BytesIO(content))


SYSTEMS = {
    "guava": Guava,
    "spark": Spark,
    "datasketches": DataSketches,
    "hadoop": Hadoop,
    "hive": Hive,
    "parquet-bits": ParquetJava,
    "pybloom-3": Pybloom,
    "pybloom-4": Pybloom,
    "pybloom-4-scalable": Pybloom,
    "pybloom-3-scalable": Pybloom,
}


def is_here(case):
    """Whether this Python has the system; there is one Python with pybloom-live 3, the other has all else."""
    old = metadata.version("pybloom_live").startswith("3.")
    return old == case["format"].startswith("pybloom-3")


def make(folder, java, cases, keys):
    for case in cases:
        system = SYSTEMS[case["format"]](java, case)
        filter = system.new()
        for key in keys[case["keys"]]["members"]:
            system.put(filter, key)
        (folder / f"{case['name']}.theirs").write_bytes(system.save(filter))
    if java:
        make_parquet(folder, keys)


def make_parquet(folder, keys):
    """The members in four row groups, each with a filter; none can be told apart by its least and greatest."""
    import pyarrow
    import pyarrow.parquet as parquet

    table = pyarrow.table({
        "i64": pyarrow.array(keys["i64"]["members"], pyarrow.int64()),
        "text": pyarrow.array(keys["text"]["members"], pyarrow.string()),
    })
    path = folder / "data.parquet"
    rows = len(table) // 4
    filters = {column: {"ndv": rows, "fpp": 0.01} for column in table.column_names}
    parquet.write_table(table, path, row_group_size=rows, bloom_filter_options=filters)
    footer = parquet.ParquetFile(path).metadata
    places = []
    for group in range(footer.num_row_groups):
        for number, column in enumerate(table.column_names):
            chunk = footer.row_group(group).column(number)
            place = {"row_group": group, "column": column, "rows": chunk.num_values}
            place["offset"] = chunk.bloom_filter_offset
            place["length"] = chunk.bloom_filter_length
            places.append(place)
    (folder / "places.json").write_text(json.dumps(places))


def ask(folder, java, cases, keys):
    path = folder / "answers.json"
    answers = json.loads(path.read_text()) if path.exists() else {}
    for case in cases:
        system = SYSTEMS[case["format"]](java, case)
        filter = system.load((folder / f"{case['name']}.umbel").read_bytes())
        asked = keys[case["keys"]]
        found = {group: [bool(system.has(filter, key)) for key in asked[group]] for group in asked}
        version = java.version(system.CLASS) if hasattr(system, "CLASS") else ""
        found["version"] = version or f"pybloom-live {metadata.version('pybloom_live')}"
        answers[case["name"]] = found
    if java:
        ask_parquet(folder, java, keys, answers)
    path.write_text(json.dumps(answers))


def ask_parquet(folder, java, keys, answers):
    """Which row groups readers go through for each key, and what they find there."""
    import duckdb

    for file in ["full", "half"]:
        path = str(folder / f"{file}.parquet")
        for column in ["i64", "text"]:
            asked = keys[column]["members"] + keys[column]["probes"]
            answers[f"{file} {column} duckdb"] = {
                "version": f"DuckDB {duckdb.__version__}",
                "row_groups": [duckdb_groups(duckdb, path, column, key) for key in asked],
            }
            # Slower: every ninth key, so that rows in half.parquet and others are among them.
            reader = ParquetReader(java, path, column)
            answers[f"{file} {column} parquet-java"] = {
                "version": java.version("org.apache.parquet.hadoop.ParquetFileReader"),
                "row_groups": [reader.groups(key) for key in asked[::9]],
            }
            answers[f"{file} {column} pyarrow"] = {
                "version": f"pyarrow {metadata.version('pyarrow')}",
                "rows": rows_of_pyarrow(path, column, asked[::9]),
            }


def duckdb_groups(duckdb, path, column, key):
    """The row groups that the filters do not exclude."""
    rows = duckdb.execute("FROM parquet_bloom_probe($1, $2, $3)", [path, column, key]).fetchall()
    return sorted(group for _, group, excluded in rows if not excluded)


def rows_of_pyarrow(path, column, keys):
    """How many rows have each key: of pyarrow, which writes filters and reads without them."""
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    values = parquet.read_table(path, columns=[column])[column]
    return [compute.sum(compute.equal(values, key)).as_py() or 0 for key in keys]


class ParquetReader:
    """parquet-java's reader, told to skip row groups by their Bloom filters alone."""

    def __init__(self, java, path, column):
        jvm = java.jvm
        hadoop = jvm.org.apache.hadoop
        self.file = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(
            hadoop.fs.Path(path), hadoop.conf.Configuration()
        )
        self.jvm, self.column = jvm, column
        reader = self.open(None)
        blocks = reader.getFooter().getBlocks()
        self.starts = [blocks.get(i).getStartingPos() for i in range(blocks.size())]
        reader.close()

    def open(self, filter):
        options = self.jvm.org.apache.parquet.ParquetReadOptions.builder()
        options.useStatsFilter(False).useDictionaryFilter(False)
        options.useColumnIndexFilter(False).useBloomFilter(True)
        if filter:
            compat = self.jvm.org.apache.parquet.filter2.compat.FilterCompat
            options.withRecordFilter(compat.get(filter))
        return self.jvm.org.apache.parquet.hadoop.ParquetFileReader.open(self.file, options.build())

    def groups(self, key):
        api = self.jvm.org.apache.parquet.filter2.predicate.FilterApi
        if isinstance(key, str):
            column = api.binaryColumn(self.column)
            key = self.jvm.org.apache.parquet.io.api.Binary.fromString(key)
        else:
            column = api.longColumn(self.column)
        reader = self.open(api.eq(column, key))
        groups = reader.getRowGroups()
        starts = [groups.get(i).getStartingPos() for i in range(groups.size())]
        reader.close()
        return [self.starts.index(start) for start in starts]


def main():
    verb, folder = sys.argv[1], Path(sys.argv[2])
    told = json.loads((folder / "cases.json").read_text())
    cases = [case for case in told["cases"] if is_here(case)]
    java = None if cases[0]["format"].startswith("pybloom-3") else Jvm()
    {"make": make, "ask": ask}[verb](folder, java, cases, told["keys"])


if __name__ == "__main__":
    main()
