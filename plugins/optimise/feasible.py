"""Whether the goals can be met at all, and which of them cannot."""

from __future__ import annotations

from trigemu.api import FloatArray, TrigemuError, numbers, rates_of

from .problem import Evaluation, Problem
from .setup import Setup

#: Triggers that a message names.
_NAMED = 3


def check_reachable(setup: Setup, evaluation: Evaluation) -> None:
    """Raise TrigemuError if the tightest menu exceeds the cap, the loosest one is below a floor, or a channel
    has no efficiency."""
    problem, goals = setup.problem, setup.goals
    rates, _ = evaluation.at(problem.sizes - 1)
    if rates[0] > problem.cap:
        varied = {name for variable in setup.variables for name in variable.triggers}
        of_menu = rates_of(setup.scores.emulation(setup.menu)).triggers
        fixed = sorted((t for t in of_menu if t.name not in varied), key=lambda t: -t.total.hz)
        names = ", ".join(f"{t.name} ({numbers.in_hz(t.total.hz)})" for t in fixed[:_NAMED])
        culprits = f": {names} do not vary" if fixed else ""
        raise TrigemuError(
            f"{goals.path}: rate_hz = {problem.cap:g} is below the {numbers.in_hz(rates[0])} of the menu "
            f"with all that varies at its tightest{culprits}: raise the cap, or vary more"
        )
    rates, efficiencies = evaluation.at(problem.sizes * 0)
    for bound in problem.bounds[1:]:
        if bound.without < 0 and rates[bound.of] < bound.low:
            raise TrigemuError(
                f"{goals.path}: [[limit]] on the {bound.name}: min_hz = {bound.low:g}, but at its loosest "
                f"it is {numbers.in_hz(rates[bound.of])}"
            )
    for channel, efficiency in zip(goals.channels, efficiencies, strict=True):
        if efficiency <= 0.0:
            raise TrigemuError(
                f"{goals.path}: channel {channel.label!r}: no trigger accepts any of its events, with all "
                "that varies at its loosest"
            )


def check_met(setup: Setup, problem: Problem, rates: FloatArray) -> None:
    """Raise TrigemuError if the best point breaks limits; the message names them."""
    goals = setup.goals
    broken = []
    for bound in problem.bounds:
        rate = float(rates[bound.of]) - (float(rates[bound.without]) if bound.without >= 0 else 0.0)
        if rate > bound.high:
            broken.append(f"the {bound.name} is {numbers.in_hz(rate)}, above {numbers.in_hz(bound.high)}")
        if rate < bound.low:
            broken.append(f"the {bound.name} is {numbers.in_hz(rate)}, below {numbers.in_hz(bound.low)}")
    if broken:
        raise TrigemuError(
            f"{goals.path}: no menu was found that meets all limits; in the nearest one, "
            f"{' and '.join(broken)}"
        )
