"""What the tests share: one server of each kind with our module, and one with RedisBloom."""

import pytest

from servers import PROGRAMS, REDISBLOOM, Server


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="also what takes minutes")


@pytest.fixture(scope="session")
def full(request):
    return request.config.getoption("--full")


@pytest.fixture(scope="session", params=PROGRAMS)
def server(request):
    with Server(request.param) as server:
        yield server


@pytest.fixture
def client(server):
    with server.client() as client:
        # Otherwise Valkey frees in the background, which tests of memory would see.
        client("FLUSHALL", "SYNC")
        yield client
        client("CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction", "bf.object-limit", "0")


@pytest.fixture(scope="session")
def ours():
    with Server() as server:
        yield server


@pytest.fixture(scope="session")
def redisbloom():
    with Server(module=REDISBLOOM) as server:
        yield server
