"""Limits on rates, and ties between variables, by numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """A limit on a rate.

    name: what it is on. without: the set whose rate is subtracted from that of `of`, for a unique rate, or
    −1. low, high: in Hz.
    """

    name: str
    of: int
    without: int
    low: float
    high: float


@dataclass(frozen=True)
class Order:
    """Two variables, by number, of which the value of one is at least `by` above that of the other."""

    lower: int
    higher: int
    by: float
