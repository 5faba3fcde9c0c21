"""The input files and the peers, made or installed when they are missing."""

import dataclasses
import pathlib
import sys

from run import Failure, note, output_of, run_or_fail, shell

BENCH = pathlib.Path(__file__).resolve().parent.parent
ENGINES = BENCH / "peers" / "engines"
# Name and version of each peer that Cargo installs.
CRATES = dict(line.split() for line in (BENCH / "peers" / "crates.txt").read_text().splitlines())

SEED, LINE_BYTES = 1, 66


@dataclasses.dataclass
class Data:
    """Two files with the same number of distinct lines, `shared` of which are in both, and their folder."""

    home: pathlib.Path
    lines: int
    shared: int

    @property
    def a(self):
        return self.home / "a.txt"

    @property
    def b(self):
        return self.home / "b.txt"

    @property
    def file_bytes(self):
        return self.lines * (LINE_BYTES + 1)

    def missing(self):
        return not all(has_size(path, self.file_bytes) for path in (self.a, self.b))

    def make(self):
        """Writes the files unless they exist."""
        self.home.mkdir(parents=True, exist_ok=True)
        if not self.missing():
            return
        note(f"making {self.a} and {self.b}")
        for old in self.home.iterdir():
            old.unlink()
        parts = [path.with_suffix(".part") for path in (self.a, self.b)]
        run_or_fail([
            "cargo", "run", "--quiet", "--release", "--manifest-path", BENCH / "Cargo.toml", "--bin", "gen-lines", "--",
            "urls", "--lines", self.lines, "--shared", self.shared, "--out-a", parts[0], "--out-b", parts[1],
            "--seed", SEED,
        ])
        for part, path in zip(parts, (self.a, self.b)):
            part.replace(path)

    def both(self):
        """One file of all lines of A, then all of B."""
        path = self.home / "both.txt"
        if not has_size(path, 2 * self.file_bytes):
            made(path, 'cat "$1" "$2" > "$3"', self.a, self.b)
        return path


def urls(folder, lines, shared):
    return Data(folder / f"urls-{lines}-shared-{shared}-seed-{SEED}", lines, shared)


def has_size(path, size):
    return path.exists() and path.stat().st_size == size


def made(path, script, *arguments):
    """A file that a script writes to its last argument; whole or not there."""
    note(f"making {path}")
    part = path.with_suffix(".part")
    shell(script, *arguments, part)
    part.replace(path)
    return path


def lines_of(path):
    """How many lines of the generator's one length a file has."""
    return path.stat().st_size / (LINE_BYTES + 1)


# Peers


def engine_versions():
    return dict(line.split("==") for line in (ENGINES / "requirements.txt").read_text().split())


def engine_python(folder):
    """The interpreter of a virtual environment with the pinned table engines."""
    python = folder / "venv" / "bin" / "python"
    ask = "from importlib.metadata import version; print(*(version(name) for name in {!r}))"
    asks = [python, "-c", ask.format(list(engine_versions()))]
    pinned = " ".join(engine_versions().values())
    if not python.exists() or output_of(asks) != pinned:
        note(f"installing {', '.join(engine_versions())} into {folder / 'venv'}")
        run_or_fail([sys.executable, "-m", "venv", folder / "venv"])
        run_or_fail([python, "-m", "pip", "install", "--quiet", "-r", ENGINES / "requirements.txt"])
        if (found := output_of(asks)) != pinned:
            raise Failure(f"{folder / 'venv'}: expected versions {pinned}, found {found}; remove the folder and run again")
    return python


def crate(folder, name):
    """The program of a peer from crates.io, of the pinned version and with the lock file it was published with."""
    root = folder / "peers"
    is_installed = lambda: f"{name} v{CRATES[name]}:" in (output_of(["cargo", "install", "--list", "--root", root]) or "")
    if not is_installed():
        note(f"installing {name} {CRATES[name]} into {root}")
        run_or_fail(["cargo", "install", "--quiet", "--locked", "--force", "--version", f"={CRATES[name]}", "--root", root, name])
        if not is_installed():
            raise Failure(f"{root}: {name} {CRATES[name]} is not there; remove the folder and run again")
    return root / "bin" / name
