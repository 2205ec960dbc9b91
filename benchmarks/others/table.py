"""The table of the comparison, for docs/explanation/comparison.md."""

from __future__ import annotations

import ast
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
BEGIN, END = "<!-- table: benchmarks/others/run.py -->", "<!-- end of table -->"
#: (menu, tool, module, file, cores) → of each round, in s: processor time until the end of the first run,
#: processor time of the second run, its time on the clock.
Times = dict[tuple[str, str, str, str, int], list[tuple[float, float, float]]]
FILES = {
    "large.root": "ROOT",
    "small.root": "ROOT, small baskets",
    "events.parquet": "Parquet",
    "flat.parquet": "Parquet, two columns",
}
MENUS = {
    "primary": "`primary.toml`",
    "by_hand": "`primary.toml`, rewritten by hand",
    "full": "`full.toml`",
    "decade": "`decade.toml`",
    "flat": "two columns",
}
#: What a user writes for `primary.toml`, in a module with the name of the tool.
CODE = {
    "RDataFrame": ("in_root", ("SELECTED", "selected", "primary", "patterns")),
    "coffea": (
        "in_coffea",
        (
            *("delta_phi", "delta_r", "objects", "in_double", "selected", "leading", "primary"),
            *("Triggers", "patterns"),
        ),
    ),
    "DuckDB": ("in_duckdb", ("SELECTED", "PRIMARY", "patterns")),
    "polars": (
        "in_polars",
        ("PT", "ETA", "PHI", "delta_phi", "delta_r", "objects", "selected", "primary", "patterns"),
    ),
}


def of(times: Times, events: int) -> str:
    """Return the table in Markdown; ratios are of times in the same round: the median and the range."""
    rates = [f"{cores}: {what}" for cores in ("one core", "two cores") for what in ("M events/s", "time")]
    head = ["menu", "tool", "file", *rates, "first run, s", "lines"]
    rows = []
    for menu, name, module, file, cores in times:
        if cores != 1:
            continue
        cells = [MENUS[menu], name, "in memory" if module == "in_memory" else FILES[file]]
        for n in (1, 2):
            mine = [row[n] for row in times[menu, name, module, file, n]]
            reference = "primary" if menu == "by_hand" else menu
            own = [row[n] for row in times[reference, "trigemu", "in_trigemu", file, n]]
            ratios = [a / b for a, b in zip(mine, own, strict=True)]
            shown = f"{median(ratios):.2g} ({min(ratios):.2g}–{max(ratios):.2g})"
            cells += [f"{events / median(mine) / 1e6:.2g}", "1" if module == "in_trigemu" else shown]
        cells.append(f"{median(row[0] for row in times[menu, name, module, file, 1]):.1f}")
        cells.append(str(lines_of_code(name)) if menu == "primary" else "")
        rows.append(cells)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def lines_of_code(tool: str) -> int:
    """Return the number of lines that a user writes for `primary.toml`, without blank ones and docstrings."""
    if tool == "trigemu":
        text = (HERE.parents[1] / "menus" / "primary.toml").read_text()
        return sum(bool(line.partition("#")[0].strip()) for line in text.splitlines())
    module, names = CODE[tool]
    source = (HERE / f"{module}.py").read_text()
    lines = source.splitlines()
    chosen: set[int] = set()
    for node in ast.parse(source).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else node
        if getattr(target, "name", getattr(target, "id", "")) not in names:
            continue
        chosen |= set(range(node.lineno, node.end_lineno + 1))
        for inner in ast.walk(node):
            if isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant):  # a docstring
                chosen -= set(range(inner.lineno, inner.end_lineno + 1))
    return sum(bool(lines[n - 1].strip()) and not lines[n - 1].strip().startswith("#") for n in chosen)


def write(page: Path, text: str) -> None:
    """Replace what is between the markers in a page."""
    before, rest = page.read_text().split(BEGIN)
    _, after = rest.split(END)
    temporary = page.with_suffix(".new")
    temporary.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    temporary.replace(page)
