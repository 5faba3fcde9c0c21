"""Loading a snapshot with one large filter: the module next to RedisBloom, in a server of the same program.

One server writes the snapshot, a filter of random bits, which no compression makes smaller. Then the two load it in turn. Time is
from the start of the program to its first PONG, as a clock has it and as its CPU time, memory the most that the process had.
"""

import argparse
import json
import os
import shutil
import statistics
import struct
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "crates/umbel-redis/tests/server"))

from servers import MODULE, REDISBLOOM, Server  # noqa: E402

CHUNK = 16 << 20


def write(kind, folder, size):
    """A snapshot of a filter of this many bytes; returns the bytes of its bits."""
    # The first link has half the rate: 11.03 bits for each key.
    with Server(kind, REDISBLOOM, folder) as server, server.client() as client:
        assert client("BF.RESERVE", "f", 0.01, int(8 * size / 11.03)) == "OK"
        _, header = client("BF.SCANDUMP", "f", 0)
        assert client("DEL", "f") == 1 and client("BF.LOADCHUNK", "f", 1, header) == "OK"
        (size,) = struct.unpack_from("<Q", header, 20)
        done = 0
        while done < size:
            chunk = os.urandom(min(CHUNK, size - done))
            done += len(chunk)
            assert client("BF.LOADCHUNK", "f", 1 + done, chunk) == "OK"
        assert client("SAVE") == "OK"
    return size


def load(kind, module, folder):
    """Seconds, seconds of CPU time and the most MiB of a server that loads the snapshot."""
    server = Server(kind, module, folder)
    server.patience = 300
    begun = time.perf_counter()
    with server:
        seconds = time.perf_counter() - begun
        times = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        busy = sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        with server.client() as client:
            assert client("BF.CARD", "f") == 0 and client("DBSIZE") == 1
            client("CONFIG", "SET", "save", "")
    return seconds, busy, int(status.split("VmHWM:")[1].split()[0]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of the filter")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--server", default="redis-8.2")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="umbel-snapshot-"))
    try:
        size = write(arguments.server, folder, arguments.mib << 20) / (1 << 20)
        modules = {"umbel": MODULE, "RedisBloom": REDISBLOOM}
        found = {name: [] for name in modules}
        for number in range(arguments.rounds):
            turn = list(modules) if number % 2 == 0 else list(modules)[::-1]
            for name in turn:
                seconds, busy, most = load(arguments.server, modules[name], folder)
                found[name].append((seconds, busy, most))
                print(json.dumps({"round": number, "module": name, "seconds": seconds, "cpu": busy, "peak_mib": most}), flush=True)
    finally:
        shutil.rmtree(folder)
    ours, theirs = ([statistics.median(column) for column in zip(*found[name])] for name in modules)
    print(f"{arguments.server}, a filter of {size:.0f} MiB, {arguments.rounds} rounds")
    for i, what in enumerate(["to the first reply", "CPU time"]):
        print(f"{what}: {ours[i]:.2f} s next to {theirs[i]:.2f} s, {ours[i] / theirs[i]:.2f} x")
    print(f"peak {ours[2]:.0f} MiB, {ours[2] / size:.3f} x the filter")


if __name__ == "__main__":
    main()
