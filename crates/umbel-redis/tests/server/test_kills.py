"""Servers killed while they write: acknowledged writes survive."""

import random
import threading
import time

import pytest

from servers import PROGRAMS, Server


@pytest.mark.parametrize("kind", PROGRAMS)
def test_no_acknowledged_item_is_missing(kind, full):
    kills = (200 if full else 6) // len(PROGRAMS) + 1
    draw = random.Random(11)
    options = ["--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-min-size", "200kb"]
    added, deleted = [], set()
    server = Server(kind, options=options)
    with server:
        for kill in range(kills):
            stop = threading.Timer(draw.uniform(0.02, 0.4), server.kill)
            with server.client() as client:
                stop.start()
                try:
                    while True:
                        item = len(added)
                        assert client("BF.ADD", "bloom", f"item {item}") in (0, 1)
                        assert client("CF.ADD", "cuckoo", f"item {item}") == 1
                        added.append(item)
                        if item % 7 == 0 and item not in deleted:
                            deleted.add(item)
                            client("CF.DEL", "cuckoo", f"item {item}")
                except OSError:
                    pass
            stop.join()
            time.sleep(0.01)
            server.start()
            with server.client() as client:
                items = [f"item {item}" for item in added]
                for start in range(0, len(items), 1000):
                    assert all(client("BF.MEXISTS", "bloom", *items[start : start + 1000])), kill
                kept = [f"item {item}" for item in added if item not in deleted]
                for start in range(0, len(kept), 1000):
                    assert all(client("CF.MEXISTS", "cuckoo", *kept[start : start + 1000])), kill
    assert len(added) > 5 * kills, "it got to write"
