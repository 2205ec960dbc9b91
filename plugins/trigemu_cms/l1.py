"""Conversion of a CMS Level-1 menu in XML into a menu in TOML."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trigemu.base import toml_text
from trigemu.base.errors import TrigemuError, few_of, listed
from trigemu.menus.read import FORMAT
from trigemu.observables.selections import STANDARD

from .imported import Imported, LeftOut, read_back
from .l1_conditions import AsEmulated, Converted, InexpressibleError, condition_table
from .l1_grammar import (
    NOT_IN_VECTORS,
    OBJECTS,
    Condition,
    Function,
    Junction,
    Object,
    Signal,
    Term,
    parse,
)
from .l1_objects import digits_of, integer_tables, never_fires, scale_warnings
from .l1_xml import Algorithm, XMLMenu, read_xml
from .yaml import noted

#: The latest version of the grammar that this importer was written for.
NEWEST_GRAMMAR = (0, 13)
#: The longest expression in place of XOR, which TOML menus do not have.
MAX_EXCLUSIVE = 10_000


def import_cms_l1(path: Path, as_emulated: AsEmulated | None = None) -> Imported:
    """Read and convert a menu. TableError with all its mistakes, each with its line; TrigemuError if no
    algorithm can be emulated. as_emulated: by default, the conversion follows the menu exactly."""
    menu = read_xml(path)
    assembly = _Assembly(menu, as_emulated or AsEmulated())
    for algorithm in menu.algorithms:
        assembly.add(algorithm)
    menu.document.finish()
    if not assembly.algorithms:
        reasons = [f"{path}:{out.line}: {out.name}: {out.reason}" for out in assembly.left_out]
        none = f"{path}: none of its {len(menu.algorithms)} algorithms can be emulated"
        raise TrigemuError(listed([none, *reasons]))
    text = "\n".join(assembly.text())
    return Imported(
        text,
        read_back(text, path),
        len(assembly.algorithms),
        len(assembly.conditions),
        tuple(assembly.left_out),
        (*_warnings(menu), *scale_warnings(menu, assembly.types()), *assembly.warnings()),
        tuple(network.card for network in assembly.as_emulated.networks),
    )


def _warnings(menu: XMLMenu) -> Iterator[str]:
    version = tuple(int(part) for part in re.findall(r"\d+", menu.grammar))
    if version > NEWEST_GRAMMAR:
        newest = ".".join(map(str, NEWEST_GRAMMAR))
        yield f"{menu.document.path} has the grammar {menu.grammar}; the newest known one is {newest}"


@dataclass
class _Assembly:
    """The converted algorithms. conditions: names and tables of conditions, by the content of the table."""

    menu: XMLMenu
    as_emulated: AsEmulated
    algorithms: list[tuple[Algorithm, Converted]] = field(default_factory=list)
    conditions: dict[str, tuple[str, Converted]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)

    def add(self, algorithm: Algorithm) -> None:
        where = f"algorithm {algorithm.name!r} (index {algorithm.index})"
        try:
            with noted(self.menu.document, (algorithm.line,), where):
                self.algorithms.append((algorithm, self._convert(algorithm)))
        except InexpressibleError as reason:
            self.left_out.append(LeftOut(algorithm.name, algorithm.index, algorithm.line, str(reason)))

    def _convert(self, algorithm: Algorithm) -> Converted:
        term = parse(algorithm.expression)
        if not isinstance(term, Junction):
            return self._convert_condition(algorithm, term)
        parts = {part: self._convert_condition(algorithm, part) for part in _conditions(term)}
        names = {part: self._named(part, converted) for part, converted in parts.items()}
        joint = "\n" if len(parts) > 3 else " "
        return Converted({"kind": "logic", "expression": _logic(term, names, joint)})

    def _convert_condition(self, algorithm: Algorithm, condition: Condition) -> Converted:
        converted = condition_table(self.menu, algorithm, condition, self.as_emulated)
        for _ in digits_of(self.menu, converted.table):  # which have to exist
            pass
        return converted

    def _named(self, condition: Condition, converted: Converted) -> str:
        """Return the name of the trigger with this table, a new one or an existing one."""
        key = repr(converted.table)
        if key not in self.conditions:
            taken = {name for name, _ in self.conditions.values()} | {a.name for a in self.menu.algorithms}
            name = unique = _name(condition)
            number = 1
            while unique in taken:
                number += 1
                unique = f"{name}_{number}"
            self.conditions[key] = (unique, converted)
        return self.conditions[key][0]

    def warnings(self) -> Iterator[str]:
        """Yield warnings about conditions that never pass or read columns that test vectors lack."""
        yield from filter(None, (network.warning() for network in self.as_emulated.networks))
        placeholders: dict[str, list[str]] = {}
        computed = {network.signal for network in self.as_emulated.networks}
        for algorithm, _ in self.algorithms:
            for condition in _conditions(parse(algorithm.expression)):
                for object_ in _objects_in(condition):
                    if never_fires(self.menu, object_):
                        yield (
                            f"algorithm {algorithm.name!r} (line {algorithm.line}): {object_.type}"
                            f"{object_.threshold} is the end of its scale, and never fires"
                        )
                names = [object_.type for object_ in _objects_in(condition)]
                for name in [*names, *([condition.name] if isinstance(condition, Signal) else [])]:
                    if name in NOT_IN_VECTORS and name not in computed:
                        placeholders.setdefault(name, []).append(algorithm.name)
        for name, text in placeholders.items():
            yield (
                f"{name} ({_first(text)}) is not in test vectors: add the columns of these triggers to the "
                f"sample, or replace the triggers"
            )

    def text(self) -> Iterator[str]:
        menu, document = self.menu, self.menu.document
        source = f"From {document.path.name} (sha256 {document.sha256[:16]}…)"
        title = f"{source}, grammar {menu.grammar or 'unknown'}."
        yield toml_text.comment(f"{title} {menu.comment}".strip())
        yield toml_text.table("[menu]", {"name": menu.name, "format": FORMAT})
        if missing := sorted(self._objects() - set(STANDARD)):
            yield toml_text.table("[objects]", {name: {"from": name} for name in missing})
        yield from self._integers()
        for algorithm, converted in self.algorithms:
            comment = toml_text.comment(f"{algorithm.index}: {algorithm.expression}")
            yield comment + self._trigger({"name": algorithm.name, "stored": str(algorithm.index)}, converted)
        if self.conditions:
            yield toml_text.comment("Conditions that algorithms consist of; they are not items of the menu.")
        for name, converted in self.conditions.values():
            yield self._trigger({"name": name, "enabled": False}, converted)
        for out in self.left_out:
            yield toml_text.comment(out.sentence(" of the XML"))

    @staticmethod
    def _trigger(head: dict[str, Any], converted: Converted) -> str:
        return (toml_text.comment(converted.note) if converted.note else "") + toml_text.table(
            "[[trigger]]", {**head, **converted.table}
        )

    def _all(self) -> Iterator[Converted]:
        yield from (converted for _, converted in self.algorithms)
        yield from (converted for _, converted in self.conditions.values())

    def types(self) -> set[str]:
        """Return the types of the objects that the algorithms use, as named in the XML."""
        return {kind for kind, name in OBJECTS.items() if name in self._objects()}

    def _objects(self) -> set[str]:
        return {leg["object"] for converted in self._all() for leg in converted.table.get("legs", ())}

    def _integers(self) -> Iterator[str]:
        tables = integer_tables(self.menu, (converted.table for converted in self._all()))
        if tables:
            yield toml_text.comment(
                "The integer arithmetic of pairs: scales, decimal digits of look-up tables."
            ) + "".join(toml_text.table(f"[integer.{name}]", table) for name, table in tables.items())


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
    return few_of([*dict.fromkeys(names)], 1)


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


def _exclusive(first: str, second: str) -> str:
    if len(first) > MAX_EXCLUSIVE:  # every further XOR doubles the text
        raise TrigemuError(f"XOR of so many conditions would become more than {MAX_EXCLUSIVE} characters")
    return f"(({first} and not {second}) or (not {first} and {second}))"


# ------------------------------------------------------------------------------------------ names


def _name(condition: Condition) -> str:
    """Return an identifier that describes the condition."""
    if isinstance(condition, Signal):
        text = condition.name.removeprefix("EXT_") + _crossing(condition.crossing)
    else:  # objects that differ only in their thresholds are combined, as in JET84_68_48_ETA_CEN
        groups: dict[tuple[str, int, tuple[str, ...]], list[str]] = {}
        for o in _objects_in(condition):
            groups.setdefault((o.type, o.crossing, o.cuts), []).append(
                ("eq" if o.exact else "") + o.threshold
            )
        parts = [
            kind + "_".join(thresholds) + _crossing(crossing) + _cuts(kind, cuts)
            for (kind, crossing, cuts), thresholds in groups.items()
        ]
        if isinstance(condition, Function):
            parts = [*([] if condition.name == "comb" else [condition.name]), *parts, *condition.cuts]
        text = "_".join(parts)
    identifier = re.sub(r"\W+", "_", text)
    return identifier if identifier[0].isalpha() else f"_{identifier}"


def _cuts(kind: str, names: tuple[str, ...]) -> str:
    return "".join(f"_{name.removeprefix(f'{kind}-')}" for name in names)


def _crossing(offset: int) -> str:
    """Return the suffix of a crossing: `_bxm1` for one crossing earlier, as in JET20_bxm1."""
    return f"_bx{'m' if offset < 0 else 'p'}{abs(offset)}" if offset else ""
