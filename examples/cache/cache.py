"""The guard of `umbel-cache` in Python: same keys, scripts and journal, so both can guard one table. `umbel-cache keep` is its keeper.

Needs redis-py, psycopg and umbel's wheel. docs/cache.md describes the pattern.
"""

import contextlib
import secrets
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import psycopg
import redis
import umbel

SCRIPTS = Path(__file__).parent / "scripts"
APPLY, ADVANCE, SWAP = ((SCRIPTS / f"{name}.lua").read_text() for name in ("apply", "advance", "swap"))
KEYS = (SCRIPTS / "keys.sql").read_text()
XMIN = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
PART = 1 << 20


@dataclass
class Settings:
    """As in Rust. `table`, `key` and `row` become part of SQL: they are configuration, never input."""

    table: str
    key: str
    row: str
    redis: list[str]
    postgres: str
    fpp: float = 0.01
    headroom: float = 1.5
    deletes: bool = True
    secret: str | Path | None = None
    patience: float = 0.05
    lease: float = 1.0
    cached: float = 60.0

    def __post_init__(self):
        parts = ("filter", "state", "done")
        self.current = [f"{{{self.table}}}:{part}" for part in parts]
        self.next = [f"{{{self.table}}}:next:{part}" for part in parts]
        self.voucher = f"{{{self.table}}}:voucher"

    def cached_row(self, key):
        return f"{self.table}:row:{key}"


def printed(kind, key):
    """A key as the database prints it, None if no row can have it: a request may spell an integer or a UUID differently."""
    if kind == "text":
        return None if "\0" in key else key
    with contextlib.suppress(ValueError):
        if kind == "uuid":
            return str(uuid.UUID(str(key)))
        number = int(key)
        return str(number) if -(1 << 63) <= number < 1 << 63 else None
    return None


class Server:
    """The first server that answers as a primary."""

    def __init__(self, settings, patience):
        timeouts = {"socket_timeout": patience, "socket_connect_timeout": patience}
        # Nothing is sent twice: a write that was not answered may have happened.
        retry = redis.retry.Retry(redis.backoff.NoBackoff(), 0)
        self.clients = [redis.Redis.from_url(url, decode_responses=True, retry=retry, **timeouts) for url in settings.redis]
        self.client = None

    def ask(self, *commands):
        """The answer to each command, which may be an error, and the history of the server's data: its replication id as a primary."""
        for client in [self.client] if self.client else self.clients:
            pipeline = client.pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command)
            self.client = None
            try:
                *answers, info = pipeline.info("replication").execute(raise_on_error=False)
            except redis.RedisError:
                continue
            if isinstance(info, dict) and info["role"] == "master":
                self.client = client
                return answers, info["master_replid"]
        raise redis.ConnectionError("none of the filter's servers answers as a primary")


class Guard:
    """Answers requests for rows, and writes them. One for each thread."""

    def __init__(self, settings):
        self.settings = settings
        self.server = Server(settings, settings.patience)
        self.database = psycopg.connect(settings.postgres, autocommit=True)
        column = self.database.execute(KEYS.replace("GUARDED", settings.table).replace("'KEY'", f"'{settings.key}'")).fetchone()
        if column is None:
            raise ValueError(f"{settings.table} has no column {settings.key}")
        self.kind, found = column
        if self.kind is None:
            raise ValueError(
                f"{settings.table}.{settings.key} is {found}, which takes different texts for equal or prints one key differently; "
                f"guard a column of text, integers or uuid, such as one generated as lower({settings.key})"
            )

    def get(self, key):
        """The row of a key as text, or None; and where that is known from: filter, cache, table, open if the filter was not believed,
        or key if it is no integer or UUID, as the table's keys are.
        """
        settings, source = self.settings, "open"
        key = printed(self.kind, key)
        if key is None:
            return None, "key"
        with contextlib.suppress(redis.RedisError):
            mget = ("MGET", settings.cached_row(key), settings.voucher)
            (cached, exists), history = self.server.ask(mget, ("UM.EXISTS", settings.current[0], key))
            row, voucher = cached
            if row is not None:
                return row, "cache"
            # An error is an answer here: NOFILTER is neither.
            if exists == 0 and voucher == history:
                return None, "filter"
            source = "table" if exists == 1 else "open"
        read = f"SELECT ({settings.row})::text FROM {settings.table} WHERE {settings.key} = %s::text::{self.kind}"
        found = self.database.execute(read, [key]).fetchone()
        if found is None:
            return None, source
        with contextlib.suppress(redis.RedisError):
            self.server.ask(("SET", settings.cached_row(key), found[0] or "", "PX", int(settings.cached * 1000)))
        return found[0] or "", source

    @contextlib.contextmanager
    def write(self):
        """A transaction, which is committed, and whose new keys are then added to the filter. Afterwards every guard finds them."""
        settings = self.settings
        with self.database.transaction():
            yield self.database
            own = f"SELECT seq, xid, added, key FROM {settings.table}_journal WHERE xid = pg_current_xact_id()::text::bigint"
            entries = self.database.execute(own).fetchall()
        committed = time.monotonic()
        is_known = self.announce(entries) if entries else True
        if not is_known and any(added for _, _, added, _ in entries):
            # As long as somebody could still vouch for a filter without these keys.
            time.sleep(max(0, committed + 1.1 * settings.lease - time.monotonic()))

    def announce(self, entries):
        forget = ("DEL", *(self.settings.cached_row(entry[3]) for entry in entries))
        # Deletions are left to the keeper, who knows that the key was added before.
        added = [entry for entry in entries if entry[2]]
        try:
            answers, history = self.server.ask(forget, apply(self.settings, "UM.ADD", added))
        except redis.RedisError:
            return False
        return not added or answers[1] == history


