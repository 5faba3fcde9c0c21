"""Random tables through umbel, against SQLite and Python: `models.py UMBEL CASES [MODEL]`.

Each case is small, so that every combination of repeats, missing keys and orders of columns comes up, and is drawn
from a seed of its own, which a failure names.
"""

import csv
import io
import json
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from urllib.parse import urlsplit

UMBEL, CASES = sys.argv[1], int(sys.argv[2])


def umbel(dice, folder, *arguments):
    """What is printed with some number of threads from 1 to 64, under some cap from the lowest to 2 GiB."""
    threads = dice.choice([1, 2, 3, dice.randrange(4, 65)])
    memory = dice.choice([16, int(2 ** dice.uniform(4, 11))])
    while True:
        run = subprocess.run([UMBEL, *arguments, "--quiet", f"--threads={threads}", f"--memory={memory}MiB"],
                             cwd=folder, capture_output=True, check=False)
        least = re.search(rb"(?:a cap of|at least) (\d+)MiB", run.stderr)
        if not least:
            break
        assert int(least[1]) > memory, run.stderr
        memory = int(least[1])
    if run.returncode == 2:
        raise AssertionError(f"umbel {' '.join(arguments)}: {run.stderr.decode()}")
    return run.stdout.decode()


def table(dice, columns, rows):
    """A file of CSV with its columns in some order, and the rows as they are in it."""
    order = dice.sample(range(len(columns)), len(columns))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=dice.choice(["\n", "\r\n"]))
    writer.writerow([columns[i] for i in order])
    writer.writerows([row[i] for i in order] for row in rows)
    return text.getvalue(), [columns[i] for i in order]


def draw(dice):
    values = ["a", "b", "c", "d,e", 'f"g', "", "h\ni"]
    return [(dice.choice(values), dice.choice("xyz"), str(number))
            for number in range(dice.randrange(12))]


def joins(dice, folder):
    """--all: semi-joins and anti-joins of two or three tables, against SQLite."""
    database = sqlite3.connect(":memory:")
    columns = ["k", "l", "n"]
    key = dice.choice([["k"], ["l"], ["k", "l"]])
    names = ["t0", "t1", "t2"][:dice.choice([2, 2, 3])]
    for name in names:
        rows = draw(dice)
        text, order = table(dice, columns, rows)
        (folder / name).write_text(text, newline="")
        database.execute(f"create table {name} (k, l, n)")
        database.executemany(f"insert into {name} values (?, ?, ?)", rows)
        if name == "t0":
            header = order
    arguments = [part for field in key for part in ("--key", field)]
    for verb, word, join in [("common", "exists", "and"), ("except", "not exists", "and")]:
        condition = f" {join} ".join(
            f"{word} (select 1 from {name} where "
            + " and ".join(f"{name}.{field} = t0.{field}" for field in key) + ")"
            for name in names[1:])
        wanted = database.execute(
            f"select {', '.join(header)} from t0 where {condition} order by t0.rowid").fetchall()
        found = umbel(dice, folder, verb, "--all", "--csv", *arguments, *names)
        rows = [tuple(row) for row in csv.reader(io.StringIO(found, newline=""))]
        assert rows == [tuple(header), *wanted], (verb, rows, wanted)


