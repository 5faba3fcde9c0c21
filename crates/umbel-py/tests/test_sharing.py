"""Filters that travel: packed, as deltas, and signed, also by and for the command line."""

import random

import pytest
from test_command_line import run

import umbel

KEYS = range(2000)
KINDS = {
    "blocked": lambda: umbel.Bloom(5000, 0.01),
    "classic": lambda: umbel.Bloom(5000, 0.2, kind="classic"),
    "counting": lambda: umbel.Counting(5000, 0.01),
    "scalable": lambda: umbel.Scalable(500, 0.01),
    "window": lambda: umbel.Window(5000, 0.01),
    "coded": lambda: umbel.Coded(5000, 0.01),
}


def filled(kind, keys=KEYS):
    made = KINDS[kind]()
    made.update(keys)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_packed(kind, tmp_path):
    plain = filled(kind)
    packed = plain.to_bytes(packed=True)
    assert umbel.from_bytes(packed) == plain
    plain.save(tmp_path / "ours", packed=True)
    assert (tmp_path / "ours").read_bytes() == packed
    opened = umbel.open(tmp_path / "ours")
    assert opened == plain and type(opened) is type(plain)
    # The command line packs it to the same bytes, and reads ours.
    plain.save(tmp_path / "plain")
    run("filter", "pack", "-q", tmp_path / "plain", "-o", tmp_path / "theirs")
    assert (tmp_path / "theirs").read_bytes() == packed
    run("filter", "unpack", "-q", tmp_path / "ours", "-o", tmp_path / "unpacked")
    assert (tmp_path / "unpacked").read_bytes() == plain.to_bytes()
    with pytest.raises(ValueError, match="cannot be mapped"):
        umbel.open(tmp_path / "ours", mmap=True)


def test_sparse_filters_pack_well():
    sparse = umbel.Bloom(1_000_000, 0.01, kind="classic")
    sparse.update(range(1000))
    assert len(sparse.to_bytes(packed=True)) < len(sparse.to_bytes()) / 50


@pytest.mark.parametrize("kind", KINDS)
def test_deltas(kind, tmp_path):
    old, new = filled(kind), filled(kind, range(2020))
    delta = old.delta(new)
    assert len(delta) < len(new.to_bytes()) / 4
    assert old.patched(delta) == new
    with pytest.raises(ValueError, match="already applied"):
        new.patched(delta)
    with pytest.raises(ValueError, match="another filter"):
        filled(kind, range(5)).patched(delta)
    old.save(tmp_path / "old")
    (tmp_path / "delta").write_bytes(delta)
    run("filter", "patch", "-q", tmp_path / "old", tmp_path / "delta", "-o", tmp_path / "new")
    assert umbel.open(tmp_path / "new") == new


def test_keyed_filters_travel():
    secret = bytes(range(16))
    old, new = (umbel.Bloom(100, 0.01, secret=secret) for _ in range(2))
    new.add("a")
    patched = old.patched(old.delta(new), secret=secret)
    assert patched == new
    assert umbel.from_bytes(new.to_bytes(packed=True), secret=secret) == new
    with pytest.raises(ValueError, match="secret"):
        umbel.from_bytes(new.to_bytes(packed=True))
    with pytest.raises(ValueError, match="size"):
        old.delta(umbel.Bloom(10_000, 0.01, secret=secret))
    with pytest.raises(TypeError, match="guava"):
        umbel.Foreign("guava", 100, 0.01).to_bytes(packed=True)


