"""What instructions do, and where a program finds its arrays."""

from __future__ import annotations

#: Numbers an instruction: what it does, where its result goes, up to seven operands.
WIDTH = 9

# The machine tells groups apart by their order. What operands mean stands where they are read.
# Registers a, b, … → one register.
(ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATIVE, ABSOLUTE) = range(6)
(ABOVE, AT_LEAST, BELOW, AT_MOST, EQUAL, UNEQUAL, AND, OR, NOT) = range(6, 15)
(X, Y, Z, ENERGY, TRANSVERSE, AZIMUTH, PSEUDORAPIDITY, MASS) = range(15, 23)
(DELTA_PHI, DELTA_R, PAIR_MASS) = range(23, 26)
# The event's columns and selections → one register, or two.
(ELEMENT, SCALAR, BIT, COUNT, SUM, MISSING, CHOICE) = range(26, 33)
# → one selection.
(ALL, WINDOWS, CLEAR) = range(33, 36)
# → outside.
(SKIP, STORE, ASK, FIRE) = range(36, 40)

#: How a value is held against a window: low ≤ v ≤ high, the same of |v|, φ that wraps, one of some values.
(WITHIN, ABSOLUTELY, AROUND, AMONG) = range(4)
#: What follows such a comparison: more of the same window, another window that may hold instead, all else.
(MORE, OTHERWISE, END) = range(3)
#: Numbers of a comparison: column, how, two operands, what follows.
TEST = 5

#: The arrays, in the order of the table: how many events there are, then address and length of each array.
(CODE, POOL, REGISTERS, COLUMNS, OFFSETS, ROWS, DECISIONS, STARTS, OBJECTS, CHOSEN, FIRED) = range(11)
TABLE = 23
#: Lines of OBJECTS: row, pt, eta, phi, z0, charge, upt.
LINES = 7

#: In place of the models asked for: nothing that one event's program can do.
REFUSED = -1
