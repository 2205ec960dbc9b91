"""The trees of a trigger in a menu, and their inputs in the events of a sample."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import msgspec
from trigemu_anomaly.anomaly import preselected
from trigemu_anomaly.inputs import Features
from trigemu_anomaly.precision import PrecisionTable, TreeModel, trees_of

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.emulation import scaling
from trigemu.emulation.engine import Job
from trigemu.emulation.per_event import Columns, per_event
from trigemu.emulation.plan import Plan, make_plan
from trigemu.menus.menu import Menu, Trigger
from trigemu.observables.workspace import Workspace
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue
from trigemu.triggers.base import Compiled, ScoreKind


class TreeInputs(NamedTuple):
    """Inputs of the trees, for n background events that pass the preselection."""

    x: Features  # float32[n, d]
    weight: FloatArray  # float64[n], in Hz
    sample: IntArray  # int32[n]
    half: IntArray  # int8[n]

    def in_half(self, half: int) -> TreeInputs:
        """Return the events of a half."""
        return TreeInputs(*(column[self.half == half] for column in self))


def with_trees(menu: Menu, name: str) -> Trigger:
    """Return the trigger with a name; TrigemuError if its kind has no trees."""
    trigger = menu.trigger(name)
    kind = trigger.description
    if isinstance(kind, ScoreKind) and "precision" in kind.__struct_fields__:
        return trigger
    raise TrigemuError(
        f"{trigger.place}: trigger {name!r}: the kind {trigger.kind!r} has no trees for firmware"
    )


def _with(menu: Menu, trigger: Trigger) -> Menu:
    return replace(menu, triggers=tuple(trigger if t.name == trigger.name else t for t in menu.triggers))


def in_precision(menu: Menu, name: str, precision: PrecisionTable | None) -> Menu:
    """Return the menu with one trigger in a precision, None for floating point."""
    trigger = with_trees(menu, name)
    description = msgspec.structs.replace(trigger.description, precision=precision)
    return _with(menu, replace(trigger, description=description))


def _enabled(menu: Menu, name: str) -> Menu:
    """Return the menu with a trigger enabled, since its trees are needed in any case."""
    return _with(menu, replace(with_trees(menu, name), enabled=True))


def tree_model(menu: Menu, name: str) -> TreeModel:
    """Return the trees of a trigger; TrigemuError if it has none."""
    return _trees(make_plan([_enabled(menu, name)]), name)[1]


def _trees(plan: Plan, name: str) -> tuple[Compiled, TreeModel]:
    compiled = plan.slots[plan.bits[0][name]].compiled
    model = trees_of(compiled)
    if model is None:
        raise TrigemuError(f"trigger {name!r}: its kind has no trees for firmware")
    return compiled, model


def read_rows(menu: Menu, catalogue: Catalogue, name: str, *, executor: Any = None) -> TreeInputs:
    """Read the inputs of the trees of a trigger, for all background events that pass its preselection."""
    menu = _enabled(menu, name)
    plan = make_plan([menu])
    job, names = Job((menu,), plan, catalogue), ("weight", "sample", "half")
    rows = TreeInputs(**per_event(job, names, partial(_read, name), executor=executor))
    if not len(rows.x):
        raise TrigemuError(f"{menu.path}: no event of {catalogue.path} passes `requires` of trigger {name!r}")
    return rows


def halves(menu: Menu, catalogue: Catalogue, rows: TreeInputs) -> tuple[TreeInputs, TreeInputs]:
    """Return the events that the trees may have been fitted on, and the events for rates: all events twice if
    nothing was fitted on this catalogue."""
    unseen = scaling.unseen_half([menu], make_plan([menu]), catalogue)
    if unseen is None:
        return rows, rows
    return rows.in_half(split.other_half(unseen)), rows.in_half(unseen)


def _read(name: str, plan: Plan, work: Workspace) -> Columns:
    """Return the inputs of the events that pass the preselection of a trigger and have all of them."""
    compiled, model = _trees(plan, name)
    selected, keep = preselected(work, compiled.preselection)
    x, complete = model.inputs.evaluate(selected)
    keep = keep.copy()
    keep[keep] = complete
    return {"keep": keep, "x": x[complete]}
