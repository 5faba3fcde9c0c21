"""The tests of redis-py's own suite that are about BF and CF, on every server."""

import os
import re
import subprocess
import sys
import tarfile

import pytest

from servers import DEBIAN

VERSION = "8.1.0"


@pytest.fixture(scope="session")
def suite():
    """The suite of redis-py's source package. Tests of all RedisBloom types keep only their checks of these two."""
    folder = DEBIAN.parent / "redis-py"
    sources = folder / f"redis-{VERSION}"
    if not sources.exists():
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", folder]
        subprocess.run([*download, f"redis=={VERSION}"], check=True)
        with tarfile.open(folder / f"redis-{VERSION}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    tests = (sources / "tests/test_bloom.py").read_text()
    # Tests of the other types come after these two.
    tests = tests[: tests.rindex("@pytest", 0, tests.index("def test_cms("))]
    tests = re.sub(r"    assert client\.(cms|topk|tdigest)\(\).*\n", "    pass\n", tests)
    (sources / "tests/test_bloom_and_cuckoo.py").write_text(tests)
    return sources


@pytest.mark.parametrize("protocol", [2, 3])
def test_the_suite_passes(server, suite, protocol):
    url = f"redis://127.0.0.1:{server.port}/0"
    command = [
        sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-W", "ignore", "tests/test_bloom_and_cuckoo.py",
        "-k", "test_create or test_bf or test_cf", "--redis-url", url, "--redis-mod-url", url, "--protocol", str(protocol),
    ]
    run = subprocess.run(command, cwd=suite, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "."})
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"\b9 passed", run.stdout), run.stdout
