"""Write the output of the examples in docstrings anew: `python .ci/docstrings.py`."""

from __future__ import annotations

import doctest
import importlib
import re
import textwrap
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "src"


class Renewing(doctest.DocTestRunner):
    """Runs examples, and keeps the lines of a file that others should replace."""

    def __init__(self) -> None:
        super().__init__(verbose=False)
        self.changes: list[tuple[int, int, str]] = []

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        assert test.lineno is not None
        start = test.lineno + example.lineno + example.source.count("\n")
        changed = textwrap.indent(got, " " * example.indent)
        self.changes.append((start, start + example.want.count("\n"), changed))

    def report_unexpected_exception(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
    ) -> None:
        raise exc_info[1]


def renew(path: Path) -> int:
    """Write the output of a module's examples anew, and return the number of those that changed."""
    name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    runner = Renewing()
    for test in doctest.DocTestFinder().find(importlib.import_module(name)):
        runner.run(test, out=lambda text: None)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for start, stop, text in sorted(runner.changes, reverse=True):
        lines[start:stop] = [text]
    if runner.changes:
        path.write_text("".join(lines), encoding="utf-8")
    return len(runner.changes)


def main() -> None:
    for path in sorted(SOURCE.rglob("*.py")):
        if re.search(r"^\s*>>> ", path.read_text(encoding="utf-8"), re.MULTILINE) and (n := renew(path)):
            print(f"{path.relative_to(SOURCE)}: {n}")


if __name__ == "__main__":
    main()
