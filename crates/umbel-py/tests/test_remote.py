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

    def put_file(self, lpath, rpath, **_):
        with open(lpath, "rb") as file:
            self.pipe_file(rpath, file.read())

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


def test_results_at_urls(system, monkeypatch, tmp_path):
    report = umbel.dedup(["a", "b", "a"], out="inplace://results/once.txt", tmp=tmp_path)
    assert report.found == 2 and system().cat_file("inplace://results/once.txt") == b"a\nb\n"
    assert umbel.dedup("inplace://results/once.txt", ["c"], out="memory://once.txt").found == 3
    assert list(umbel.dedup("memory://once.txt")) == ["a", "b", "c"]
    umbel.diff(["a"], ["b"], added="inplace://results/added", removed=tmp_path / "removed")
    assert system().cat_file("inplace://results/added") == b"b\n" and (tmp_path / "removed").read_text() == "a\n"
    before = dict(system.store)
    monkeypatch.setattr(system, "breaks", True)
    with pytest.raises(OSError, match="connection broke"):
        umbel.dedup(["c"], out="inplace://results/once.txt")
    with pytest.raises(ZeroDivisionError):
        umbel.dedup((str(1 // (3 - i)) for i in range(5)), out="inplace://results/once.txt")
    assert system.store == before and [path.name for path in tmp_path.iterdir()] == ["removed"]
    with pytest.raises(ValueError, match="nowhere"):
        umbel.dedup((pytest.fail("the work began") for _ in range(1)), out="nowhere://once.txt")
