"""The boosted trees of a trigger, in which precision it wants them, and what they read of real events.

A kind that has trees has a key `precision`, and what it compiles to a `TreeModel` in `trees`:

    precision = { input = "ap_fixed<12,8>", threshold = "ap_fixed<12,8>",
                  score = "ap_fixed<16,4>", scales = [0, 1] }
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from trigemu.decisions.plan import Plan, make_plan
from trigemu.emulation.engine import Job, over_background
from trigemu.emulation.loop import fitted
from trigemu.menus.menu import Menu, Trigger
from trigemu.observables.expressions import Condition
from trigemu.observables.model_inputs import Features, Inputs
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events, FloatArray, IntArray
from trigemu.samples.split import EVALUATION, TRAINING, half_of
from trigemu.support.errors import TrigemuError
from trigemu.support.toml import Table
from trigemu.triggers.anomaly import of_asked
from trigemu.triggers.base import ScoreKind
from trigemu.triggers.models.fixed_point import SATURATING, ApFixed
from trigemu.triggers.models.trees import Ensemble, FixedEnsemble, Precision

_MAX_SCALE = 64


class PrecisionTable(Table, frozen=True):
    """`precision` of a trigger; scales: an input x enters as x 2^scale, by default as it is."""

    input: str
    threshold: str
    score: str
    scales: tuple[int, ...] | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        for key in ("input", "threshold", "score"):
            try:
                ApFixed.parse(getattr(self, key))
            except TrigemuError as error:
                yield key, f"{key} = {error}"
        if any(abs(scale) > _MAX_SCALE for scale in self.scales or ()):
            yield "scales", f"scales = {list(self.scales or ())}: expected −{_MAX_SCALE} to {_MAX_SCALE}"

    def of(self, ensemble: Ensemble) -> FixedEnsemble:
        """TrigemuError where the scales are not one for each input."""
        precision = Precision(*(ApFixed.parse(text) for text in (self.input, self.threshold, self.score)))
        scales = (0,) * ensemble.features if self.scales is None else self.scales
        return FixedEnsemble(ensemble, precision, scales)


def table_of(fixed: FixedEnsemble) -> PrecisionTable:
    """What a menu says of a precision."""
    types = fixed.precision
    scales = fixed.scales if any(fixed.scales) else None
    return PrecisionTable(
        input=str(types.input), threshold=str(types.threshold), score=str(types.score), scales=scales
    )


@dataclass(frozen=True, eq=False)
class TreeModel:
    """inputs: what the trees read, in the order of their numbers. sha256: of the model's file. precision:
    None for floating point."""

    inputs: Inputs
    sha256: str
    ensemble: Ensemble
    precision: PrecisionTable | None

    @cached_property
    def fixed(self) -> FixedEnsemble | None:
        return self.precision.of(self.ensemble) if self.precision else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the precision cannot hold."""
        return tuple(self._warnings(self.fixed)) if self.fixed else ()

    def _warnings(self, fixed: FixedEnsemble) -> Iterator[str]:
        types, (thresholds, leaves) = fixed.precision, fixed.overflowing
        if thresholds:
            yield f"{thresholds} thresholds overflow {types.threshold}: see trigemu firmware precision --auto"
        if leaves:
            what = "leaf values (or the base)"
            yield f"{leaves} {what} overflow {types.score}: see trigemu firmware precision --auto"
        if types.score.overflows(types.score.to_float(np.array(fixed.reach))).any():
            low, high = types.score.to_float(np.array(fixed.reach))
            yield (
                f"sums of leaves can reach {low:.4g} and {high:.4g}, beyond {types.score}: trigemu firmware "
                f"precision counts how many do"
            )
        if types.input.overflow not in SATURATING:
            low, high = types.input.lowest, types.input.highest
            ranges = (
                f"{name} beyond {low * 2.0**-scale:g} … {high * 2.0**-scale:g}"
                for name, scale in zip(self.inputs.texts, fixed.scales, strict=True)
            )
            yield (
                f"inputs beyond their type become other numbers ({types.input.overflow}), "
                f"{', '.join(ranges)}: trigemu firmware precision counts how many do"
            )


class WithTrees(Protocol):
    """What a trigger with trees compiles to."""

    @property
    def trees(self) -> TreeModel: ...

    @property
    def requires(self) -> Condition | None:
        """Which events it asks for."""


@dataclass(frozen=True)
class Rows:
    """What the trees read of n background events that the trigger asks for: x float32[n, d]. weight:
    float64[n], in Hz; sample, half: int64[n]."""

    x: Features
    weight: FloatArray
    sample: IntArray
    half: IntArray

    def of(self, half: int) -> Rows:
        chosen = self.half == half
        return Rows(*(getattr(self, key)[chosen] for key in Rows.__annotations__))


def with_trees(menu: Menu, name: str) -> Trigger:
    """The trigger of that name; TrigemuError where its kind has no trees."""
    trigger = menu.trigger(name)
    description = trigger.description
    if not isinstance(description, ScoreKind) or "precision" not in description.__struct_fields__:
        raise TrigemuError(
            f"{trigger.place}: trigger {name!r}: the kind {trigger.kind!r} has no trees for a firmware"
        )
    return trigger


def tree_model(menu: Menu, name: str) -> TreeModel:
    """The trees of a trigger; TrigemuError where it has none."""
    with_trees(menu, name)
    return _compiled(make_plan([menu]), name).trees


def _compiled(plan: Plan, name: str) -> WithTrees:
    compiled: WithTrees = plan.slots[plan.bits[0][name]].compiled  # type: ignore[assignment]
    return compiled


def read_rows(menu: Menu, catalogue: Catalogue, name: str, *, workers: int = 1) -> Rows:
    """What the trees of a trigger read of all background events that it asks for."""
    with_trees(menu, name)
    plan = make_plan([menu])
    plan.check_background(catalogue)
    parts = [part for _, part in over_background(Job((menu,), plan, catalogue), _Read(name), workers=workers)]
    if not sum(len(part.x) for part in parts):
        raise TrigemuError(f"{menu.path}: trigger {name!r} asks for no event of {catalogue.path}")
    return Rows(*(np.concatenate([getattr(part, key) for part in parts]) for key in Rows.__annotations__))


def halves(menu: Menu, catalogue: Catalogue, rows: Rows) -> tuple[Rows, Rows]:
    """Those that the trees may have been fitted on, and those that rates are from; all and all where nothing
    was fitted on this catalogue."""
    if not fitted([menu], make_plan([menu]), catalogue):
        return rows, rows
    return rows.of(TRAINING), rows.of(EVALUATION)


@dataclass(frozen=True)
class _Read:
    name: str

    def __call__(self, plan: Plan, sample: int, events: Events) -> Rows:
        compiled = _compiled(plan, self.name)
        asked, chosen = of_asked(Workspace(events), compiled.requires)
        x, complete = compiled.trees.inputs.evaluate(asked)
        counted = np.zeros(len(events), np.bool_)
        counted[events.core] = True
        complete &= counted[chosen]
        chosen[chosen] = complete
        number = np.full(np.count_nonzero(chosen), sample, np.int64)
        return Rows(x[complete], events.weight[chosen], number, half_of(events.parent[chosen]))
