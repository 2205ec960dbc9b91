"""Rules that veto accepts of the first level: dead time, buckets, windows, slots, prefiring.

Rules are `[[rule]]` tables of a TOML file, in the order in which a lost accept is attributed to them. The
first key of a table says what it is:

    simple = 4                              # the 4 crossings after an accept
    at_most = 2, in = 25                    # at most 2 accepts in any 25 consecutive crossings
    size = 7, rate = 415                    # a bucket: 7 places, one is emptied every 415 crossings
    places = 8, latency = 160               # a buffer: an accept holds one of 8 places for 160 crossings
    gap = [3490, 3564], every = 100         # these slots, in every 100th orbit
    unfilled = true                         # slots without colliding bunches
    first_bunches = 1                       # the first bunches of each train
    prefire = 0.01, triggers = ["EG30"]     # no rule: these triggers fire one crossing early as well

A set has at most 100 of these tables, of which one may be `prefire`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import numpy as np

from trigemu.base.arrays import BoolArray, IntArray
from trigemu.base.errors import TrigemuError, quoted
from trigemu.base.kernels import inlined, kernel
from trigemu.base.toml import Key, TomlTable, load_toml, read_table, refuse_other_kinds

from .filling import ORBIT, Filling, shipped

#: The folder of the sets of rules that come with trigemu.
NAMED = Path(__file__).parent / "named"
#: The longest memory of a rule, in crossings (25 s), and the most accepts that it remembers.
MAX_CROSSINGS = 10**9
MAX_ACCEPTS = 10_000
#: The most rules: each is asked at every accept, and 100 take seconds.
MAX_RULES = 100
_Crossings = Annotated[int, msgspec.Meta(ge=1, le=MAX_CROSSINGS)]
_Accepts = Annotated[int, msgspec.Meta(ge=1, le=MAX_ACCEPTS)]
#: The keys that say what a rule is, and its text in results.
KINDS = {
    "simple": "simple {simple}",
    "at_most": "{at_most} in {crossings}",
    "size": "bucket {size} / {rate}",
    "places": "buffer {places} / {latency}",
    "gap": "gap {gap[0]}–{gap[1]}",
    "unfilled": "unfilled",
    "first_bunches": "first {first_bunches} of a train",
    "prefire": "prefiring",
}
#: Further keys, each with the kind that it belongs to, and whether that needs it.
_FURTHER = {
    "in": ("at_most", True),
    "rate": ("size", True),
    "latency": ("places", True),
    "every": ("gap", False),
    "triggers": ("prefire", False),
}


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
    # A buffer of fixed latency: an accept holds one of `places` for `latency` crossings.
    places: _Accepts | None = None
    latency: _Crossings | None = None
    gap: list[int] | None = None  # The first and the last slot, from 1, in one of `every` orbits
    every: _Crossings | None = None
    unfilled: bool | None = None  # Slots without colliding bunches, where triggers that fire early accept
    first_bunches: Annotated[int, msgspec.Meta(ge=1, le=ORBIT)] | None = None  # Of each train
    # The probability with which an accept of `triggers`, by default of all of the first level, has another
    # one a crossing early.
    prefire: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    triggers: list[str] | None = None

    @property
    def kind(self) -> str:
        """The key that says what it is."""
        return next(key for key in KINDS if getattr(self, key) is not None)

    @property
    def label(self) -> str:
        """Its name, or its numbers."""
        text = "first bunch" if self.first_bunches == 1 else KINDS[self.kind]
        return self.name or text.format(**msgspec.structs.asdict(self))

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        values = msgspec.structs.asdict(self)
        values["in"] = values.pop("crossings")
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
                return
        if self.at_most and self.crossings and self.at_most >= self.crossings:
            yield "at_most", f"at_most = {self.at_most} in {self.crossings} crossings never vetoes"
        if self.places and self.latency and self.places >= self.latency:
            yield "places", f"{self.places} places for {self.latency} crossings are never all taken"
        if self.gap is not None and (len(self.gap) != 2 or not 1 <= self.gap[0] <= self.gap[1] <= ORBIT):
            yield "gap", f"gap = {self.gap}: expected [first, last] slot, from 1 to {ORBIT}"
        if self.unfilled is False:
            yield "unfilled", "expected true; leave the rule out otherwise"


class _Head(TomlTable, frozen=True):
    name: str = ""
    source: str = ""


class _File(TomlTable, frozen=True):
    rules: _Head = _Head()
    rule: tuple[Rule, ...] = ()

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if len(self.rule) > MAX_RULES:
            yield "rule", f"{len(self.rule)} rules: expected at most {MAX_RULES}"
        seen: dict[str, int] = {}
        for number, rule in enumerate(self.rule):
            label = "prefire" if rule.prefire else rule.label
            if (first := seen.setdefault(label, number)) < number:
                once = ": expected one for all early triggers" if rule.prefire else ""
                yield ("rule", number), f"{label!r} appears twice: rule {first + 1} has it already{once}"


@dataclass(frozen=True)
class Rules:
    """A set of rules."""

    name: str  #: Its name
    rules: tuple[Rule, ...] = ()  #: The rules that veto, in the order in which they are applied
    prefire: Rule | None = None  #: Triggers that fire early, if any
    source: str = ""  #: Where its numbers are from

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the rules."""
        return tuple(rule.label for rule in self.rules)

    @property
    def text(self) -> str:
        """The rules in a line."""
        early = [f"prefiring {100 * (self.prefire.prefire or 0):g} %"] if self.prefire else []
        return ", ".join([*self.labels, *early]) or "no rules"


NO_RULES = Rules("none")


