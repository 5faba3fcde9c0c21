"""pandas of several versions, with and without pyarrow. `UMBEL_PANDAS` has folders of other versions than the one installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDERS = ["", *filter(None, os.environ.get("UMBEL_PANDAS", "").split(os.pathsep))]


@pytest.mark.parametrize("arrow", ["with", "without"])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: Path(folder).name or "installed")
def test_columns_of_pandas(folder, arrow):
    path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    script = Path(__file__).with_name("pandas_columns.py")
    command = [sys.executable, "-W", "ignore", script, arrow]
    ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert not folder or Path(folder).name.endswith(ended.stdout.split()[0])
