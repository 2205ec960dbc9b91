"""Files of fills, and their mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from trigemu_live import read_fill

from trigemu import TrigemuError

GOOD = "[fill]\nhours = 10\npileup = 20\nhalf_life_hours = 5\n"


def test_a_half_life(tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(
        GOOD + '[[control]]\ntrigger = "T"\n[[column]]\nname = "c"\nbelow = 12\n'
    )
    config = read_fill(tmp_path / "f.toml")
    hours, pileup = config.fill.hours_and_pileup()
    assert len(hours) == 600
    assert pileup[300] == pytest.approx(10)
    assert (config.controls[0].of, config.columns[0].below) == ("trigger", 12)
    assert [config.column_at(pileup) for pileup in (12.1, 12, 1)] == [None, 0, 0]


def test_a_curve(tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(
        "[fill]\nhours = 4\nstep_seconds = 3600\ncurve = [[0, 20], [2, 10], [3, 9]]\n"
    )
    _, pileup = read_fill(tmp_path / "f.toml").fill.hours_and_pileup()
    assert pileup.tolist() == [20, 15, 10, 9]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[fill]\n", "expected pileup and half_life_hours, or a curve"),
        ("[fill]\npileup = 20\n", "expected pileup and half_life_hours, or a curve"),
        (GOOD + "curve = [[0, 1], [1, 1]]\n", "expected pileup and half_life_hours, or a curve"),
        ("[fill]\ncurve = [[0, 20]]\n", "two or more points"),
        ("[fill]\ncurve = [[1, 20], [0, 10]]\n", "ascending hours"),
        ("[fill]\ncurve = [[1, -20], [2, 10]]\n", r"expected \[hours, pile-up\]"),
        (GOOD + "step_seconds = 0.1\n", "360000 steps: expected at most 100000"),
        (GOOD.replace("20", "-1"), "pileup"),
        (GOOD.replace("20", "1e300"), "pileup"),
        (GOOD.replace("20", "nan"), "pileup"),
        (
            GOOD.replace("= 5", "= 1e-300"),
            "1e-300: the pile-up at the end is 0: expected at least 1e-06",
        ),
        ("[fill]\ncurve = [[0, 20], [1, nan]]\n", r"nan\]\]: expected finite numbers"),
        ("[fill]\ncurve = [[0, 20], [1e9, 10]]\n", "up to 1000 hours, a pile-up from 1e-06 to 100000"),
        (GOOD + '[[column]]\nname = "c"\nbelow = 12\n' * 2, "two columns begin below the same pile-up"),
        (GOOD + '[[control]]\ntrigger = "T"\ntarget_hz = inf\n', "target_hz"),
        (GOOD + '[[control]]\ntrigger = "T"\nproportional = 5\n', "proportional"),
        (GOOD + '[[control]]\ntrigger = "T"\nof = "group"\n', "of"),
        (GOOD + '[[control]]\ntrigger = "T"\n' * 2, "two controllers"),
        (GOOD + "control = 3\n", "unknown key 'control'"),
        (GOOD + "[[columns]]\n", "unknown key 'columns'; did you mean 'column'"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "f.toml").write_text(text)
    with pytest.raises(TrigemuError, match=message):
        read_fill(tmp_path / "f.toml")
