"""The goals of an optimisation, in TOML (`menus/goals.toml` is an example), and how thorough it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from trigemu.base.toml import Key, Positive, TomlTable, load_toml, read_table, refuse_other_kinds

#: The most values of a variable: levels are bytes.
MOST = 255
#: The figures of merit.
Merit = Literal["squared", "mean", "worst"]
#: The largest size of a number.
_LARGEST = 1e15
_Hz = Annotated[float, msgspec.Meta(ge=0, le=_LARGEST)]


class Span(TomlTable, frozen=True):
    """The range of a threshold."""

    min: float  #: The lowest threshold.
    max: float  #: The highest threshold.
    #: The step from `min` on: no other threshold is allowed. None: a round one, which gives about a hundred
    #: values, and the present threshold.
    step: Positive | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        width = self.max - self.min
        if not -_LARGEST <= self.min <= self.max <= _LARGEST or 0 < width < 1 / _LARGEST:
            yield "min", f"min = {self.min:g}, max = {self.max:g}: expected numbers, min ≤ max"
        elif self.step and width / self.step > MOST - 1:
            number = width / self.step + 1
            yield "step", f"step = {self.step:g} gives {number:.0f} values, at most {MOST} are allowed"


class Vary(TomlTable, frozen=True):
    """[[vary]]: what may change of some triggers."""

    #: The triggers, each by itself. A trigger with a single allowed value gets that value.
    triggers: tuple[str, ...]
    #: The range of the threshold; "free": where the trigger's own rate is ten times the present one, to where
    #: it is a tenth of it.
    above: Span | Literal["free"] | None = None
    #: The allowed prescales; the present one only if it is among them.
    prescale: tuple[Annotated[float, msgspec.Meta(ge=1, le=1e15)], ...] | None = None
    switch: bool = False  #: Whether the trigger may be switched off.

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if not self.triggers:
            yield "triggers", "triggers is empty: expected names of triggers"
        if isinstance(self.above, Span):
            for key, message in self.above.mistakes():
                yield ("above", key), f"above: {message}"
        if self.above is None and not self.prescale and not self.switch:
            yield "triggers", "nothing varies: expected above, prescale or switch"
        if self.prescale and len(set(self.prescale)) > MOST:
            yield "prescale", f"{len(set(self.prescale))} prescales: at most {MOST} are allowed"


class ChannelTable(TomlTable, frozen=True):
    """[[channel]]: events that the menu should accept."""

    sample: str  #: A signal of the catalogue.
    name: str | None = None  #: Its name; by default that of the sample.
    #: The condition that an event must fulfil to be counted; by default that of the catalogue.
    require: str | None = None
    #: Its weight in the figure of merit, relative to those of other channels.
    weight: Annotated[float, msgspec.Meta(gt=0, le=1e12)] = 1.0

    @property
    def label(self) -> str:
        """Its name."""
        return self.name or self.sample


class Tie(TomlTable, frozen=True):
    """[[tie]]: thresholds that depend on each other."""

    triggers: tuple[str, ...]  #: The triggers.
    #: Each threshold is at least this far above that of the trigger before it; None: all are equal.
    at_least: float | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if len(set(self.triggers)) < 2 or len(set(self.triggers)) < len(self.triggers):
            yield "triggers", "expected two or more different triggers"


class Limit(TomlTable, frozen=True):
    """[[limit]]: a cap or a floor on the rate of a trigger, a group or a level."""

    trigger: str | None = None  #: The trigger that it limits; or a group or a level.
    group: str | None = None  #: The group that it limits.
    level: str | None = None  #: The level that it limits.
    quantity: Literal["rate", "unique"] = "rate"  #: Its rate, or the rate that only it accepts.
    min_hz: _Hz | None = None  #: The floor in Hz.
    max_hz: _Hz | None = None  #: The cap in Hz.

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if sum(value is not None for value in (self.trigger, self.group, self.level)) != 1:
            yield "trigger", "expected one of trigger, group and level"
        if self.min_hz is None and self.max_hz is None:
            yield "max_hz", "expected min_hz or max_hz"
        elif self.min_hz is not None and self.max_hz is not None and self.min_hz > self.max_hz:
            yield "min_hz", f"min_hz = {self.min_hz:g} is above max_hz = {self.max_hz:g}"

    @property
    def label(self) -> str:
        """What it limits: `unique rate of AD`."""
        what = self.trigger or (f"group {self.group}" if self.group else f"level {self.level}")
        return f"{'unique ' if self.quantity == 'unique' else ''}rate of {what}"


class Live(TomlTable, frozen=True):
    """[live]: a floor on the live fraction of the menu's first level, under the rules of a readout."""

    #: The least fraction of accepts that the rules allow, between 0 and 1.
    min: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    rules: str  #: The rules: a TOML file, or the name of a set that comes with trigemu.
    #: The filling scheme: a file, a name, or a pattern; by default every slot is filled.
    filling: str | None = None


