"""What a menu's rates are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from trigemu.menus import Menu
from trigemu.samples import Catalogue
from trigemu.support import FloatArray


@dataclass(frozen=True)
class Rate:
    """A rate and what stands behind it.

    hz ± error_hz. events: how many events enter; effective_events: (Σwf)²/Σ(wf)². upper_limit_hz: at 68 %,
    None where there are events. unseen: samples of which no event enters, by chance, although one would weigh
    more than error_hz, so that the error may be too small (`unseen.py`). contained_in: of a unique rate that
    is 0 by construction, the triggers that between them accept all that this one accepts.
    """

    hz: float
    error_hz: float
    events: int
    effective_events: float
    upper_limit_hz: float | None
    unseen: tuple[str, ...] = ()
    contained_in: tuple[str, ...] = ()


@dataclass(frozen=True)
class LevelRates:
    """The rate that a level of a menu accepts. rejection: the rate of the level before over this one."""

    name: str
    rate: Rate
    rejection: float | None
    rejection_error: float | None


@dataclass(frozen=True)
class TriggerRates:
    """The rates of a trigger or (kind "group") of a group, within its level. threshold: the cut on its
    score, if any; threshold_error: of one that was found from a rate budget. rates: by the names of
    `counting.quantities`. lost: what the last level would
    lose without a trigger of an earlier one, below 0 if it would gain. unique_fraction: unique over total
    rate and its error, None where the total is not above 0."""

    name: str
    kind: str
    group: str | None
    level: str | None
    prescale: float | None
    threshold: float | None
    threshold_error: float | None
    rates: Mapping[str, Rate]
    unique_fraction: tuple[float, float] | None = None

    def with_rate(self, quantity: str, rate: Rate) -> TriggerRates:
        return replace(self, rates={**self.rates, quantity: rate})

    @property
    def total(self) -> Rate:
        return self.rates["total"]

    @property
    def unique(self) -> Rate:
        return self.rates["unique"]

    @property
    def share(self) -> Rate:
        return self.rates["share"]

    @property
    def lost(self) -> Rate | None:
        return self.rates.get("lost")


@dataclass(frozen=True)
class Half:
    """The half of the samples that rates are from, and by what each sample, in the order of the
    catalogue, is scaled to stand for all of it."""

    number: int
    scales: tuple[float, ...]


@dataclass(frozen=True)
class MenuRates:
    """All rates of a menu. rate: that of the last level. levels: none where the menu has none. overlap,
    overlap_error: float64[t, t] in Hz over the enabled triggers, the diagonal being their totals. half: None
    where all events count. models: the files of its models → sha256. warnings: what a user should know
    before using the numbers."""

    menu: Menu
    catalogue: Catalogue
    rate: Rate
    levels: tuple[LevelRates, ...]
    triggers: tuple[TriggerRates, ...]
    groups: tuple[TriggerRates, ...]
    overlap: FloatArray
    overlap_error: FloatArray
    half: Half | None
    models: Mapping[str, str]
    warnings: tuple[str, ...]
