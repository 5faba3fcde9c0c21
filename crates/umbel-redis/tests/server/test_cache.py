"""examples/cache: which requests reach the table, and that rows are never denied while servers fail."""

import contextlib
import importlib.util
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psycopg
import pytest
import redis

from servers import PROGRAMS, Postgres, Server, wait_for

ROOT = Path(__file__).parents[4]
EXAMPLE = ROOT / "examples/cache"
PAGE = EXAMPLE / "README.md"
ROWS, REQUESTS = 20_000, 5_000


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    # Data classes look up their module.
    sys.modules[path.stem] = loaded
    spec.loader.exec_module(loaded)
    return loaded


trial = module(EXAMPLE / "trial.py")
cache = module(EXAMPLE / "cache.py")


@pytest.fixture(scope="module")
def postgres():
    with Postgres() as postgres:
        trial.set_up(postgres, ROWS)
        yield postgres


@pytest.fixture
def database(postgres):
    """A connection; everything written is deleted afterwards, also from the journal."""
    with psycopg.connect(postgres.url, autocommit=True) as database:
        yield database
        database.execute("DELETE FROM articles WHERE slug NOT LIKE 'article-%'")
        database.execute("DELETE FROM articles_journal")


def settings(postgres, *servers, **others):
    addresses = [f"redis://127.0.0.1:{server.port}" for server in servers]
    # A slow machine must not look like a dead server.
    return cache.Settings(**{"table": "articles", "key": "slug", "row": "body", "redis": addresses, "postgres": postgres.url, "patience": 2, **others})


