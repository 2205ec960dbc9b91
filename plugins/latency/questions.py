"""What the timing of decisions asks of a trigger, with an answer for every kind (`trigemu.api.answers`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trigemu.api import (
    Compiled,
    CompiledCombination,
    CompiledExternal,
    CompiledFunction,
    CompiledLegThreshold,
    CompiledStored,
    CompiledThreshold,
    Condition,
    Events,
    Question,
)
from trigemu_anomaly import ModelCall


@Question
def single(trigger: Compiled) -> Condition | Compiled | ModelCall | None:
    """Return how one event is decided without a workspace.

    Returns
    -------
    Condition, Compiled, ModelCall or None
        The condition that holds where the trigger fires; a trigger that `stream.program` knows as it is; or
        the model that decides. None: a range of one event is evaluated, as any other.
    """
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
    return trigger.fired_above(trigger.cut)


@Question
def stages(trigger: Compiled, events: Events) -> Mapping[str, Callable[[], object]]:
    """Return the pieces of a trigger for timing, by name.

    Each call does one piece once more on all of these events, which all ask for the trigger, and not what
    comes before it: "features": all that models read; "autoencoder", "bdt": the models, beside
    "bare_onnxruntime" and "bare_bdt"; "sequential", "parallel": all, on 1 or 2 threads.
    """
    return {}
