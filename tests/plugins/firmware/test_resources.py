"""What yosys counts, and what its cells take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from firmware_toys import VHDL, needs, toy
from trigemu_firmware import estimate, of_model
from trigemu_firmware.estimate import counted
from trigemu_firmware.sources import write_sources

from trigemu import TrigemuError


def statistics(**cells: int) -> str:
    return json.dumps({"design": {"num_cells_by_type": cells}})


def test_cells_are_counted_as_what_they_take() -> None:
    logic = {"LUT1": 1, "LUT6": 10, "INV": 100, "SRL16E": 1000, "FDRE": 2, "FDSE": 20, "CARRY4": 3}
    result = counted(statistics(**logic, DSP48E2=4, RAMB18E2=1, RAMB36E2=5))
    assert (result.lut, result.ff, result.carry, result.dsp, result.bram) == (1111, 22, 3, 4, 5.5)
    assert result.shares == pytest.approx(
        {"lut": 1111 / 1182240, "ff": 22 / 2364480, "dsp": 4 / 6840, "bram": 5.5 / 2160}
    )
    assert result.cells["LUT6"] == 10


def test_an_unknown_cell() -> None:
    with pytest.raises(TrigemuError, match="of unknown type: STRANGE, URAM288"):
        counted(statistics(LUT1=1, URAM288=1, STRANGE=3))


@pytest.mark.slow
@VHDL
@needs("yosys")
def test_more_trees_take_more_and_pipelines_their_registers() -> None:
    """Each sum of words of the score has registers for its bits."""
    small = toy("ap_fixed<7,5>", trees=3, depth=2)
    few = of_model(small)
    many = of_model(toy("ap_fixed<7,5>", score="ap_fixed<24,4>", trees=7, depth=2))
    assert 0 < few.lut < many.lut < 3000
    assert few.ff >= 11
    assert many.ff >= few.ff + 5 * 24
    assert many.carry > few.carry > 0
    assert (few.dsp, few.bram, many.dsp, many.bram) == (0, 0.0, 0, 0.0)


@VHDL
@needs("yosys")
def test_a_failed_synthesis_reports_its_last_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_sources(toy(depth=1), "vhdl", tmp_path / "vhdl")
    monkeypatch.setattr(estimate, "_SCRIPT", "read_verilog design.v\nsynth_nothing\n")
    with pytest.raises(TrigemuError, match=r"(?s)yosys failed; its last lines:.*synth_nothing"):
        estimate.synthesised(tmp_path / "vhdl")
