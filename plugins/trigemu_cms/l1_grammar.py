"""Parser of the expressions of CMS Level-1 algorithms.

    MU3p5[MU-QLTY_SNGL,MU-ETA_2p10] AND (NOT EXT_BPTX_plus_OR_minus.v0-1)
    dist{JET32,MU0[MU-QLTY_DBLE]}[DPHI_MAX_0p4] OR comb{JET84-1,JET68-1}

Operators in order of decreasing precedence: NOT, AND, XOR, OR. The digits after an object are its threshold
(p is the decimal point), followed by the crossing, earlier (−) or later (+) than the decided one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from trigemu.base.errors import TrigemuError, nearest

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
#: The deepest nesting; each level takes up to five of the 1000 calls that Python nests.
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

_OPERATIONS = ("OR", "XOR", "AND")
_WORD = r"[A-Za-z_][\w.]*"
_CUTS = r"\s*(?:\[([^]]*)\])?"
#: A function of objects, with its cuts.
_FUNCTION = re.compile(rf"({_WORD})\s*\{{([^}}]*)\}}{_CUTS}", re.ASCII)
#: A name with a crossing and cuts: an object, a signal, or an operation.
_NAME = re.compile(rf"({_WORD})([+-]\d{{1,9}}(?!\d))?{_CUTS}", re.ASCII)
_OBJECT = re.compile(rf"({'|'.join(OBJECTS)})(\.[a-z]{{2}}\.)?(\d{{1,9}}(?:p\d{{1,9}})?)", re.ASCII)
_CUT = re.compile(r"[A-Za-z0-9_.+-]+")


def parse(text: str) -> Term:
    """Parse an expression. TrigemuError marks the position of a mistake."""
    tokens: list[tuple[int, str | Condition]] = []  # Operations, signs and conditions, with their positions
    place = 0
    while (place := len(text) - len(text[place:].lstrip())) < len(text):
        match = _FUNCTION.match(text, place) or _NAME.match(text, place)
        is_condition = match and match[1] not in ("NOT", *_OPERATIONS)
        word = match[1] if match else text[place]
        if word == "[" and "]" not in text[place:]:
            raise _mistake(text, place, "expected ']' after it")
        tokens.append((place, _condition(match) if match and is_condition else word))
        place = match.end() if match and is_condition else place + len(word)
    tokens = [(len(text), ""), *reversed(tokens)]

    def junction(level: int, operations: tuple[str, ...] = _OPERATIONS) -> Term:
        if not operations:
            return term(level)
        operands = [junction(level, operations[1:])]
        while tokens[-1][1] == operations[0]:
            tokens.pop()
            operands.append(junction(level, operations[1:]))
        return Junction(operations[0], tuple(operands)) if len(operands) > 1 else operands[0]

    def term(level: int) -> Term:
        place, token = tokens[-1]
        if not isinstance(token, str):
            tokens.pop()
            return token
        if token not in ("NOT", "("):
            raise _mistake(text, place, "expected an object, a function, an external signal, NOT or (")
        if level == MAX_LEVELS:
            raise _mistake(text, place, f"nests more than {MAX_LEVELS} levels of NOT and parentheses")
        tokens.pop()
        if token == "NOT":
            return Junction("NOT", (term(level + 1),))
        inner = junction(level + 1)
        if tokens[-1][1] != ")":
            raise _mistake(text, tokens[-1][0], "expected ')'")
        tokens.pop()
        return inner

    result = junction(0)
    if tokens[-1][1]:
        raise _mistake(text, tokens[-1][0], "expected AND, OR, XOR or the end")
    return result


def _mistake(text: str, place: int, reason: str) -> TrigemuError:
    context = f"{text[max(0, place - 60) : place]} ⟨here⟩ {text[place : place + 60]}".strip()
    return TrigemuError(f"column {place + 1}: {reason}: {context}")


def _condition(match: re.Match[str]) -> Condition:
    """Convert a match of _FUNCTION or _NAME."""
    text, name = match.string, match[1]
    if match.re is _NAME:
        if name.startswith("EXT_"):
            if match[3] is not None:
                raise _mistake(text, match.start(3) - 1, "an external signal has no cuts")
            return ExternalSignal(name.removeprefix("EXT_"), _crossing(match))
        if name in SIGNALS or name in SCORES:
            return Signal(name, _crossing(match), _cuts(match))
        return _object(match)
    function = _ALIASES.get(name, name)
    if function not in FUNCTIONS:
        raise _mistake(text, match.start(), f"unknown function {name!r}{nearest(name, FUNCTIONS)}")
    objects, place = list[Object](), match.start(2)
    for part in re.split(r",(?![^[]*\])", match[2]):
        start = place + len(part) - len(part.lstrip())
        object_ = _NAME.match(text, start, place + len(part))
        if not object_:
            raise _mistake(text, start, "expected an object")
        objects.append(_object(object_))
        if rest := part[object_.end() - place :].strip():
            raise _mistake(text, text.index(rest, object_.end()), "expected ',' or '}'")
        place += len(part) + 1
    return Function(function, tuple(objects), _cuts(match))


def _object(match: re.Match[str]) -> Object:
    text, place, name = match.string, match.start(), match[1]
    if object_ := _OBJECT.fullmatch(name):
        if object_[2] not in (None, ".ge.", ".eq."):
            raise _mistake(text, place, f"comparison {object_[2]!r}: expected .ge. or .eq.")
        return Object(object_[1], object_[3], object_[2] == ".eq.", _crossing(match), _cuts(match))
    letters = max((prefix for prefix in OBJECTS if name.startswith(prefix)), key=len, default="")
    if letters:
        example = f"expected a threshold after {letters}, as in {letters}10 or {letters}3p5"
        raise _mistake(text, place, f"{name!r}: {example}")
    if name in FUNCTIONS:
        raise _mistake(text, place, f"expected objects in {{}} after the function {name!r}")
    hint = nearest(name.rstrip("0123456789p"), {*OBJECTS, *SIGNALS, *SCORES})
    raise _mistake(text, place, f"unknown object {name!r}{hint}")


def _crossing(match: re.Match[str]) -> int:
    if abs(crossing := int(match[2] or 0)) > MAX_CROSSING:
        reason = f"crossing {match[2]}: expected −{MAX_CROSSING} … +{MAX_CROSSING}"
        raise _mistake(match.string, match.start(2), reason)
    return crossing


def _cuts(match: re.Match[str]) -> tuple[str, ...]:
    """Return the names in square brackets, if there are any."""
    names = () if match[3] is None else tuple(name.strip() for name in match[3].split(","))
    if not all(map(_CUT.fullmatch, names)):
        raise _mistake(match.string, match.start(3), "expected the name of a cut")
    return names
