"""Set operations on the lines of files, or a join or difference of two tables of CSV, by a table engine: one process per job,
whose time and memory can be measured from outside.

    job.py ENGINE intersect|except|distinct|join|diff A [B] [--key LEFT RIGHT] --out FILE --threads 2 --tmp DIR [--memory 8GB]

ENGINE is duckdb, polars or clickhouse (in the package chdb). Files of lines are read as one column of text: the delimiter is a
byte that no line of the benches holds, and nothing quotes or escapes. Each line of an answer is written once, in any order: the
engines are freed from keeping one, which makes them faster. Only DuckDB and ClickHouse have a limit on memory.

Where an engine has several ways to say a job, this is the fastest of those that were tried.
"""

import argparse
import os
import shutil

NEVER = "\x01"


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def differences(a, b):
    """Rows that only A has, marked -, and those that only B has, marked +."""
    only = "(SELECT '{}' AS diffresult, * FROM (SELECT * FROM {} EXCEPT SELECT * FROM {}))"
    return f"{only.format('-', a, b)} UNION ALL {only.format('+', b, a)}"


def duckdb(job):
    import duckdb

    config = {"threads": job.threads, "temp_directory": job.tmp, "preserve_insertion_order": False}
    connection = duckdb.connect(config=config | ({"memory_limit": job.memory} if job.memory else {}))

    def lines(path):
        return (
            f"SELECT line FROM read_csv({quoted(path)}, delim={quoted(NEVER)}, header=false, quote='', escape='', "
            "columns={'line': 'VARCHAR'}, auto_detect=false, parallel=true)"
        )

    form = f"FORMAT csv, HEADER false, DELIMITER {quoted(NEVER)}, QUOTE '', ESCAPE ''"
    if job.operation == "join":
        left, right = job.key
        form = "FORMAT csv, HEADER true"
        query = f"SELECT a.*, b.* EXCLUDE ({right}) FROM {quoted(job.a)} a JOIN {quoted(job.b)} b ON a.{left} = b.{right}"
    elif job.operation == "diff":
        form = "FORMAT csv, HEADER true"
        # As text: 1.50 is not 1.5.
        query = differences(*(f"read_csv({quoted(path)}, all_varchar=true)" for path in (job.a, job.b)))
    elif job.operation == "distinct":
        query = f"SELECT DISTINCT line FROM ({lines(job.a)})"
    else:
        query = f"{lines(job.a)} {job.operation.upper()} {lines(job.b)}"
    connection.execute(f"COPY ({query}) TO {quoted(job.out)} ({form}, USE_TMP_FILE false)")


def polars(job):
    # Read when the package is imported.
    os.environ["POLARS_MAX_THREADS"] = str(job.threads)
    os.environ["POLARS_TEMP_DIR"] = job.tmp
    import polars

    if job.operation == "join":
        left, right = job.key
        rows = polars.scan_csv(job.a).join(polars.scan_csv(job.b), left_on=left, right_on=right, maintain_order="none")
        rows.sink_csv(job.out, engine="streaming", maintain_order=False)
        return

    if job.operation == "diff":
        a, b = (polars.scan_csv(path, infer_schema=False) for path in (job.a, job.b))
        columns = a.collect_schema().names()
        only = [one.join(other, on=columns, how="anti", maintain_order="none").select(polars.lit(mark).alias("diffresult"), *columns)
                for mark, one, other in (("-", a, b), ("+", b, a))]
        polars.concat(only).sink_csv(job.out, engine="streaming", maintain_order=False)
        return

    def lines(path):
        return polars.scan_csv(path, has_header=False, separator=NEVER, quote_char=None, schema={"line": polars.String})

    found = lines(job.a)
    if job.operation != "distinct":
        how = {"intersect": "semi", "except": "anti"}[job.operation]
        found = found.join(lines(job.b), on="line", how=how, maintain_order="none")
    found = found.unique(maintain_order=False)
    found.sink_csv(job.out, include_header=False, separator=NEVER, quote_style="never", engine="streaming", maintain_order=False)


def clickhouse(job):
    import chdb.session

    session = chdb.session.Session(job.tmp)
    settings = f"max_threads={job.threads}"
    if job.memory:
        # Aggregations and joins spill at half of it.
        limit = int(job.memory.removesuffix("GB")) * 10**9
        settings += f", max_memory_usage={limit}, max_bytes_before_external_group_by={limit // 2}"

    def lines(path):
        return f"SELECT line FROM file({quoted(path)}, 'LineAsString', 'line String')"

    form, more = "LineAsString", ""
    if job.key or job.operation == "diff":
        # Its CSV quotes every text; the others write these rows without quotes.
        form = "CustomSeparatedWithNames"
        more = ", format_custom_escaping_rule='Raw', format_custom_field_delimiter=','"
        a, b = (f"file({quoted(path)}, 'CSVWithNames')" for path in (job.a, job.b))
    if job.operation == "diff":
        with open(job.a) as file:
            columns = ", ".join(f"{name} String" for name in file.readline().strip().split(","))
        a, b = (f"file({quoted(path)}, 'CSVWithNames', {quoted(columns)})" for path in (job.a, job.b))
        query = differences(a, b).replace("EXCEPT", "EXCEPT DISTINCT")
    elif job.operation == "join":
        left, right = job.key
        query = f"SELECT a.*, b.* EXCEPT {right} FROM {a} AS a INNER JOIN {b} AS b ON a.{left} = b.{right}"
    elif job.operation == "distinct":
        query = f"SELECT DISTINCT line FROM ({lines(job.a)})"
    else:
        query = f"{lines(job.a)} {job.operation.upper()} DISTINCT {lines(job.b)}"
    session.query(f"{query} INTO OUTFILE {quoted(job.out)} TRUNCATE FORMAT {form} SETTINGS {settings}{more}")


def main():
    arguments = argparse.ArgumentParser(description="set operations on lines or tables, by a table engine")
    engines = {engine.__name__: engine for engine in (duckdb, polars, clickhouse)}
    arguments.add_argument("engine", choices=engines)
    arguments.add_argument("operation", choices=["intersect", "except", "distinct", "join", "diff"])
    arguments.add_argument("a")
    arguments.add_argument("b", nargs="?")
    arguments.add_argument("--out", required=True)
    arguments.add_argument("--memory", help="a limit such as 8GB")
    arguments.add_argument("--threads", type=int, required=True)
    arguments.add_argument("--tmp", required=True, help="folder for temporary files")
    arguments.add_argument("--key", nargs=2, help="the columns that a join compares")
    job = arguments.parse_args()
    os.makedirs(job.tmp, exist_ok=True)
    try:
        engines[job.engine](job)
    finally:
        shutil.rmtree(job.tmp, ignore_errors=True)


if __name__ == "__main__":
    main()
