from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from trigemu_firmware import sources, verify
from trigemu_firmware.project import NAME
from trigemu_firmware.tools import CppProgram, compile_model

CONVERT = sources._convert


@pytest.fixture(scope="session", autouse=True)
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """conifer converts equal models once, and g++ compiles equal sources once, in all tests together: each
    takes seconds."""
    folder = tmp_path_factory.mktemp("once")
    converted: dict[str, Path] = {}
    compiled: dict[object, CppProgram] = {}

    def copied(ensemble: dict[str, Any], config: dict[str, Any], new: Path) -> None:
        key = json.dumps([ensemble, config])
        if key not in converted:
            made = Path(tempfile.mkdtemp(dir=folder)) / "made"
            CONVERT(ensemble, config, made)
            converted[key] = made
        shutil.copytree(converted[key], new)

    def program(backend: str, project: Path, scratch: Path) -> CppProgram:
        files = [file for file in sorted(project.rglob("*")) if file.suffix in (".cpp", ".h")]
        key = backend, *((file.relative_to(project), file.read_bytes()) for file in files)
        if key not in compiled:
            compiled[key] = compile_model(backend, project, Path(tempfile.mkdtemp(dir=folder)))
        trees = [project.resolve() / f"{NAME}.json"] if backend == "cpp" else []  # it reads them from a file
        return replace(compiled[key], command=(compiled[key].command[0], *trees), folder=scratch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "_convert", copied)
        patch.setattr(verify, "compile_model", program)
        yield


@pytest.fixture
def by_conifer(monkeypatch: pytest.MonkeyPatch) -> None:
    """conifer itself, for each call."""
    monkeypatch.setattr(sources, "_convert", CONVERT)
