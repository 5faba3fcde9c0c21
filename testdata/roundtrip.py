#!/usr/bin/env python3
"""Exchanges filters with other systems, running here: `cargo x test formats`.

Each system makes filters from given keys. umbel must make the same bytes from the same keys, reads them, inserts more keys and writes
them; the system reads the result and is queried. Every answer must equal umbel's. For Parquet, readers that skip row groups by Bloom
filters read files whose filters umbel wrote.

Only cases of systems that this Python has are done: pybloom-live 3 and 4 cannot be in one.
"""

import tempfile
from importlib import metadata
from pathlib import Path

import umbel


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


TEXT, UTF16, I64 = "text", "utf16", "i64"
# Name, format, type of keys, and what it is made with.
CASES = [
    ("guava-chars", "guava", UTF16, dict(keys=2500, fpp=0.03)),
    ("guava-text", "guava", TEXT, dict(keys=2500, fpp=0.1)),
    ("guava-long", "guava", I64, dict(keys=2500, fpp=0.01)),
    ("spark-1-text", "spark", TEXT, dict(keys=2500, bits=15_000, seed=0, options="v1")),
    ("spark-1-long", "spark", I64, dict(keys=2500, bits=12_345, seed=0, options="v1")),
    ("spark-2-text", "spark", TEXT, dict(keys=2500, bits=15_000, seed=0)),
    ("spark-2-long", "spark", I64, dict(keys=2500, bits=15_000, seed=-7)),
    ("datasketches-text", "datasketches", TEXT, dict(keys=2500, fpp=0.05, seed=9001)),
    ("datasketches-long", "datasketches", I64, dict(keys=2500, fpp=0.1, seed=-3)),
    ("hadoop", "hadoop", TEXT, dict(bits=20_011, probes=5)),
    ("hive-text", "hive", TEXT, dict(keys=2500)),
    ("hive-long", "hive", I64, dict(keys=2500)),
    ("parquet-text", "parquet-bits", TEXT, dict(keys=2500, fpp=0.05)),
    ("parquet-long", "parquet-bits", I64, dict(keys=2500, fpp=0.05)),
    ("pybloom-4", "pybloom-4", TEXT, dict(keys=2500, fpp=0.05)),
    ("pybloom-4-scalable", "pybloom-4-scalable", TEXT, dict(keys=300, fpp=0.05)),
    ("pybloom-3", "pybloom-3", TEXT, dict(keys=2500, fpp=0.05)),
    ("pybloom-3-scalable", "pybloom-3-scalable", TEXT, dict(keys=300, fpp=0.05)),
]


def keys(kind, numbers):
    """No number fits 32 bits, so that Python's become Java's long."""
    if kind == I64:
        mixed = [(i * 0x9E3779B97F4A7C15 | 1 << 40) & (1 << 64) - 1 for i in numbers]
        return [key - (1 << 64) if key >> 63 else key for key in mixed]
    return [f"größe-{i}-😀" if i % 3 == 0 else f"key-{i}" for i in numbers]


MEMBERS, ADDED, PROBES = range(2000), range(2000, 2200), range(10_000, 12_000)


def exchange(java, name, format, kind, given):
    """Both ways for one filter; prints a line."""
    n, version = given.get("keys"), 1 if given.get("options") == "v1" else 2
    case = {**given, "keys": kind, "n": n, "format": format, "version": version}
    system = SYSTEMS[format](java, case)
    theirs = system.new()
    members, added, probes = (keys(kind, numbers) for numbers in (MEMBERS, ADDED, PROBES))
    for key in members:
        system.put(theirs, key)
    content = bytes(system.save(theirs))
    key_type = UTF16 if kind == UTF16 else None
    ours = umbel.Foreign(format, key_type=key_type, **given)
    ours.update(members)
    ours.finish()
    assert ours.to_bytes() == content, f"{name}: umbel makes other bytes of the same keys"
    read = umbel.from_bytes(content, format, key_type)
    assert all(read.contains_many(members)), f"{name}: a key is missing"
    read.update(added)
    written = read.to_bytes()
    back = system.load(written)
    assert all(system.has(back, key) for key in members + added), f"{name}: a key is missing in what umbel wrote"
    passing = [bool(system.has(back, key)) for key in probes]
    assert passing == list(read.contains_many(probes)), f"{name}: other false positives than umbel"
    version = java.version(system.CLASS) if hasattr(system, "CLASS") else f"pybloom-live {metadata.version('pybloom_live')}"
    print(f"{name:<20} {version:<26} {len(written):>7} bytes {sum(passing):>5} of {len(probes)} pass")


