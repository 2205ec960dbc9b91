"""Parser of the expressions of CMS Level-1 algorithms.

    MU3p5[MU-QLTY_SNGL,MU-ETA_2p10] AND (NOT EXT_BPTX_plus_OR_minus.v0-1)
    dist{JET32,MU0[MU-QLTY_DBLE]}[DPHI_MAX_0p4] OR comb{JET84-1,JET68-1}

Operators in order of decreasing precedence: NOT, AND, XOR, OR. The digits after an object are its threshold
(p is the decimal point), followed by the crossing, earlier (−) or later (+) than the decided one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from trigemu.base.errors import TrigemuError, excerpt, nearest
from trigemu.observables.language import parse_tree

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
    """A signal of one bit, or a score. name: a key of SIGNALS or SCORES, or an external signal, EXT_…."""

    name: str
    crossing: int
    cuts: tuple[str, ...] = ()


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


Condition = Object | Signal | Function
Term = Condition | Junction

#: Operations, the operators of Python that bind as they do, and the nodes of these.
_OPERATORS = {"NOT": "~", "AND": "&", "XOR": "^", "OR": "|"}
_NODES: dict[type[ast.operator], str] = {ast.BitAnd: "AND", ast.BitXor: "XOR", ast.BitOr: "OR"}
_WORD = r"[A-Za-z_][\w.]*"
_CUTS = r"\s*(?:\[([^]]*)\])?"
#: A function of objects, with its cuts.
_FUNCTION = re.compile(rf"({_WORD})\s*\{{([^}}]*)\}}{_CUTS}", re.ASCII)
#: A name with a crossing and cuts: an object or a signal.
_NAME = re.compile(rf"({_WORD})([+-]\d{{1,9}}(?!\d))?{_CUTS}", re.ASCII)
_TOKEN = re.compile(rf"\b(?:{'|'.join(_OPERATORS)})\b|{_FUNCTION.pattern}|{_NAME.pattern}|[^\s()]", re.ASCII)
_OBJECT = re.compile(rf"({'|'.join(OBJECTS)})(\.[a-z]{{2}}\.)?(\d{{1,9}}(?:p\d{{1,9}})?)", re.ASCII)
_CUT = re.compile(r"[A-Za-z0-9_.+-]+")


def parse(text: str) -> Term:
    """Parse an expression. TrigemuError marks the position of a mistake."""
    conditions: dict[str, Condition] = {}

    def of_python(token: re.Match[str]) -> str:
        """Return an operator, or a name for a condition, as long as the token."""
        word, place = token[0], token.start()
        if word in _OPERATORS:
            return _OPERATORS[word].ljust(len(word))
        match = _FUNCTION.match(text, place) or _NAME.match(text, place)
        if not match:
            reason = "expected an object, a function, an external signal, NOT or ("
            raise _mistake(text, place, "expected ']' after it" if word == "[" else reason)
        name = f"_{len(conditions)}"
        conditions[name] = _condition(match)
        return name.ljust(len(word))

    plain = _TOKEN.sub(of_python, text)
    try:
        return _term(parse_tree(plain), conditions)
    except TrigemuError as error:
        raise TrigemuError(
            f"{error}: expected conditions with AND, OR, XOR, NOT and ( ): {excerpt(text)}"
        ) from None


def _term(node: ast.expr, conditions: Mapping[str, Condition]) -> Term:
    match node:
        case ast.Name(id=name):
            return conditions[name]
        case ast.UnaryOp(operand=operand):
            return Junction("NOT", (_term(operand, conditions),))
        case ast.BinOp(left=left, op=op, right=right):
            first, last, operation = _term(left, conditions), _term(right, conditions), _NODES[type(op)]
            in_brackets = (left.lineno, left.col_offset) != (node.lineno, node.col_offset)
            if isinstance(first, Junction) and first.operation == operation and not in_brackets:
                return Junction(operation, (*first.operands, last))
            return Junction(operation, (first, last))
    raise TrigemuError(f"cannot be read at column {node.col_offset + 1}")


def _mistake(text: str, place: int, reason: str) -> TrigemuError:
    context = f"{text[max(0, place - 60) : place]} ⟨here⟩ {text[place : place + 60]}".strip()
    return TrigemuError(f"column {place + 1}: {reason}: {context}")


def _condition(match: re.Match[str]) -> Condition:
    """Convert a match of _FUNCTION or _NAME."""
    text, name = match.string, match[1]
    if match.re is _NAME:
        external = name.startswith("EXT_")
        if external and match[3] is not None:
            raise _mistake(text, match.start(3) - 1, "an external signal has no cuts")
        if external or name in SIGNALS or name in SCORES:
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
