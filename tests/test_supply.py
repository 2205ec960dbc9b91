"""What the wheel contains: no compiled library, and no model or sample without a digest."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from project import ROOT

from trigemu import open_catalogue

#: How files begin that a processor runs, or that Python loads as code or as pickles.
COMPILED = (
    b"\x7fELF",
    b"MZ",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"!<arch>",
    b"\0asm",
    b"\x80\x04",
    b"\x80\x05",
)
#: Suffixes of all files of the wheel; a new one asks for a look at SECURITY.md.
#: What is neither code nor text.
DATA = (".onnx", ".root", "quantile.json")
SUFFIXES = {
    "",
    ".py",
    ".pyi",
    ".typed",
    ".md",
    ".css",
    ".toml",
    ".json",
    ".onnx",
    ".root",
    ".png",
    ".j2",
    ".vhd",
    ".cpp",
    ".h",
    ".txt",
    ".html",
    ".js",
    ".LICENSE",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Name of each file → its content."""
    folder = tmp_path_factory.mktemp("wheel")
    (made,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with zipfile.ZipFile(made) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_nothing_is_compiled(wheel: dict[str, bytes]) -> None:
    assert len(wheel) > 200
    assert [name for name, content in wheel.items() if content.startswith(COMPILED)] == []
    assert {Path(name).suffix for name in wheel if ".dist-info/" not in name} <= SUFFIXES


def test_models_and_samples_are_named_by_their_sha256(wheel: dict[str, bytes]) -> None:
    texts = b"".join(content for name, content in wheel.items() if name.endswith(".toml")).decode()
    data = [name for name in wheel if name.endswith(DATA)]
    source = (*(ROOT / "src").rglob("*"), *(ROOT / "plugins").rglob("*"))
    there = sorted(path.name for path in source if path.name.endswith(DATA))
    assert sorted(Path(name).name for name in data) == there
    samples = {Path(f.path).name for sample in open_catalogue().samples for f in sample.sources}
    assert samples | {"autoencoder.onnx", "quantile.json"} == set(there)
    assert [name for name in data if hashlib.sha256(wheel[name]).hexdigest() not in texts] == []
