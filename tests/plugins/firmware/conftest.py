from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from trigemu_firmware import verify
from trigemu_firmware.sources import NAME, CppProgram, compile_model


@pytest.fixture(scope="session", autouse=True)
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """g++ compiles equal sources once, in all tests together: it takes seconds."""
    folder = tmp_path_factory.mktemp("once")
    compiled: dict[object, CppProgram] = {}

    def program(backend: str, project: Path, scratch: Path) -> CppProgram:
        files = [file for file in sorted(project.rglob("*")) if file.suffix in (".cpp", ".h")]
        key = backend, *((file.relative_to(project), file.read_bytes()) for file in files)
        if key not in compiled:
            compiled[key] = compile_model(backend, project, Path(tempfile.mkdtemp(dir=folder)))
        trees = [project.resolve() / f"{NAME}.json"] if backend == "cpp" else []  # it reads them from a file
        return replace(compiled[key], command=(compiled[key].command[0], *trees), folder=scratch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify, "compile_model", program)
        yield
