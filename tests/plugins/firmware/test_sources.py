"""What is written for conifer's projects, and that their own benches agree."""

from __future__ import annotations

import getpass
import platform
import subprocess
from pathlib import Path

import numpy as np
import pytest
from firmware_toys import CPP, needs, toy
from tree_toys import fixed_walk
from trigemu_firmware import sources, tools
from trigemu_firmware.sources import write_sources
from trigemu_firmware.tools import ap_types
from trigemu_firmware.verify import around, scaled

from trigemu import TrigemuError
from trigemu.api import MissingExtraError


def content(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


@needs("conifer")
@pytest.mark.usefixtures("by_conifer")
@pytest.mark.parametrize("backend", ["cpp", "hls"])
def test_the_same_model_gives_the_same_bytes_without_traces_of_the_machine(
    tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "another"):
        write_sources(toy(), backend, Path(name))
    result = content(tmp_path / "one")
    assert result == content(tmp_path / "another")
    assert {path.name for path in tmp_path.iterdir()} == {"one", "another"}
    for name, text in result.items():
        for private in (str(tmp_path), f'"{platform.node()}"', f'"{getpass.getuser()}"'):
            assert private.encode() not in text, name


@needs("conifer")
def test_precisions_part_and_clock_stand_in_the_project(tmp_path: Path) -> None:
    fixed = toy("ap_fixed<9,5,AP_RND>", "ap_fixed<10,5>", "ap_fixed<11,4>")
    write_sources(fixed, "hls", tmp_path / "hls", "xcku115", 320.0)
    parameters = (tmp_path / "hls" / "hls_parameters.tcl").read_text()
    assert all(line in parameters for line in ("set part xcku115\n", "set clock_period 3.125\n"))
    types = (tmp_path / "hls" / "firmware" / "parameters.h").read_text()
    for kind, name in (("9,5,AP_RND", "input"), ("10,5", "threshold"), ("11,4", "score")):
        assert f"typedef ap_fixed<{kind}> {name}_t;" in types


@pytest.mark.slow
@CPP
def test_the_bench_of_vitis_compares_scores(tmp_path: Path) -> None:
    """As its C simulation compiles it."""
    fixed, folder = toy("ap_fixed<9,5,AP_RND>", "ap_fixed<10,5>"), tmp_path / "hls"
    write_sources(fixed, "hls", folder)
    sources = ["boosted_trees_test.cpp", "firmware/BDT.cpp", "firmware/boosted_trees.cpp"]
    command = ["g++", "-std=c++0x", "-w", f"-I{ap_types()}", "-I.", "-Ifirmware", *sources, "-o", "bench"]
    subprocess.run(command, cwd=folder, check=True)
    x = around(fixed, 200)
    np.savetxt(folder / "tb_data" / "inputs.txt", scaled(fixed, x), "%.17g")
    scores = fixed_walk(fixed, x)[0]
    for differences in (0, 1):
        scores[7] += differences
        np.savetxt(folder / "tb_data" / "scores.txt", scores, "%d")
        done = subprocess.run(["./bench"], cwd=folder, capture_output=True, text=True, check=False)
        assert f"200 events, {differences} differences" in done.stdout
        assert done.stdout.startswith("event 7: ") == bool(differences) == bool(done.returncode)


@needs("conifer")
def test_what_cannot_be_the_emulation_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(TrigemuError, match="one type for both"):
        write_sources(toy(threshold="ap_fixed<12,5>"), "cpp", tmp_path / "cpp")
    assert not (tmp_path / "cpp").exists()


@needs("conifer")
@pytest.mark.usefixtures("by_conifer")
def test_a_failed_conifer_reports_its_last_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conifer.py").write_text("raise ValueError('not today')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(TrigemuError, match=r"(?s)failed; its last lines:.*ValueError: not today"):
        write_sources(toy(), "hls", tmp_path / "hls")


@pytest.mark.usefixtures("by_conifer")
def test_without_conifer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"'conifer'.*trigemu\[firmware\]"):
        write_sources(toy(), "hls", tmp_path / "hls")


def test_a_failed_conversion_has_a_reason_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text('{"ensemble": {}, "config": {"Backend": "cpp"}}')
    script = Path(sources.__file__).with_name("convert.py")
    with pytest.raises(TrigemuError, match=r"last lines:\n  conifer: \w+: ") as error:
        tools.python(script, tmp_path / "model.json", tmp_path / "made", folder=tmp_path)
    assert "Traceback" not in str(error.value)
