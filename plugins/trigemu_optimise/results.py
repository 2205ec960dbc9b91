"""The numbers of an optimisation, plain enough for JSON; a field of a row says which column it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from trigemu.results import numbers
from trigemu.results.table import Column

from .goals import Merit

#: The names of the menus that are compared, in their order.
WRITTEN, SCALED, BEST = "as written", "scaled", "optimised"
loss_text = "{:.5f}".format


def _hz(value: float) -> str:
    return numbers.in_unit(value, 0.0)


def _slope_of_threshold(variable: VariableResult) -> float | None:
    return variable.hz_per_unit if variable.what == "above" else None


_LOSS = Column("", "number", "loss, fitted", text=loss_text)
_HZ = Column("", "number", "cap", text=numbers.in_hz)


@dataclass(frozen=True)
class OnHalf:
    """A menu on one half of the events."""

    rate_hz: float  #: rate_hz, rate_error_hz: The rate of the menu, and its statistical error
    rate_error_hz: float
    loss: float  #: loss, loss_error: The figure of merit, and its error
    loss_error: float
    efficiencies: tuple[float, ...]  #: efficiencies, errors: The efficiency of each channel, and its error
    errors: tuple[float, ...]


@dataclass(frozen=True)
class Contender:
    """A menu on both halves."""

    name: str  #: WRITTEN, SCALED or BEST
    fitted: OnHalf  #: fitted, unseen: The half for the search, and the other one
    unseen: OnHalf
    #: gain, gain_error: The loss of this menu minus that of the optimised one on the unseen half, with its
    #: paired error.
    gain: float
    gain_error: float


@dataclass(frozen=True)
class ChannelResult:
    """A channel."""

    name: str  #: Its name
    sample: str  #: Its sample
    require: str  #: Its condition
    weight: float  #: Its weight; all add up to 1
    events: int  #: The number of events that judge it
    ceiling: float  #: Its efficiency with all of the rate to itself
    per_khz: float  #: The efficiency that it gains for another kHz, of the variable that gives it most
    front_ceiling: float = 0.0  #: Its efficiency with all of the highest cap of the front to itself


@dataclass(frozen=True)
class VariableResult:
    """A threshold, a prescale or a switch."""

    name: Annotated[str, Column("", "key", "varied")]  #: The triggers, and what varies
    what: str  #: `above`, `prescale` or `enabled`
    triggers: tuple[str, ...]  #: The triggers
    unit: Annotated[str, Column("", "label", "unit", gives_way=1)]  #: The unit of a threshold
    #: written, value: The value in the menu, and the best one
    written: Annotated[float, Column("", "number", "as written")]
    value: Annotated[float, Column("", "number", "optimised")]
    values: int  #: The number of allowed values
    #: low, high: The interval of 68 % over replicas of the events; None without replicas
    low: Annotated[float | None, Column("")]
    high: Annotated[float | None, Column("")]
    #: ∂rate/∂threshold of the menu
    hz_per_unit: Annotated[float, Column("", "number", "∂rate/∂value", text=_hz, of=_slope_of_threshold)]
    #: By how much another kHz for this variable lowers the loss; None if it changes no rate.
    loss_per_khz: Annotated[float | None, Column("", "number", "loss/kHz", text="{:.2g}".format)]
    channels_per_khz: tuple[float, ...]  #: The efficiency that each channel gains for another kHz


@dataclass(frozen=True)
class CapResult:
    """The best menu at another cap."""

    cap_hz: Annotated[float, _HZ]  #: The cap
    rate_hz: float  #: The rate on the fitted half
    #: loss, unseen_loss: The loss on each half, with the ε_max of the highest cap of the front
    loss: Annotated[float, _LOSS]
    unseen_loss: Annotated[float, _LOSS.headed("unseen")]
    values: tuple[float, ...]  #: The value of each variable


@dataclass(frozen=True)
class LimitResult:
    """A limit, and what it limits on both halves."""

    name: Annotated[str, Column("", "key", "limit")]  #: What it limits
    min_hz: Annotated[float | None, _HZ.headed("at least")]  #: min_hz, max_hz: The floor and the cap
    max_hz: Annotated[float | None, _HZ.headed("at most")]
    fitted_hz: Annotated[float, _HZ.headed("fitted")]  #: fitted_hz, unseen_hz: The rate on each half
    unseen_hz: Annotated[float, _HZ.headed("unseen")]


@dataclass(frozen=True)
class Summary:
    """The numbers of an optimisation."""

    menu: str  #: menu, goals: The files
    goals: str
    menu_sha256: str  #: menu_sha256, goals_sha256, new_sha256: Their SHA-256, and that of the new menu
    goals_sha256: str
    new_sha256: str
    samples: str  #: The name of the catalogue
    merit: Merit  #: The figure of merit
    cap_hz: float  #: The cap
    seed: int  #: seed, starts, hops: The seed, the number of starts, and of hops each
    starts: int
    hops: int
    evaluations: int  #: The number of evaluations: of a point, a line or a plane
    halves: str  #: A sentence on the halves
    factor: float  #: The factor on all thresholds of the menu SCALED
    contenders: tuple[Contender, ...]  #: The compared menus
    #: channels, variables, limits: The channels, the variables, the limits.
    channels: tuple[ChannelResult, ...]
    variables: tuple[VariableResult, ...]
    limits: tuple[LimitResult, ...]
    front: tuple[CapResult, ...]  #: The best menus at other caps, ascending
    replicas: int  #: The number of replicas of the bootstrap
    point: dict[str, Any] = field(default_factory=dict)  #: Where the menu was run: its column, the samples

    def contender(self, name: str) -> Contender:
        """Return the compared menu with a name."""
        return next(contender for contender in self.contenders if contender.name == name)