def parquet_files(folder):
    """The members in four row groups, whose filters pyarrow made, in `full.parquet`; each column's filters, a list for each file.

    umbel makes the same filters of the same rows. In `half.parquet` they are umbel's of every second row, so that readers show whose
    bits they read. No group can be told apart by its least and greatest value.
    """
    import pyarrow
    import pyarrow.parquet as parquet

    columns = {kind: keys(kind, MEMBERS) for kind in (I64, TEXT)}
    table = pyarrow.table({I64: pyarrow.array(columns[I64], pyarrow.int64()), TEXT: pyarrow.array(columns[TEXT], pyarrow.string())})
    path = folder / "full.parquet"
    rows = len(table) // 4
    options = {column: {"ndv": rows, "fpp": 0.01} for column in table.column_names}
    parquet.write_table(table, path, row_group_size=rows, bloom_filter_options=options)
    footer, content = parquet.ParquetFile(path).metadata, path.read_bytes()
    half, filters = bytearray(content), {"full": {I64: [], TEXT: []}, "half": {I64: [], TEXT: []}}
    for group in range(footer.num_row_groups):
        for number, column in enumerate(table.column_names):
            chunk = footer.row_group(group).column(number)
            offset, length = chunk.bloom_filter_offset, chunk.bloom_filter_length
            for file, step in [("full", 1), ("half", 2)]:
                # The bits are a power of two, and the header is shorter.
                filter = umbel.Foreign("parquet", bits=8 << (length.bit_length() - 1))
                filter.update(columns[column][group * rows : (group + 1) * rows : step])
                filters[file][column].append(filter)
                made = filter.to_bytes()
                assert len(made) == length
                if file == "full":
                    assert made == content[offset : offset + length], "umbel makes other filters than pyarrow of the same rows"
                else:
                    half[offset : offset + length] = made
    (folder / "half.parquet").write_bytes(half)
    return filters


def read_parquet(java, folder):
    """Which row groups readers go through for each key, and what they find there; prints a line for each reader."""
    import duckdb

    filters = parquet_files(folder)
    for file in filters:
        path = str(folder / f"{file}.parquet")
        for column in (I64, TEXT):
            asked = keys(column, MEMBERS) + keys(column, PROBES)
            expected = [[group for group, filter in enumerate(filters[file][column]) if key in filter] for key in asked]
            reader = ParquetReader(java, path, column)
            # Slower: every ninth key, so that rows in half.parquet and others are among them.
            rows = rows_of_pyarrow(path, column, asked[::9])
            assert rows == [int(number < len(MEMBERS)) for number in range(len(asked))[::9]], f"{path}: pyarrow finds other rows"
            for name, found, named in [
                (f"DuckDB {duckdb.__version__}", [duckdb_groups(duckdb, path, column, key) for key in asked], expected),
                (java.version("org.apache.parquet.hadoop.ParquetFileReader"), [reader.groups(key) for key in asked[::9]], expected[::9]),
            ]:
                assert found == named, f"{file}, {column}, {name}: other row groups than umbel names"
                print(f"{file + ', ' + column:<20} {name:<26} {sum(map(len, found)):>7} of {4 * len(found)} groups read")


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
    old = metadata.version("pybloom_live").startswith("3.")
    java = None if old else Jvm()
    for case in CASES:
        if case[1].startswith("pybloom-3") == old:
            exchange(java, *case)
    if java:
        with tempfile.TemporaryDirectory() as folder:
            read_parquet(java, Path(folder))


if __name__ == "__main__":
    main()