def pairs(dice, folder):
    """join of two tables whose keys may have other names, repeat or be null, against SQLite."""
    database = sqlite3.connect(":memory:")
    key = dice.choice([["k"], ["l"], ["k", "l"]])
    is_json = dice.random() < 0.4
    other = {field: field if dice.random() < 0.5 else field.upper() * 2 for field in "kl"}
    columns = {"t0": ["k", "l", "a"], "t1": [*(other[f] if f in key else f"b{f}" for f in "kl"), "b"]}
    orders = {}
    for name, names in columns.items():
        rows = draw(dice)
        if is_json:
            rows = [tuple(None if dice.random() < 0.1 else value for value in row) for row in rows]
            orders[name] = names
            texts = (json.dumps(dict(zip(names, row))) for row in rows)
            (folder / name).write_text("".join(f"{text}\n" for text in texts))
        else:
            text, orders[name] = table(dice, names, rows)
            (folder / name).write_text(text, newline="")
        database.execute(f"create table {name} ({', '.join(names)})")
        database.executemany(f"insert into {name} values (?, ?, ?)", rows)
    # By default an empty value pairs with nothing.
    empty = dice.choice([None, "value"])
    on = " and ".join(f"t0.{field} = t1.{other[field]}" + ("" if empty else f" and t0.{field} <> ''") for field in key)
    keys = [other[field] for field in key]
    header = orders["t0"] + [column for column in orders["t1"] if column not in keys]
    left = dice.choice([None, "l_"])
    # Every member of JSON, or columns that both tables have.
    if left and is_json:
        header = [left + column if column in orders["t0"] and column not in key else column for column in header]
    right = dict(zip(key, keys))
    select = ", ".join([f"coalesce(t0.{c}, t1.{right[c]})" if c in right else f"t0.{c}" for c in orders["t0"]]
                       + [f"t1.{c}" for c in header[3:]])
    arguments = [part for field in key for part in ("--key", f"{field}={other[field]}")]
    arguments += ["--jsonl", "--missing", "keep"] if is_json else ["--csv"]
    arguments += ["--empty", empty] if empty else []
    for kind, option in [("inner", []), ("left", ["--left"]), ("full", ["--full"])]:
        wanted = database.execute(
            f"select {select} from t0 {kind} join t1 on {on} "
            "order by t0.rowid is null, t0.rowid, t1.rowid").fetchall()
        found = umbel(dice, folder, "join", *option, *arguments, *(["--left-prefix", left] if left else []), "t0", "t1")
        if is_json:
            rows = [tuple(row.get(column) for column in header) for row in map(json.loads, found.splitlines())]
        else:
            first, *rows = [tuple(row) for row in csv.reader(io.StringIO(found, newline=""))]
            assert first == tuple(header), (first, header)
            wanted = [tuple(value or "" for value in row) for row in wanted]
        assert rows == wanted, (kind, arguments, rows, wanted)


def holders(dice, folder):
    """common --which, --only and --at-least of two to five tables, by a key that may be null, against SQLite."""
    database = sqlite3.connect(":memory:")
    columns, key = ["k", "l", "n"], dice.choice(["k", "l"])
    is_json = dice.random() < 0.4
    names = [f"t{number}" for number in range(dice.randrange(2, 6))]
    database.execute("create table rows (file, k, l, n)")
    header = None
    for number, name in enumerate(names, 1):
        rows = draw(dice)
        if is_json:
            rows = [tuple(None if dice.random() < 0.1 else value for value in row) for row in rows]
            (folder / name).write_text("".join(f"{json.dumps(dict(zip(columns, row)))}\n" for row in rows))
        else:
            text, order = table(dice, columns, rows)
            header = header or order
            (folder / name).write_text(text, newline="")
        database.executemany("insert into rows values (?, ?, ?, ?)", [(number, *row) for row in rows])
    header = header or columns
    # The first row of each key, and the files that have it.
    select = (f"select (select group_concat(file, ',') from (select distinct file from rows where {key} = a.{key} order by file)), "
              f"{', '.join(header)} from rows a where {key} is not null "
              f"and rowid = (select min(rowid) from rows where {key} = a.{key}) order by rowid")
    everything = database.execute(select).fetchall()
    arguments = ["--key", key, *(["--jsonl", "--missing", "skip"] if is_json else ["--csv"]), *names]
    only = ",".join(map(str, sorted(dice.sample(range(1, len(names) + 1), dice.randrange(1, len(names) + 1)))))
    at_least = dice.randrange(1, len(names) + 1)
    labels = lambda files: [f"t{int(file) - 1}" if dice_names else file for file in files.split(",")]
    for option, wants in [(["--only", only], lambda files: files == only),
                          (["--at-least", str(at_least)], lambda files: files.count(",") + 1 >= at_least),
                          ([], lambda files: True)]:
        dice_names = dice.random() < 0.5
        names_option = "names" if dice_names else "numbers"
        found = umbel(dice, folder, "common", f"--which={names_option}", *option, *arguments)
        wanted = [(",".join(labels(row[0])), *row[1:]) for row in everything if wants(row[0])]
        if is_json:
            rows = [(",".join(map(str, line["files"])), *(line["record"][column] for column in header))
                    for line in map(json.loads, found.splitlines())]
        else:
            first, *rows = [tuple(row) for row in csv.reader(io.StringIO(found, newline=""))]
            assert first == ("files", *header), first
        assert rows == wanted, (option, arguments, rows, wanted)


