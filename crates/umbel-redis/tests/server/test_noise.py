"""Random commands, and many values that come and go: the server stays up, and memory does not grow."""

import random

from resp import Refused, Simple

COMMANDS = [
    "BF.RESERVE", "BF.ADD", "BF.MADD", "BF.INSERT", "BF.EXISTS", "BF.MEXISTS", "BF.CARD", "BF.INFO", "BF.DEBUG", "BF.SCANDUMP", "BF.LOADCHUNK", "BF.LOAD",
    "CF.RESERVE", "CF.ADD", "CF.ADDNX", "CF.INSERT", "CF.INSERTNX", "CF.EXISTS", "CF.MEXISTS", "CF.COUNT", "CF.DEL", "CF.COMPACT", "CF.INFO", "CF.DEBUG",
    "CF.SCANDUMP", "CF.LOADCHUNK", "UM.RESERVE", "UM.ADD", "UM.MADD", "UM.ADDAT", "UM.EXISTS", "UM.MEXISTS", "UM.DEL", "UM.INFO", "UM.MERGE", "UM.SHRINK", "UM.DUMP", "UM.LOAD",
]
WORDS = [
    "CAPACITY", "ERROR", "EXPANSION", "NOCREATE", "NONSCALING", "ITEMS", "BUCKETSIZE", "MAXITERATIONS", "KIND", "SPAN", "SECRET", "NONE", "blocked", "counting:8",
    "scalable", "window", "window:8", "stable", "coded", "sliced", "0", "1", "2", "3", "7", "100", "1000", "-1", "0.5", "0.01", "1e-9", "nan", "inf",
    "9223372036854775807", "-9223372036854775808", "18446744073709551616", "4294967296", "1073741824", "",
    "TIGHTENING", "SEED", "VALIDATESCALETO", "a seed as long as a seed must be",
]


def used(client):
    lines = client("INFO", "memory").decode().splitlines()
    return int(dict(line.split(":", 1) for line in lines if ":" in line)["used_memory"])


def argument(draw, kept):
    kind = draw.randrange(8)
    if kind < 5:
        return draw.choice(WORDS)
    if kind < 6:
        return draw.randbytes(draw.randrange(80))
    if kind < 7 and kept:
        piece = bytearray(draw.choice(kept))
        if piece and draw.randrange(2):
            piece[draw.randrange(len(piece))] ^= 1 << draw.randrange(8)
        return bytes(piece)
    return f"item {draw.randrange(50)}"


def test_noise_is_answered(server, client, full):
    draw = random.Random(5)
    client("CONFIG", "SET", "bf.object-limit", "8mb")
    kept, refused = [], 0
    steps = 400_000 if full else 8000
    for step in range(steps):
        key = draw.choice(["a", "b", "c", "d", b"\0\xff"])
        command = [draw.choice(COMMANDS), key, *(argument(draw, kept) for _ in range(draw.randrange(7)))]
        answer = client(*command)
        refused += isinstance(answer, Refused)
        if command[0] in ("BF.SCANDUMP", "CF.SCANDUMP", "UM.DUMP") and isinstance(answer, list) and answer[1]:
            kept = [*kept[-20:], answer[1][:100_000]]
        if step % 50 == 0:
            client("DEL", key)
        if step % 1000 == 999:
            assert client("DEBUG", "RELOAD") == Simple("OK"), "what was taken is saved and loaded"
    assert steps // 16 < refused < steps
    assert client("PING") == Simple("PONG")


def test_memory_comes_back(client):
    def round(step):
        client("BF.RESERVE", "a", 0.01, 100 + step), client("BF.MADD", "a", *range(1000))
        client("CF.RESERVE", "b", 100 + step), client("CF.INSERT", "b", "ITEMS", *range(1000))
        client("UM.RESERVE", "c", 100 + step, 0.01, "KIND", "scalable"), client("UM.MADD", "c", *range(1000))
        client("COPY", "c", "d"), client("UM.INFO", "c"), client("UM.LOAD", "e", 0, client("UM.DUMP", "c", 0)[1][:500])
        client("CONFIG", "GET", "*bf-*"), client("BF.ADD", "a"), client("BF.RESERVE", "a", "x", "y")
        client("DEL", "a", "b", "c", "d", "e")

    for step in range(50):
        round(step)
    before = used(client)
    for step in range(300):
        round(step)
    assert used(client) - before < 200_000
