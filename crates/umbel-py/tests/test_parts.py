"""Parts of a set: the same mapping as in other programs, and errors."""

from pathlib import Path

import pytest

import umbel

VECTORS = Path(__file__).parents[3] / "testdata/parts.txt"


def test_keys_belong_to_the_parts_that_another_program_computed():
    lines = [line.split(" ") for line in VECTORS.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == 96
    for seed, parts, part, digits in lines:
        key = bytes.fromhex(digits.strip("-"))
        assert umbel.Parts(int(parts), seed=int(seed)).part(key) == int(part)


def test_a_split_keeps_every_key_in_its_part_and_order():
    parts = umbel.Parts(7)
    keys = [*range(1000), *map(str, range(1000)), b"\0", "", -1]
    lists = parts.split(iter(keys))
    assert len(lists) == len(parts) == 7
    assert lists == [[key for key in keys if parts.part(key) == part] for part in range(7)]
    assert umbel.Parts(7, secret=b"0123456789abcdef").split(keys) != lists


def test_shares_are_those_of_the_library():
    assert umbel.Parts(1).share(1000) == 1000
    assert umbel.Parts(16).share(160_000_000) == 10_013_476


@pytest.mark.parametrize("parts", [0, -1, 1 << 32, 1.5])
def test_impossible_numbers_of_parts_are_refused(parts):
    with pytest.raises(ValueError, match="parts: expected"):
        umbel.Parts(parts)


def test_what_is_no_key_is_refused():
    with pytest.raises(TypeError, match="a key is"):
        umbel.Parts(2).part(1.5)
    with pytest.raises(TypeError, match="a key is"):
        umbel.Parts(2).split(["a", None])
    for key in ["abc", b"abc", bytearray(b"abc"), memoryview(b"abc")]:
        with pytest.raises(TypeError, match="is one key; use part.., or put it in a list"):
            umbel.Parts(2).split(key)
