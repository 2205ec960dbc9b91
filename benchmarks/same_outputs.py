"""Check that two checkouts give the same numbers, for changes that should not change any.

    python benchmarks/same_outputs.py BEFORE AFTER

Runs the commands of both on the menus that come with trigemu, each with its own `src` and `plugins`, and
compares the numbers of JSON and CSV, the columns of Parquet, and the cells of reports. A checkout is run by
the Python in its folder .venv, if there is one, else by this one. Words may differ: warnings, notes, column
heads, paths, the digest of plugins, the version. The largest relative difference of a number is printed, and
the number of values that differ by more than 1e-11, or are there in one output alone. Exit status 1 if any.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pyarrow.parquet

MENUS = ("primary", "baseline", "decade", "full", "full-decade", "decade-firmware", "alpha_t", "two-level")
#: Parts of documents with words, the program's version, or the checks of files.
WORDS = ("warnings", "plugins", "version", "how", "left_out", "provenance")


#: Relative difference of two numbers that the order of sums may cause.
CLOSE = 1e-11
_NUMBER = re.compile(r"null|(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
#: Paths and digests.
_NAMES = re.compile(r'"[^"]*/[^"]*"|(?<!\.)\b[0-9a-f]{12,64}\b')


def commands() -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield titles, commands without their files, and the files that they write."""
    for name in MENUS:
        yield f"run {name}", ["run", f"menus/{name}.toml"], ["--json", "--csv"]
    for names in (("primary", "baseline", "decade"), ("full", "full-decade"), ("primary", "two-level")):
        yield f"compare {' '.join(names)}", ["compare", *menus(names)], ["--json", "--csv"]
    yield "run --pileup", ["run", "menus/primary.toml", "--pileup", "12"], ["--json"]
    scanned = ["--trigger", "J100", "--values", "80:120:10"]
    yield "scan", ["scan", "menus/primary.toml", *scanned], ["--json", "--csv"]
    bins = ["rates-vs", "n_interaction", "menus/primary.toml", "--bins", "0:30:5"]
    yield "rates-vs", bins, ["--json", "--csv"]
    yield "efficiency", ["efficiency", "--profile", "menus/paper.toml"], ["--json", "--csv"]
    yield "calibrate", ["calibrate", "menus/decade.toml"], ["-o:toml"]
    yield (
        "report",
        ["report", *menus(("primary", "baseline", "decade")), "--efficiency", "menus/paper.toml"],
        ["-o:html"],
    )
    yield "scores", ["scores", *menus(("primary", "baseline"))], ["-o:parquet"]
    yield "events", ["events", "menus/full.toml", "--fired", "J100"], ["-o:parquet"]
    yield "gate", ["gate", *menus(("primary", "baseline"))], ["--json"]
    lhc = ["--filling", "lhc-2018-2544", "--rules", "cms"]
    yield "live", ["live", "menus/full.toml", *lhc, "--seconds", "0.5"], ["--json", "--csv"]
    quick = ["--starts", "1", "--hops", "1", "--replicas", "2"]
    yield (
        "optimise",
        ["optimise", "menus/full-decade.toml", "menus/goals.toml", *quick],
        ["-o:toml", "--json"],
    )
    yield "decade check", ["decade", "check", "menus/decade.toml"], ["--json"]
    scan = ["firmware", "scan", "menus/decade-firmware.toml", "--trigger", "AD", "--bits", "8,10"]
    yield "firmware scan", scan, ["--json"]


def menus(names: tuple[str, ...]) -> list[str]:
    return [f"menus/{name}.toml" for name in names]


def python_of(checkout: Path) -> str:
    own = checkout / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


def outputs(checkout: Path, command: list[str], files: list[str]) -> list[str]:
    """Return the output of a command of a checkout, without words."""
    with tempfile.TemporaryDirectory() as folder:
        written = []
        for option in files:
            option, _, ending = option.partition(":")
            written.append((option, Path(folder) / f"out.{ending or option.strip('-')}"))
        options = [str(part) for pair in written for part in pair]
        done = subprocess.run(
            [python_of(checkout), "-m", "trigemu", *command, *options],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout / 'plugins'}"},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        assert done.returncode < 2, command  # 1: a verdict that does not pass
        return [_NAMES.sub("", numbers(file)) for _, file in written]


def numbers(file: Path) -> str:
    if file.suffix == ".parquet":
        columns = pyarrow.parquet.read_table(file).to_pandas()
        return "\n".join(f"{name} {pandas.util.hash_pandas_object(columns[name]).sum()}" for name in columns)
    text = file.read_text()
    if file.suffix == ".json":
        return json.dumps(without_words(json.loads(text)), indent=1)
    if file.suffix == ".html":
        cells = re.findall(r"<td[^>]*>(.*?)</td>", text, re.DOTALL)
        return "\n".join(cell for cell in cells if re.match(r"\s*[-−+<0-9]", cell) and len(cell) < 64)
    return text


def without_words(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: without_words(value) for key, value in node.items() if key not in WORDS}
    return [without_words(item) for item in node] if isinstance(node, list) else node


def main(before: Path, after: Path) -> int:
    different = 0
    for title, command, files in commands():
        outputs_before, outputs_after = (outputs(checkout, command, files) for checkout in (before, after))
        largest, n = 0.0, 0
        for first, second in zip(outputs_before, outputs_after, strict=True):
            numbers = _NUMBER.findall(first), _NUMBER.findall(second)
            pairs = [(float(a), float(b)) for a, b in zip(*numbers, strict=False) if "null" not in (a, b)]
            n += sum((a == "null") != (b == "null") for a, b in zip(*numbers, strict=False))
            off = [abs(a - b) / max(abs(a), abs(b), 1e-300) for a, b in pairs if a != b]
            n += sum(difference > CLOSE for difference in off) + abs(len(numbers[0]) - len(numbers[1]))
            largest = max(largest, *off, 0.0)
        different += n
        size = sum(map(len, outputs_before))
        verdict = f"DIFFERENT ({n})" if n else "same"
        print(f"{verdict:16}{title} ({size} characters; largest {largest:.1e})", flush=True)  # noqa: T201
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main(*(Path(argument).resolve() for argument in sys.argv[1:3])))
