"""Rules that veto accepts of the first level: dead time, buckets, windows, slots.

Rules are `[[rule]]` tables of a TOML file, in the order in which a lost accept is attributed to them. The
first key of a table says what it is:

    simple = 4                              # the 4 crossings after an accept
    at_most = 2, in = 25                    # at most 2 accepts in any 25 consecutive crossings
    size = 7, rate = 415                    # a bucket: 7 places, one is emptied every 415 crossings
    gap = [3490, 3564], every = 100         # these slots, in every 100th orbit
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, splitmix64
from trigemu.base.errors import TrigemuError, quoted
from trigemu.base.kernels import kernel
from trigemu.base.toml import Key, TomlTable, load_toml, read_table, refuse_other_kinds

from .filling import ORBIT, Filling, shipped, shipped_in

#: The folder of the sets of rules that come with trigemu.
NAMED = Path(__file__).parent / "named"
#: A rule remembers at most so many crossings (25 s) and accepts.
_Crossings = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
_Accepts = Annotated[int, msgspec.Meta(ge=1, le=10_000)]
#: The keys that say what a rule is, and its text in results.
KINDS = {
    "simple": "simple {simple}",
    "at_most": "{at_most} in {crossings}",
    "size": "bucket {size} / {rate}",
    "gap": "gap {gap[0]}–{gap[1]}",
}
#: Further keys, each with the kind that it belongs to, and whether that needs it.
_FURTHER = {"in": ("at_most", True), "rate": ("size", True), "every": ("gap", False)}


class Rule(TomlTable, frozen=True):
    """A rule of one of the `KINDS`; crossings are slots of 25 ns, filled or not."""

    name: str = ""  # What it is called in results
    simple: _Crossings | None = None  # The number of crossings after an accept that are blocked
    at_most: _Accepts | None = None  # At most so many accepts in a number of consecutive crossings
    crossings: _Crossings | None = msgspec.field(name="in", default=None)
    # A leaky bucket: an accept takes one of `size` places, emptied one after the other, each in `rate`
    # crossings.
    size: _Accepts | None = None
    rate: _Crossings | None = None
    gap: list[int] | None = None  # The first and the last slot, from 1, in one of `every` orbits
    every: _Crossings | None = None

    @property
    def kind(self) -> str:
        """The key that says what it is."""
        return next(key for key in KINDS if getattr(self, key) is not None)

    @property
    def label(self) -> str:
        """Its name, or its numbers."""
        return self.name or KINDS[self.kind].format(**msgspec.structs.asdict(self))

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        values = msgspec.to_builtins(self)
        kinds = [key for key in KINDS if values[key] is not None]
        if len(kinds) != 1:
            both = f"{' and '.join(map(quoted, kinds))} are rules of their own: expected a table for each"
            yield (), both if kinds else f"expected one of the keys {', '.join(KINDS)}"
            return
        for key, (kind, is_needed) in _FURTHER.items():
            if values[key] is not None and kind not in kinds:
                yield key, f"{key} is a key of rules with {kind!r}, not of those with {kinds[0]!r}"
            elif values[key] is None and is_needed and kind in kinds:
                yield kind, f"the key {key!r} is missing"
        if self.at_most and self.crossings and self.at_most >= self.crossings:
            yield "at_most", f"at_most = {self.at_most} in {self.crossings} crossings never vetoes"
        if self.gap is not None and (len(self.gap) != 2 or not 1 <= self.gap[0] <= self.gap[1] <= ORBIT):
            yield "gap", f"gap = {self.gap}: expected [first, last] slot, from 1 to {ORBIT}"


class _Head(TomlTable, frozen=True):
    name: str = ""
    source: str = ""


class _File(TomlTable, frozen=True):
    rules: _Head = _Head()
    rule: tuple[Rule, ...] = ()

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        seen: dict[str, int] = {}
        for number, rule in enumerate(self.rule):
            if (first := seen.setdefault(rule.label, number)) < number:
                yield ("rule", number), f"{rule.label!r} appears twice: rule {first + 1} has it already"


@dataclass(frozen=True)
class Rules:
    """A set of rules."""

    name: str  #: Its name
    rules: tuple[Rule, ...] = ()  #: The rules, in the order in which they are applied
    source: str = ""  #: Where its numbers are from

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the rules."""
        return tuple(rule.label for rule in self.rules)

    @property
    def text(self) -> str:
        """The rules in a line."""
        return ", ".join(self.labels) or "no rules"


NO_RULES = Rules("none")


def rule_names() -> list[str]:
    """Return the names of the sets of rules that come with trigemu."""
    return shipped_in(NAMED)


