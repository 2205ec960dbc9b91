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
    """An object: a key of OBJECTS, its threshold as written (3p5), if exact of that bin only."""

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

#: A function with its brace, a name, a crossing, the cuts in brackets, and any other sign or the end.
_TOKEN = re.compile(
    r"\s*(?:([A-Za-z_][\w.]*)\s*\{|([A-Za-z_][\w.]*)|([+-]\d{1,9}(?!\d))|\[([^]]*)\]|(.|$))", re.ASCII
)
(_FUNCTION, _NAME, _CROSSING, _CUTS, _SIGN) = range(1, 6)
_OBJECT = re.compile(rf"({'|'.join(OBJECTS)})(\.[a-z]{{2}}\.)?(\d{{1,9}}(?:p\d{{1,9}})?)")
_CUT = re.compile(r"[A-Za-z0-9_.+-]+")
_OPERATIONS = ("OR", "XOR", "AND")


def parse(text: str) -> Term:
    """Parse an expression. TrigemuError quotes it and marks the position of a mistake."""
    reader = _Reader(text)
    term = reader.junction(0)
    if reader.word:
        reader.refuse("expected AND, OR, XOR or the end")
    return term


class _Reader:
    """Reads an expression; kind, word and place: of the next token."""

    def __init__(self, text: str) -> None:
        self.text, self.levels = text, 0
        self._tokens = _TOKEN.finditer(text)
        self.kind, self.word, self.place = 0, "", 0
        self.next()

    def next(self) -> str:
        """Return the next token, and go on to the one after it."""
        word, match = self.word, next(self._tokens)
        self.kind = match.lastindex or _SIGN
        self.word, self.place = match[self.kind], match.start(self.kind) - (self.kind == _CUTS)
        return word

    def refuse(self, reason: str) -> NoReturn:
        before, after = self.text[: self.place], self.text[self.place :]
        if len(before) > MAX_EXCERPT:
            before = f"… {before[-MAX_EXCERPT:]}"
        if len(after) > MAX_EXCERPT:
            after = f"{after[:MAX_EXCERPT]} …"
        context = f"{before} ⟨here⟩ {after}".strip()
        raise TrigemuError(f"column {self.place + 1}: {reason}: {context}")

    def take(self, word: str) -> bool:
        """Whether the next token is this one; then go on."""
        present = self.kind in (_NAME, _SIGN) and self.word == word
        if present:
            self.next()
        return present

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            self.refuse(f"expected {sign!r}")

    def junction(self, level: int) -> Term:
        if level == len(_OPERATIONS):
            return self.term()
        operands = [self.junction(level + 1)]
        while self.take(_OPERATIONS[level]):
            operands.append(self.junction(level + 1))
        return Junction(_OPERATIONS[level], tuple(operands)) if len(operands) > 1 else operands[0]

    def term(self) -> Term:
        if self.take("NOT"):
            with self.level():
                return Junction("NOT", (self.term(),))
        if self.take("("):
            with self.level():
                inner = self.junction(0)
            self.expect(")")
            return inner
        if self.kind == _FUNCTION:
            return self.function()
        if self.kind != _NAME:
            self.refuse("expected an object, a function, an external signal, NOT or (")
        if self.word.startswith("EXT_"):
            return ExternalSignal(self.next().removeprefix("EXT_"), self.crossing())
        if self.word in SIGNALS or self.word in SCORES:
            return Signal(self.next(), self.crossing(), self.cuts())
        return self.object()

    @contextmanager
    def level(self) -> Iterator[None]:
        """Refuse an expression that nests too deeply for Python's stack."""
        self.levels += 1
        if self.levels > MAX_LEVELS:
            self.refuse(f"nests more than {MAX_LEVELS} levels of NOT and parentheses")
        yield
        self.levels -= 1

    def function(self) -> Function:
        name = _ALIASES.get(self.word, self.word)
        if name not in FUNCTIONS:
            self.refuse(f"unknown function {self.word!r}{nearest(self.word, FUNCTIONS)}")
        self.next()
        objects = [self.object()]
        while self.take(","):
            objects.append(self.object())
        self.expect("}")
        return Function(name, tuple(objects), self.cuts())

    def object(self) -> Object:
        match = _OBJECT.fullmatch(self.word) if self.kind == _NAME else None
        if not match:
            self.refuse(self._no_object())
        if match[2] not in (None, ".ge.", ".eq."):
            self.refuse(f"comparison {match[2]!r}: expected .ge. or .eq.")
        self.next()
        return Object(match[1], match[3], match[2] == ".eq.", self.crossing(), self.cuts())

    def _no_object(self) -> str:
        name = self.word if self.kind in (_NAME, _FUNCTION) else ""
        if not name:
            return "expected an object"
        letters = max((prefix for prefix in OBJECTS if name.startswith(prefix)), key=len, default="")
        if letters:
            return f"{name!r}: expected a threshold after {letters}, as in {letters}10 or {letters}3p5"
        names = {*OBJECTS, *SIGNALS, *SCORES}
        return f"unknown object {name!r}{nearest(name.rstrip('0123456789p'), names)}"

    def crossing(self) -> int:
        if self.kind != _CROSSING:
            return 0
        if abs(int(self.word)) > MAX_CROSSING:
            self.refuse(f"crossing {self.word}: expected −{MAX_CROSSING} … +{MAX_CROSSING}")
        return int(self.next())

    def cuts(self) -> tuple[str, ...]:
        """Read the names in square brackets, if there are any."""
        if self.word == "[":
            self.refuse("expected ']' after it")
        if self.kind != _CUTS:
            return ()
        names = tuple(name.strip() for name in self.word.split(","))
        if not all(map(_CUT.fullmatch, names)):
            self.refuse("expected the name of a cut")
        self.next()
        return names
