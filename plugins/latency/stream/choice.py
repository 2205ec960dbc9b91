"""The instruction that searches objects for the legs of a combination. The machine calls it by its address:
compiling it takes as long as all other instructions together, and many menus have no combination."""

from __future__ import annotations

import numpy as np
from numba import carray, types

from trigemu.api import CUT, LEG, MATCH_AFTER, address_of, c_function, pointer, search

from . import opcodes as do
from .memory import floats, integers


def chooser() -> int:
    """Return the address of the function, which is compiled the first time."""
    return address_of(_choose, types.intp(types.intp))


@c_function
def _choose(table: int) -> int:
    """Return whether any choice of objects fits a combination of i[3] legs and i[4] cuts, or REFUSED if the
    search needs more than i[8] trials.

    The pool holds the collection and the twin of each leg, then for each leg its selection and columns (−1:
    not read), then the cuts, whose numbers are the i[6] registers from i[5] on.
    """
    t = carray(pointer(table), (do.TABLE,), np.int64)
    i = carray(pointer(t[do.INSTRUCTION]), (do.WIDTH,), np.int64)
    pool, columns, rows = integers(t, do.POOL), floats(t, do.COLUMNS), integers(t, do.ROWS)
    starts = integers(t, do.STARTS).reshape(-1, 2)
    objects = floats(t, do.OBJECTS).reshape(do.LINES, -1)
    legs, at = i[3], i[2] + LEG * i[3]
    total = 0
    for leg in range(legs):
        selection = pool[at]
        if rows[selection] == 0:
            return 0
        starts[leg, 0] = total
        for n in range(selection + 1, selection + 1 + rows[selection]):
            row = rows[n]
            objects[0, total] = row
            for line in range(1, do.LINES):
                if pool[at + line] >= 0:
                    objects[line, total] = columns[pool[at + line] + row]
            total += 1
        starts[leg, 1] = total
        at += do.LINES
    of_legs = pool[i[2] : i[2] + LEG * legs].reshape(-1, LEG)
    cuts = pool[at : at + CUT * i[4]].reshape(-1, CUT)
    numbers = floats(t, do.REGISTERS)[i[5] : i[5] + i[6]]
    fired = carray(pointer(t[1 + 2 * do.FIRED]), (1,), np.bool_)
    fired[0] = False
    chosen = integers(t, do.CHOSEN)
    if search(starts[:legs], objects, of_legs, cuts, numbers, chosen, fired, MATCH_AFTER, i[8]) >= 0:
        return do.REFUSED
    return int(fired[0])