def read_rules(rules: Path | str) -> Rules:
    """Read a set of rules.

    rules: a TOML file, or the name of a set that comes with trigemu. Raises TrigemuError if there is no such
    file, or it has mistakes.
    """
    path = Path(rules)
    if not path.suffix:
        path = shipped(NAMED, f"rules {quoted(str(rules))}", str(rules), "a file (.toml)")
    document = load_toml(path)
    refuse_other_kinds(document, "rules")
    for key in document.data.keys() & KINDS.keys():
        document.problem((key,), "", f"unknown key {quoted(key)}: expected [[rule]] above the keys of a rule")
    if not isinstance(document.data.get("rule", []), list):
        document.problem(("rule",), "", "rule: expected two brackets, [[rule]], for each rule")
    if isinstance(document.data.get("rules"), list):
        document.problem(("rules",), "", "[[rules]]: expected [[rule]] for each rule; [rules] has their name")
    document.finish()
    file = read_table(document, document.data, _File, (), "")
    document.finish()
    assert file is not None
    return Rules(file.rules.name or path.stem, file.rule, file.rules.source)


# The rules as arrays, and the kernel that applies them to the accepts of the first level, one by one.

WINDOW, BUCKET, SLOTS = range(3)
#: Before any crossing.
NEVER = -(2**62)


class Veto(NamedTuple):
    """r rules as arrays, and what they remember of accepts."""

    kind: IntArray  # int64[r]
    a: IntArray  # int64[r], the number of accepts, of places, or of orbits
    b: IntArray  # int64[r], the number of crossings
    blocked: BoolArray  # bool[r, 3564], the slots that are vetoed in one of `a` orbits
    recent: IntArray  # int64[h], the crossings of the last accepts, a ring
    busy: IntArray  # int64[r], the crossing at which a bucket is empty
    accepts: IntArray  # int64[1], their number

    @property
    def memory(self) -> int:
        """The number of crossings after which rules have forgotten how they began."""
        # A bucket with as many accepts as it empties goes up and down by chance: the square of its places.
        crossings = np.where(self.kind == BUCKET, self.a**2 * self.b, 4 * self.b)
        return int(crossings.max(initial=0))


def veto_of(rules: Rules, filling: Filling) -> Veto:
    """Return the rules before the first accept; raise TrigemuError if they veto every filled slot of every
    orbit."""
    rows: list[tuple[int, int, int | None]] = []
    blocked = np.zeros((len(rules.rules), ORBIT), np.bool_)
    for number, rule in enumerate(rules.rules):
        if rule.simple:
            rows.append((WINDOW, 1, rule.simple + 1))
        elif rule.at_most:
            rows.append((WINDOW, rule.at_most, rule.crossings))
        elif rule.size:
            rows.append((BUCKET, rule.size, rule.rate))
        elif rule.gap:
            rows.append((SLOTS, rule.every or 1, 0))
            blocked[number, rule.gap[0] - 1 : rule.gap[1]] = True
    kind, a, b = np.array(rows, np.int64).reshape(-1, 3).T.copy()
    if blocked[a == 1][:, filling.slots].any(axis=0).all():
        raise TrigemuError(
            f"rules {rules.name!r}: {', '.join(rules.labels)} veto every filled slot of {filling.name!r}: "
            f"nothing could be recorded"
        )
    recent = np.full(a[kind == WINDOW].max(initial=1), NEVER)
    return Veto(kind, a, b, blocked, recent, np.full(len(kind), NEVER), np.zeros(1, np.int64))


@kernel
def apply_rules(veto: Veto, crossing: IntArray) -> IntArray:
    """Apply the rules to attempts to accept, int64[n], which they remember; return the rule that vetoes each,
    int64[n], −1: none."""
    cause = np.full(len(crossing), -1)
    for k in range(len(crossing)):
        x, accepts = crossing[k], veto.accepts[0]
        for r in range(len(veto.kind)):
            if veto.kind[r] == WINDOW:
                vetoes = veto.recent[(accepts - veto.a[r]) % len(veto.recent)] > x - veto.b[r]
            elif veto.kind[r] == BUCKET:
                vetoes = veto.busy[r] - x > (veto.a[r] - 1) * veto.b[r]
            else:
                vetoes = veto.blocked[r, x % ORBIT] and x // ORBIT % veto.a[r] == 0
            if vetoes:
                cause[k] = r
                break
        if cause[k] < 0:
            veto.recent[accepts % len(veto.recent)] = x
            veto.accepts[0] += 1
            for r in range(len(veto.kind)):
                if veto.kind[r] == BUCKET:
                    veto.busy[r] = max(veto.busy[r], x) + veto.b[r]
    return cause


