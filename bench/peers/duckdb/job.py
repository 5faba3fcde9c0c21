"""The lines that two files share, or that only the first has, or the rows of two tables of CSV with the same key, by DuckDB:
one process per job, whose time and memory can be measured from outside.

    job.py intersect|except|join A B [--key LEFT RIGHT] --out FILE --memory 8GB --threads 2 --tmp DIR [--expect LINES]

Both files are read as one column of text: the delimiter is a byte that no line of the benches holds, and nothing quotes or
escapes. INTERSECT and EXCEPT give each line once, in no order, so DuckDB is also freed from keeping one
(`preserve_insertion_order`), which makes it faster: 5-8 s instead of 6-12 s for INTERSECT where this was written. A SEMI JOIN
below a DISTINCT, the other way to say INTERSECT, took the same time. Exit 0 when `--expect` lines were written, 3 when another
number was.
"""

import argparse
import sys

import duckdb

NEVER = "\x01"


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def main():
    arguments = argparse.ArgumentParser(description="set operations on the lines of two files, by DuckDB")
    arguments.add_argument("operation", choices=["intersect", "except", "join"])
    arguments.add_argument("a")
    arguments.add_argument("b")
    arguments.add_argument("--out", required=True)
    arguments.add_argument("--memory", required=True, help="memory_limit, such as 8GB")
    arguments.add_argument("--threads", type=int, required=True)
    arguments.add_argument("--tmp", required=True, help="temp_directory")
    arguments.add_argument("--key", nargs=2, help="the columns that a join compares")
    arguments.add_argument("--expect", type=int, help="fail unless so many lines come out")
    job = arguments.parse_args()

    connection = duckdb.connect(
        config={
            "memory_limit": job.memory,
            "threads": job.threads,
            "temp_directory": job.tmp,
            "preserve_insertion_order": False,
        }
    )

    def lines(path):
        return (
            f"SELECT line FROM read_csv({quoted(path)}, delim={quoted(NEVER)}, header=false, quote='', escape='', "
            "columns={'line': 'VARCHAR'}, auto_detect=false, parallel=true)"
        )

    if job.operation == "join":
        left, right = job.key
        connection.execute(
            f"COPY (SELECT a.*, b.* EXCLUDE ({right}) FROM {quoted(job.a)} a JOIN {quoted(job.b)} b ON a.{left} = b.{right}) "
            f"TO {quoted(job.out)} (FORMAT csv, HEADER true, USE_TMP_FILE false)"
        )
        return 0

    written = connection.execute(
        f"COPY ({lines(job.a)} {job.operation.upper()} {lines(job.b)}) TO {quoted(job.out)} "
        f"(FORMAT csv, HEADER false, DELIMITER {quoted(NEVER)}, QUOTE '', ESCAPE '', USE_TMP_FILE false)"
    ).fetchone()[0]
    if job.expect is not None and written != job.expect:
        print(f"{job.operation} of {job.a}, {job.b}: expected {job.expect} lines, found {written}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
