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
from typing import Annotated, Any, ClassVar

import msgspec

from trigemu.base.errors import nearest, quoted
from trigemu.base.toml import Document, Key, TomlTable, load_toml, read_table, refuse_other_kinds

from .filling import ORBIT, shipped

#: The folder of the sets of rules that come with trigemu.
NAMED = Path(__file__).parent / "named"
#: The longest memory of a rule, in crossings (25 s), and the most accepts that it remembers.
MAX_CROSSINGS = 10**9
MAX_ACCEPTS = 10_000
#: The most rules: each is asked at every accept, and 100 take seconds.
MAX_RULES = 100
_Crossings = Annotated[int, msgspec.Meta(ge=1, le=MAX_CROSSINGS)]
_Accepts = Annotated[int, msgspec.Meta(ge=1, le=MAX_ACCEPTS)]


class Rule(TomlTable, frozen=True):
    """A rule; key: what its table begins with; shown: its text; name: what it is called in results."""

    key: ClassVar[str] = ""
    shown: ClassVar[str] = ""
    name: str = ""

    @property
    def label(self) -> str:
        """Its name, or its numbers."""
        return self.name or self.shown.format(**msgspec.structs.asdict(self))


class Simple(Rule, frozen=True, kw_only=True):
    """`simple`: the number of crossings after an accept that are blocked."""

    key, shown = "simple", "simple {simple}"
    simple: _Crossings


class InWindow(Rule, frozen=True, kw_only=True):
    """`at_most` accepts `in` a number of consecutive crossings."""

    key, shown = "at_most", "{at_most} in {crossings}"
    at_most: _Accepts
    crossings: _Crossings = msgspec.field(name="in")

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if self.at_most >= self.crossings:
            yield "at_most", f"at_most = {self.at_most} in {self.crossings} crossings never vetoes"


class Bucket(Rule, frozen=True, kw_only=True):
    """A leaky bucket: an accept takes one of `size` places, and they are emptied one after the other, each in
    `rate` crossings."""

    key, shown = "size", "bucket {size} / {rate}"
    size: _Accepts
    rate: int

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if not 1 <= self.rate <= MAX_CROSSINGS:
            never = "places would never be emptied" if self.rate > 0 else "it is the time to empty a place"
            yield "rate", f"rate = {self.rate}: {never}: expected 1 to {MAX_CROSSINGS} crossings"


class Buffer(Rule, frozen=True, kw_only=True):
    """A buffer of fixed latency: an accept holds one of `places` for `latency` crossings."""

    key, shown = "places", "buffer {places} / {latency}"
    places: _Accepts
    latency: _Crossings

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if self.places >= self.latency:
            yield "places", f"{self.places} places for {self.latency} crossings are never all taken"


class Gap(Rule, frozen=True, kw_only=True):
    """The slots from the first to the last of `gap`, from 1, in one of `every` orbits."""

    key, shown = "gap", "gap {gap[0]}–{gap[1]}"
    gap: list[int]
    every: _Crossings = 1

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if len(self.gap) != 2 or not 1 <= self.gap[0] <= self.gap[-1] <= ORBIT:
            yield "gap", f"gap = {self.gap}: expected [first, last] slot, from 1 to {ORBIT}"


class Unfilled(Rule, frozen=True, kw_only=True):
    """Slots without colliding bunches, in which triggers that fire early accept."""

    key = shown = "unfilled"
    unfilled: bool

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if not self.unfilled:
            yield "unfilled", "expected true; leave the rule out otherwise"


class FirstBunches(Rule, frozen=True, kw_only=True):
    """The first bunches of each train."""

    key, shown = "first_bunches", "first {first_bunches} of a train"
    first_bunches: Annotated[int, msgspec.Meta(ge=1, le=ORBIT)]

    @property
    def label(self) -> str:
        """Its name, or its number."""
        return "first bunch" if not self.name and self.first_bunches == 1 else super().label


class Prefire(Rule, frozen=True, kw_only=True):
    """The probability with which an accept of `triggers`, by default of all of the first level, has another
    one a crossing early."""

    key = "prefire"
    prefire: Annotated[float, msgspec.Meta(gt=0, le=1)]
    triggers: list[str] | None = None


KINDS: dict[str, type[Rule]] = {
    kind.key: kind for kind in (Simple, InWindow, Bucket, Buffer, Gap, Unfilled, FirstBunches, Prefire)
}


class _Head(TomlTable, frozen=True):
    name: str = ""
    source: str = ""


@dataclass(frozen=True)
class Rules:
    """A set of rules."""

    name: str  #: Its name
    rules: tuple[Rule, ...] = ()  #: The rules that veto, in the order in which they are applied
    prefire: Prefire | None = None  #: Triggers that fire early, if any
    source: str = ""  #: Where its numbers are from

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the rules."""
        return tuple(rule.label for rule in self.rules)

    @property
    def text(self) -> str:
        """The rules in a line."""
        early = [f"prefiring {100 * self.prefire.prefire:g} %"] if self.prefire else []
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
    for key in (key for key in document.data if key not in ("rules", "rule")):
        expected = "[[rule]] above the keys of a rule" if key in KINDS else "[rules] or [[rule]]"
        document.problem((key,), "", f"unknown key {quoted(key)}: expected {expected}")
    table, tables = document.data.get("rules", {}), document.data.get("rule", [])
    if isinstance(table, list):
        document.problem(("rules",), "", "[[rules]]: expected [[rule]] for each rule; [rules] has their name")
        table = {}
    head = read_table(document, table, _Head, ("rules",), "[rules]")
    if not isinstance(tables, list):
        document.problem(("rule",), "", "rule: expected two brackets, [[rule]], for each rule")
    elif len(tables) > MAX_RULES:
        document.problem(("rule",), "", f"{len(tables)} rules: expected at most {MAX_RULES}")
    else:
        read = [_rule(document, table, number) for number, table in enumerate(tables)]
        seen: dict[str, int] = {}
        for number, rule in enumerate(read, 1):
            label = "" if rule is None or isinstance(rule, Prefire) else rule.label
            if rule and (first := seen.setdefault(label, number)) < number:
                message = f"{label!r} appears twice"
                if isinstance(rule, Prefire):
                    message = f"rule {first} is `prefire` already: expected one for all early triggers"
                document.problem(("rule", number - 1), f"rule {number}", message)
    document.finish()
    assert head is not None
    veto = tuple(rule for rule in read if rule and not isinstance(rule, Prefire))
    early = next((rule for rule in read if isinstance(rule, Prefire)), None)
    return Rules(head.name or path.stem, veto, early, head.source)


def _rule(document: Document, table: Any, number: int) -> Rule | None:
    key, where = ("rule", number), f"rule {number + 1}"
    if not isinstance(table, dict):
        document.problem(key, where, f"{quoted(table)}: expected a table [[rule]]")
        return None
    kinds = [kind for name, kind in KINDS.items() if name in table]
    if len(kinds) == 1:
        return read_table(document, table, kinds[0], key, where)
    unknown = next((name for name in table if name != "name"), None)
    if kinds:
        both = " and ".join(quoted(kind.key) for kind in kinds)
        document.problem(key, where, f"{both} are rules of their own: expected a table [[rule]] for each")
    elif unknown is not None:
        document.problem((*key, unknown), where, f"unknown key {quoted(unknown)}{nearest(unknown, KINDS)}")
    else:
        document.problem(key, where, f"expected one of the keys {', '.join(KINDS)}")
    return None
