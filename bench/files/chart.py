"""The chart on the first screen of README.md, from the record of whole files: `python3 bench/files/chart.py`.

It writes docs/pictures/common-light.svg and common-dark.svg, which the page shows by the reader's theme.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "bench/record/2026-12-02-files.md"
BARS = [
    ("umbel, 256 MiB", "umbel common, --memory 256MiB, to a file"),
    ("DuckDB, 8 GB", "DuckDB, memory_limit 8GB, to a file"),
    ("DuckDB, 1 GB", "DuckDB, memory_limit 1GB, to a file"),
    ("Polars (*)", "Polars"),
    ("ClickHouse (*)", "ClickHouse, max_memory_usage 8GB"),
    ("sort -u, comm", "sort -u, comm -12, to a file"),
]
# Ink, quiet ink, umbel's bars, the others'.
THEMES = {"light": ("#1f2328", "#59636e", "#0f766e", "#b6bfc8"), "dark": ("#f0f6fc", "#9198a1", "#2dd4bf", "#4a535d")}
LEFT, WIDTH, GAP, TOP, STEP = 150, 230, 320, 62, 30


def rows():
    table = RECORD.read_text().split("\n## common\n")[1].split("\n## ")[0]
    head = next(row for row in table.splitlines() if row.startswith("| command |"))
    seconds, peak = (head.strip("|").split("|").index(f" {name} ") for name in ("median s", "peak MiB"))
    for name, command in BARS:
        row = next(row for row in table.splitlines() if row.startswith(f"| {command} |"))
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        yield name, cells[seconds], cells[peak]


def chart(theme):
    ink, quiet, own, other = THEMES[theme]
    bars = list(rows())
    height = TOP + STEP * len(bars) + 30
    told = ", ".join(f"{name} {seconds} s and {mib} MiB" for name, seconds, mib in bars)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="790" height="{height}" viewBox="0 0 790 {height}" '
        'font-family="-apple-system,Segoe UI,Helvetica,Arial,sans-serif" font-size="14" role="img">',
        f"<title>The lines that two files of 20 million lines share: {told}</title>",
        f'<text x="0" y="20" font-size="16" font-weight="600" fill="{ink}">The lines that two files of 20 million lines share</text>',
    ]
    for column, (heading, index) in enumerate([("seconds", 1), ("most memory, MiB", 2)]):
        left = LEFT + column * GAP
        most = max(float(bar[index]) for bar in bars)
        out.append(f'<text x="{left}" y="{TOP - 12}" fill="{quiet}">{heading}</text>')
        for number, bar in enumerate(bars):
            top = TOP + number * STEP
            wide = max(WIDTH * float(bar[index]) / most, 1)
            weight = ' font-weight="600"' if number == 0 else ""
            if column == 0:
                out.append(f'<text x="{left - 10}" y="{top + 15}" text-anchor="end" fill="{ink}"{weight}>{bar[0]}</text>')
            out.append(f'<rect x="{left}" y="{top}" width="{wide:.1f}" height="20" rx="2" fill="{own if number == 0 else other}"/>')
            out.append(f'<text x="{left + wide + 6:.1f}" y="{top + 15}" fill="{ink}"{weight}>{bar[index]}</text>')
    out.append(f'<text x="{LEFT}" y="{height - 8}" font-size="12" fill="{quiet}">Two processors, lines of 66 bytes, answers to a file; (*) to none.</text>')
    return "\n".join([*out, "</svg>", ""])


for theme in THEMES:
    (ROOT / f"docs/pictures/common-{theme}.svg").write_text(chart(theme))
