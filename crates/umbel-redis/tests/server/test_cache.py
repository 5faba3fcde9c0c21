"""examples/cache: which requests reach the table, and that no row is ever denied while servers fail."""

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
PAGE = ROOT / "docs/cache.md"
ROWS, REQUESTS = 20_000, 8_000


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    # Data classes look their module up.
    sys.modules[path.stem] = loaded
    spec.loader.exec_module(loaded)
    return loaded


penetration = module(EXAMPLE / "trial/penetration.py")
cache = module(EXAMPLE / "cache.py")


@pytest.fixture(scope="module")
def postgres():
    with Postgres() as postgres:
        penetration.set_up(postgres, ROWS)
        yield postgres


@pytest.fixture
def database(postgres):
    """A connection; what was written is gone afterwards, also from the journal."""
    with psycopg.connect(postgres.url, autocommit=True) as database:
        yield database
        database.execute("DELETE FROM articles WHERE slug NOT LIKE 'article-%'")
        database.execute("DELETE FROM articles_journal")


def settings(postgres, *servers, **others):
    addresses = [f"redis://127.0.0.1:{server.port}" for server in servers]
    # A slow machine must not look like a server that is gone.
    return cache.Settings("articles", "slug", "body", addresses, postgres.url, **{"patience": 2, **others})