def rule_names() -> list[str]:
    """Return the names of the sets of rules that come with trigemu."""
    return sorted(file.stem for file in NAMED.glob("*.toml"))


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
    veto = tuple(rule for rule in file.rule if not rule.prefire)
    early = next((rule for rule in file.rule if rule.prefire), None)
    return Rules(file.rules.name or path.stem, veto, early, file.rules.source)


# The rules as arrays, and the kernel that applies them to the accepts of the first level, one by one.

WINDOW, BUCKET, SLOTS = range(3)
#: Before any crossing.
NEVER = -(2**62)


class RuleTable(NamedTuple):
    """r rules. kind, a, b: int64[r]; blocked: bool[r, 3564], slots that are vetoed in one of `a` orbits."""

    kind: IntArray
    a: IntArray
    b: IntArray
    blocked: BoolArray


class RuleState(NamedTuple):
    """What rules remember."""

    recent: IntArray  # int64[h], the crossings of the last accepts, a ring
    busy: IntArray  # int64[r], the crossing at which a bucket is empty
    numbers: IntArray  # int64[3], of accepts, and the crossings of the last accept and attempt


def rule_table(rules: Rules, filling: Filling) -> RuleTable:
    """Return the rules as arrays; raise TrigemuError if they veto every filled slot of every orbit."""
    rows: list[tuple[int, int, int | None]] = []
    blocked = np.zeros((len(rules.rules), ORBIT), np.bool_)
    for number, rule in enumerate(rules.rules):
        if rule.simple:
            rows.append((WINDOW, 1, rule.simple + 1))
        elif rule.at_most:
            rows.append((WINDOW, rule.at_most, rule.crossings))
        elif rule.places:
            rows.append((WINDOW, rule.places, rule.latency))
        elif rule.size:
            rows.append((BUCKET, rule.size, rule.rate))
        else:
            rows.append((SLOTS, rule.every or 1, 0))
            if rule.gap:
                blocked[number, rule.gap[0] - 1 : rule.gap[1]] = True
            elif rule.first_bunches:
                blocked[number, filling.slots[filling.position < rule.first_bunches]] = True
            else:
                blocked[number] = ~filling.filled
    kind, a, b = np.array(rows, np.int64).reshape(-1, 3).T.copy()
    always = blocked[a == 1][:, filling.slots]
    if len(always) and bool(always.any(axis=0).all()):
        raise TrigemuError(
            f"rules {rules.name!r}: {', '.join(rules.labels)} veto every filled slot of {filling.name!r}: "
            f"nothing could be recorded"
        )
    return RuleTable(kind, a, b, blocked)


def longest_memory(table: RuleTable) -> int:
    """Return after how many crossings rules have forgotten how they began."""
    # A bucket with as many accepts as it empties goes up and down by chance: the square of its places.
    crossings = np.where(table.kind == BUCKET, table.a**2 * table.b, 4 * table.b)
    return int(crossings[table.kind != SLOTS].max(initial=0))


def new_state(table: RuleTable) -> RuleState:
    """Return the state before the first accept."""
    longest = int(table.a[table.kind == WINDOW].max(initial=1))
    return RuleState(
        np.full(longest, NEVER), np.full(len(table.kind), NEVER), np.array([0, NEVER, NEVER], np.int64)
    )


@inlined
def _vetoed_by(table: RuleTable, state: RuleState, crossing: int) -> int:
    """Return the number of the first rule that vetoes an accept, or −1."""
    for r in range(len(table.kind)):
        if table.kind[r] == WINDOW:
            age = (state.numbers[0] - table.a[r]) % len(state.recent)
            if state.recent[age] > crossing - table.b[r]:
                return r
        elif table.kind[r] == BUCKET:
            if state.busy[r] - crossing > (table.a[r] - 1) * table.b[r]:
                return r
        elif table.blocked[r, crossing % ORBIT] and crossing // ORBIT % table.a[r] == 0:
            return r
    return -1


@inlined
def _accept(table: RuleTable, state: RuleState, crossing: int) -> None:
    state.recent[state.numbers[0] % len(state.recent)] = crossing
    state.numbers[0] += 1
    state.numbers[1] = crossing
    for r in range(len(table.kind)):
        if table.kind[r] == BUCKET:
            state.busy[r] = max(state.busy[r], crossing) + table.b[r]


@kernel
def apply_rules(
    table: RuleTable,
    state: RuleState,
    crossing: IntArray,
    early: BoolArray,
    cause: IntArray,
    blocker: IntArray,
    live: IntArray,
) -> tuple[int, int, int, int]:
    """Apply the rules to attempts to accept, int64[n], each after one a crossing early where `early`.

    Sets cause: int64[n], the rule that vetoes each, −1: none; blocker: int64[n], the
    accept before it: k for that of attempt k, n + k for the one early to it, −1 for one before all; and the
    beginning of live: int64[2 n], the crossings of accepts. Returns their number; those of early attempts and
    accepts; and the last accept, as in `blocker`.
    """
    n, accepts, early_attempts, early_accepts, last = len(crossing), 0, 0, 0, -1
    for k in range(n):
        x = crossing[k]
        if early[k] and state.numbers[2] != x - 1 and x > 0:
            early_attempts += 1
            if _vetoed_by(table, state, x - 1) < 0:
                _accept(table, state, x - 1)
                live[accepts] = x - 1
                accepts += 1
                early_accepts += 1
                last = n + k
        state.numbers[2] = x
        blocker[k] = last
        cause[k] = _vetoed_by(table, state, x)
        if cause[k] < 0:
            _accept(table, state, x)
            live[accepts] = x
            accepts += 1
            last = k
    return accepts, early_attempts, early_accepts, last
