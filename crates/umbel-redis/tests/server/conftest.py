"""Shared fixtures: one server of each kind with our module, and one with RedisBloom."""

import os

import pytest

from servers import PROGRAMS, REDISBLOOM, Server

FULL = "UMBEL_TEST_FULL" in os.environ
# Always run on every server: values, files, replicas, settings and kills. With `--full` all tests are.
EVERYWHERE = {
    "test_the_module_is_there",
    "test_every_kind_that_takes_keys",
    "test_files_of_umbel_are_loaded_and_dumped",
    "test_commands_are_described",
    "test_settings",
    "test_secret_files_are_a_protected_setting",
    "test_no_acknowledged_item_is_missing",
    "test_its_append_only_file_loads",
    "test_replicas_and_files_have_the_same_filters",
    "test_a_server_starts_with_its_settings",
}


def pytest_collection_modifyitems(config, items):
    first, *others = PROGRAMS

    def is_left_out(item):
        given = getattr(item, "callspec", None) and item.callspec.params.values()
        return not FULL and given and item.originalname not in EVERYWHERE and any(name in given for name in others)

    config.hook.pytest_deselected(items=[item for item in items if is_left_out(item)])
    items[:] = [item for item in items if not is_left_out(item)]


@pytest.fixture(scope="session")
def full():
    """Whether tests take minutes."""
    return FULL


@pytest.fixture(scope="session", params=PROGRAMS)
def server(request):
    with Server(request.param) as server:
        yield server


@pytest.fixture
def client(server):
    with server.client() as client:
        # Otherwise Valkey frees in the background, which would disturb tests of memory.
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
