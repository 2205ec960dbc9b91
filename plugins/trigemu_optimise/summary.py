"""The numbers of an optimisation, plain enough for JSON."""

from __future__ import annotations

from dataclasses import dataclass

#: The names of the menus that are compared, in their order.
WRITTEN, SCALED, GREEDY, BEST = "as written", "scaled", "greedy", "optimised"


@dataclass(frozen=True)
class OnHalf:
    """A menu on one half of the events.

    Attributes
    ----------
    rate_hz, rate_error_hz : float
        The rate of the menu, and its statistical error.
    loss, loss_error : float
        The figure of merit, and its error.
    efficiencies, errors : tuple of float
        The efficiency of each channel, and its error.
    """

    rate_hz: float
    rate_error_hz: float
    loss: float
    loss_error: float
    efficiencies: tuple[float, ...]
    errors: tuple[float, ...]


@dataclass(frozen=True)
class Contender:
    """A menu on both halves.

    Attributes
    ----------
    name : str
        WRITTEN, SCALED, GREEDY or BEST.
    fitted, unseen : OnHalf
        The half for the search, and the other one.
    gain, gain_error : float
        The loss of this menu minus that of the optimised one on the unseen half, with its paired error.
    """

    name: str
    fitted: OnHalf
    unseen: OnHalf
    gain: float
    gain_error: float


@dataclass(frozen=True)
class ChannelResult:
    """A channel.

    Attributes
    ----------
    name : str
        Its name.
    sample : str
        Its sample.
    require : str
        Its condition.
    weight : float
        Its weight; all add up to 1.
    events : int
        The number of events that judge it.
    ceiling : float
        Its efficiency with all of the rate to itself.
    per_khz : float
        The efficiency that it gains for another kHz, of the variable that gives it most.
    """

    name: str
    sample: str
    require: str
    weight: float
    events: int
    ceiling: float
    per_khz: float


@dataclass(frozen=True)
class VariableResult:
    """A threshold, a prescale or a switch.

    Attributes
    ----------
    name : str
        The triggers, and what varies.
    what : str
        `above`, `prescale` or `enabled`.
    triggers : tuple of str
        The triggers.
    unit : str
        The unit of a threshold.
    written, value : float
        The value in the menu, and the best one.
    values : int
        The number of allowed values.
    low, high : float or None
        The interval of 68 % over replicas of the events; None without replicas.
    hz_per_unit : float
        ∂rate/∂threshold of the menu.
    loss_per_khz : float or None
        By how much another kHz for this variable lowers the loss; None if it changes no rate.
    channels_per_khz : tuple of float
        The efficiency that each channel gains for another kHz.
    partner : str
        The variable that it trades with: the strongest negative correlation over replicas; or empty.
    correlation : float
        That correlation.
    """

    name: str
    what: str
    triggers: tuple[str, ...]
    unit: str
    written: float
    value: float
    values: int
    low: float | None
    high: float | None
    hz_per_unit: float
    loss_per_khz: float | None
    channels_per_khz: tuple[float, ...]
    partner: str
    correlation: float


@dataclass(frozen=True)
class CapResult:
    """The best menu at another cap.

    Attributes
    ----------
    cap_hz : float
        The cap.
    rate_hz : float
        The rate on the fitted half.
    loss, unseen_loss, one_way_loss : float
        The loss on the fitted half and on the unseen one, and that on the fitted half if values move one way
        only.
    values, one_way_values : tuple of float
        The value of each variable, and the one if values move one way only.
    """

    cap_hz: float
    rate_hz: float
    loss: float
    unseen_loss: float
    one_way_loss: float
    values: tuple[float, ...]
    one_way_values: tuple[float, ...]


@dataclass(frozen=True)
class LimitResult:
    """A limit, and what it limits on both halves.

    Attributes
    ----------
    name : str
        What it limits.
    min_hz, max_hz : float or None
        The floor and the cap.
    fitted_hz, unseen_hz : float
        The rate on each half.
    """

    name: str
    min_hz: float | None
    max_hz: float | None
    fitted_hz: float
    unseen_hz: float


@dataclass(frozen=True)
class Summary:
    """The numbers of an optimisation.

    Attributes
    ----------
    menu, goals : str
        The files.
    menu_sha256, goals_sha256, new_sha256 : str
        Their SHA-256, and that of the new menu.
    samples : str
        The name of the catalogue.
    merit : str
        The figure of merit.
    cap_hz : float
        The cap.
    seed, starts, hops : int
        The seed, the number of starts that were made, and of hops each.
    evaluations : int
        The number of evaluations: of a point, a line or a plane.
    complete : bool
        Whether the time limit left out nothing.
    halves : str
        A sentence on the halves.
    factor : float
        The factor on all thresholds of the menu SCALED.
    contenders : tuple of Contender
        The compared menus.
    channels, variables, limits : tuple
        The channels, the variables, the limits.
    front : tuple of CapResult
        The best menus at other caps, ascending.
    turning : tuple of str
        The variables that become tighter anywhere as the cap rises.
    replicas : int
        The number of replicas of the bootstrap.
    """

    menu: str
    goals: str
    menu_sha256: str
    goals_sha256: str
    new_sha256: str
    samples: str
    merit: str
    cap_hz: float
    seed: int
    starts: int
    hops: int
    evaluations: int
    complete: bool
    halves: str
    factor: float
    contenders: tuple[Contender, ...]
    channels: tuple[ChannelResult, ...]
    variables: tuple[VariableResult, ...]
    limits: tuple[LimitResult, ...]
    front: tuple[CapResult, ...]
    turning: tuple[str, ...]
    replicas: int

    def contender(self, name: str) -> Contender:
        """Return the compared menu with a name."""
        return next(contender for contender in self.contenders if contender.name == name)
