"""Replicas of the bootstrap: each interaction counts a random number of times, the same in every process."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trigemu.api import FloatArray, splitmix64

from .problem import Problem
from .rows import Group, Parents, summed

#: The distribution function of Poisson's distribution of mean 1, up to 20.
_CUMULATED = np.cumsum(np.exp(-1.0) / np.cumprod(np.concatenate([[1.0], np.arange(1.0, 21.0)])))


def times(interaction: Parents, replica: int) -> FloatArray:
    """Return how often each interaction counts, from Poisson's distribution of mean 1.

    Parameters
    ----------
    interaction : uint64[n]
        The number of the interaction of each event.
    replica : int
        The number of the replica.

    Returns
    -------
    float64[n]
        The numbers, equal for equal interactions.
    """
    stream = splitmix64(np.array([replica + 1], np.uint64))
    uniform = (splitmix64(splitmix64(interaction) ^ stream) >> np.uint64(11)) * 2.0**-53
    return np.searchsorted(_CUMULATED, uniform, "right").astype(np.float64)


def of_replica(problem: Problem, replica: int) -> Problem:
    """Return the problem on the events of a replica."""
    return replace(
        problem,
        background=_weighted(problem.background, replica, False),
        channels=tuple(_weighted(group, replica, True) for group in problem.channels),
    )


def _weighted(group: Group, replica: int, normalised: bool) -> Group:
    weight = group.weight * times(group.interaction, replica)
    total = weight.sum()
    if normalised and total > 0:
        weight = weight / total
    return replace(group, weight=weight, row_weight=summed(group.row, weight, len(group.row_weight)))
