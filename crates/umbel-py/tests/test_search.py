"""Indexes of many files, and the lines that hold a text, against a search by Python."""

import gzip
import random
import re
from pathlib import Path

import pytest

import umbel


def written(folder: Path, seed: int = 7) -> dict[str, list[str]]:
    """Logs, some of them compressed: the lines by the names of their files."""
    draw = random.Random(seed)
    files = {}
    for number in range(6):
        lines = [
            f"2026-11-{draw.randrange(1, 29):02} 10.0.{draw.randrange(4)}.{draw.randrange(256)} user_id={draw.randrange(900)} "
            f"trace={draw.getrandbits(64):016x} {draw.choice(['ok', 'refused', 'größer'])}"
            for _ in range(2_000)
        ]
        text = "".join(f"{line}\n" for line in lines).encode()
        path = folder / f"{number}.log{'.gz' if number % 2 else ''}"
        path.write_bytes(gzip.compress(text) if number % 2 else text)
        files[str(path)] = lines
    return files


def whole(text: str, line: str) -> bool:
    """Whether the text is in the line, and begins and ends with whole words."""
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", line) is not None


def test_lines_are_those_of_a_search(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    files = written(logs)
    index = tmp_path / "logs.index"
    made = umbel.index(index, logs)
    assert (made.files, made.files_read, made.nbytes) == (6, 6, index.stat().st_size)
    some = files[str(logs / "3.log.gz")]
    texts = ["10.0.3.17", "größer", some[700].split("trace=")[1].split()[0], "user_id=17", "no such word", some[4]]
    for text in texts:
        hits = umbel.find(index, text)
        expected = [(name, number) for name, lines in files.items() for number, line in enumerate(lines, 1) if whole(text, line)]
        assert [(hit.file, hit.line) for hit in hits] == expected, text
        assert all(hit.text == files[hit.file][hit.line - 1] and hit.texts == (text,) for hit in hits)
    assert umbel.find(index, "no such word").report.blocks_read == 0
    both = umbel.find(index, [texts[2], texts[5].encode()])
    assert {text for hit in both for text in hit.texts} == {texts[2], texts[5]}
    part = umbel.find(index, "efuse", inside=True)
    assert len(part) == sum("efuse" in line for lines in files.values() for line in lines)
    assert part.report.searched_in_full == {"efuse": "may be a part of longer words"}
    assert len(umbel.find(index, "REFUSED", ignore_case=True)) == len(part)
    # Without an index.
    assert [hit.line for hit in umbel.find(logs / "3.log.gz", texts[2])] == [701]


def test_what_changes_is_found_and_what_is_gone_is_an_error(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    written(logs)
    index = tmp_path / "logs.index"
    umbel.index(index, logs)
    with (logs / "0.log").open("a") as log:
        log.write("needle\n")
    (logs / "new.log").write_text("a needle too\n")
    hits = umbel.find(index, "needle")
    assert [(Path(hit.file).name, hit.line) for hit in hits] == [("0.log", 2001), ("new.log", 1)]
    assert [Path(name).name for name in hits.report.stale] == ["0.log"]
    assert [Path(name).name for name in hits.report.new] == ["new.log"]
    made = umbel.index(index, update=True)
    assert (made.files, made.files_read) == (7, 2)
    assert len(umbel.find(index, "needle")) == 2
    (logs / "2.log").unlink()
    with pytest.raises(FileNotFoundError, match=r"2\.log: is in the index but no longer exists"):
        umbel.find(index, "needle")
    assert umbel.index(index, update=True).files_gone == 1
    assert len(umbel.find(index, "needle")) == 2


def test_an_index_of_a_field_has_its_values(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("order,customer\n" + "".join(f"{number},C-{number % 50}\n" for number in range(5_000)))
    index = tmp_path / "orders.index"
    umbel.index(index, path, records="csv", key="customer")
    hits = umbel.find(index, "C-17")
    assert [hit.text for hit in hits] == [f"{number},C-17" for number in range(17, 5_000, 50)]
    assert umbel.find(index, "17") == []


def test_lines_that_are_not_utf_8(tmp_path: Path) -> None:
    """They are returned as other jobs return lines, and that text finds them again."""
    path = tmp_path / "latin"
    path.write_bytes("Größe 7\nStraße 7\n".encode("latin-1"))
    (hit,) = umbel.find(path, b"Stra\xdfe")
    assert hit.text.encode(errors="surrogateescape") == b"Stra\xdfe 7"
    assert umbel.find(path, hit.text) == [umbel.Hit(str(path), 2, hit.text, (hit.text,))]
    assert hit.text in list(umbel.dedup(path))
    both = umbel.find(path, [b"\xdf", b"\xf6"], inside=True)
    assert len({text for hit in both for text in hit.texts}) == 2


def test_bad_calls_are_refused(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("a\n")
    with pytest.raises(ValueError, match="exists and is not an index"):
        umbel.index(text, text)
    assert text.read_text() == "a\n"
    with pytest.raises(ValueError, match="update=True"):
        umbel.index(tmp_path / "index")
    with pytest.raises(ValueError, match="empty text"):
        umbel.find(text, "")
    # bytes(7) are seven zeros, which are in no line.
    for wrong in [[7], ["a", None], bytearray(b"a")]:
        with pytest.raises(TypeError, match="a text is str or bytes, not (int|NoneType); convert it with str"):
            umbel.find(text, wrong)
    with pytest.raises(ValueError, match="key: an index"):
        umbel.index(tmp_path / "index", text, records="csv")
    with pytest.raises(FileNotFoundError):
        umbel.find(tmp_path / "nowhere", "a")
    index = tmp_path / "index"
    umbel.index(index, text)
    damaged = bytearray(index.read_bytes())
    # Pages are checked when they are read: here the first one.
    damaged[20] ^= 1
    index.write_bytes(damaged)
    with pytest.raises(ValueError, match="damaged"):
        umbel.find(index, "a")


def test_a_file_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.log").write_text("needle\n")
    broken = logs / "b.log.gz"
    broken.write_bytes(b"\x1f\x8b\x08\0cut")
    (logs / "c.log").write_text("needle\n")
    index = tmp_path / "logs.index"
    with pytest.warns(UserWarning, match="b.log.gz: the gzip data is truncated.*it is left out"):
        made = umbel.index(index, logs)
    assert (made.files_read, list(made.unreadable)) == (2, [str(broken)])
    for place in [index, logs]:
        with pytest.warns(UserWarning, match="b.log.gz"):
            hits = umbel.find(place, "needle")
        assert [Path(hit.file).name for hit in hits] == ["a.log", "c.log"]
        assert list(hits.report.unreadable) == [str(broken)]
    with gzip.open(broken, "wt") as file:
        file.write("needle\n")
    assert umbel.index(index, update=True).unreadable == {}
    assert len(umbel.find(index, "needle")) == 3
