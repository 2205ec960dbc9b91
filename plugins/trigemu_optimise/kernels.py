"""The kernels that evaluate a menu at one point, along one variable, or in the plane of two.

A row is a group of events that no point of the search tells apart. Most varied triggers accept whenever they
fire: their levels are columns over all rows, which the processor compares many at a time. A level is the
number of values of the variable below the score: the trigger fires at a point if it is above the index of the
value. Only rows that none of them accepts have a look at their entries: one for each further component
(`components.py`) that the variables can change for the row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.kernels import inlined, kernel

#: The largest level, and number of values of a variable.
MOST = 255
Levels = npt.NDArray[np.uint8]


class Rows(NamedTuple):
    """The rows of some events."""

    level: Levels  # uint8[columns, n]: the levels of the triggers that accept whenever they fire
    starts: IntArray  # int64[n + 1]: the first entry of each row
    component: npt.NDArray[np.int32]  # int32[e]: the component of each entry
    # int32[e]: the part of the index into the table of the component that no threshold changes.
    base: npt.NDArray[np.int32]
    leaf: Levels  # uint8[e, leaves]: the levels of the leaves of the component
    # float64[sets, n]: the probability that none of the triggers of a set accepts which nothing can change.
    fixed: FloatArray


class Layout(NamedTuple):
    """The meaning of the columns and entries."""

    variable: IntArray  # int64[columns]: the variable of each column
    member: BoolArray  # bool[sets, columns]: whether the trigger of a column is in a set
    leaves: IntArray  # int64[components]: the number of leaves of each component
    leaf_variable: IntArray  # int64[components, leaves]: the variable of each leaf
    start: IntArray  # int64[components]: the position of the table of each component


@inlined
def _missed(rows: Rows, layout: Layout, row: int, point: IntArray, missed: FloatArray, set_: int) -> float:
    """Return the probability that neither the fixed part nor an entry of a row accepts at a point."""
    result: float = rows.fixed[set_, row]
    for entry in range(rows.starts[row], rows.starts[row + 1]):
        component = rows.component[entry]
        index = layout.start[component] + rows.base[entry]
        for leaf in range(layout.leaves[component]):
            if rows.leaf[entry, leaf] > point[layout.leaf_variable[component, leaf]]:
                index += 1 << leaf
        result *= missed[set_, index]
    return result


@inlined
def _breaks(rows: Rows, layout: Layout, row: int, variable: int, first: int, breaks: IntArray) -> int:
    """Find the indices of a variable, from `first` on, at which an entry of a row changes; return their
    number. They ascend, and begin with `first`."""
    breaks[0] = first
    number = 1
    if variable < 0:
        return number
    for entry in range(rows.starts[row], rows.starts[row + 1]):
        component = rows.component[entry]
        for leaf in range(layout.leaves[component]):
            level = np.int64(rows.leaf[entry, leaf])
            if layout.leaf_variable[component, leaf] != variable or level <= first:
                continue
            number_before = number
            while breaks[number_before - 1] > level:
                number_before -= 1
            if breaks[number_before - 1] == level:
                continue
            for moved in range(number, number_before, -1):
                breaks[moved] = breaks[moved - 1]
            breaks[number_before] = level
            number += 1
    return number


@inlined
def _cover(rows: Rows, layout: Layout, point: IntArray, set_: int, x: int, y: int, covered: Levels) -> None:
    """Mark the rows that a column accepts, without those of the variables x and y."""
    covered[:] = 0
    for column in range(len(layout.variable)):
        variable = layout.variable[column]
        if layout.member[set_, column] and variable != x and variable != y:
            level, index = rows.level[column], np.uint8(point[variable])
            for row in range(len(covered)):
                covered[row] |= level[row] > index


@inlined
def _first(rows: Rows, layout: Layout, row: int, set_: int, variable: int) -> int:
    """Return the lowest index of a variable at which none of its columns accepts a row."""
    first = 0
    if variable >= 0:
        for column in range(len(layout.variable)):
            if layout.variable[column] == variable and layout.member[set_, column]:
                first = max(first, int(rows.level[column, row]))
    return first


@kernel
def missed_sums(
    rows: Rows,
    weight: FloatArray,
    layout: Layout,
    point: IntArray,
    tables: FloatArray,
    x: int,
    y: int,
    covered: Levels,
    breaks: IntArray,
    sums: FloatArray,
) -> None:
    """Add the differences of the weight that no trigger of a set accepts to sums[set, kx, ky].

    The weight at a point of the plane of the variables x and y, −1 for none, is the sum of all differences up
    to it. `point` is changed and restored. covered: uint8[n] and breaks: int64[2, …], for use in the kernel.
    """
    at_x, at_y = point[x], point[y]
    for set_ in range(tables.shape[0]):
        _cover(rows, layout, point, set_, x, y, covered)
        for row in range(len(covered)):
            if covered[row] or rows.fixed[set_, row] == 0.0:
                continue
            first_x = _first(rows, layout, row, set_, x)
            first_y = _first(rows, layout, row, set_, y)
            if rows.starts[row] == rows.starts[row + 1]:
                sums[set_, first_x, first_y] += weight[row] * rows.fixed[set_, row]
                continue
            of_x = _breaks(rows, layout, row, x, first_x, breaks[0])
            of_y = _breaks(rows, layout, row, y, first_y, breaks[1])
            for i in range(of_x):
                if x >= 0:
                    point[x] = breaks[0, i]
                for j in range(of_y):
                    if y >= 0:
                        point[y] = breaks[1, j]
                    value = weight[row] * _missed(rows, layout, row, point, tables, set_)
                    if value == 0.0:
                        continue
                    sums[set_, breaks[0, i], breaks[1, j]] += value
                    if i + 1 < of_x:
                        sums[set_, breaks[0, i + 1], breaks[1, j]] -= value
                    if j + 1 < of_y:
                        sums[set_, breaks[0, i], breaks[1, j + 1]] -= value
                    if i + 1 < of_x and j + 1 < of_y:
                        sums[set_, breaks[0, i + 1], breaks[1, j + 1]] += value
            if x >= 0:
                point[x] = at_x
            if y >= 0:
                point[y] = at_y
