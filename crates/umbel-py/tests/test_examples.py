"""The examples in docs/python.md and in the documentation of classes and functions."""

import doctest
from pathlib import Path

import pytest

import umbel
from umbel import _plans, _search, _umbel

PAGE = Path(__file__).parents[3] / "docs" / "python.md"


def check(test):
    report = []
    runner = doctest.DocTestRunner()
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(text, {}, "python.md", str(PAGE), 0)
    assert len(test.examples) > 50
    check(test)


@pytest.mark.parametrize("module", [umbel, umbel.parquet, _plans, _search, _umbel])
def test_docstrings(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = [module, *vars(module).values()]
    documented = [value for value in texts if getattr(value, "__doc__", None)]
    examples = 0
    for value in documented:
        name = getattr(value, "__name__", module.__name__)
        if not isinstance(value.__doc__, str) or ">>>" not in value.__doc__:
            continue
        test = doctest.DocTestParser().get_doctest(value.__doc__, {}, name, None, 0)
        examples += len(test.examples)
        check(test)
    assert examples > 0


def test_everything_is_documented():
    for name in umbel.__all__:
        value = getattr(umbel, name)
        if not isinstance(value, type):
            continue
        assert value.__doc__, name
        for method, what in vars(value).items():
            if callable(what) and not method.startswith("_"):
                assert what.__doc__, f"{name}.{method}"
