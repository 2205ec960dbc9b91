"""Filling schemes: which of the slots of an orbit hold bunches that collide.

A scheme is a file of the LHC programme's filling schemes (CSV), a TOML file, or a text such as `39(72b 8e)`,
which stands for 39 times 72 bunches and 8 empty slots. Slots are counted from 0 here and from 1 in files, as
the crossings of experiments are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trigemu.api import BoolArray, FloatArray, IntArray, TrigemuError, numbers

#: The slots of an orbit of the LHC, 25 ns each, and its revolution frequency in Hz.
ORBIT = 3564
ORBIT_HZ = 11_245.5


@dataclass(frozen=True, eq=False)
class Filling:
    """The colliding bunches of an orbit.

    Attributes
    ----------
    name : str
        Its name.
    slots : ndarray
        int64[n], the slots with colliding bunches, ascending from 0.
    luminosity : ndarray or None
        float64[n], the luminosity of each, relative to their mean; None if all are equal.
    source : str
        Where its numbers are from.
    orbit_hz : float
        The revolution frequency in Hz.
    """

    name: str
    slots: IntArray
    luminosity: FloatArray | None = None
    source: str = ""
    orbit_hz: float = ORBIT_HZ

    @property
    def crossing_rate_hz(self) -> float:
        """The rate of crossings of colliding bunches in Hz."""
        return len(self.slots) * self.orbit_hz

    @cached_property
    def filled(self) -> BoolArray:
        """Whether bunches collide in each slot, bool[3564]."""
        filled = np.zeros(ORBIT, np.bool_)
        filled[self.slots] = True
        return filled

    @cached_property
    def position(self) -> IntArray:
        """The number of bunches of the same train before each of the n bunches, int64[n]. The orbit is
        closed: a train may pass its end."""
        first = ~self.filled[self.slots - 1]
        if not first.any():  # every slot is filled
            return np.zeros(len(self.slots), np.int64)
        number = np.arange(len(self.slots))
        start = np.where(first, number, -1)
        start[0] = start[0] if first[0] else np.flatnonzero(first)[-1] - len(number)
        position: IntArray = number - np.maximum.accumulate(start)
        return position

    @property
    def description(self) -> str:
        """The number of bunches, of trains, and their lengths."""
        bunches = numbers.count(len(self.slots), "colliding bunch").replace("bunchs", "bunches")
        if len(self.slots) == ORBIT:
            return "every slot filled"
        lengths = np.diff(np.append(np.flatnonzero(self.position == 0), len(self.slots)))
        if self.position[0]:
            lengths[-1] += self.position[0]
        longest, trains = int(lengths.max()), len(lengths)
        if longest == 1:
            return f"{bunches}, none beside another"
        return f"{bunches} in {numbers.count(trains, 'train')} of up to {longest}"


def every_slot(crossing_rate_hz: float) -> Filling:
    """Return an orbit with every slot filled, which gives a crossing rate.

    Parameters
    ----------
    crossing_rate_hz : float
        The rate of crossings in Hz.

    Returns
    -------
    Filling
    """
    return Filling("every slot", np.arange(ORBIT), orbit_hz=crossing_rate_hz / ORBIT)


def spread(colliding: int) -> Filling:
    """Return a number of colliding bunches spread evenly over the orbit.

    Parameters
    ----------
    colliding : int
        The number of bunches, from 1 to 3564.

    Returns
    -------
    Filling

    Raises
    ------
    TrigemuError
        If there are not that many slots.
    """
    if not 1 <= colliding <= ORBIT:
        raise TrigemuError(f"{colliding} colliding bunches: an orbit has 1 to {ORBIT} slots")
    return Filling(f"{colliding} spread evenly", np.arange(colliding) * ORBIT // colliding)