# The live fraction of independent crossings: what a menu of any composition loses, except for effects of its
# prescale counters. Its accepts are one in so many filled crossings, and crossings follow each other at
# random.

#: Accepts before the rules that are drawn for one rate, and the batches from which the error follows.
ATTEMPTS, BATCHES = 1_000_000, 50


def uniform(state: int, first: int, n: int) -> FloatArray:
    """Return n uniform random numbers, from the number `first` on of those that follow from a state, by
    SplitMix64."""
    golden = 0x9E3779B97F4A7C15  # the step from one number to the next
    steps = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(golden)
    hashed = splitmix64(steps + np.uint64((state + first * golden) % 2**64))
    return (hashed >> np.uint64(11)).astype(np.float64) * 2.0**-53


@dataclass(frozen=True)
class LiveFraction:
    """The fraction of accepts that rules allow."""

    input_rate_hz: float  #: The rate of accepts before the rules in Hz
    value: float  #: The fraction
    error: float  #: Its statistical uncertainty


def live_fraction(
    rules: Rules, filling: Filling, input_rate_hz: float, *, attempts: int = ATTEMPTS, seed: int = 1
) -> LiveFraction:
    """Return the fraction of accepts that rules allow at a rate, if crossings are independent.

    input_rate_hz: of accepts before the rules, up to the crossing rate of the scheme. attempts: how many of
    these are drawn. With the same seed, fractions at different rates are strongly correlated. Raises
    TrigemuError if the rules veto every filled slot.

    >>> live = live_fraction(read_rules("cms"), read_filling("lhc-2018-2544"), 100e3)
    >>> f"{100 * live.value:.1f} %"
    '98.9 %'
    """
    veto, chance = veto_of(rules, filling), input_rate_hz / filling.crossing_rate_hz
    if not 0 < chance <= 1:
        raise TrigemuError(
            f"input rate {input_rate_hz:g} Hz: expected a rate above 0, up to the crossing rate of "
            f"{filling.crossing_rate_hz:g} Hz"
        )
    idle = math.log1p(-chance) if chance < 1.0 else -math.inf
    state = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    # Every other number, as in `Process`: there the remaining ones choose patterns.
    drawn = uniform(state, 0, 2 * (attempts // BATCHES * BATCHES))[::2]
    bunches = np.cumsum(1 + (np.log(1.0 - drawn) / idle).astype(np.int64)) - 1
    orbit, bunch = np.divmod(bunches, len(filling.slots))
    live = apply_rules(veto, orbit * ORBIT + filling.slots[bunch]) < 0
    in_batches = live.reshape(BATCHES, -1).sum(axis=1) / (len(live) // BATCHES)
    error = float(np.std(in_batches, ddof=1) / math.sqrt(BATCHES))
    return LiveFraction(float(input_rate_hz), float(live.sum() / len(live)), error)


def live_at(points: Sequence[LiveFraction], input_rate_hz: float) -> float:
    """Return the live fraction L at a rate, from a parabola through 1 / L at the nearest points: for simple
    dead time, and for a bucket that is always full, 1 / L is a straight line."""
    rates = np.array([point.input_rate_hz for point in points])
    inverse = 1.0 / np.array([max(point.value, 1e-9) for point in points])
    near = np.argsort(np.abs(rates - input_rate_hz), kind="stable")[:3]
    value = 0.0
    for i in near:  # Lagrange's form
        others = [j for j in near if j != i]
        value += inverse[i] * np.prod((input_rate_hz - rates[others]) / (rates[i] - rates[others]))
    return min(1.0, 1.0 / value) if value > 0 else 1.0


def largest_input_rate(
    rules: Rules, filling: Filling, live: float, *, attempts: int = 400_000, seed: int = 1
) -> float:
    """Return the largest rate of accepts before the rules at which at least a fraction of them is live.

    The rate, in Hz, is about 1 % from the exact one with the default number of attempts; it is the crossing
    rate if the fraction is never smaller. Raises TrigemuError if no rate has such a live fraction, because of
    vetoed slots.

    >>> rate = largest_input_rate(read_rules("cms"), read_filling("lhc-2018-2544"), 0.95)
    >>> 200e3 < rate < 230e3
    True
    """
    if not 0 < live < 1:
        raise TrigemuError(f"live fraction {live:g}: expected a number between 0 and 1")

    def reached(rate: float) -> bool:
        return live_fraction(rules, filling, rate, attempts=attempts, seed=seed).value >= live

    high = filling.crossing_rate_hz
    low = high * 1e-9
    if reached(high):
        return high
    if not reached(low):
        raise TrigemuError(f"rules {rules.name!r}: no rate has a live fraction of {live:g}: slots are vetoed")
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if reached(middle) else (low, middle)
    return low