class GoalsTable(TomlTable, frozen=True):
    """[goals]: the cap and the figure of merit."""

    rate_hz: Annotated[float, msgspec.Meta(gt=0, le=_LARGEST)]  #: The cap on the rate of the menu, in Hz.
    merit: Merit = "squared"  #: The loss: Σ w (1 − ε/ε_max)², 1 − Σ w ε, or 1 − the smallest ε/ε_max.


#: Searches for the ceiling of each channel.
CEILING_STARTS = 2


@dataclass(frozen=True)
class Effort:
    """How thorough a search is."""

    seed: int = 1  #: The seed of the random numbers
    starts: int = 8  #: The number of random starts
    hops: int = 8  #: The number of hops from each
    replicas: int = 40  #: The number of replicas of the bootstrap
    caps: int = 10  #: The number of caps of the front; 0 for none

    def steps(self, channels: int) -> int:
        """Return the number of searches, at most, for a progress bar."""
        front = channels + 2 if self.caps else 0
        return CEILING_STARTS * channels + self.starts + self.replicas + front


class _File(TomlTable, frozen=True):
    goals: GoalsTable | None = None
    channel: tuple[ChannelTable, ...] = ()
    vary: tuple[Vary, ...] = ()
    tie: tuple[Tie, ...] = ()
    limit: tuple[Limit, ...] = ()
    live: Live | None = None

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if self.goals is None:
            yield (), "[goals] is missing: expected it with rate_hz, the cap on the menu's rate"
        if not self.channel:
            yield (), "there is no [[channel]]: expected at least one, with sample = NAME"
        labels = [channel.label for channel in self.channel]
        for number, label in enumerate(labels):
            if label in labels[:number]:
                message = f"two channels are called {label!r}: give them different names"
                yield ("channel", number), message
        if not self.vary:
            yield (), "there is no [[vary]]: nothing may change"


@dataclass(frozen=True)
class Goals:
    """The goals of an optimisation."""

    path: Path  #: Their file
    sha256: str  #: Its SHA-256
    table: GoalsTable  #: The cap and the figure of merit
    channels: tuple[ChannelTable, ...]  #: channels, vary, ties, limits: The lists of tables
    vary: tuple[Vary, ...]
    ties: tuple[Tie, ...]
    limits: tuple[Limit, ...]
    live: Live | None = None  #: The floor on the live fraction


def read_goals(path: Path | str) -> Goals:
    """Read and check a file of goals. TableError has all mistakes of the file, each with its line."""
    document = load_toml(Path(path))
    refuse_other_kinds(document, "goals")
    file = read_table(document, document.data, _File, (), "")
    document.finish()
    assert file is not None
    assert file.goals is not None
    lists = file.channel, file.vary, file.tie, file.limit
    return Goals(document.path, document.sha256, file.goals, *lists, file.live)