def test_signatures(tmp_path):
    for name in ["ours", "theirs"]:
        run("filter", "key", "new", "--signing", "-o", tmp_path / name)
    ours, theirs = tmp_path / "ours.pub", tmp_path / "theirs.pub"
    plain = filled("blocked")
    plain.save(tmp_path / "plain")
    for packed in [False, True]:
        name = tmp_path / f"signed-{packed}"
        plain.save(name, packed=packed)
        assert umbel.open(name) == plain
        with pytest.raises(ValueError, match="not signed"):
            umbel.open(name, trust=ours)
        run("filter", "sign", "-q", tmp_path / "ours", name)
        content = name.read_bytes()
        assert umbel.open(name) == umbel.open(name, trust=str(ours)) == plain
        assert umbel.from_bytes(content) == umbel.from_bytes(content, trust=ours) == plain
        for read in [lambda: umbel.open(name, trust=theirs), lambda: umbel.from_bytes(content, trust=theirs)]:
            with pytest.raises(ValueError, match="is signed by"):
                read()
        with pytest.raises(ValueError, match="cannot be mapped"):
            umbel.open(name, mmap=True)
    # A packed file around a signed filter.
    run("filter", "pack", "-q", tmp_path / "signed-False", "-o", tmp_path / "within")
    within = (tmp_path / "within").read_bytes()
    assert umbel.open(tmp_path / "within") == umbel.from_bytes(within) == plain
    for read in [lambda: umbel.open(tmp_path / "within", trust=ours), lambda: umbel.from_bytes(within, trust=ours)]:
        with pytest.raises(ValueError, match="only the filter in it"):
            read()
    with pytest.raises(FileNotFoundError):
        umbel.open(tmp_path / "within", trust=tmp_path / "none.pub")
    with pytest.raises(ValueError, match="umbel-public-key"):
        umbel.open(tmp_path / "within", trust=tmp_path / "plain")

    new = filled("blocked", range(2020))
    new.save(tmp_path / "new")
    run("filter", "delta", "-q", tmp_path / "plain", tmp_path / "new", "-o", tmp_path / "delta", "--sign", tmp_path / "ours")
    delta = (tmp_path / "delta").read_bytes()
    assert plain.patched(delta) == plain.patched(delta, trust=ours) == new
    with pytest.raises(ValueError, match="is signed by"):
        plain.patched(delta, trust=theirs)


def test_signatures_bind_a_list_and_a_number(tmp_path):
    run("filter", "key", "new", "--signing", "-o", tmp_path / "ours")
    plain, new = filled("blocked"), filled("blocked", range(2020))
    plain.save(tmp_path / "F", packed=True)
    (tmp_path / "D").write_bytes(plain.delta(new))
    run("filter", "sign", tmp_path / "ours", "--list", "block", "--serial", "7", tmp_path / "F", tmp_path / "D")
    content, delta = ((tmp_path / name).read_bytes() for name in "FD")
    for read, made in [
        (lambda **how: umbel.open(tmp_path / "F", **how), plain),
        (lambda **how: umbel.from_bytes(content, **how), plain),
        (lambda **how: plain.patched(delta, **how), new),
    ]:
        trust = {"trust": tmp_path / "ours.pub"}
        assert read(**trust, list="block", newer_than=6) == made
        with pytest.raises(ValueError, match="not as the list"):
            read(**trust, list="allow")
        with pytest.raises(ValueError, match="not newer than 7"):
            read(**trust, newer_than=7)
        with pytest.raises(TypeError, match="trust"):
            read(list="block")


def test_bombs_are_refused(tmp_path):
    bomb = umbel.Bloom(30_000_000, 0.01).to_bytes(packed=True)
    assert len(bomb) < 2000
    (tmp_path / "bomb").write_bytes(bomb)
    for read in [umbel.from_bytes, lambda _, **how: umbel.open(tmp_path / "bomb", **how)]:
        with pytest.raises(ValueError, match="limit of 16"):
            read(bomb, memory="16MiB")
        read(bomb, memory="64MiB")


def test_damage_is_refused(tmp_path):
    draw = random.Random(7)
    old, new = filled("classic"), filled("classic", range(2020))
    packed, delta = new.to_bytes(packed=True), old.delta(new)
    for content, read in [(packed, umbel.from_bytes), (delta, old.patched)]:
        for _ in range(300):
            damaged = bytearray(content)
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
            with pytest.raises(ValueError):
                read(bytes(damaged))
        for length in [0, 7, 8, 40, len(content) // 2, len(content) - 1]:
            with pytest.raises(ValueError):
                read(content[:length])
    (tmp_path / "cut").write_bytes(packed[:-9])
    with pytest.raises(ValueError, match="cut"):
        umbel.open(tmp_path / "cut")
    (tmp_path / "delta").write_bytes(delta)
    with pytest.raises(ValueError, match="delta"):
        umbel.open(tmp_path / "delta")
