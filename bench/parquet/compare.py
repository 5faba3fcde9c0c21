"""Adding filters to a Parquet file next to reading the same columns with pyarrow, in pairs: python3 compare.py FOLDER [MB [PAIRS]].

Makes FOLDER/events-MB.parquet, if it is not there, as a service would export its events: six columns, row groups of
1,048,576 rows, Snappy. UMBEL names the program, built with --features parquet. Needs pyarrow and NumPy."""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = ["user_id", "trace_id", "url"]
GROUP = 1 << 20
BYTES_PER_ROW = 68


def words(numbers, digits):
    """Each number as this many hexadecimal digits."""
    shifts = np.arange(4 * (digits - 1), -1, -4, dtype=np.uint64)
    nibbles = (numbers[:, None] >> shifts) & np.uint64(15)
    return np.frombuffer(b"0123456789abcdef", dtype=np.uint8)[nibbles]


def text(parts):
    """A column of text: each row the bytes of all parts, one after the other."""
    rows = np.ascontiguousarray(np.concatenate(parts, axis=1))
    offsets = np.arange(len(rows) + 1, dtype=np.int32) * rows.shape[1]
    return pa.StringArray.from_buffers(len(rows), pa.py_buffer(offsets), pa.py_buffer(rows))


def constant(word, rows):
    return np.broadcast_to(np.frombuffer(word, dtype=np.uint8), (rows, len(word)))


def group(first, random):
    def number(most):
        return random.integers(0, most, GROUP, dtype=np.uint64)

    urls = [constant(b"https://shop.example/item/", GROUP), words(number(1 << 32), 8)]
    urls += [constant(b"?session=", GROUP), words(number(1 << 40), 10)]
    return pa.table({
        "at": pa.array(first * 1000 + np.sort(number(GROUP * 1000)).astype(np.int64), pa.timestamp("us", "UTC")),
        "user_id": pa.array(number(50_000_000).astype(np.int64)),
        "trace_id": text([words(number(1 << 63), 16), words(number(1 << 63), 16)]),
        "url": text(urls),
        "status": pa.array(random.choice([200, 301, 404, 500], GROUP, p=[0.9, 0.05, 0.04, 0.01]).astype(np.int32)),
        "bytes": pa.array(random.exponential(20_000, GROUP).astype(np.int32)),
    })


def make(path, megabytes):
    random = np.random.default_rng(1)
    groups = max(1, round(megabytes * 1e6 / BYTES_PER_ROW / GROUP))
    with pq.ParquetWriter(path, group(0, random).schema) as writer:
        for i in range(groups):
            writer.write_table(group(i * GROUP, random), row_group_size=GROUP)


def read(path):
    pq.read_table(path, columns=COLUMNS, use_threads=True)


def add(path):
    out = path.with_suffix(".new")
    columns = [f"--column={column}" for column in COLUMNS]
    subprocess.run([os.environ.get("UMBEL", "umbel"), "parquet", "add", *columns, path, "-o", out, "-q"], check=True)


def seconds(work, path):
    started = time.perf_counter()
    work(path)
    return time.perf_counter() - started


def main():
    folder = Path(sys.argv[1])
    megabytes, pairs = (int(given) for given in (sys.argv[2:4] + ["1000", "5"][len(sys.argv[2:4]) :]))
    path = folder / f"events-{megabytes}.parquet"
    if not path.exists():
        make(path, megabytes)
    meta = pq.ParquetFile(path).metadata
    print(f"{path.stat().st_size / 1e6:.0f} MB, {meta.num_rows:,} rows in {meta.num_row_groups} row groups; pyarrow {pa.__version__}, {pa.cpu_count()} threads")
    read(path), add(path)
    ratios = []
    for _ in range(pairs):
        pyarrow, umbel = seconds(read, path), seconds(add, path)
        ratios.append(umbel / pyarrow)
        print(f"pyarrow {pyarrow:.2f} s, umbel {umbel:.2f} s: {ratios[-1]:.2f}")
    print(f"median {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
