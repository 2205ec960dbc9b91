"""The instructions of the machine, and the layout of its table of arrays."""

from __future__ import annotations

#: The length of an instruction: its opcode, the position of its result, up to seven operands.
WIDTH = 9

# The machine distinguishes groups by their order. The code that reads the operands describes them.
# Registers a, b, … → one register.
(ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATIVE, ABSOLUTE, LARGER, SMALLER) = range(8)
(ABOVE, AT_LEAST, EQUAL, UNEQUAL, NOT) = range(8, 13)
(X, Y, Z, ENERGY, TRANSVERSE, AZIMUTH, PSEUDORAPIDITY, MASS) = range(13, 21)
(DELTA_PHI, DELTA_R, PAIR_MASS) = range(21, 24)
# The event's columns and selections → one register, or two.
(ELEMENT, SCALAR, BIT, COUNT, SUM, MISSING, CHOICE) = range(24, 31)
# → one selection.
(ALL, WINDOWS, CLEAR) = range(31, 34)
# → outside.
(SKIP, STORE, OBJECT, REQUEST, CALL, FIRE) = range(34, 40)

#: How a value is compared with a window: low ≤ v ≤ high, the same for |v|, φ that wraps around, one of some
#: values, bits that must all be set.
(WITHIN, ABSOLUTELY, AROUND, AMONG, BITS) = range(5)
#: What follows such a comparison: another test of the same window, an alternative window, or nothing.
(MORE, OTHERWISE, END) = range(3)
#: The length of a comparison: column, how, two operands, what follows.
TEST = 5

#: The arrays, in the order of the table, which holds the number of events, then address and length of each
#: array, then the address of the instruction that calls a function.
(CODE, POOL, REGISTERS, COLUMNS, OFFSETS, ROWS, DECISIONS, STARTS, OBJECTS, CHOSEN, FOUND) = range(11)
INSTRUCTION = 23
TABLE = 24
#: Lines of OBJECTS: row, pt, eta, phi, z0, charge, upt, summed.
LINES = 8

#: Returned in place of the models to run: the program cannot decide this event.
REFUSED = -1
