"""Patterns and the rates that follow: what the other tools leave to their users.

A pattern is an integer, of which bit i is the raw decision of trigger i of the menu. This is the only code
that the tools share; trigemu does not use it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Pattern → the sum of weights of its events, in Hz.
Patterns = dict[int, float]


@dataclass(frozen=True)
class Trigger:
    """What rates need to know of a trigger. Triggers with the same `coherent` share a prescale counter."""

    name: str
    prescale: float
    coherent: str


def counted(bits: np.ndarray, weight: np.ndarray) -> Patterns:
    """Sum the weights of events by pattern."""
    found, inverse = np.unique(bits, return_inverse=True)
    return dict(zip(found.tolist(), np.bincount(inverse, weight, len(found)).tolist(), strict=True))


def rates(patterns: Patterns, triggers: list[Trigger]) -> dict[str, tuple[float, float]]:
    """Return the total and unique rates in Hz of all triggers, and of the menu."""
    bits = np.array(list(patterns))
    weight = np.array(list(patterns.values()))
    accepted = np.array([(bits >> i & 1) / t.prescale for i, t in enumerate(triggers)])

    def any_of(chosen: list[int]) -> np.ndarray:
        """Return the probability that any of some triggers accepts."""
        rejected = np.ones(len(bits))
        for counter in {triggers[i].coherent for i in chosen}:
            of_counter = [accepted[i] for i in chosen if triggers[i].coherent == counter]
            rejected *= 1 - np.max(of_counter, axis=0)
        return 1 - rejected

    everyone = list(range(len(triggers)))
    whole = any_of(everyone)
    result = {"menu": (float(weight @ whole), 0.0)}
    for i, trigger in enumerate(triggers):
        others = any_of([k for k in everyone if k != i])
        result[trigger.name] = float(weight @ accepted[i]), float(weight @ (whole - others))
    return result
