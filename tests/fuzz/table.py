"""Print the outcomes of a long run as a table in Markdown.

python tests/fuzz/table.py FILE...      the files written by pytest tests/fuzz --outcomes FILE
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

KINDS = ("refused", "right", "accepted", "traceback", "hang", "crash", "wrong", "left")
HEADS = ("format", "cases", "refused", "right", "no twin", *KINDS[3:], "slowest")


def main(files: list[str]) -> None:
    """Read the files and print a line a format."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    slowest: dict[str, float] = defaultdict(float)
    for file in files:
        for line in Path(file).read_text().splitlines():
            told = json.loads(line)
            name = told["format"]
            counts[name][told["kind"]] += 1
            counts[name]["left"] += bool(told.get("left"))
            slowest[name] = max(slowest[name], told["seconds"])
    every = sum(counts.values(), Counter())
    rows = [(name, counts[name], slowest[name]) for name in sorted(counts)] + [
        ("all", every, max(slowest.values()))
    ]
    lines = [HEADS, ["---", *["---:"] * (len(HEADS) - 1)]]
    for name, of, longest in rows:
        cases = sum(of[kind] for kind in (*KINDS[:-1], "twin"))
        lines.append([name, *(f"{n:,}" for n in (cases, *(of[kind] for kind in KINDS))), f"{longest:.1f} s"])
    sys.stdout.write("".join(f"| {' | '.join(line)} |\n" for line in lines))


if __name__ == "__main__":
    main(sys.argv[1:])
