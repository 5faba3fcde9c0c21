"""Other systems' filters."""

import pickle

import numpy as np
import pytest

import umbel


def test_formats_are_made_filled_and_read(tmp_path):
    made = 0
    for name in umbel.FORMATS:
        key_type = "url" if name == "squid" else None
        texts = [f"http://example.org/{i}" for i in range(500)]
        for arguments in [
            dict(keys=500, fpp=0.01),
            dict(keys=500),
            dict(bits=10_000, probes=5),
            dict(bits=1 << 16, salts=[b"1", b"2", b"3"]),
            dict(keys=500, bits_per_key=10),
        ]:
            try:
                filter = umbel.Foreign(name, key_type=key_type, **arguments)
            except ValueError:
                continue
            break
        else:
            pytest.fail(f"{name}: {arguments}")
        try:
            filter.update(texts)
        except ValueError as error:
            assert name == "squid", error
            continue
        filter.finish()
        assert filter.kind == name and isinstance(filter, umbel.Foreign)
        assert all(filter.contains_many(texts)) and all(text in filter for text in texts[:10])
        others = [f"http://example.org/other/{i}" for i in range(2000)]
        assert sum(filter.contains_many(others)) < 200
        if arguments.get("salts"):
            continue
        path = tmp_path / name
        filter.save(path)
        read = umbel.open(path, format=name, key_type=key_type)
        assert read == filter and read.kind == name
        assert pickle.loads(pickle.dumps(filter)) == filter
        made += 1
    assert made >= 17


def test_keys_by_the_type_of_their_values():
    guava = umbel.Foreign("guava", 1000, 0.001)
    guava.add_many(np.arange(1000))
    assert 7 in guava and 5000 not in guava
    ints = umbel.Foreign("guava", 1000, 0.001, key_type="i32")
    ints.update(range(1000))
    assert ints != guava and 7 in ints
    with pytest.raises(ValueError, match="32 bits"):
        ints.add(2**40)
    with pytest.raises(TypeError, match="i32"):
        ints.add("text")
    java = umbel.Foreign("guava", 1000, 0.001, key_type="utf16")
    java.add("é")
    assert "é" in java
    parquet = umbel.Foreign("parquet", 1000, 0.01)
    parquet.update([1.5, 2.5])
    assert 1.5 in parquet and parquet.contains_many([2.5, 3.5]) == [True, False]
    python = umbel.Foreign("pybloom-4", 1000, 0.01)
    python.add(7)
    assert 7 in python and "7" in python


def test_joins():
    left, right = (umbel.Foreign("spark", 1000, 0.01) for _ in range(2))
    left.add("a")
    right.add("b")
    both = left | right
    assert "a" in both and "b" in both and round(umbel.compare(left, both).intersection[0]) == 1
    with pytest.raises(TypeError):
        left & right
    with pytest.raises(TypeError):
        left | umbel.Bloom(10)
    with pytest.raises(TypeError):
        umbel.Bloom(10) | left
    with pytest.raises(TypeError):
        umbel.compare(left, umbel.Bloom(10))
    with pytest.raises(TypeError):
        left.clear()


def test_formats_are_recognized(tmp_path):
    guava = umbel.Foreign("guava", 1000, 0.01)
    guava.update(["a", "b"])
    path = tmp_path / "filter"
    guava.save(path)
    try:
        assert umbel.open(path) == guava
    except ValueError as error:
        assert "guava" in str(error)
    with pytest.raises(ValueError, match="format"):
        umbel.open(path, format="nothing")


def test_a_type_of_keys_is_refused_for_filters_of_umbel(tmp_path):
    path = tmp_path / "own.umbel"
    umbel.Bloom(10, 0.01).save(path)
    for opened in [
        lambda: umbel.open(path, key_type="utf16"),
        lambda: umbel.open(path, key_type="utf16", mmap=True),
        lambda: umbel.from_bytes(path.read_bytes(), key_type="utf16"),
    ]:
        with pytest.raises(ValueError, match="this is an umbel filter, whose keys have no type; omit key_type"):
            opened()
