"""docs/redis.md, and its Python."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs/redis.md"


def python():
    """The names that the page's Python defines."""
    names = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(code, names)
    return names
