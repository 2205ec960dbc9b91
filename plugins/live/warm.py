"""The kernels of this plugin, for `trigemu warm`."""

from __future__ import annotations

import numpy as np

from trigemu.api import Emulation

from .beam import PARTS, Setup, beam_of, run
from .counts import new_counts
from .curve import live_fraction
from .fill_kernels import add_controlled
from .filling import every_slot
from .menu_arrays import menu_arrays
from .ordered_kernels import run_ordered
from .patterns import to_draw, weigh
from .rule_kernels import rule_table
from .rules import InWindow, Rules


def warm(emulation: Emulation) -> None:
    """Run a few orbits, a few crossings in order, and a step of a fill."""
    filling, rules = (
        every_slot(emulation.menus[0].crossing_rate_hz),
        Rules("", (InWindow(at_most=1, crossings=3),)),
    )
    arrays = menu_arrays(emulation.menus[0])
    patterns = to_draw(weigh(arrays, [emulation]))
    removed, of = np.zeros(len(arrays.names), np.bool_), np.zeros(len(filling.slots), np.int64)
    table = rule_table(rules, filling)
    run(Setup(arrays, patterns, filling, of, rules, table, removed, 1.0, "random", 1, PARTS))
    live_fraction(rules, filling, filling.crossing_rate_hz / 10, attempts=1000)
    beam = beam_of(arrays, rules, table, removed, np.uint64(1))
    crossings, random = np.zeros(3, np.int64), np.zeros((3, len(arrays.random)), np.bool_)
    accepted = np.zeros((3, len(arrays.menu.enabled)), np.bool_)
    run_ordered(
        beam, new_counts(arrays, 1), patterns.starts, patterns.fired, crossings, arrays.random, random, 0,
        crossings.copy(), accepted,
    )  # fmt: skip
    events, one = np.zeros(3), np.ones(1)
    none = np.zeros(1, np.bool_)
    add_controlled(
        crossings, crossings, events, events, events, events, np.zeros((3, 1)), one, one, one, one, none,
        one.copy(),
    )  # fmt: skip
