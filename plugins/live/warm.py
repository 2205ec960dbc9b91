"""The kernels of this plugin, for `trigemu warm`."""

from __future__ import annotations

import numpy as np

from trigemu.api import Emulation

from .beam import BATCHES, Setup, run
from .curve import live_fraction
from .filling import every_slot
from .menu_arrays import menu_arrays
from .patterns import to_draw, weigh
from .rule_kernels import rule_table
from .rules import InWindow, Rules


def warm(emulation: Emulation) -> None:
    """Run a few orbits."""
    filling, rules = (
        every_slot(emulation.menus[0].crossing_rate_hz),
        Rules("", (InWindow(at_most=1, crossings=3),)),
    )
    arrays = menu_arrays(emulation.menus[0])
    patterns = to_draw(weigh(arrays, [emulation]))
    removed, of = np.zeros(len(arrays.names), np.bool_), np.zeros(len(filling.slots), np.int64)
    table = rule_table(rules, filling)
    run(Setup(arrays, patterns, filling, of, rules, table, removed, 1.0, "random", 1, BATCHES))
    live_fraction(rules, filling, filling.crossing_rate_hz / 10, attempts=1000)
