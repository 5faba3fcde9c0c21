"""The guard of `umbel-cache` in Python: same keys, scripts and journal, so both can guard one table. `umbel-cache keep` is its keeper,
and `umbel-cache rebuild` makes the filter.

Needs redis-py and psycopg. README.md describes the pattern.
"""

import contextlib
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import psycopg
import redis

SCRIPTS = Path(__file__).parent / "scripts"
APPLY, KEYS = ((SCRIPTS / name).read_text() for name in ("apply.lua", "keys.sql"))


@dataclass
class Settings:
    """As in Rust. `table`, `key` and `row` become part of SQL: they are configuration, never input."""

    table: str
    key: str
    row: str
    redis: list[str]
    postgres: str
    patience: float = 0.25
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
        late = None
        for client in [self.client] if self.client else self.clients:
            pipeline = client.pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command)
            self.client = None
            try:
                *answers, info = pipeline.info("replication").execute(raise_on_error=False)
            except redis.RedisError as error:
                late = error if isinstance(error, redis.TimeoutError) else late
                continue
            if isinstance(info, dict) and info["role"] == "master":
                self.client = client
                return answers, info["master_replid"]
        raise late or redis.ConnectionError("none of the filter's servers answers as a primary")


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
        """The row of a key as text, or None; and where that is known from: filter, cache, table, key if it is no integer or UUID, as the
        table's keys are, or open and why the filter was not believed: unreachable, late, refused, no filter, not vouched.
        """
        settings = self.settings
        key = printed(self.kind, key)
        if key is None:
            return None, "key"
        try:
            mget = ("MGET", settings.cached_row(key), settings.voucher)
            (cached, exists), history = self.server.ask(mget, ("UM.EXISTS", settings.current[0], key))
        except redis.TimeoutError:
            source = "open: late"
        except redis.RedisError:
            source = "open: unreachable"
        else:
            row, voucher = (None, None) if isinstance(cached, Exception) else cached
            if row is not None:
                return row, "cache"
            if exists == 0 and voucher == history:
                return None, "filter"
            if isinstance(exists, Exception):
                # The client takes the code off the words of some errors.
                source = "open: no filter" if "NOFILTER" in str(exists) else "open: refused"
            else:
                source = "table" if exists == 1 else "open: not vouched"
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
