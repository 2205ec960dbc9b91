"""What happens in a fill, as TOML: pile-up that falls, columns of prescales, thresholds under control.

[fill]
hours = 10
pileup = 20                     # at the beginning
half_life_hours = 6.6

[[column]]                      # of prescales, from this pile-up down
name = "loose"
below = 12

[[control]]                     # a threshold that follows a rate
trigger = "AD"
target_hz = 1400
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.base.toml import Key, TomlTable, load_toml, read_table, refuse_other_kinds

_Positive = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
_Hours = Annotated[float, msgspec.Meta(gt=0, le=1000)]
_Gain = Annotated[float, msgspec.Meta(ge=0, le=2)]
#: The lowest and the highest pile-up of a fill, and its largest number of steps.
MIN_PILEUP, MAX_PILEUP, MAX_STEPS = 1e-6, 1e5, 100_000


class FillTable(TomlTable, frozen=True):
    """[fill]: how pile-up falls, and what is measured."""

    hours: _Hours = 10.0  #: The length of the fill.
    pileup: _Positive | None = None  #: The mean number of interactions per crossing at the beginning.
    half_life_hours: _Positive | None = None  #: The time in which it halves.
    curve: list[list[float]] | None = None  #: Instead of both, points between which it is interpolated.
    #: The time between two settings of thresholds.
    step_seconds: Annotated[float, msgspec.Meta(ge=0.1, le=36000)] = 60.0
    #: The recorded rate that the menu (its last level) should have; by default that at the beginning.
    target_hz: _Positive | None = None
    #: The largest relative difference from a target that counts as on target.
    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.1
    signals: list[str] = msgspec.field(default_factory=list)  #: Signal samples whose efficiency is measured.

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        given = [value is not None for value in (self.pileup, self.half_life_hours, self.curve)]
        curve = self.curve or [[0.0, 1.0], [1.0, 1.0]]
        hours = [point[0] for point in curve if len(point) == 2]
        if given not in ([True, True, False], [False, False, True]):
            yield "pileup", "[fill]: expected pileup and half_life_hours, or a curve"
        elif len(hours) < len(curve) or len(hours) < 2 or sorted({*hours}) != hours:
            yield "curve", "expected two or more points, [hours, pile-up], at ascending hours"
        elif (steps := self.hours * 3600 / self.step_seconds) > MAX_STEPS:
            yield "step_seconds", f"{steps:.0f} steps: expected at most {MAX_STEPS}"
        else:
            pileup = self.hours_and_pileup()[1]
            low, high = float(pileup.min()), float(pileup.max())
            if not MIN_PILEUP <= low <= high <= MAX_PILEUP:
                key, allowed = "pileup" if self.pileup else "curve", f"{MIN_PILEUP:g} to {MAX_PILEUP:g}"
                yield key, f"the pile-up is {low:.3g} to {high:.3g}: expected {allowed}"

    def hours_and_pileup(self) -> tuple[FloatArray, FloatArray]:
        """Return the beginning of each step in hours, and the pile-up in it, float64[steps] each."""
        hours = np.arange(0.0, self.hours, self.step_seconds / 3600.0)
        if self.curve is not None:
            return hours, np.interp(hours, *np.array(self.curve).T)
        assert self.pileup is not None
        assert self.half_life_hours is not None
        return hours, self.pileup * 0.5 ** (hours / self.half_life_hours)


class ColumnTable(TomlTable, frozen=True):
    """[[column]]: a column of prescales of the menu."""

    name: str  #: Its name in the menu.
    #: The pile-up from which on it is used, downwards. The highest column covers the beginning of the fill.
    below: _Positive


class ControlTable(TomlTable, frozen=True):
    """[[control]]: a proportional-integral controller of a threshold."""

    trigger: str  #: The trigger whose threshold it moves.
    #: Whether the rate of the trigger or that of the menu (without levels) should be on target.
    of: Literal["trigger", "menu"] = "trigger"
    #: The recorded rate; by default that of the menu's own threshold, or of the menu, at the beginning. The
    #: threshold begins where a target of the trigger is met; else, it is the menu's own.
    target_hz: _Positive | None = None
    proportional: _Gain = 0.2  #: The gain on the change of ln(measured rate / target) from step to step.
    integral: _Gain = 0.2  #: The gain on ln(measured rate / target) in each step.
    #: The time in which it counts, before each step.
    seconds: Annotated[float, msgspec.Meta(gt=0, le=36000)] = 10.0
    #: The prescale of the accepts that it counts.
    prescale: Annotated[float, msgspec.Meta(ge=1, le=1e9)] = 10.0


class _File(TomlTable, frozen=True):
    fill: FillTable
    column: tuple[ColumnTable, ...] = ()
    control: tuple[ControlTable, ...] = ()

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if len({control.trigger for control in self.control}) < len(self.control):
            yield "control", "a trigger has two controllers"
        if len({column.below for column in self.column}) < len(self.column):
            yield "column", "two columns begin below the same pile-up"


@dataclass(frozen=True)
class FillConfig:
    """A fill."""

    fill: FillTable  #: Its table
    columns: tuple[ColumnTable, ...]  #: Its columns of prescales
    controls: tuple[ControlTable, ...]  #: Its controllers
    path: Path  #: The file
    sha256: str  #: Its SHA-256

    def column_at(self, pileup: float) -> int | None:
        """Return the number of the column at a pile-up; None above all columns."""
        below = [(table.below, number) for number, table in enumerate(self.columns) if pileup <= table.below]
        return min(below)[1] if below else None


def read_fill(path: Path | str) -> FillConfig:
    """Read a fill (TOML). TableError has all mistakes of the file, each with its line."""
    document = load_toml(Path(path))
    refuse_other_kinds(document, "fill")
    file = read_table(document, document.data, _File, (), "")
    document.finish()
    assert file is not None
    return FillConfig(file.fill, file.column, file.control, document.path, document.sha256)
