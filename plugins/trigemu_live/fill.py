"""A fill: rates, live fraction and efficiencies while the luminosity falls, with columns and controllers.

In each step the pile-up gives the rate of the menu (`fill_sample.py`), and the rate gives the live fraction
of its rules, from a curve for independent crossings. Every controlled threshold begins where its target is
met. Then it is fixed; or, at the end of each step, a controller that has counted some accepts, prescaled and
with their Poisson noise, moves it by

    Δθ = θ' · (P (e − e_before) + I e),        e = log(counted / expected),

with θ' the change of the threshold that lowers its rate by a factor of e, at the beginning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import SampleError, TrigemuError, nearest
from trigemu.base.shown import Shown
from trigemu.emulation import scaling
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import Progress
from trigemu.emulation.plan import make_plan
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_column
from trigemu.menus.read import MenuLike, menu_of
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.triggers.base import ScoreKind

from .fill_config import FillConfig
from .fill_events import Gathered, accepted_of, gather
from .fill_model import COLUMNS, CONTROL, FIXED, Factors, FillTrace, Model
from .filling import Filling, every_slot
from .live import at_crossing_rate
from .rules import NO_RULES, Rules


@dataclass(frozen=True, repr=False)
class Fill(Shown):
    """A menu through a fill."""

    _view: ClassVar[str] = "trigemu_live.fill_view:FILL"

    menu: Menu  #: The menu with its budgets solved, in the column of prescales at the beginning
    catalogue: Catalogue  #: The samples
    config: FillConfig  #: The fill
    filling: Filling  #: The filling scheme
    rules: Rules  #: The rules
    #: hours, pileup: float64[steps], the beginning of each step, and its mean number of interactions.
    hours: FloatArray
    pileup: FloatArray
    controlled: tuple[str, ...]  #: The controlled triggers
    #: Their targets in Hz, recorded; of a controller of the menu's rate, that of the menu.
    targets: tuple[float, ...]
    target_hz: float  #: The target of the menu in Hz, recorded
    signals: tuple[str, ...]  #: The signals
    traces: tuple[FillTrace, ...]  #: Fixed thresholds, columns if there are any, and control with each seed
    models: Mapping[str, str]  #: The SHA-256 of each model file of the menu, by its path

    @property
    def ways(self) -> Mapping[str, Sequence[FillTrace]]:
        """The traces of each way of setting thresholds."""
        names = dict.fromkeys(trace.name for trace in self.traces)
        return {name: [trace for trace in self.traces if trace.name == name] for name in names}

    def on_target(self, rates: FloatArray, target_hz: float) -> float:
        """Return the part of the steps in which a rate, float64[steps], is within the tolerance of a
        target."""
        return float(np.mean(np.abs(rates / target_hz - 1.0) <= self.config.fill.tolerance))


def through_fill(
    menu: MenuLike,
    config: FillConfig,
    catalogue: SamplesLike = None,
    *,
    filling: Filling | None = None,
    rules: Rules = NO_RULES,
    seeds: Sequence[int] = (1,),
    executor: Any = None,
    progress: Progress | None = None,
) -> Fill:
    """Run a menu through a fill.

    Parameters
    ----------
    menu : path or Menu
        The menu. Budgets are met at the pile-up of the samples, in the column at the beginning of the fill.
    config : FillConfig
        The fill (`read_fill`).
    catalogue : path, Catalogue, or list of paths
        Samples whose events are crossings with `n_interaction`.
    filling, rules
        As in `live_rates`.
    seeds : sequence of int
        The seeds with which controllers run.
    executor, progress
        As in `emulate`.

    Returns
    -------
    Fill

    Raises
    ------
    SampleError
        If the samples cannot be reweighted to a pile-up of the fill.
    TrigemuError
        If a controlled trigger has no threshold, or shares its counter, or others read it; or if a column or
        a signal does not exist.
    """
    menu = menu_of(menu)
    filling = filling or every_slot(menu.crossing_rate_hz)
    samples = samples_of(catalogue, executor=executor)
    _check(menu, config, samples)
    factors = Factors(samples, config, executor)
    of_columns = [at_column(menu, column.name) for column in config.columns]
    first = of_columns[config.column_at(float(factors.pileup[0])) or 0] if of_columns else menu
    at_rate = at_crossing_rate(first, filling.crossing_rate_hz)
    (solved,) = solve_budgets((at_rate,), samples, executor=executor, progress=progress)
    solutions = {trigger.name: trigger.solution for trigger in solved.triggers if trigger.solution}
    menus = tuple(
        at_crossing_rate(models.solved(solutions), filling.crossing_rate_hz) for models in of_columns
    ) or (solved,)
    plan = make_plan(menus)
    plan.check_background(samples)
    half = scaling.unseen_half(menus, plan, samples)
    fitted = frozenset().union(*scaling.fitted_in(menus, plan, samples))
    controlled = [control.trigger for control in config.controls]
    events = gather(menus, plan, samples, samples.background, controlled, executor, progress)
    if controlled and events.weight.min(initial=0.0) < 0:
        raise SampleError(f"{samples.path}: an event has a negative weight: no threshold can be controlled")
    background = accepted_of(events, menus, plan.bits, controlled, fitted, half)
    signals = []
    for name in config.fill.signals:  # as efficiencies: a background is judged on its unseen half
        signal = samples.sample(name)
        plan.check(signal)
        events = gather(menus, plan, samples, [signal], controlled, executor)
        if half is not None and signal.table.role == "background":
            events = Gathered(*(column[events.half == half] for column in events))
        signals.append(accepted_of(events, menus, plan.bits, controlled))
    model = Model(menus, config, filling, rules, factors, background, signals, fitted)
    traces = [model.run(FIXED, 0)]
    traces += [model.run(COLUMNS, 0)] if config.columns else []
    traces += [model.run(CONTROL, seed) for seed in seeds if config.controls]
    return Fill(
        menus[model.column],
        samples,
        config,
        filling,
        rules,
        factors.hours,
        factors.pileup,
        tuple(controlled),
        tuple(model.targets),
        model.target_hz,
        tuple(config.fill.signals),
        tuple(traces),
        {path: sha256 for models in plan.models for path, sha256 in models.items()},
    )


def _check(menu: Menu, config: FillConfig, samples: Catalogue) -> None:
    """Raise an error if the fill cannot be run with a menu and samples."""
    names = [trigger.name for trigger in menu.enabled]
    first = (menu.levels or ("",))[0]
    for control in config.controls:
        where = f"{config.path}: control of {control.trigger!r}"
        if control.trigger not in names:
            raise TrigemuError(f"{where}: {menu.name!r} has no such trigger{nearest(control.trigger, names)}")
        trigger = menu.trigger(control.trigger)
        if not isinstance(trigger.description, ScoreKind) or trigger.seed:
            raise TrigemuError(f"{where}: expected a trigger with a threshold, and without a seed")
        if (trigger.level or "") != first:
            raise TrigemuError(f"{where}: it is not of the first level, {first}")
        readers = [other.name for other in menu.used if control.trigger in other.inputs()]
        if control.of == "menu" and menu.levels[1:]:
            raise TrigemuError(
                f"{where}: the rate of the menu is that of {menu.levels[-1]}, which a threshold of {first} "
                f'does not move: leave of = "menu" out'
            )
        if trigger.coherent or readers:
            what = f"{readers[0]!r} reads it" if readers else f"it shares its counter ({trigger.coherent!r})"
            raise TrigemuError(f"{where}: {what}, so its threshold cannot be moved by itself")
    if menu.columns.names and not (config.columns or menu.columns.default or menu.columns.chosen):
        raise TrigemuError(
            f"{menu.columns.path or menu.path} has columns of prescales, {', '.join(menu.columns.names)}: "
            f"choose one or several with [[column]] in {config.path}, or one with column under [menu]"
        )
    highest = float(config.fill.hours_and_pileup()[1].max())
    if config.columns and config.column_at(highest) is None:
        below = max(column.below for column in config.columns)
        raise TrigemuError(
            f"{config.path}: the pile-up is up to {highest:g}, but the columns of prescales begin at "
            f"{below:g}: give one with below = {highest:g} or more"
        )
    for name in config.fill.signals:
        samples.sample(name)
    if samples.table.convention == "luminosity":
        raise SampleError(
            f"{samples.path}: the events are single interactions (convention 'luminosity'), not crossings"
        )