@contextlib.contextmanager
def keeper(postgres, *servers, **others):
    environment = {
        "CACHE_TABLE": "articles", "CACHE_KEY": "slug", "CACHE_ROW": "body", "POSTGRES": postgres.url, "UMBEL": penetration.UMBEL,
        "REDIS": ",".join(f"redis://127.0.0.1:{server.port}" for server in servers),
        **others,
    }
    process = subprocess.Popen([penetration.PROGRAMS / "umbel-cache", "keep"], env=environment, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait(20)


def until_source(guard, key, source):
    wait_for(lambda: guard.get(key)[1] == source)


def test_the_loads_of_the_trial(postgres):
    records = list(penetration.loads(postgres, ROWS, REQUESTS, [0.5, 0.99]))
    assert len(records) == 15
    assert list(penetration.bounds(records, [])) == []
    attacks = {record["way"]: record["absent_reached"] / record["absent"] for record in records if record["attack"]}
    # A cache of absent answers does not help against an attacker.
    assert attacks["no filter"] == attacks["absent answers cached"] == 1
    assert 0.006 < attacks["umbel, UM.* with a guard"], "the filter is as full as planned"


@pytest.mark.parametrize("kind", PROGRAMS)
def test_no_row_is_denied_while_servers_fail(postgres, database, kind):
    with penetration.Storm(postgres, ROWS, kind) as storm:
        calm, rebuilds, restart = storm.calm(1), storm.rebuilds(1), storm.restart_empty()
        paused, alone, failed = storm.pause(), storm.without_keepers(), storm.fail_over(1.5)
    phases = [calm, rebuilds, restart, paused, alone, failed]
    assert list(penetration.bounds([], phases)) == []
    assert all(phase["failed"] == 0 and phase["reads"] > 100 for phase in phases)
    assert calm["settled"] and rebuilds["settled"]
    assert restart["open"]["Unreachable"] and restart["open"]["NoFilter"]
    assert paused["open"]["Unreachable"]
    assert alone["open"]["NotVouched"] and alone["waited"]
    # The same failover makes a client wrong that believes the filter it finds.
    assert failed["open"]["NotVouched"] and failed["denied"] and failed["naive_wrong"]


def test_one_of_two_rebuilds_refuses(postgres, database):
    database.execute("SELECT pg_advisory_lock(hashtextextended('umbel-cache rebuild articles', 0))")
    with Server() as server:
        environment = {"CACHE_TABLE": "articles", "CACHE_KEY": "slug", "CACHE_ROW": "body", "POSTGRES": postgres.url, "REDIS": f"redis://127.0.0.1:{server.port}"}
        refused = subprocess.run([penetration.PROGRAMS / "umbel-cache", "rebuild"], env=environment, capture_output=True, text=True, check=False)
        assert (refused.returncode, refused.stderr) == (1, "umbel-cache: another rebuild of this filter is running\n")
        with pytest.raises(RuntimeError, match="another rebuild"):
            cache.rebuild(settings(postgres, server))


def test_a_guard_works_without_any_server(postgres, database):
    with Server() as gone:
        pass
    guard = cache.Guard(settings(postgres, gone, lease=0.2))
    begun = time.monotonic()
    with guard.write() as transaction:
        transaction.execute("INSERT INTO articles VALUES ('alone', 'row')")
    assert time.monotonic() - begun > 0.22, "it waits until nobody vouches for a filter without the key"
    assert guard.get("alone") == ("row", "open")
    assert guard.get("nothing") == (None, "open")


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
        cache.rebuild(guard.settings)
        until_source(guard, "nothing", "filter")
        with guard.write() as transaction:
            transaction.execute("DELETE FROM articles WHERE slug = 'newer'")
        until_source(guard, "newer", "filter")
        # A vouched filter, and then a hand that deletes it.
        client = redis.Redis(port=server.port)
        client.delete(guard.settings.current[0])
        assert guard.get("nothing") == (None, "open")


def test_transactions_that_commit_out_of_order(postgres, database):
    """Positions by sequence number would pass over the one that began first and committed last."""
    with Server() as server, keeper(postgres, server), psycopg.connect(postgres.url) as slow:
        guard = cache.Guard(settings(postgres, server))
        until_source(guard, "nothing", "filter")
        slow.execute("INSERT INTO articles VALUES ('slow', 'row')")
        for number in range(50):
            with guard.write() as transaction:
                transaction.execute("INSERT INTO articles VALUES (%s, 'row')", [f"quick-{number}"])
        time.sleep(1)
        slow.commit()
        # A program that knows nothing of guards: its rows are found after a lease at the latest.
        time.sleep(1.1)
        assert guard.get("slow") == ("row", "table")


def test_a_rebuild_keeps_what_was_written_meanwhile(postgres, database, monkeypatch):
    """Between its snapshot and its catching up: by a guard, by another program, and by one whose transaction spans the snapshot."""
    with Server() as server, keeper(postgres, server), psycopg.connect(postgres.url) as spanning:
        guard = cache.Guard(settings(postgres, server))
        until_source(guard, "nothing", "filter")
        with guard.write() as transaction:
            transaction.execute("INSERT INTO articles VALUES ('deleted meanwhile', 'row')")
        spanning.execute("INSERT INTO articles VALUES ('spanning', 'row')")
        counting = cache.umbel.Counting

        class Meanwhile:
            def __init__(self, keys, fpp):
                self.filter = counting(keys, fpp)
                self.add_many = self.filter.add_many

            def to_bytes(self):
                with guard.write() as transaction:
                    transaction.execute("INSERT INTO articles VALUES ('by a guard', 'row')")
                with guard.write() as transaction:
                    transaction.execute("DELETE FROM articles WHERE slug = 'deleted meanwhile'")
                with psycopg.connect(postgres.url) as other:
                    other.execute("INSERT INTO articles VALUES ('by another', 'row')")
                spanning.commit()
                return self.filter.to_bytes()

        monkeypatch.setattr(cache.umbel, "Counting", Meanwhile)
        cache.rebuild(guard.settings)
        client = redis.Redis(port=server.port)
        exists = lambda key: client.execute_command("UM.EXISTS", guard.settings.current[0], key)
        assert [exists(key) for key in ("by a guard", "by another", "spanning")] == [1, 1, 1]
        assert exists("deleted meanwhile") == 0
        assert client.zcard(guard.settings.current[2]) <= 8, "what was applied is forgotten"


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
        assert row == "row" and source == "open"
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
    """It goes on to answer, next to the replica that took its place, and a guard goes on to ask it."""
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
                opened += source == "open"
            assert opened > 190, "the others are false positives"
            until_source(guard, "nothing", "filter")
            assert redis.Redis(port=old.port).execute_command("UM.EXISTS", guard.settings.current[0], "there-0") == 0


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
            **os.environ, "PATH": f"{penetration.PROGRAMS}:{os.environ['PATH']}", "PYTHONPATH": str(EXAMPLE),
            "ARTICLES": str(penetration.PROGRAMS / "examples/articles"),
        }
        (tmp_path / "page.py").write_text(python)
        # The keeper ends with the shell. It vouches for a filter after a lease.
        shell = f"set -e\n{commands}\ntrap 'kill $!' EXIT\nsleep 4\n$ARTICLES\n{sys.executable} page.py\n"
        run = subprocess.run(["bash", "-c", shell], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert run.stdout == f"{printed_by_rust}None\n{printed_by_python}", run.stderr
        assert "20000 keys" in run.stderr


def test_its_page_shows_what_the_record_has():
    """The tables of docs/cache.md are those of the record."""
    page = PAGE.read_text()
    name = re.search(r"bench/record/([\w-]+penetration)\.md", page).group(1)
    record = (ROOT / f"bench/record/{name}.md").read_text()
    rows = [line for line in page.splitlines() if re.match(r"\| [^|]+ \| (attack, )?\d+ % absent \|", line)]
    rows += [line for line in page.splitlines() if re.match(r"\| [^|]+ \| [\d,]+ \| [\d,]+ \|", line)]
    assert len(rows) > 10
    assert [row for row in rows if row not in record] == []
