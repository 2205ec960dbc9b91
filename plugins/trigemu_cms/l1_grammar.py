"""Parser of the expressions of CMS Level-1 algorithms.

    MU3p5[MU-QLTY_SNGL,MU-ETA_2p10] AND (NOT EXT_BPTX_plus_OR_minus.v0-1)
    dist{JET32,MU0[MU-QLTY_DBLE]}[DPHI_MAX_0p4] OR comb{JET84-1,JET68-1}

Operators in order of decreasing precedence: NOT, AND, XOR, OR. The digits after an object are its threshold
(p is the decimal point), followed by the crossing, earlier (−) or later (+) than the decided one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from trigemu.base.errors import MAX_EXCERPT, TrigemuError, nearest

#: Types of objects, and their collections in this package.
OBJECTS: dict[str, str] = {
    **{"MU": "muon", "EG": "egamma", "TAU": "tau", "JET": "jet"},
    **{
        name: name.lower()
        for name in (
            *("ETT", "HTT", "ETM", "HTM", "ETMHF", "HTMHF", "ETTEM", "TOWERCOUNT"),
            *("MBT0HFP", "MBT0HFM", "MBT1HFP", "MBT1HFM", "ASYMET", "ASYMHT", "ASYMETHF", "ASYMHTHF"),
            *("ZDCP", "ZDCM"),
        )
    },
}
#: Signals of one bit, and the word and bit of the sample that hold them.
SIGNALS: dict[str, tuple[str, int]] = {
    **{f"CENT{bit}": ("centrality", bit) for bit in range(8)},
    **{name: ("shower", bit) for bit, name in enumerate(("MUS0", "MUS1", "MUSOOT0", "MUSOOT1", "MUS2"))},
    "ADT": ("adt", 0),
}
#: Scores, and their smallest steps in hardware: integers, and 1/256 for CICADA's fixed-point number.
SCORES = {"AXO": 1.0, "TOPO": 1.0, "CICADA": 1 / 256}
#: Objects and signals that test vectors do not contain.
NOT_IN_VECTORS = ("ZDCP", "ZDCM", "ADT", *SCORES)
FUNCTIONS = (
    *("comb", "dist", "mass", "mass_inv", "mass_trv", "mass_inv_upt", "mass_inv_dr", "mass_inv_3"),
    *("comb_orm", "dist_orm", "mass_inv_orm", "mass_trv_orm"),
)
#: Names of early development versions.
_ALIASES = {"mass_inv_3_obj": "mass_inv_3", "mass_inv_div_dr": "mass_inv_dr"}
MAX_CROSSING = 2
#: The deepest nesting; each level takes up to eight of the 1000 calls that Python nests.
MAX_LEVELS = 50


@dataclass(frozen=True)
class Object:
    """An object with a threshold. type: a key of OBJECTS. threshold: as written (3p5). exact: only that bin
    passes. cuts: their names."""

    type: str
    threshold: str
    exact: bool
    crossing: int
    cuts: tuple[str, ...]

    @property
    def value(self) -> float:
        return float(self.threshold.replace("p", "."))


@dataclass(frozen=True)
class Signal:
    """A signal of one bit, or a score. name: a key of SIGNALS or SCORES."""

    name: str
    crossing: int
    cuts: tuple[str, ...]


@dataclass(frozen=True)
class ExternalSignal:
    """An external signal. name: without EXT_."""

    name: str
    crossing: int


@dataclass(frozen=True)
class Function:
    """A function of objects. name: one of FUNCTIONS."""

    name: str
    objects: tuple[Object, ...]
    cuts: tuple[str, ...]


@dataclass(frozen=True)
class Junction:
    """A logical operation: NOT of one operand; AND, XOR or OR of two or more."""

    operation: str
    operands: tuple[Term, ...]


Condition = Object | Signal | ExternalSignal | Function
Term = Condition | Junction

_BLANK = re.compile(r"\s*")
_WORD = re.compile(r"[A-Za-z0-9_.]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_OBJECT = re.compile(rf"({'|'.join(OBJECTS)})(\.[a-z]{{2}}\.)?(\d{{1,9}}(?:p\d{{1,9}})?)(?![A-Za-z0-9_.])")
_SIGNAL = re.compile(rf"({'|'.join((*SIGNALS, *SCORES))})(?![A-Za-z0-9_.])")
_CUT = re.compile(r"[A-Za-z0-9_.+-]+")
_CROSSING = re.compile(r"[+-]\d{1,9}(?!\d)")
_OPERATIONS = ("OR", "XOR", "AND")


def parse(text: str) -> Term:
    """Parse an expression. TrigemuError quotes it and marks the position of a mistake."""
    reader = _Reader(text)
    term = reader.junction(0)
    if not reader.at_end():
        reader.refuse("expected AND, OR, XOR or the end")
    return term


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.levels = text, 0, 0

    def refuse(self, reason: str) -> NoReturn:
        before, after = self.text[: self.at], self.text[self.at :]
        if len(before) > MAX_EXCERPT:
            before = f"… {before[-MAX_EXCERPT:]}"
        if len(after) > MAX_EXCERPT:
            after = f"{after[:MAX_EXCERPT]} …"
        context = f"{before} ⟨here⟩ {after}".strip()
        raise TrigemuError(f"column {self.at + 1}: {reason}: {context}")

    def skip(self) -> None:
        self.at = _BLANK.match(self.text, self.at).end()  # type: ignore[union-attr]  # it always matches

    def at_end(self) -> bool:
        self.skip()
        return self.at == len(self.text)

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self.skip()
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return match

    def sign(self, sign: str) -> bool:
        self.skip()
        present = self.text.startswith(sign, self.at)
        self.at += len(sign) if present else 0
        return present

    def expect(self, sign: str) -> None:
        if not self.sign(sign):
            self.refuse(f"expected {sign!r}")

    def word(self, word: str) -> bool:
        self.skip()
        end = self.at + len(word)
        present = self.text.startswith(word, self.at) and not _WORD.match(self.text, end)
        self.at = end if present else self.at
        return present

    def junction(self, level: int) -> Term:
        if level == len(_OPERATIONS):
            return self.term()
        operation = _OPERATIONS[level]
        operands = [self.junction(level + 1)]
        while self.word(operation):
            operands.append(self.junction(level + 1))
        return Junction(operation, tuple(operands)) if len(operands) > 1 else operands[0]

    def term(self) -> Term:
        if self.word("NOT"):
            with self.level():
                return Junction("NOT", (self.term(),))
        if self.sign("("):
            with self.level():
                inner = self.junction(0)
            self.expect(")")
            return inner
        self.skip()
        name = _NAME.match(self.text, self.at)
        if not name:
            self.refuse("expected an object, a function, an external signal, NOT or (")
        if name[0].startswith("EXT_"):
            self.at = name.end()
            return ExternalSignal(name[0].removeprefix("EXT_"), self.crossing())
        if self.text.startswith("{", _BLANK.match(self.text, name.end()).end()):  # type: ignore[union-attr]
            return self.function(name[0])
        if signal := self.take(_SIGNAL):
            return Signal(signal[1], self.crossing(), self.cuts())
        return self.object()

    @contextmanager
    def level(self) -> Iterator[None]:
        """Refuse an expression that nests too deeply for Python's stack."""
        self.levels += 1
        if self.levels > MAX_LEVELS:
            self.refuse(f"nests more than {MAX_LEVELS} levels of NOT and parentheses")
        yield
        self.levels -= 1

    def function(self, name: str) -> Function:
        canonical = _ALIASES.get(name, name)
        if canonical not in FUNCTIONS:
            self.refuse(f"unknown function {name!r}{nearest(name, FUNCTIONS)}")
        self.at += len(name)
        self.expect("{")
        objects = [self.object()]
        while self.sign(","):
            objects.append(self.object())
        self.expect("}")
        return Function(canonical, tuple(objects), self.cuts())

    def object(self) -> Object:
        self.skip()
        start, match = self.at, self.take(_OBJECT)
        if not match:
            self.refuse(self._no_object())
        if match[2] not in (None, ".ge.", ".eq."):
            self.at = start
            self.refuse(f"comparison {match[2]!r}: expected .ge. or .eq.")
        return Object(match[1], match[3], match[2] == ".eq.", self.crossing(), self.cuts())

    def _no_object(self) -> str:
        name = _NAME.match(self.text, self.at)
        if not name:
            return "expected an object"
        letters = max((prefix for prefix in OBJECTS if name[0].startswith(prefix)), key=len, default="")
        if letters:
            return f"{name[0]!r}: expected a threshold after {letters}, as in {letters}10 or {letters}3p5"
        names = {*OBJECTS, *SIGNALS, *SCORES}
        return f"unknown object {name[0]!r}{nearest(name[0].rstrip('0123456789p'), names)}"

    def crossing(self) -> int:
        match = self.take(_CROSSING)
        offset = int(match[0]) if match else 0
        if abs(offset) > MAX_CROSSING:
            self.refuse(f"crossing {match and match[0]}: expected −{MAX_CROSSING} … +{MAX_CROSSING}")
        return offset

    def cuts(self) -> tuple[str, ...]:
        """Read the names in square brackets, if there are any."""
        names: list[str] = []
        if not self.sign("["):
            return ()
        while not names or self.sign(","):
            match = self.take(_CUT)
            if not match:
                self.refuse("expected the name of a cut")
            names.append(match[0])
        self.expect("]")
        return tuple(names)