@contextlib.contextmanager
def keeper(postgres, *servers, **others):
    environment = trial.environment(postgres, servers, **others)
    process = subprocess.Popen([trial.PROGRAMS / "umbel-cache", "keep"], env=environment, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait(20)


def chore(postgres, *arguments, servers=(), **others):
    environment = trial.environment(postgres, servers, **others)
    return subprocess.run([trial.PROGRAMS / "umbel-cache", *arguments], env=environment, capture_output=True, text=True, check=False)


def rebuild(postgres, *servers, **environment):
    made = chore(postgres, "rebuild", servers=servers, **environment)
    assert made.returncode == 0, made.stderr


def until_source(guard, key, source):
    wait_for(lambda: guard.get(key)[1] == source)


def test_the_loads_of_the_trial(postgres):
    records = list(trial.loads(postgres, ROWS, REQUESTS, [0.5, 0.99]))
    assert len(records) == 3
    assert list(trial.bounds(records, [])) == []
    assert 0.006 < records[-1]["absent_reached"] / records[-1]["absent"], "the filter is as full as planned"


@pytest.mark.parametrize("kind", PROGRAMS)
def test_no_row_is_denied_while_servers_fail(postgres, database, kind):
    with trial.Storm(postgres, ROWS, kind, lambda *servers: cache.Guard(settings(postgres, *servers, patience=0.25))) as storm:
        calm, rebuilds, restart = storm.calm(1), storm.rebuilds(), storm.restart_empty()
        paused, alone, failed = storm.pause(), storm.without_keepers(), storm.fail_over(1.5)
    phases = [calm, rebuilds, restart, paused, alone, failed]
    assert list(trial.bounds([], phases)) == []
    assert all(phase["failed"] == 0 and phase["reads"] > 100 for phase in phases), phases
    assert {"settled"} <= calm.keys() & rebuilds.keys(), phases
    assert {"open: unreachable", "open: no filter", "open: resting"} <= restart.keys(), restart
    assert "open: late" in paused, paused
    assert {"open: not vouched", "waited"} <= alone.keys(), alone
    # The same failover misleads a client that trusts any filter it finds.
    assert {"open: not vouched", "denied", "naive_wrong"} <= failed.keys(), failed


def test_one_of_two_rebuilds_refuses(postgres, database):
    database.execute("SELECT pg_advisory_lock(hashtextextended('umbel-cache rebuild articles', 0))")
    with Server() as server:
        refused = chore(postgres, "rebuild", servers=[server])
        assert (refused.returncode, refused.stderr) == (1, "umbel-cache: another rebuild of this filter is running\n")


def test_a_guard_works_without_any_server(postgres, database):
    with Server() as gone:
        pass
    guard = cache.Guard(settings(postgres, gone, lease=0.2))
    begun = time.monotonic()
    with guard.write() as transaction:
        transaction.execute("INSERT INTO articles VALUES ('alone', 'row')")
    assert time.monotonic() - begun > 0.22, "it waits until nobody vouches for a filter without the key"
    assert guard.get("alone") == ("row", "open: unreachable")
    assert guard.get("nothing") == (None, "open: unreachable")


def test_python_and_rust_guard_one_table(postgres, database):
    with Server() as server, keeper(postgres, server):
        guard = cache.Guard(settings(postgres, server))
        until_source(guard, "nothing", "filter")
        assert guard.get("article-7")[1] == "table"
        assert guard.get("article-7")[1] == "cache"
        with guard.write() as transaction:
            transaction.execute("INSERT INTO articles VALUES ('new', 'one')")
        assert guard.get("new") == ("one", "table")
        with guard.write() as transaction:
            transaction.execute("UPDATE articles SET slug = 'newer', body = 'two' WHERE slug = 'new'")
        # The keeper deletes.
        until_source(guard, "new", "filter")
        assert guard.get("newer") == ("two", "table")
        rebuild(postgres, server)
        until_source(guard, "nothing", "filter")
        with guard.write() as transaction:
            transaction.execute("DELETE FROM articles WHERE slug = 'newer'")
        until_source(guard, "newer", "filter")
        # A vouched filter that is then deleted by hand.
        client = redis.Redis(port=server.port)
        client.delete(guard.settings.current[0])
        assert guard.get("nothing") == (None, "open: no filter")


def test_transactions_that_commit_out_of_order(postgres, database):
    """Positions by sequence number would miss the transaction that began first and committed last."""
    with Server() as server, keeper(postgres, server), psycopg.connect(postgres.url) as slow:
        guard = cache.Guard(settings(postgres, server))
        until_source(guard, "nothing", "filter")
        slow.execute("INSERT INTO articles VALUES ('slow', 'row')")
        for number in range(50):
            with guard.write() as transaction:
                transaction.execute("INSERT INTO articles VALUES (%s, 'row')", [f"quick-{number}"])
        time.sleep(1)
        slow.commit()
        # A program without a guard: its rows are found after a lease at the latest.
        time.sleep(1.1)
        assert guard.get("slow") == ("row", "table")


def test_a_rebuild_keeps_what_was_written_meanwhile(postgres, database, tmp_path):
    """Between its snapshot and its catching up: by a guard, by another program, and by a transaction that spans the snapshot."""
    # A builder that has read the keys, and waits.
    builder, read, go = tmp_path / "umbel", tmp_path / "read", tmp_path / "go"
    builder.write_text(f"#!/bin/sh\n'{trial.UMBEL}' \"$@\" || exit\ntouch '{read}'\nwhile [ ! -e '{go}' ]; do sleep 0.05; done\n")
    builder.chmod(0o755)
    with Server() as server, keeper(postgres, server), psycopg.connect(postgres.url) as spanning:
        guard = cache.Guard(settings(postgres, server))
        until_source(guard, "nothing", "filter")
        with guard.write() as transaction:
            transaction.execute("INSERT INTO articles VALUES ('deleted meanwhile', 'row')")
        spanning.execute("INSERT INTO articles VALUES ('spanning', 'row')")
        rebuilt = threading.Thread(target=rebuild, args=[postgres, server], kwargs={"UMBEL": str(builder)})
        rebuilt.start()
        wait_for(read.exists)
        with guard.write() as transaction:
            transaction.execute("INSERT INTO articles VALUES ('by a guard', 'row')")
        with guard.write() as transaction:
            transaction.execute("DELETE FROM articles WHERE slug = 'deleted meanwhile'")
        with psycopg.connect(postgres.url) as other:
            other.execute("INSERT INTO articles VALUES ('by another', 'row')")
        spanning.commit()
        client = redis.Redis(port=server.port, decode_responses=True)
        before = client.hget(guard.settings.current[1], "build")
        go.touch()
        rebuilt.join()
        assert client.hget(guard.settings.current[1], "build") != before
        exists = lambda key: client.execute_command("UM.EXISTS", guard.settings.current[0], key)
        assert [exists(key) for key in ("by a guard", "by another", "spanning")] == [1, 1, 1]
        wait_for(lambda: exists("deleted meanwhile") == 0)
        wait_for(lambda: client.zcard(guard.settings.current[2]) <= 8), "what was applied is forgotten"


def test_old_entries_leave_the_journal_and_older_filters_are_rebuilt(postgres, database):
    with Server() as server, keeper(postgres, server, CACHE_JOURNAL="0.5"):
        guard = cache.Guard(settings(postgres, server))
        until_source(guard, "nothing", "filter")
        with guard.write() as transaction:
            transaction.execute("INSERT INTO articles VALUES ('new', 'row')")
        entries = "SELECT count(*) FROM articles_journal"
        assert database.execute(entries).fetchone() == (1,)
        wait_for(lambda: database.execute(entries).fetchone() == (0,))
        start = database.execute("SELECT xid FROM articles_journal_start").fetchone()[0]
        client = redis.Redis(port=server.port)
        build = client.hget(guard.settings.current[1], "build")
        client.hset(guard.settings.current[1], "position", start - 1)
        wait_for(lambda: client.hget(guard.settings.current[1], "build") != build)
        until_source(guard, "nothing", "filter")


def test_deleting_and_adding_in_one_transaction_never_denies(postgres, database):
    with Server() as server, keeper(postgres, server):
        guard, writer = (cache.Guard(settings(postgres, server)) for _ in range(2))
        until_source(guard, "nothing", "filter")
        with writer.write() as transaction:
            transaction.execute("INSERT INTO articles VALUES ('again', 'row')")
        stop, failures = threading.Event(), []

        def write():
            try:
                while not stop.is_set():
                    with writer.write() as transaction:
                        transaction.execute("DELETE FROM articles WHERE slug = 'again'")
                        transaction.execute("INSERT INTO articles VALUES ('again', 'row')")
            except Exception as error:
                failures.append(error)

        thread = threading.Thread(target=write)
        thread.start()
        end = time.monotonic() + 2
        reads = 0
        while time.monotonic() < end:
            assert guard.get("again")[0] == "row"
            reads += 1
        stop.set()
        thread.join()
        assert not failures and reads > 100


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_server_with_an_older_snapshot_is_not_believed(postgres, database, kind):
    with Server(kind) as server, keeper(postgres, server):
        server.fixed_port = server.port
        guard = cache.Guard(settings(postgres, server))
        until_source(guard, "nothing", "filter")
        client = redis.Redis(port=server.port)
        client.save()
        with guard.write() as transaction:
            transaction.execute("INSERT INTO articles VALUES ('late', 'row')")
        server.kill()
        server.start()
        client = redis.Redis(port=server.port)
        lost = client.execute_command("UM.EXISTS", guard.settings.current[0], "late") == 0
        row, source = guard.get("late")
        # The keeper may have been quicker.
        assert lost or client.zcard(guard.settings.current[2])
        assert row == "row" and source == "open: not vouched"
        until_source(guard, "nothing", "filter")
        client.delete(guard.settings.cached_row("late"))
        assert guard.get("late") == ("row", "table")


@pytest.mark.parametrize("kind", PROGRAMS)
def test_each_start_and_each_promotion_begins_a_history(kind):
    def history(server):
        with server.client() as client:
            fields = dict(line.split(b":", 1) for line in client("INFO", "replication").splitlines() if b":" in line)
            return fields[b"role"], fields[b"master_replid"]

    seen = []
    # With a snapshot, and with an append-only file.
    for options in [], ["--appendonly", "yes"]:
        with Server(kind, options=options) as server:
            seen.append(history(server))
            for stop in (server.stop, server.kill):
                with server.client() as client:
                    client("SET", "key", "value")
                    client("SAVE")
                stop()
                server.start()
                seen.append(history(server))
    with Server(kind) as server, Server(kind) as other:
        with other.client() as client:
            client("REPLICAOF", "127.0.0.1", server.port)
            wait_for(lambda: b"master_link_status:up" in client("INFO", "replication"))
            assert history(other) == (b"slave", history(server)[1])
            client("REPLICAOF", "NO", "ONE")
            seen += [history(other), history(server)]
            # Also if it was a replica only for a moment.
            client("REPLICAOF", "127.0.0.1", 1)
            client("REPLICAOF", "NO", "ONE")
            seen.append(history(other))
    assert {role for role, _ in seen} == {b"master"}
    assert len(set(seen)) == len(seen) == 9


def test_a_primary_that_is_cut_off_is_soon_not_believed(postgres, database):
    """It keeps answering after a replica has taken its place, and a guard keeps asking it."""
    with Server() as old, Server() as new:
        with keeper(postgres, old):
            with new.client() as client:
                client("REPLICAOF", "127.0.0.1", old.port)
                cut_off = cache.Guard(settings(postgres, old))
                until_source(cut_off, "nothing", "filter")
                wait_for(lambda: b"master_link_status:up" in client("INFO", "replication"))
                guard = cache.Guard(settings(postgres, new))
                client("REPLICAOF", "NO", "ONE")
                until_source(cut_off, "nothing", "filter")
        # It is still vouched for, so the first write has to wait.
        with keeper(postgres, new):
            opened = 0
            for number in range(200):
                with guard.write() as transaction:
                    transaction.execute("INSERT INTO articles VALUES (%s, 'row')", [f"there-{number}"])
                row, source = cut_off.get(f"there-{number}")
                assert row == "row", number
                opened += source == "open: not vouched"
            assert opened > 190, "the others are false positives"
            until_source(guard, "nothing", "filter")
            assert redis.Redis(port=old.port).execute_command("UM.EXISTS", guard.settings.current[0], "there-0") == 0


@contextlib.contextmanager
def table(postgres, name, key, *statements):
    """Another guarded table, with its journal; a function that makes settings for it, and the environment of its keeper."""
    environment = {"CACHE_TABLE": name, "CACHE_KEY": key, "CACHE_ROW": "body"}
    with psycopg.connect(postgres.url, autocommit=True) as database:
        for statement in statements:
            database.execute(statement)
        try:
            yield lambda *servers, **others: settings(postgres, *servers, table=name, key=key, **others), environment
        finally:
            database.execute(f"DROP TABLE IF EXISTS {name}, {name}_journal, {name}_journal_start CASCADE")


@pytest.mark.parametrize("change", ["BEFORE", "applied"])
def test_changes_that_no_statement_names_are_in_the_journal(postgres, database, change):
    """A trigger that changes the key in an UPDATE of another column; and logical replication, which runs as a replica, without a search path."""
    make = "CREATE TABLE changed (id text PRIMARY KEY, body text NOT NULL)"
    function = "CREATE OR REPLACE FUNCTION rename() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.id = NEW.body; RETURN NEW; END $$"
    trigger = "CREATE TRIGGER rename BEFORE UPDATE ON changed FOR EACH ROW EXECUTE FUNCTION rename()"
    with table(postgres, "changed", "id", make, "INSERT INTO changed VALUES ('old', 'row')", function) as (guarded, environment):
        with Server() as server:
            assert chore(postgres, "install", servers=[server], **environment).returncode == 0
            with keeper(postgres, server, **environment):
                guard = cache.Guard(guarded(server))
                until_source(guard, "new", "filter")
                if change == "BEFORE":
                    database.execute(trigger)
                    with guard.write() as transaction:
                        transaction.execute("UPDATE changed SET body = 'new'")
                else:
                    with psycopg.connect(postgres.url, autocommit=True) as applying:
                        applying.execute("SET session_replication_role = replica")
                        applying.execute("SET search_path = ''")
                        applying.execute("INSERT INTO public.changed VALUES ('new', 'new')")
                    time.sleep(1.1)
                assert guard.get("new") == ("new", "table")
                if change == "BEFORE":
                    until_source(guard, "old", "filter")
                # Other changes are not recorded.
                before = database.execute("SELECT count(*) FROM changed_journal").fetchone()
                database.execute("DROP TRIGGER IF EXISTS rename ON changed")
                database.execute("UPDATE changed SET body = 'other'")
                assert database.execute("SELECT count(*) FROM changed_journal").fetchone() == before


UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
TYPES = [
    ("bigint", "7", ["7", "007", "+7"], "8", ["x", "9223372036854775808", ""]),
    ("smallint", "-3", ["-3", "-03"], "4", ["1.5"]),
    ("uuid", UUID, [UUID, UUID.upper(), "{" + UUID.replace("-", "") + "}"], UUID.replace("a0", "b0"), ["7", "g" * 32]),
    ("varchar(40)", "Key", ["Key"], "key", ["\0"]),
    ("identifier", "12", ["12", "012"], "13", ["x"]),
]


@pytest.mark.parametrize("kind, key, spellings, absent, impossible", TYPES, ids=[kind for kind, *_ in TYPES])
def test_keys_of_other_types(postgres, database, kind, key, spellings, absent, impossible):
    database.execute("DROP DOMAIN IF EXISTS identifier CASCADE")
    database.execute("CREATE DOMAIN identifier AS bigint CHECK (VALUE > 0)")
    make = f"CREATE TABLE typed (id {kind} PRIMARY KEY, body text NOT NULL)"
    with table(postgres, "typed", "id", make) as (guarded, environment), Server() as server:
        assert chore(postgres, "install", servers=[server], **environment).stderr == ""
        with keeper(postgres, server, **environment):
            guard = cache.Guard(guarded(server))
            until_source(guard, absent, "filter")
            with guard.write() as transaction:
                transaction.execute("INSERT INTO typed VALUES (%s, 'row')", [key])
            ask = lambda *keys: chore(postgres, "get", *keys, servers=[server], **environment).stdout
            for turn, source in enumerate(["table", "cache", "cache"]):
                for spelling in spellings:
                    assert guard.get(spelling) == ("row", source), spelling
                    source = "cache"
                    assert ask(spelling) == 'Some("row") from Cache\n'
            shown = [wrong for wrong in impossible if "\0" not in wrong]
            assert [guard.get(wrong) for wrong in impossible] == [(None, "key")] * len(impossible)
            assert ask(*shown) == "None from Key\n" * len(shown)
            # From the table, and after a rebuild as well.
            rebuild(postgres, server, **environment)
            redis.Redis(port=server.port).delete(guard.settings.cached_row(key))
            until_source(guard, absent, "filter")
            redis.Redis(port=server.port).delete(guard.settings.cached_row(key))
            assert ask(spellings[-1]) == 'Some("row") from Table\n'
        # The filter is not vouched for, so the table is asked.
        redis.Redis(port=server.port).flushall()
        assert [guard.get(spelling)[0] for spelling in spellings] == ["row"] * len(spellings)


def test_columns_that_take_different_texts_for_equal_are_refused(postgres, database):
    columns = ["char(10)", "numeric", "timestamptz"]
    if database.execute("SELECT count(*) FROM pg_available_extensions WHERE name = 'citext'").fetchone()[0]:
        database.execute("CREATE EXTENSION IF NOT EXISTS citext")
        columns.append("citext")
    with contextlib.suppress(psycopg.Error):
        database.execute("CREATE COLLATION IF NOT EXISTS folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        columns.append("text COLLATE folded")
    for column in columns:
        make = f"CREATE TABLE folding (id {column} PRIMARY KEY, body text NOT NULL)"
        with table(postgres, "folding", "id", make) as (guarded, environment), Server() as server:
            words = r"folding.id is .*, which takes different texts for equal or prints one key differently; guard a column of text, integers or uuid"
            with pytest.raises(ValueError, match=words):
                cache.Guard(guarded(server))
            refused = chore(postgres, "install", servers=[server], **environment)
            assert refused.returncode == 1 and re.search(words, refused.stderr)
            assert chore(postgres, "install", servers=[server], **{**environment, "CACHE_KEY": "none"}).stderr == "umbel-cache: folding has no column none\n"
            with pytest.raises(ValueError, match="folding has no column none"):
                cache.Guard(settings(postgres, server, table="folding", key="none"))


def test_a_filter_with_a_secret_stays_one(postgres, database, tmp_path):
    """Rebuilt, and on a replica without the secret that takes over: written rows are never denied there."""
    secret = tmp_path / "secret"
    secret.write_text("000102030405060708090a0b0c0d0e0f\n")
    with Server() as server, Server() as replica:
        knows = lambda server: redis.Redis(port=server.port, decode_responses=True).execute_command("CONFIG", "SET", "bf.secret-files", str(secret))
        scheme = lambda: redis.Redis(port=server.port, decode_responses=True).execute_command("UM.INFO", "{articles}:filter")["scheme"]
        knows(server)
        rebuild(postgres, server, CACHE_SECRET=str(secret))
        keyed = scheme()
        assert keyed.startswith("siphash-1-3-128 key ")
        assert "{articles}:filter has a secret, and no file with it is set; set CACHE_SECRET" in chore(postgres, "rebuild", servers=[server]).stderr
        rebuild(postgres, server, CACHE_SECRET=str(secret))
        assert scheme() == keyed
        with replica.client() as client:
            client("REPLICAOF", "127.0.0.1", server.port)
            wait_for(lambda: b"master_link_status:up" in client("INFO", "replication"))
        with keeper(postgres, server, replica, CACHE_SECRET=str(secret)):
            guard = cache.Guard(settings(postgres, server, replica))
            until_source(guard, "nothing", "filter")
            for number in range(20):
                with guard.write() as transaction:
                    transaction.execute("INSERT INTO articles VALUES (%s, 'row')", [f"keyed-{number}"])
            redis.Redis(port=server.port).execute_command("WAIT", 1, 5000)
            server.kill()
            with replica.client() as client:
                client("REPLICAOF", "NO", "ONE")
            assert [guard.get(f"keyed-{number}")[0] for number in range(20)] == ["row"] * 20
            # It cannot hash keys, so no keeper vouches for the filter.
            time.sleep(1.5)
            assert guard.get("nothing") == (None, "open: refused")
            knows(replica)
            client = redis.Redis(port=replica.port)
            assert client.execute_command("UM.MEXISTS", "{articles}:filter", *(f"keyed-{number}" for number in range(20))) == [1] * 20
            until_source(guard, "nothing", "filter")


def test_a_filter_that_lacks_writes_is_rebuilt(postgres, database):
    """A replica could not follow: its guards stay open until the keeper has rebuilt the filter, and no change is marked as done meanwhile."""
    with Server() as server, keeper(postgres, server):
        guard = cache.Guard(settings(postgres, server))
        until_source(guard, "nothing", "filter")
        client = redis.Redis(port=server.port)
        client.execute_command("UM.REPLAY", guard.settings.current[0], 0, "LOST")
        with guard.write() as transaction:
            transaction.execute("INSERT INTO articles VALUES ('meanwhile', 'row')")
        assert guard.get("meanwhile")[0] == "row"
        until_source(guard, "nothing", "filter")
        client.delete(guard.settings.cached_row("meanwhile"))
        assert guard.get("meanwhile") == ("row", "table")


class Scripts:
    """The scripts on a filter, as guard, keeper and rebuild call them."""

    def __init__(self, client, postgres, server):
        self.client, self.settings = client, settings(postgres, server)
        self.all = [*self.settings.current, *self.settings.next, self.settings.voucher]

    def make(self, copy, build, position):
        assert self.client("UM.RESERVE", copy[0], 1000, 0.001, "KIND", "counting") == "OK"
        self.client("HSET", copy[1], "build", build, "position", position)

    def apply(self, *entries):
        return self.client(*cache.apply(self.settings, entries[0][2], [(seq, xid, None, key) for seq, xid, _, key in entries]))

    def run(self, name, keys, *arguments):
        script = (EXAMPLE / f"scripts/{name}.lua").read_text()
        return self.client("EVAL", script, len(keys), *keys, *arguments)

    def exists(self, copy, key):
        return self.client("UM.EXISTS", copy[0], key)


@pytest.fixture
def scripts(server, postgres):
    with server.client() as client:
        client("FLUSHALL")
        yield Scripts(client, postgres, server)


def test_an_entry_is_applied_once_and_only_by_copies_that_lack_it(scripts):
    current, following = scripts.settings.current, scripts.settings.next
    assert scripts.apply((1, 10, "UM.ADD", "a")) is None, "there is no filter"
    scripts.make(current, "one", 10)
    scripts.make(following, "two", 20)
    for _ in range(3):
        scripts.apply((1, 10, "UM.ADD", "a"))
    assert (scripts.exists(current, "a"), scripts.exists(following, "a")) == (1, 0)
    scripts.apply((2, 25, "UM.ADD", "b"))
    assert (scripts.exists(current, "b"), scripts.exists(following, "b")) == (1, 1)
    # One deletion undoes it, although it was sent three times.
    scripts.apply((3, 30, "UM.DEL", "a"))
    assert scripts.exists(current, "a") == 0
    assert scripts.run("advance", current[1:], "other", 40) == 0
    assert scripts.run("advance", current[1:], "one", 28) == 1
    assert scripts.client("ZRANGE", current[2], 0, -1) == [b"3"]
    assert scripts.run("advance", current[1:], "one", 15) == 1
    assert scripts.client("HGET", current[1], "position") == b"28", "it never goes back"
    scripts.apply((2, 25, "UM.ADD", "b"))
    scripts.apply((4, 50, "UM.DEL", "b"))
    assert scripts.exists(current, "b") == 0, "what is before the position is there once"


def test_vouchers_end_with_builds_histories_and_leases(scripts):
    current, following = scripts.settings.current, scripts.settings.next
    voucher = scripts.settings.voucher
    now = int(scripts.client("TIME")[0]) * 1000
    scripts.make(current, "one", 10)
    vouch = lambda build, end: scripts.run("vouch", [current[0], current[1], voucher], build, "history", end)
    assert vouch("other", now + 60_000) == 0
    assert vouch("one", now + 60_000) == 1
    assert scripts.apply((1, 10, "UM.ADD", "a")) == b"history"
    swap = lambda build, history: scripts.run("swap", scripts.all, build, history)
    assert swap("two", "history") == 0, "there is nothing to put in its place"
    scripts.make(following, "two", 20)
    assert swap("three", "history") == 0
    assert swap("two", "history") == 1
    assert scripts.client("HGET", current[1], "build") == b"two"
    assert scripts.client("EXISTS", *following) == 0
    assert scripts.client("GET", voucher) == b"history", "a rebuild opens nothing"
    scripts.make(following, "three", 30)
    assert swap("three", "another history") == 1
    assert scripts.client("GET", voucher) is None, "it was caught up elsewhere"
    # A lease that ended before it could be written.
    assert vouch("three", now - 60_000) == 1
    assert scripts.client("GET", voucher) is None
    assert scripts.apply((2, 40, "UM.ADD", "b")) is None


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def test_the_commands_and_the_code_of_the_page(postgres, database, tmp_path):
    commands, = blocks("sh")
    rust, = blocks("rust,ignore")
    python, = blocks("python")
    printed_by_rust, printed_by_python = blocks("text")
    example = (EXAMPLE / "examples/articles.rs").read_text()
    assert textwrap.indent(rust, "    ").replace("\n    \n", "\n\n") in example, "the page shows a part of the example"
    with Server() as server, Server() as replica:
        with replica.client() as client:
            client("REPLICAOF", "127.0.0.1", server.port)
        for shown, real in [("127.0.0.1:6379", f"127.0.0.1:{server.port}"), ("127.0.0.1:6380", f"127.0.0.1:{replica.port}")]:
            commands = commands.replace(shown, real)
        commands = commands.replace("postgresql://postgres@127.0.0.1:5432/postgres", postgres.url)
        environment = {
            **os.environ, "PATH": f"{trial.PROGRAMS}:{os.environ['PATH']}", "PYTHONPATH": str(EXAMPLE),
            "ARTICLES": str(trial.PROGRAMS / "examples/articles"),
        }
        (tmp_path / "page.py").write_text(python)
        # The keeper ends with the shell. It vouches for a filter after a lease.
        shell = f"set -e\n{commands}\ntrap 'kill $!' EXIT\nsleep 4\n$ARTICLES\n{sys.executable} page.py\n"
        run = subprocess.run(["bash", "-c", shell], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert run.stdout == f"{printed_by_rust}None\n{printed_by_python}", run.stderr
        assert "20000 keys" in run.stderr


def test_its_page_shows_what_the_record_has():
    """Its README.md has the record's tables."""
    page = PAGE.read_text()
    name = re.search(r"bench/record/([\w-]+penetration)\.md", page).group(1)
    record = (ROOT / f"bench/record/{name}.md").read_text()
    rows = [line for line in page.splitlines() if re.match(r"\| [^|]+ \| (attack, )?\d+ % absent \|", line)]
    rows += [line for line in page.splitlines() if re.match(r"\| [^|]+ \| [\d,]+ \| [\d,]+ \|", line)]
    assert len(rows) > 10
    assert [row for row in rows if row not in record] == []
