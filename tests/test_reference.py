"""The reference describes every number that is written, every public name and every command."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import awkward as ak
import pytest
from project import ROOT
from toys import threshold

import trigemu
from trigemu.api import Table
from trigemu.results.rates import COLUMNS
from trigemu.results.table import file_columns

DOCS = ROOT / "docs"
LEVELS = (
    '[menu]\nlevels = ["L1", "HLT"]\n'
    + threshold("A", "jet[0].pt", 20.0, 'level = "L1"\ngroup = "jets"')
    + threshold("B", "jet[0].pt", 30.0, 'level = "HLT"\nseed = "A"')
)
#: Keys that are names of the reader's: of samples, files, plugins.
NAMED = {"scales", "samples", "plugins", "models"}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    menu = tmp_path_factory.mktemp("menus") / "levels.toml"
    menu.write_text(LEVELS)
    jets = [[{"pt": 10.0 * i, "eta": 0.0, "phi": 0.0}] for i in range(1, 9)]
    return trigemu.run(menu, ak.Array({"jet": jets, "weight": [1.0] * len(jets)})).to_dict()


def keys(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for part in node:
            yield from keys(part)
    elif isinstance(node, dict):
        for key, value in node.items():
            yield key
            if key not in NAMED or isinstance(value, list):
                yield from keys(value)


def test_every_key_of_the_document_of_a_run(document: dict[str, Any]) -> None:
    text = (DOCS / "reference" / "quantities.md").read_text()
    listed = set(re.findall(r"`(\w+)`", text)) | set(file_columns(Table(COLUMNS)))
    assert set(keys(document)) <= listed


def test_pages_say_what_the_program_knows() -> None:
    """Keys, columns, commands and names are written out: a reader of the file sees them too. In a process of
    its own: what other tests asked of a command may be remembered in it."""
    command = [sys.executable, "docs/reference_text.py", "--tell"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "", "run python docs/reference_text.py"


def test_every_page_begins_with_its_title() -> None:
    """Those of the documentation, of plugins and of the repository."""
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "plugins").rglob("*.md")]
    pages += [ROOT / "benchmarks" / "README.md"]
    assert len(pages) > 60
    first = {page: page.read_text().partition("\n")[0] for page in pages}
    assert {page: line for page, line in first.items() if not line.startswith("# ")} == {}


def test_what_is_public_has_a_page() -> None:
    pages = [file.read_text() for file in (DOCS / "reference" / "api").glob("*.md")]
    shown = {module for page in pages for module in re.findall(r"{public-names} (\S+)", page)}
    fronts = {file.parent.name for file in (ROOT / "plugins").glob("*/__init__.pyi")}
    assert shown == {"trigemu", "trigemu.api"} | fronts
