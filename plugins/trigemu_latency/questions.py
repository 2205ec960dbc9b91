"""Questions to a trigger for the timing of decisions, with an answer for every kind
(`trigemu.api.answers`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trigemu_anomaly.single_row import ModelCall

from trigemu.observables.expressions import Condition
from trigemu.samples.events import Events
from trigemu.triggers.base import Compiled
from trigemu.triggers.combination.kind import CompiledCombination
from trigemu.triggers.combination.leg_threshold import CompiledLegThreshold
from trigemu.triggers.function import CompiledFunction
from trigemu.triggers.questions import Question
from trigemu.triggers.simple import CompiledExternal, CompiledStored
from trigemu.triggers.threshold import CompiledThreshold


@Question
def single(trigger: Compiled) -> Condition | Compiled | ModelCall | None:
    """Return how one event is decided without a workspace."""
    return None


@single.register(CompiledThreshold)
@single.register(CompiledStored)
def _(trigger: CompiledThreshold | CompiledStored) -> Condition:
    return trigger.condition


@single.register(CompiledCombination)
@single.register(CompiledExternal)
@single.register(CompiledFunction)
def _(trigger: Compiled) -> Compiled:
    return trigger


@single.register(CompiledLegThreshold)
def _(trigger: CompiledLegThreshold) -> CompiledCombination:
    return trigger.fired_above(trigger.threshold)


@Question
def stages(trigger: Compiled, events: Events) -> Mapping[str, Callable[[], object]]:
    """Return the stages of a trigger for timing, by name.

    Each call repeats one stage, without the stages before it, on all of these events, which all pass the
    preselection of the trigger: "features": the inputs of the models; "autoencoder", "bdt": the models, with
    "bare_onnxruntime" and "bare_bdt" for comparison; "sequential", "parallel": all stages, on 1 or 2 threads.
    """
    return {}
