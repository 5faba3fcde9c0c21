"""Filters at URLs, on file systems that write in place, do not rename over a file, or break off."""

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import umbel


class InPlace(MemoryFileSystem):
    """As SFTP: `open` empties the file, bytes come as they are written, and `mv` renames, also over a file."""

    protocol = "inplace"
    store, pseudo_dirs = {}, [""]
    breaks = replaces = None

    def pipe_file(self, path, value, **_):
        path = self._strip_protocol(path)
        MemoryFileSystem.pipe_file(self, path, value[: len(value) // 2] if self.breaks else value)
        if self.breaks:
            raise OSError("the connection broke")

    def mv(self, path1, path2, **_):
        if self.replaces is False and self.exists(path2):
            return
        if self.replaces == "refused" and self.exists(path2):
            raise FileExistsError(path2)
        self.store[path2] = self.store.pop(path1)


fsspec.register_implementation("inplace", InPlace, clobber=True)


@pytest.fixture
def system(monkeypatch):
    InPlace.store.clear()
    monkeypatch.setattr(InPlace, "breaks", False)
    monkeypatch.setattr(InPlace, "replaces", True)
    return InPlace


def filled(key):
    filter = umbel.Bloom(1000)
    filter.add(key)
    return filter


URL = "inplace://filters/seen.umbel"


def test_a_save_that_breaks_leaves_the_file_that_was_there(system, monkeypatch):
    filled("a").save(URL)
    monkeypatch.setattr(system, "breaks", True)
    with pytest.raises(OSError, match="connection broke"):
        filled("b").save(URL)
    monkeypatch.setattr(system, "breaks", False)
    assert umbel.open(URL) == filled("a")
    assert len(system.store) == 1
    filled("b").save(URL, packed=True)
    assert umbel.open(URL) == filled("b") and len(system.store) == 1


@pytest.mark.parametrize("replaces", [False, "refused"])
def test_file_systems_that_do_not_rename_over_a_file(system, monkeypatch, replaces):
    monkeypatch.setattr(system, "replaces", replaces)
    for key in "ab":
        filled(key).save(URL)
        assert umbel.open(URL) == filled(key) and len(system.store) == 1


def test_a_local_url(tmp_path):
    filled("a").save(f"file://{tmp_path}/seen.umbel")
    filled("b").save(f"file://{tmp_path}/seen.umbel")
    assert umbel.open(tmp_path / "seen.umbel") == filled("b")
    assert [path.name for path in tmp_path.iterdir()] == ["seen.umbel"]
