"""Keys that no earlier run has seen."""

import os
import subprocess

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import umbel

PROGRAM = os.environ.get("UMBEL", "umbel")


@pytest.mark.parametrize("form", [list, iter, np.array, pd.Series, pl.Series, pa.array])
def test_unseen_gives_new_keys_in_the_form_they_came_in(tmp_path, form):
    path = tmp_path / "seen.umbel"
    with umbel.unseen(path, form(["a", "b", "a"])) as new:
        assert list(map(str, new)) == ["a", "b"]
        assert form is iter or type(new) is type(form(["a"]))
    with pytest.raises(KeyError), umbel.unseen(path, ["c"]):
        raise KeyError
    with umbel.unseen(path, form(["c", "b"])) as new:
        assert list(map(str, new)) == ["c"]
    assert all(umbel.open(path).contains_many(["a", "b", "c"]))


def test_unseen_takes_a_file_and_shares_its_filter_with_the_command_line(tmp_path):
    path, lines = tmp_path / "seen.umbel", tmp_path / "lines"
    lines.write_text("a\nb\na\n")
    with umbel.unseen(path, lines, expected=100, fpp=1e-6) as new:
        assert new == ["a", "b"]
    assert sorted(tmp_path.iterdir()) == [lines, path]
    ran = subprocess.run([PROGRAM, "unseen", "-q", path, lines], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (1, "")
    with pytest.raises(TypeError, match="give one of its columns"), umbel.unseen(path, pd.DataFrame({"k": ["a"]})):
        pass
