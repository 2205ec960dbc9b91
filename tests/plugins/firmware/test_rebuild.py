"""Sources that were changed are named, and never run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from firmware_toys import needs, toy, write_project
from trigemu_firmware.estimate import estimate
from trigemu_firmware.project import NAME
from trigemu_firmware.sources import rebuilt
from trigemu_firmware.verify import verify

from trigemu import TrigemuError

pytestmark = needs("conifer")


def test_the_sources_of_a_project_are_made_again(tmp_path: Path) -> None:
    project = write_project(toy(), tmp_path, ("hls",), events=10)
    with rebuilt(project, "hls") as sources:
        assert sources != project.of("hls")
        names = {path.relative_to(sources) for path in sources.rglob("*")}
        assert names == {path.relative_to(project.of("hls")) for path in project.of("hls").rglob("*")}


@pytest.mark.parametrize("how", ["gone", "link", "pipe"])
def test_a_source_that_is_not_there_is_named(tmp_path: Path, how: str) -> None:
    project = write_project(toy(), tmp_path, ("cpp",), events=10)
    source = project.of("cpp") / "run.cpp"
    source.unlink()
    if how == "link":
        source.symlink_to("/dev/zero")
    elif how == "pipe":
        os.mkfifo(source)
    with pytest.raises(TrigemuError, match=r"cpp/run.cpp: is not what trigemu .* and conifer .* write"):
        verify(project)


@pytest.mark.parametrize(
    ("backend", "file", "code"),
    [
        ("cpp", "run.cpp", '#include <fstream>\nint main() {{ std::ofstream("{seen}") << 1; }}\n'),
        ("cpp", f"{NAME}.json", "{{}}"),
        ("verilog", "trees.v", "// {seen}"),
    ],
)
def test_what_a_stranger_wrote_is_not_run(tmp_path: Path, backend: str, file: str, code: str) -> None:
    project = write_project(toy(), tmp_path, (backend,), events=10)
    seen = tmp_path / "seen"
    source = project.of(backend) / file
    source.write_text(code.format(seen=seen).ljust(source.stat().st_size))
    with pytest.raises(TrigemuError, match=rf"{file}: is not what trigemu"):
        estimate(project) if backend == "verilog" else verify(project)
    assert not seen.exists()