def differences(dice, folder):
    """diff of two tables whose keys come once each, against SQLite."""
    database = sqlite3.connect(":memory:")
    columns = ["k", "v", "t"]
    ignored = dice.choice([[], ["t"]])
    header, renamed = None, dice.choice(["k", "K2"])
    for name in ["old", "new"]:
        keys = dice.sample(range(12), dice.randrange(10))
        rows = [(str(key), dice.choice("xy"), dice.choice("01")) for key in keys]
        text = "".join(f"{','.join(row)}\n" for row in [columns, *rows])
        if name == "new" and dice.random() < 0.5:
            text = "".join(f"{','.join(reversed(row))}\n" for row in [columns, *rows])
        (folder / name).write_text(text.replace("k", renamed) if name == "new" else text)
        database.execute(f"create table {name} (k, v, t)")
        database.executemany(f"insert into {name} values (?, ?, ?)", rows)
        header = header or columns
    select = database.execute
    same = "" if ignored else "and old.t = new.t"
    removed = select("select * from old where k not in (select k from new) order by rowid").fetchall()
    added = select("select *, k in (select k from old) from new where not exists (select 1 from old "
                   f"where old.k = new.k and old.v = new.v {same}) order by rowid").fetchall()
    wanted = [f"- {k},{v},{t}" for k, v, t in removed] + [f"{'~' if known else '+'} {k},{v},{t}" for k, v, t, known in added]
    found = umbel(dice, folder, "diff", "--csv", "--key", f"k={renamed}", *(f"--ignore-column={name}" for name in ignored),
                  "old", "new").splitlines()
    assert found == wanted, (found, wanted)
    # Without keys, as sets of lines.
    lines = {name: (folder / name).read_text().splitlines()[1:] for name in ["old", "new"]}
    for name, rows in lines.items():
        (folder / name).write_text("".join(f"{row}\n" for row in rows + dice.sample(rows, len(rows) // 2)))
    wanted = [f"- {row}" for row in lines["old"] if row not in lines["new"]]
    wanted += [f"+ {row}" for row in lines["new"] if row not in lines["old"]]
    often = {name: (folder / name).read_text().splitlines() for name in ["old", "new"]}
    more = {row: often["new"].count(row) - often["old"].count(row) for row in lines["old"] if row in lines["new"]}
    found = umbel(dice, folder, "diff", "old", "new").splitlines()
    assert found == wanted, (found, wanted)
    found = umbel(dice, folder, "diff", "--counts", "old", "new").splitlines()
    assert [row for row in found if row[1] == " "] == wanted, (found, wanted)
    assert [row for row in found if row[1] != " "] == [f"{times:+} {row}" for row, times in more.items() if times], (found, more)


def normalization(dice, folder):
    """What is compared of keys, against Python's own functions."""
    blanks, letters = ["", " ", "\t ", "\f"], ["a", "A", "ß", "SS", "ſ", "İ", "ı", "Σ", "ς", "ﬁ", "Å", "é", "A\u030a", "e\u0301"]
    words = ["".join(dice.choices(letters, k=dice.randrange(3))) for _ in range(4)]
    keys = [dice.choice(blanks) + dice.choice(words) + dice.choice(blanks) + dice.choice(["", "\r"])
            for _ in range(dice.randrange(14))]
    hosts, paths = ["a.example", "A.Example", "b.example:80", "b.example:443", "c:8080"], ["", "/", "/p", "/P?q", "/p#f"]
    if dice.random() < 0.3:
        keys = [dice.choice(["http", "HTTP", "https"]) + "://" + dice.choice(hosts) + dice.choice(paths)
                for _ in range(dice.randrange(14))]
    elif dice.random() < 0.3:
        parts = ["", "-", "+"], ["", "0", "1", "1,000", "1000", "01", "9007199254740993", "9007199254740992"], ["", ".0", ".5", "."], \
            ["", "e0", "E1", "e-1", "e+01", "e"]
        keys = ["".join(map(dice.choice, parts)) for _ in range(dice.randrange(30))]
    elif dice.random() < 0.3:
        keys = [dice.choice(["a", "A", "é", "e\u0301", "a@b", ""]) + dice.choice(["", "@", "@"])
                + dice.choice(["c.example", "C.example", "É.example", "e\u0301.example", "xn--9ca.example", "c d"])
                for _ in range(dice.randrange(14))]
    forms = [f"--normalize={form}" for form in ["url", "email", "number", "thousands", "nfc"]]
    rules = dice.sample(["--crlf", "--trim", "--ignore-case", *forms], dice.randrange(8))

    def url(key):
        # No model of URLs at large: of those above.
        if "://" not in key or key.split("://")[0].lower() not in ("http", "https"):
            return key
        parts = urlsplit(key)
        port = {"http": 80, "https": 443}[parts.scheme]
        host = parts.hostname + (f":{parts.port}" if parts.port not in (None, port) else "")
        return f"{parts.scheme}://{host}{parts.path or '/'}" + (f"?{parts.query}" if parts.query else "")

    def email(key):
        local, at, domain = key.rpartition("@")
        if not local or "@" in local or " " in domain or domain == "":
            return key
        return local + at + unicodedata.normalize("NFC", domain).lower().replace("é", "xn--9ca")

    def number(key):
        if not re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", key):
            return key
        digits, power = str(Fraction(key).numerator), Fraction(key).denominator
        return f"{digits}/{power}"

    def normal(key):
        if "--crlf" in rules:
            key = key.removesuffix("\r")
        if "--trim" in rules:
            key = key.strip(" \t\n\r\f")
        if "--normalize=url" in rules:
            key = url(key)
        if "--normalize=email" in rules:
            key = email(key)
        if "--normalize=number" in rules:
            key = number(key)
        if "--normalize=thousands" in rules:
            plain = key.replace("1,000", "1000")
            key = key if number(plain) == plain else number(plain)
        if "--normalize=nfc" in rules:
            key = unicodedata.normalize("NFC", key)
        return key.casefold() if "--ignore-case" in rules else key

    (folder / "keys").write_text("".join(f"{key}\n" for key in keys), newline="")
    first, last = {}, {}
    for place, key in enumerate(keys):
        first.setdefault(normal(key), key)
        last[normal(key)] = place
    assert umbel(dice, folder, "dedup", *rules, "keys") == "".join(f"{key}\n" for key in first.values()), (rules, keys)
    wanted = "".join(f"{keys[place]}\n" for place in sorted(last.values()))
    assert umbel(dice, folder, "dedup", "--keep", "last", *rules, "keys") == wanted, (rules, keys)


def records(dice, folder):
    """Records without a key, and texts that are no records, by --missing and --bad, against lists in Python."""
    keep = dice.random() < 0.5
    rows, keyed = [], dice.choice(["old", "new"])
    for name in ["old", "new"]:
        # A field that no record of either file has is refused.
        keys = [*("z" if name == keyed else ""), *dice.choices(["a", "b", "c", None, "no field", "no record"], k=dice.randrange(9))]
        texts = {None: '{"k":null}', "no field": '{"n":1}', "no record": '{"k":'}
        texts = [texts.get(key, json.dumps({"k": key})) + dice.choice(["", " "]) for key in keys]
        (folder / name).write_text("".join(f"{text}\n" for text in texts))
        # A record without a key equals no other, not even itself.
        alone = (None, "no field")
        rows.append([(place if key in alone else key, text) for place, (key, text) in enumerate(zip(keys, texts))
                     if key != "no record" and (keep or key not in alone)])
    options = ["--jsonl", "--key", "k", "--bad", "skip", "--missing", "keep" if keep else "skip"]
    run = lambda verb, *more: umbel(dice, folder, verb, *options, *more, "old", "new").splitlines()
    old, new = rows
    others = {key for key, _ in new if isinstance(key, str)}
    first, distinct = {}, {}
    for key, text in old:
        first.setdefault(key, text)
    for key, text in old + [(key if isinstance(key, str) else -key, text) for key, text in new]:
        distinct.setdefault(key, []).append(text)
    assert run("common") == [text for key, text in first.items() if key in others]
    assert run("except") == [text for key, text in first.items() if key not in others]
    assert run("common", "--all") == [text for key, text in old if key in others]
    assert run("except", "--all") == [text for key, text in old if key not in others]
    assert run("dedup") == [texts[0] for texts in distinct.values()]
    assert run("dedup", "--repeated") == [texts[0] for texts in distinct.values() if len(texts) > 1]
    top = sorted(distinct.values(), key=len, reverse=True)[:3]
    assert run("dedup", "--top", "3") == [texts[0] for texts in top]


def forms(dice, folder):
    """Tables without quotes, with lines before the header, comments and ragged rows, united by name; and lists of keys."""
    delimiter, skip, comment = dice.choice(",|\t;"), dice.randrange(3), dice.choice(["", "#", "%"])
    pads, by_name = dice.random() < 0.5, dice.random() < 0.5
    words = ["", "a", 'b"', '"c', "d e", "'"]
    header, tables = [], []
    for name in ["t0", "t1", "t2"][:dice.choice([2, 3])]:
        columns = dice.sample("klmn", dice.randrange(2, 5)) if by_name else dice.sample("klm", 3)
        header += [column for column in columns if column not in header]
        rows = [["1" + dice.choice(words), *dice.choices(words, k=len(columns) - 1)] for _ in range(dice.randrange(7))]
        tables.append([dict(zip(columns, row)) for row in rows])
        # An empty field is the same as none at the end, and one more that is empty is no more.
        texts = [delimiter.join(row) for row in rows]
        if pads:
            texts = [text.rstrip(delimiter) + delimiter * dice.choice([0, len(columns) - text.rstrip(delimiter).count(delimiter)])
                     for text in texts]
        lines = [f"x{delimiter}{number}" for number in range(skip)] + [delimiter.join(columns), *texts]
        for _ in range(dice.randrange(3) if comment else 0):
            lines.insert(dice.randrange(skip, len(lines) + 1), f'{comment}"{delimiter}')
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    options = ["--csv", "--quotes", "none", "--delimiter", delimiter, *(["--skip", str(skip)] if skip else []),
               *(["--comment", comment] if comment else []), *(["--ragged", "pad"] if pads else [])]
    names = [f"t{number}" for number in range(len(tables))]
    found = umbel(dice, folder, "dedup", *options, *(["--by-name"] if by_name else []), *names).splitlines()
    wanted = [delimiter.join(row.get(column, "") for column in header) for rows in tables for row in rows]
    assert found == [delimiter.join(header), *dict.fromkeys(wanted)], (options, found, wanted)
    keys = dice.choices([*words, "1a", "1", '1b"'], k=3)
    (folder / "keys").write_text("".join(f"{key}{dice.choice(['', chr(13)])}\n" for key in keys), newline="")
    column = next(iter(tables[0][0])) if tables[0] else None
    if column and not (skip or comment):
        texts = {True: [], False: []}
        for row in tables[0]:
            texts[row[column] in keys and row[column] != ""].append(delimiter.join(row.values()))
        for verb, among in [("common", True), ("except", False)]:
            found = umbel(dice, folder, verb, "--all", *options, "--key", f"{column}=", "t0", "keys").splitlines()[1:]
            assert found == texts[among], (verb, options, found, texts)


def best(dice, folder):
    """The row of each key with the least or greatest value, and all rows of some keys with the numbers of their lines."""
    def rank(value):
        value = value.strip()
        if re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", value):
            return 0, Fraction(value)
        return (1, value.encode()) if value else (2, b"")

    values = ["", " ", "0", "-0", "9", "10", "1e1", "10.50", "-2.25", "-2.3", "-30", "1e-30", "9007199254740993", "9007199254740992", "n/a",
              "2024-01-31", "2024-01-31T08:00", "é", "10\n", '"', "x,y"]
    as_json, several = dice.random() < 0.4, dice.random() < 0.4
    rows, files = [], ["t0", "t1"][:1 + several]
    for name in files:
        line, texts = 1, [] if as_json else ["key,value,n"]
        for number in range(dice.choice([0, 5, 40])):
            row = {"key": dice.choice(["a", "b,", "c", "d\ne", "f"]), "value": dice.choice(values), "n": f"{number}"}
            line += texts[-1].count("\n") + 1 if texts else 0
            if dice.random() < 0.1:
                texts.append("")
                line += 1
            if as_json:
                json_value = Decimal(row["value"]) if dice.random() < 0.5 and rank(row["value"])[0] == 0 else row["value"]
                texts.append(json.dumps({**row, "value": "?"}).replace('"?"', str(json_value) if json_value is not row["value"] else json.dumps(json_value)))
            else:
                text = io.StringIO()
                csv.writer(text, lineterminator="\n").writerow(row.values())
                texts.append(text.getvalue()[:-1])
            rows.append((name, line, row, texts[-1]))
        (folder / name).write_text("".join(f"{text}\n" for text in texts))
    options = ["--jsonl" if as_json else "--csv", "--key", "key", *dice.choice([[], ["--sort"]])]
    header, order = "" if as_json else "key,value,n\n", (lambda row: row[2]["key"].encode()) if "--sort" in options else (lambda row: 0)
    groups = {}
    for row in rows:
        groups.setdefault(row[2]["key"], []).append(row)
    which, least = dice.choice(["min", "max"]), dice.choice([1, 1, 2, 3])
    chosen = []
    for group in groups.values():
        first = min(rank(row[2]["value"])[0] for row in group)
        among = [row for row in group if rank(row[2]["value"])[0] == first]
        pick = min if which == "min" else max
        if len(group) >= least:
            chosen.append((pick(among, key=lambda row: rank(row[2]["value"])), len(group)))
    count = not as_json and "--sort" not in options and dice.random() < 0.5
    chosen.sort(key=lambda row: order(row[0]) or rows.index(row[0]))
    found = umbel(dice, folder, "dedup", *options, f"--keep={which}:value", f"--at-least={least}", *(["--count"] if count else []), *files)
    start = "count," + header if count else header
    wanted = start + "".join((f"{number}," if count else "") + row[3] + "\n" for row, number in chosen)
    assert found == wanted, (which, least, found, wanted)
    least = max(least, 2)
    found = umbel(dice, folder, "dedup", *options, "--all", f"--at-least={least}", "--line-number", *files)
    wanted = [row for row in rows if len(groups[row[2]["key"]]) >= least]
    wanted.sort(key=order)
    names = {name: f'"file":"{name}",' if as_json else f"{name}," for name in files} if several else {name: "" for name in files}
    lines = [f'{{{names[name]}"line":{line},"record":{text}}}' if as_json else f"{names[name]}{line},{text}" for name, line, _, text in wanted]
    start = "" if as_json else ("file,line," if several else "line,") + header
    assert found == start + "".join(f"{line}\n" for line in lines), (options, found, lines)


def json_values(dice, folder):
    """JSON written in many ways, against Python's reader of it."""
    numbers = ["0", "-0", "0.0", "1", "1.0", "1e0", "10e-1", "0.5", "5E-1", "-2.50", "-25e-1", "100", "1e2", "1e400", "10e399", "18446744073709551616",
               "18446744073709551616.0", "1844674407370955161.6e1", "12345678901234567890123", "12345678901234567890123e0", "1e-30", "0.1e-29"]
    texts = ['""', '"1"', '"a"', '"\\u0061"', '"\\/"', '"/"', '"\\u00e9"', '"é"', '"\\ud83d\\ude00"', '"😀"', '"\\n"']
    blank = lambda: dice.choice(["", "", " ", "\t"])

    def written(depth):
        kind = dice.random()
        if depth == 0 or kind < 0.6:
            return dice.choice([*numbers, *texts, "true", "null"])
        parts = [blank() + written(depth - 1) + blank() for _ in range(dice.randrange(3))]
        if kind < 0.8:
            return "[" + ",".join(parts) + blank() + "]"
        return "{" + ",".join(dice.choice(['"a"', '"\\u0061"', '"b"', ' "b" ']) + ":" + part for part in parts) + blank() + "}"

    def value(text):
        def tagged(found):
            if isinstance(found, dict):
                return "object", tuple(sorted((name, tagged(of)) for name, of in found.items()))
            if isinstance(found, list):
                return "array", tuple(map(tagged, found))
            return (("number", Fraction(found)) if isinstance(found, Decimal) else (type(found).__name__, found))
        return tagged(json.loads(text, parse_float=Decimal, parse_int=Decimal))

    rows = [[f'{blank()}{{"k":{written(2)},"v":{dice.randrange(2)}}}{blank()}' for _ in range(dice.randrange(9))] for _ in "ab"]
    for name, texts_of in zip("ab", rows):
        (folder / name).write_text("".join(f"{text}\n" for text in texts_of))
    first, keyed = {}, {}
    for text in rows[0] + rows[1]:
        first.setdefault(value(text), text)
        key = value(text)[1][0][1]
        # The text of a string is the key, and so are the digits of a number.
        keyed.setdefault(("text", str(int(key[1]))) if key[0] == "number" and key[1].denominator == 1 and abs(key[1]) < 10**20
                         else ("text", key[1]) if key[0] == "str" else key, text)
    assert umbel(dice, folder, "dedup", "--jsonl", "a", "b").splitlines() == list(first.values()), rows
    found = umbel(dice, folder, "dedup", "--jsonl", "--key", "k", "--missing", "keep", "a", "b").splitlines()
    nulls = [text for text in rows[0] + rows[1] if value(text)[1][0][1] == ("NoneType", None)]
    assert [text for text in found if text not in nulls] == [text for text in keyed.values() if text not in nulls], rows
    others = {value(text) for text in rows[1]}
    kept = dict.fromkeys(value(text) for text in rows[0])
    assert umbel(dice, folder, "except", "--jsonl", "a", "b").splitlines() == [first[each] for each in kept if each not in others], rows


def values(dice, folder):
    """Whole rows of CSV, quoted at random, against lists of values in Python."""
    delimiters = dice.choice(",;|"), dice.choice(",;|")
    words = ["", "a", "A", "b", " a", "a ", "x,y", "x;y", 'q"', "l\nm", "ß", "SS", "\r"]

    def written(value, delimiter):
        if dice.random() < 0.5 or any(special in value for special in (delimiter, '"', "\n", "\r")):
            value = '"' + value.replace('"', '""') + '"'
        return value

    def put(value):
        """A value as it goes out: with the delimiter of the first table."""
        return value if value.startswith('"') or delimiters[0] not in value else f'"{value}"'

    def table(name, delimiter):
        rows = [tuple(dice.choices(words, k=2)) for _ in range(dice.randrange(8))]
        values = [[written(value, delimiter) for value in row] for row in rows]
        texts = [delimiter.join(row) for row in values]
        end = dice.choice(["\n", "\r\n"])
        (folder / name).write_text("".join(f"{text}{end}" for text in texts), newline="")
        # What is printed is the row with the carriage return of its end.
        return rows, [delimiters[0].join(map(put, row)) + end for row in values]

    rules = dice.sample(["--trim", "--ignore-case"], dice.randrange(3))

    def normal(row):
        row = [value.strip(" \t\n\r\f") for value in row] if "--trim" in rules else row
        return tuple(value.casefold() for value in row) if "--ignore-case" in rules else tuple(row)

    (old, old_texts), (new, new_texts) = map(table, ["old", "new"], delimiters)
    first = {}
    for row, text in zip(old, old_texts):
        first.setdefault(normal(row), text)
    others = {normal(row) for row in new}
    options = ["--csv", "--no-header", "--delimiter", delimiters[0], *rules]
    both = ["--delimiter", delimiters[1], "old", "new"]
    run = lambda verb, *more: umbel(dice, folder, verb, *more, *options, *(["old"] if verb == "dedup" else both))
    assert run("dedup") == "".join(first.values())
    assert run("common") == "".join(text for row, text in first.items() if row in others)
    assert run("except") == "".join(text for row, text in first.items() if row not in others)
    assert run("except", "--all") == "".join(
        text for row, text in zip(old, old_texts) if normal(row) not in others)
    later = {}
    for row, text in zip(new, new_texts):
        later.setdefault(normal(row), text)
    gone = [(row, text) for row, text in first.items() if row not in others]
    come = [(row, text) for row, text in later.items() if row not in first]
    assert run("diff") == "".join(f"- {text}" for _, text in gone) + "".join(f"+ {text}" for _, text in come)
    # By key: of the rows that differ, those whose first value is on both sides have changed.
    keys = [{row[0] for row, _ in rows} for rows in (gone, come)]
    assert run("diff", "--key", "1") == (
        "".join(f"- {text}" for row, text in gone if row[0] not in keys[1])
        + "".join(f"{'~' if row[0] in keys[0] else '+'} {text}" for row, text in come))


def large(dice, folder):
    """Lines or rows that only some caps hold in memory, repeated in several ways, against dictionaries; one case in twenty."""
    if dice.random() > 0.05:
        return
    count = dice.randrange(100_000, 400_000)
    shapes = [lambda i: i, lambda i: 7, lambda i: i % (count // 2), lambda i: i // 2, lambda i: i % 1000 if i < count // 2 else i,
              lambda i: int(count ** random.Random(i).random())]
    shape, other, moved = dice.choice(shapes), dice.choice(shapes), dice.choice([0, count // 2, count - 5, 2 * count])
    is_csv = dice.random() < 0.4
    key = lambda number: f"https://example.org/{number * 0x9E3779B97F4A7C15 % 2**64:020}/{number:024}"
    record = lambda number, word: f'{key(number)},"{word} ""{number}""\n"' if is_csv else key(number)
    old = [(number := shape(i), record(number, "old")) for i in range(count)]
    new = [(number := other(i) + moved, record(number, "new")) for i in range(dice.choice([500, count]))]
    dice.shuffle(new)
    header, options = ("url,text", ["--csv", "--key", "url"]) if is_csv else ("", [])
    begin = lambda more="": f"{more}{header}\n" if is_csv else ""
    for name, rows in [("old", old), ("new", new)]:
        (folder / name).write_text(begin() + "".join(f"{text}\n" for _, text in rows))
    first, counts, others = dict(reversed(old)), Counter(number for number, _ in old + new), dict(new)
    run = lambda verb, *more: umbel(dice, folder, verb, *options, *more, "old", "new")
    print_of = lambda rows: begin() + "".join(f"{text}\n" for text in rows)
    once = dict.fromkeys(number for number, _ in old)
    assert run("common") == print_of(first[number] for number in once if number in others)
    assert run("except") == print_of(first[number] for number in once if number not in others)
    either = dict(reversed(old + new))
    every = dict.fromkeys(number for number, _ in old + new)
    assert run("dedup") == print_of(either[number] for number in every)
    assert run("dedup", "--repeated") == print_of(either[number] for number in every if counts[number] > 1)
    between = "," if is_csv else "\t"
    wanted = "".join(f"{counts[number]}{between}{either[number]}\n" for number in every)
    assert run("dedup", "--count") == begin("count,") + wanted


MODELS = [joins, pairs, holders, differences, normalization, records, forms, best, json_values, values, large]
for model in [model for model in MODELS if model.__name__ in sys.argv[3:]] or MODELS:
    for case in range(CASES):
        with tempfile.TemporaryDirectory() as folder:
            try:
                model(random.Random(f"{model.__name__} {case}"), Path(folder))
            except AssertionError as error:
                sys.exit(f"{model.__name__}, case {case}: {error}")
