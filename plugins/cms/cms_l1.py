"""Conversion of a CMS Level-1 menu in XML into a menu in TOML with the same decisions.

An algorithm of one condition becomes a trigger of the kind `combination` or `external`. An algorithm of
several conditions becomes `logic` over triggers with `enabled = false`, which algorithms share.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trigemu.api import FORMAT, STANDARD, Menu, TrigemuError, toml_text

from .cms_l1_conditions import AsEmulated, InexpressibleError, Made, condition_table
from .cms_l1_grammar import (
    NOT_IN_VECTORS,
    OBJECTS,
    Condition,
    ExternalSignal,
    Function,
    Junction,
    Object,
    Signal,
    Term,
    parse,
)
from .cms_l1_objects import never_fires
from .cms_l1_scales import Needed, integer_tables, other_scales, precision
from .cms_l1_xml import Algorithm, Mistakes, XMLMenu, read_xml
from .written import read_back

#: The latest version of the grammar that this importer was written for.
NEWEST_GRAMMAR = (0, 13)
#: The longest expression in place of XOR, which TOML menus do not have.
MAX_EXCLUSIVE = 10_000


@dataclass(frozen=True)
class LeftOut:
    """An algorithm that cannot be emulated, and why."""

    name: str
    index: int
    line: int
    reason: str


@dataclass(frozen=True)
class Imported:
    """The result of an import. toml: the text of the menu; menu: what it was read back as. algorithms: the
    number of algorithms in it. conditions: the number of conditions of which algorithms with several are
    made."""

    toml: str
    menu: Menu
    algorithms: int
    conditions: int
    left_out: tuple[LeftOut, ...]
    warnings: tuple[str, ...]


def import_cms_l1(path: Path, as_emulated: AsEmulated | None = None) -> Imported:
    """Read and convert a menu. TableError with all its mistakes, each with its line; TrigemuError if no
    algorithm can be emulated. as_emulated: by default, nothing is done otherwise than the menu says."""
    menu = read_xml(path)
    mistakes = Mistakes(path)
    assembly = _Assembly(menu, mistakes, as_emulated or AsEmulated())
    for algorithm in menu.algorithms:
        assembly.add(algorithm)
    mistakes.finish()
    if not assembly.algorithms:
        raise TrigemuError(f"{path}: none of its {len(menu.algorithms)} algorithms can be emulated")
    text = "\n".join(assembly.text())
    return Imported(
        text,
        read_back(text, path),
        len(assembly.algorithms),
        len(assembly.conditions),
        tuple(assembly.left_out),
        (*_warnings(menu), *other_scales(menu, assembly.types()), *assembly.warnings()),
    )


def _warnings(menu: XMLMenu) -> Iterator[str]:
    version = tuple(int(part) for part in re.findall(r"\d+", menu.grammar))
    if version > NEWEST_GRAMMAR:
        newest = ".".join(map(str, NEWEST_GRAMMAR))
        yield f"{menu.path} has the grammar {menu.grammar}; the newest known one is {newest}"


@dataclass
class _Assembly:
    """The converted algorithms. conditions: names and tables of conditions, by the content of the table."""

    menu: XMLMenu
    mistakes: Mistakes
    as_emulated: AsEmulated
    algorithms: list[tuple[Algorithm, Made]] = field(default_factory=list)
    conditions: dict[str, tuple[str, Made]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)

    def add(self, algorithm: Algorithm) -> None:
        where = f"algorithm {algorithm.name!r} (index {algorithm.index})"
        try:
            if made := self.mistakes.attempt(lambda: self._made(algorithm), algorithm.line, where):
                self.algorithms.append((algorithm, made))
        except InexpressibleError as reason:
            self.left_out.append(LeftOut(algorithm.name, algorithm.index, algorithm.line, str(reason)))

    def _made(self, algorithm: Algorithm) -> Made:
        term = parse(algorithm.expression)
        if not isinstance(term, Junction):
            return self._converted(algorithm, term)
        parts = {part: self._converted(algorithm, part) for part in _conditions(term)}
        names = {part: self._named(part, made) for part, made in parts.items()}
        joint = "\n" if len(parts) > 3 else " "
        return Made({"kind": "logic", "expression": _logic(term, names, joint)})

    def _converted(self, algorithm: Algorithm, condition: Condition) -> Made:
        made = condition_table(self.menu, algorithm, condition, self.as_emulated)
        for first, second, kinds in made.pairs:
            for kind in kinds:
                precision(self.menu, first, second, kind)
        return made

    def _named(self, condition: Condition, made: Made) -> str:
        """Return the name of the trigger with this table, a new one or one of another algorithm."""
        key = repr(made.table)
        if key not in self.conditions:
            taken = {name for name, _ in self.conditions.values()} | {a.name for a in self.menu.algorithms}
            name = unique = _name(condition)
            number = 1
            while unique in taken:
                number += 1
                unique = f"{name}_{number}"
            self.conditions[key] = (unique, made)
        return self.conditions[key][0]

    def warnings(self) -> Iterator[str]:
        """Yield what the conditions of the converted algorithms need or never do."""
        placeholders: dict[str, list[str]] = {}
        for algorithm, _ in self.algorithms:
            for condition in _conditions(parse(algorithm.expression)):
                for asked in _objects_in(condition):
                    if never_fires(self.menu, asked):
                        yield (
                            f"algorithm {algorithm.name!r} (line {algorithm.line}): {asked.type}"
                            f"{asked.threshold} is the end of its scale, and never fires"
                        )
                names = [asked.type for asked in _objects_in(condition)]
                for name in [*names, *([condition.name] if isinstance(condition, Signal) else [])]:
                    if name in NOT_IN_VECTORS:
                        placeholders.setdefault(name, []).append(algorithm.name)
        for name, of in placeholders.items():
            yield (
                f"{name} ({_first(of)}) is not in test vectors: give the sample what these triggers read, or "
                f"write triggers in their place"
            )

    def text(self) -> Iterator[str]:
        menu = self.menu
        title = f"From {menu.path.name} (sha256 {menu.sha256[:16]}…), grammar {menu.grammar or 'unknown'}."
        yield toml_text.comment(f"{title} {menu.comment}".strip())
        yield toml_text.table("[menu]", {"name": menu.name, "format": FORMAT})
        if own := sorted(self._objects() - set(STANDARD)):
            yield toml_text.table("[objects]", {name: {"from": name} for name in own})
        yield from self._integers()
        for algorithm, made in self.algorithms:
            comment = toml_text.comment(f"{algorithm.index}: {algorithm.expression}")
            yield comment + self._trigger({"name": algorithm.name, "stored": str(algorithm.index)}, made)
        if self.conditions:
            yield toml_text.comment("Conditions that algorithms consist of; they are not items of the menu.")
        for name, made in self.conditions.values():
            yield self._trigger({"name": name, "enabled": False}, made)
        for out in self.left_out:
            yield toml_text.comment(
                f"Left out: {out.index}, {out.name} (line {out.line} of the XML): {out.reason}."
            )

    @staticmethod
    def _trigger(head: dict[str, Any], made: Made) -> str:
        return (toml_text.comment(made.note) if made.note else "") + toml_text.table(
            "[[trigger]]", {**head, **made.table}
        )

    def _all(self) -> Iterator[Made]:
        yield from (made for _, made in self.algorithms)
        yield from (made for _, made in self.conditions.values())

    def types(self) -> set[str]:
        """Return the types of the objects that the algorithms use, as named in the XML."""
        return {kind for kind, name in OBJECTS.items() if name in self._objects()}

    def _objects(self) -> set[str]:
        return {leg["object"] for made in self._all() for leg in made.table.get("legs", ())}

    def _integers(self) -> Iterator[str]:
        needed: list[Needed] = [pair for made in self._all() for pair in made.pairs]
        tables = integer_tables(self.menu, needed)
        if tables:
            comment = toml_text.comment(
                "The integer arithmetic of pairs: scales, decimal digits of look-up tables."
            )
            yield comment + "".join(
                toml_text.table(f"[integer.{name}]", table) for name, table in tables.items()
            )


def _conditions(term: Term) -> Iterator[Condition]:
    if isinstance(term, Junction):
        for operand in term.operands:
            yield from _conditions(operand)
    else:
        yield term


def _objects_in(condition: Condition) -> tuple[Object, ...]:
    if isinstance(condition, Object):
        return (condition,)
    return condition.objects if isinstance(condition, Function) else ()


def _first(names: Sequence[str]) -> str:
    several = dict.fromkeys(names)
    more = f" and {len(several) - 1} more" if len(several) > 1 else ""
    return f"{names[0]}{more}"


def _logic(term: Term, names: dict[Condition, str], joint: str = " ") -> str:
    """Return the expression over the names of conditions; its outermost operands are separated by `joint`."""
    if not isinstance(term, Junction):
        return names[term]
    parts = [
        f"({_logic(part, names)})" if isinstance(part, Junction) else names[part] for part in term.operands
    ]
    if term.operation == "NOT":
        return f"not {parts[0]}"
    if term.operation != "XOR":
        return f" {term.operation.lower()}{joint}".join(parts)
    return functools.reduce(_exclusive, parts)[1:-1]


def _exclusive(one: str, other: str) -> str:
    if len(one) > MAX_EXCLUSIVE:  # every further XOR doubles the text
        raise TrigemuError(f"XOR of so many conditions would become more than {MAX_EXCLUSIVE} characters")
    return f"(({one} and not {other}) or (not {one} and {other}))"


# ------------------------------------------------------------------------------------------ names


def _name(condition: Condition) -> str:
    """Return an identifier that describes the condition."""
    if isinstance(condition, ExternalSignal | Signal):
        text = condition.name + _crossing(condition.crossing)
    elif isinstance(condition, Object):
        text = _object_name(condition)
    else:
        text = _function_name(condition)
    identifier = re.sub(r"\W+", "_", text)
    return identifier if identifier[0].isalpha() else f"_{identifier}"


def _function_name(function: Function) -> str:
    """Return the name of a function. Objects that differ only in their thresholds are combined, as in
    JET84_68_48_ETA_CEN."""
    alike: dict[tuple[str, int, tuple[str, ...]], list[str]] = {}
    for o in function.objects:
        alike.setdefault((o.type, o.crossing, o.cuts), []).append(("eq" if o.exact else "") + o.threshold)
    parts = [
        kind + "_".join(thresholds) + _crossing(crossing) + _cuts(kind, cuts)
        for (kind, crossing, cuts), thresholds in alike.items()
    ]
    head = [] if function.name == "comb" else [function.name]
    return "_".join([*head, *parts, *function.cuts])


def _object_name(o: Object) -> str:
    return f"{o.type}{'eq' if o.exact else ''}{o.threshold}{_crossing(o.crossing)}{_cuts(o.type, o.cuts)}"


def _cuts(kind: str, names: tuple[str, ...]) -> str:
    return "".join(f"_{name.removeprefix(f'{kind}-')}" for name in names)


def _crossing(offset: int) -> str:
    """Return the suffix of a crossing: `_bxm1` for one crossing earlier, as in JET20_bxm1."""
    return f"_bx{'m' if offset < 0 else 'p'}{abs(offset)}" if offset else ""
