"""Fixed-point numbers, bit-exact with `ap_fixed` of the HLS tools.

A number is an integer word times a step of 2^−(width − integer). Values between two steps are rounded
(AP_TRN: down), values outside of the range overflow (AP_WRAP: the upper bits are lost).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.errors import TrigemuError, excerpt, nearest
from trigemu.base.kernels import kernel

#: Kernels refer to modes by index. AP_RND and the four modes after it differ only for values half-way between
#: two words: up, towards zero, away from zero, down, to the even word.
ROUNDINGS = ("AP_TRN", "AP_TRN_ZERO", "AP_RND", "AP_RND_ZERO", "AP_RND_INF", "AP_RND_MIN_INF", "AP_RND_CONV")
OVERFLOWS = ("AP_WRAP", "AP_SAT", "AP_SAT_ZERO", "AP_SAT_SYM")
#: Modes in which a number that overflows keeps its order relative to all other numbers.
SATURATING = ("AP_SAT", "AP_SAT_SYM")
#: Widest words of trees; those of networks fit into int64.
MAX_WIDTH, MAX_WORD = 32, 64
#: Largest absolute number of bits before the point; beyond any number in an event.
MAX_INTEGER = 64
_TYPE = re.compile(
    r"ap_(u?)fixed<(\d{1,4}),(-?\d{1,4})(?:,(\w{1,20})(?:,(\w{1,20})(?:,(\w{1,20}))?)?)?>", re.ASCII
)
#: A fifth argument, the bits that saturate, is the number of a mode if it is the name of one.
_SATURATED_BITS = {"AP_SAT": "0", "AP_SAT_ZERO": "1", "AP_SAT_SYM": "2", "AP_WRAP": "3"}


@dataclass(frozen=True)
class ApFixed:
    """The type `ap_fixed<width, integer, rounding, overflow>`, or `ap_ufixed` if not signed. integer: bits
    before the point, including the sign; may be negative, or larger than width."""

    width: int
    integer: int
    signed: bool = True
    rounding: str = "AP_TRN"
    overflow: str = "AP_WRAP"

    def __post_init__(self) -> None:
        widest = MAX_WORD - (not self.signed)
        if not 1 <= self.width <= widest:
            raise TrigemuError(f"{self}: expected a width of 1 to {widest} bits, not {self.width}")
        if abs(self.integer) > MAX_INTEGER:
            raise TrigemuError(f"{self}: expected −{MAX_INTEGER} to {MAX_INTEGER} bits before the point")
        for mode, names in ((self.rounding, ROUNDINGS), (self.overflow, OVERFLOWS)):
            if mode not in names:
                kind = "rounding" if names is ROUNDINGS else "overflow"
                raise TrigemuError(f"{self}: unknown {kind} {mode!r}{nearest(mode, names)}")

    @classmethod
    def parse(cls, text: str, widest: int = MAX_WIDTH) -> ApFixed:
        """Parse `ap_fixed<12,8>` or `ap_ufixed<12,8,AP_RND,AP_SAT>`; raise TrigemuError for anything else,
        and for more bits than `widest`. A fifth argument matters to AP_WRAP alone, where it has to be 0."""
        match = _TYPE.fullmatch("".join(text.split()))
        if not match:
            raise TrigemuError(
                f"{excerpt(text)!r}: expected ap_fixed<WIDTH,INTEGER> or ap_ufixed<WIDTH,INTEGER>, and after "
                f"it, if needed, a rounding ({', '.join(ROUNDINGS)}) and an overflow ({', '.join(OVERFLOWS)})"
            )
        unsigned, width, integer, rounding, overflow, saturated = match.groups()
        if not 1 <= int(width) <= widest:
            raise TrigemuError(f"{excerpt(text)}: expected a width of 1 to {widest} bits, not {width}")
        saturated = _SATURATED_BITS.get(saturated, saturated) or "0"
        if not saturated.isdecimal() or (overflow == "AP_WRAP" and int(saturated)):
            raise TrigemuError(f"{excerpt(text)}: expected 0 bits that saturate, not {saturated}")
        return cls(int(width), int(integer), not unsigned, rounding or ROUNDINGS[0], overflow or OVERFLOWS[0])

    def __str__(self) -> str:
        modes = [self.rounding] if self.rounding != ROUNDINGS[0] else []
        if self.overflow != OVERFLOWS[0]:
            modes = [self.rounding, self.overflow]
        numbers = ",".join(map(str, (self.width, self.integer, *modes)))
        return f"ap_{'' if self.signed else 'u'}fixed<{numbers}>"

    @property
    def fraction(self) -> int:
        """The number of bits after the point; negative if there are fewer bits than `integer`."""
        return self.width - self.integer

    @property
    def step(self) -> float:
        return 2.0**-self.fraction

    @property
    def words(self) -> tuple[int, int]:
        """The lowest and the highest word; AP_SAT_SYM leaves the lowest one of a signed type unused, unless
        that has one bit."""
        highest = (1 << (self.width - self.signed)) - 1
        if not self.signed:
            return 0, highest
        return (-highest if self.overflow == "AP_SAT_SYM" and highest else -highest - 1), highest

    @property
    def lowest(self) -> float:
        return self.words[0] * self.step

    @property
    def highest(self) -> float:
        return self.words[1] * self.step

    def conversion(self, fraction: int, bits: int, *, relu: bool = False) -> dict[str, int]:
        """Return how words with so many bits after the point become words of this type."""
        right, left = max(fraction - self.fraction, 0), max(self.fraction - fraction, 0)
        if max(right, left) > bits - 2:
            raise TrigemuError(f"{self}: its point is {max(right, left)} bits from that of the value before")
        (low, high), rounding = self.words, self.rounding
        limits = (0, 0) if self.overflow == "AP_SAT_ZERO" else (low, high)
        mask = (1 << self.width) - 1 if self.width < bits else -1
        return {
            "floor": 0 if relu else -(1 << (bits - 1)),
            "right": right,
            "rest": (1 << right) - 1,
            "half": 1 << max(right - 1, 0),  # no rest is that large if nothing is lost
            "nearest": -(rounding not in ("AP_TRN", "AP_TRN_ZERO")),
            "tie": -(rounding == "AP_RND"),
            "tie_below": -(rounding == "AP_RND_ZERO"),
            "tie_above": -(rounding == "AP_RND_INF"),
            "tie_odd": -(rounding == "AP_RND_CONV"),
            "to_zero": -(rounding == "AP_TRN_ZERO"),
            "left": left,
            "low": -(-low >> left),
            "high": high >> left,
            "if_low": limits[0],
            "if_high": limits[1],
            "limited": -(self.overflow != "AP_WRAP"),
            "mask": mask,
            "sign": 1 << (self.width - 1) if self.signed and self.width < bits else 0,
        }

    @cached_property
    def modes(self) -> tuple[int, int]:
        """Indices of the rounding and overflow modes, for kernels."""
        return ROUNDINGS.index(self.rounding), OVERFLOWS.index(self.overflow)

    def quantise(self, values: FloatArray) -> IntArray:
        """Return the words int64[…] of finite float64[…]."""
        return self._each(values)[0]

    def overflows(self, values: FloatArray) -> BoolArray:
        """Return whether each value is outside of the range after rounding, bool[…]."""
        return self._each(values)[1]

    def quantise_columns(
        self, values: npt.NDArray[np.floating], scales: Sequence[int]
    ) -> tuple[IntArray, BoolArray]:
        """Return the words int64[n, d] of values[:, i] · 2^scales[i], and whether they overflow, bool[n, d];
        values: finite float32[n, d] or float64[n, d]."""
        return self._each(np.ldexp(values.astype(np.float64), np.array(scales, np.int64)))

    def to_float(self, words: IntArray) -> FloatArray:
        """Convert words to float64[…], exactly."""
        return np.asarray(words, np.float64) * self.step

    def _each(self, values: FloatArray) -> tuple[IntArray, BoolArray]:
        with np.errstate(over="ignore"):
            steps = np.ldexp(np.asarray(values, np.float64), self.fraction)
        if not np.isfinite(steps).all():
            raise TrigemuError(f"{self}: only finite numbers have a fixed-point form")
        words, outside = np.empty(steps.shape, np.int64), np.empty(steps.shape, np.bool_)
        _quantise(steps.ravel(), *self.modes, *self.words, words.reshape(-1), outside.reshape(-1))
        return words, outside


@kernel
def rounded(value: float, rounding: int) -> float:
    """Return the integer that a value is rounded to."""
    down: float = np.floor(value)
    fraction = value - down
    if rounding == 0 or fraction == 0.0:
        return down
    if rounding == 1:
        return down + (value < 0.0)
    if fraction != 0.5:
        return down + (fraction > 0.5)
    if rounding == 2:
        return down + 1.0
    if rounding == 3:
        return down + (value < 0.0)
    if rounding == 4:
        return down + (value > 0.0)
    if rounding == 5:
        return down
    odd: bool = down * 0.5 != np.floor(down * 0.5)
    return down + odd


@kernel
def in_range(integer: float, overflow: int, lowest: int, highest: int) -> int:
    """Return the word of an integer of any size."""
    above = np.float64(highest) + 1.0  # the same float64 for a word that has none
    if lowest <= integer < above:
        return int(integer)
    if overflow == 2:
        return 0
    if overflow != 0:
        return lowest if integer < lowest else highest
    period = above - np.float64(lowest)
    if lowest == 0 and -(2.0**63) < integer < 0.0:
        return highest & int(integer)  # which a float64 may not hold, as the word of −1 of 54 bits
    low: float = integer - np.floor(integer / period) * period  # exact: a period is a power of two
    return int(low if low < above else low - period)


@kernel
def _quantise(
    steps: FloatArray,
    rounding: int,
    overflow: int,
    lowest: int,
    highest: int,
    words: IntArray,
    outside: BoolArray,
) -> None:
    """Write the words of numbers in steps of a type, and whether they are outside of its range."""
    for i in range(len(steps)):
        integer = rounded(steps[i], rounding)
        words[i] = in_range(integer, overflow, lowest, highest)
        outside[i] = not lowest <= integer < np.float64(highest) + 1.0
