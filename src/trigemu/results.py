"""What a menu's rates are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trigemu.events import FloatArray
from trigemu.menu import Menu
from trigemu.samples import Catalogue


@dataclass(frozen=True)
class Rate:
    """A rate and what stands behind it.

    hz ± error_hz. events: how many events enter; effective_events: (Σwf)²/Σ(wf)². upper_limit_hz: at 68 %,
    None where there are events. unseen: samples of which no event enters although one would weigh more
    than error_hz, so that the error is too small.
    """

    hz: float
    error_hz: float
    events: int
    effective_events: float
    upper_limit_hz: float | None
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True)
class TriggerRates:
    """The rates of a trigger or (kind "group") of a group. threshold: the cut on its score, if any;
    threshold_error: of one that was found from a rate budget."""

    name: str
    kind: str
    group: str | None
    prescale: float | None
    threshold: float | None
    threshold_error: float | None
    total: Rate
    unique: Rate
    share: Rate


@dataclass(frozen=True)
class Half:
    """The half of the samples that rates are from, and by what each sample, in the order of the
    catalogue, is scaled to stand for all of it."""

    number: int
    scales: tuple[float, ...]


@dataclass(frozen=True)
class MenuRates:
    """All rates of a menu. overlap, overlap_error: float64[t, t] in Hz over the enabled triggers, the
    diagonal being their totals. half: None where all events count. models: the files of its models →
    sha256. warnings: what a user should know before using the numbers."""

    menu: Menu
    catalogue: Catalogue
    rate: Rate
    triggers: tuple[TriggerRates, ...]
    groups: tuple[TriggerRates, ...]
    overlap: FloatArray
    overlap_error: FloatArray
    half: Half | None
    models: Mapping[str, str]
    warnings: tuple[str, ...]
