"""Plugins written for a test: in a folder, and as an installed package."""

from __future__ import annotations

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
