"""Plugins written for a test: in a folder, and as an installed package."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

#: Two kinds, in the short form.
SOURCE = """
from trigemu.api import BitKind, Kind
class Mine(Kind, frozen=True):
    above: float
class Bits(BitKind, frozen=True):
    pass
KINDS = {"mine": Mine, "bits": Bits}
"""


def write(file: Path, source: str = SOURCE) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source)
    return file


def install(site: Path, package: str, name: str) -> None:
    """Write what says that a package in the folder `site` is installed and brings the plugin `name`."""
    info = site / f"{package}-1.0.dist-info"
    write(info / "METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    write(info / "entry_points.txt", f"[trigemu.plugins]\n{name} = {package}\n")


@pytest.fixture
def forget() -> Iterator[None]:
    """Modules of plugins stay loaded in a process: each test begins without."""
    yield
    for name in [name for name in sys.modules if name.startswith("trigemu_plugin_")]:
        del sys.modules[name]


#: A kind with a score from a file beside the menu: a sum of observables, each with its weight.
CARDED = """
import hashlib
import json
from dataclasses import dataclass
import numpy as np
from trigemu.api import Compiled, ScoreKind

@dataclass(frozen=True)
class CompiledCard(Compiled):
    threshold: float
    weights: tuple
    numbers: tuple
    requires: object

    def evaluate(self, work):
        parts = (w * number.evaluate(work) for w, number in zip(self.weights, self.numbers, strict=True))
        score = np.nan_to_num(sum(parts), nan=-np.inf)
        return score if self.requires is None else np.where(self.requires.evaluate(work), score, -np.inf)

class Carded(ScoreKind, frozen=True):
    card: str
    requires: str | None = None

    def compile(self, context):
        path = context.folder / self.card
        content = context.read(path)
        context.models[str(path)] = hashlib.sha256(content).hexdigest()
        card = json.loads(content)
        requires = context.condition(self.requires) if self.requires else None
        return CompiledCard(self.threshold, (*card.values(),), (*map(context.observable, card),), requires)

KINDS = {"carded": Carded}
"""


def write_card(file: Path, weights: dict[str, float]) -> Path:
    """Write what a trigger of the kind `carded` reads."""
    return write(file, json.dumps(weights))


@pytest.fixture
def carded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin `carded` is on the path."""
    monkeypatch.setenv("TRIGEMU_PLUGIN_PATH", str(write(tmp_path / "plugins" / "carded.py", CARDED).parent))