def apply(settings, command, entries):
    arguments = [argument for seq, xid, _, key in entries for argument in (seq, xid, command, key)]
    return ("EVAL", APPLY, 7, *settings.current, *settings.next, settings.voucher, *arguments)


def rebuild(settings):
    """Builds a filter from the table, loads it next to the old one, catches up with what was written meanwhile, and swaps."""
    with psycopg.connect(settings.postgres, autocommit=True) as database:
        name = f"umbel-cache rebuild {settings.table}"
        if not database.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [name]).fetchone()[0]:
            raise RuntimeError("another rebuild of this filter is running")
        server, build = Server(settings, 10), secrets.token_hex(16)
        secret = None
        if settings.secret:
            content = Path(settings.secret).read_bytes()
            secret = content if len(content) == 16 else bytes.fromhex(content.decode().strip())
        elif whole(server.ask(("HGET", settings.current[1], "keyed")))[0][0] == "1":
            raise RuntimeError(f"{settings.current[0]} has a secret, and no file with it is set; set it, or delete the filter to have one without")
        database.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with database.transaction():
            count = database.execute(f"SELECT count(*) FROM {settings.table}").fetchone()[0]
            planned = max(1000, int(count * settings.headroom))
            new = (umbel.Counting if settings.deletes else umbel.Bloom)(planned, fpp=settings.fpp, secret=secret)
            with database.cursor("keys") as rows:
                rows.itersize = 100_000
                rows.execute(f"SELECT ({settings.key})::text FROM {settings.table}")
                while keys := rows.fetchmany(100_000):
                    new.add_many([key for key, in keys])
            position = database.execute(f"SELECT {XMIN}").fetchone()[0]
            seen = f"SELECT xid, seq FROM {settings.table}_journal WHERE xid >= %s"
            seen = database.execute(seen, [position]).fetchall()

        loading = f"{settings.next[0]}:{build}"
        file, offset = new.to_bytes(), 0
        while True:
            load = ("UM.LOAD", loading, offset, file[offset : offset + PART])
            offset = whole(server.ask(load, ("PEXPIRE", loading, 3_600_000)))[0][0]
            if offset == 0:
                break
        filter, state, done = settings.next
        place = [("MULTI",), ("DEL", done)]
        if seen:
            place.append(("ZADD", done, *(part for entry in seen for part in entry)))
        place += [("HSET", state, "build", build, "position", position, "keyed", int(secret is not None)), ("PERSIST", loading), ("RENAME", loading, filter), ("EXEC",)]
        whole(server.ask(*place))

        # From here on guards and keeper write into both. What they wrote before is in the journal.
        with database.transaction():
            reached = database.execute(f"SELECT {XMIN}").fetchone()[0]
            entries = f"SELECT seq, xid, added, key FROM {settings.table}_journal WHERE xid >= %s ORDER BY seq"
            entries = database.execute(entries, [position]).fetchall()
        commands = []
        # First what was added, so that a key that was deleted and added again is never missing in between.
        for added, command in [(True, "UM.ADD"), (False, "UM.DEL")] if settings.deletes else [(True, "UM.ADD")]:
            these = [entry for entry in entries if entry[2] == added]
            commands += [apply(settings, command, these[i : i + 1000]) for i in range(0, len(these), 1000)]
        advance = ("EVAL", ADVANCE, 2, state, done, build, reached)
        answers, history = whole(server.ask(*commands, advance))
        swap = ("EVAL", SWAP, 7, *settings.current, *settings.next, settings.voucher, build, history)
        if answers[-1] != 1 or whole(server.ask(swap))[0] != [1]:
            raise RuntimeError("the new filter is gone; rebuild again")


def whole(answered):
    """Raises the first error among the answers."""
    for answer in answered[0]:
        if isinstance(answer, Exception):
            raise answer
    return answered
