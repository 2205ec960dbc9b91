"""Read and check a menu in TOML, and take menus as arguments of calls: paths or `Menu`s.

All mistakes of a file are reported at once, each with its line, trigger, value and the allowed values.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import msgspec

from trigemu.base.errors import (
    PluginError,
    TrigemuError,
    excerpt,
    few_of,
    nearest,
    own_cause,
    printable,
    quoted,
    wrong_type,
)
from trigemu.base.files import is_folder, is_there
from trigemu.base.plugins import Folders, find, providers, search_path
from trigemu.base.toml import (
    KINDS,
    Document,
    Key,
    Positive,
    TomlTable,
    fields_of,
    load_toml,
    read_table,
    refuse_other_kinds,
)
from trigemu.menus.checks import check_relations, failed, try_compile, unit_mistake
from trigemu.menus.menu import Budget, Menu, PrescaleColumns, Trigger, own_prescale
from trigemu.menus.prescales import condition_mistake, name_mistakes, prescale_mistake
from trigemu.observables.hardware_scales import read_integers
from trigemu.observables.selections import Scope, read_scope
from trigemu.samples.sample import rate_mistakes
from trigemu.triggers.base import BitKind, Kind, Kinds, ScoreKind
from trigemu.triggers.logic import parse_expression

#: The format of the menus that trigemu writes, and the newest that it reads.
FORMAT = 1
#: The tables of a menu, as they are written.
_TABLES = {
    "menu": "[menu]",
    "objects": "[objects.NAME]",
    "sums": "[sums.NAME]",
    "integer": "[integer.NAME]",
    "trigger": "[[trigger]]",
}
#: The keys of a budget.
BUDGETS = ("unique_rate_hz", "total_rate_hz")


class MenuTable(TomlTable, frozen=True):
    """[menu]: settings for all triggers."""

    name: str | None = None  #: The name of the menu; by default that of its file.
    format: Annotated[int, msgspec.Meta(ge=1, le=FORMAT)] = 1  #: The version of the menu format.
    #: The rate of bunch crossings in Hz, from 10⁻¹² to 2⁸⁰.
    crossing_rate_hz: Positive = 40e6
    plugins: tuple[str, ...] = ()  #: The plugins whose kinds the menu uses.
    #: The names of the columns of prescales; `prescales` of each trigger has one value for each.
    prescale_columns: tuple[str, ...] = ()
    #: The column whose prescales are used unless another is chosen. Rates of a menu with columns need one.
    column: str | None = None
    #: The mean number of interactions per crossing of each of the `prescale_columns`, to which samples of
    #: crossings are reweighted; 0: that of the samples.
    column_pileup: tuple[float, ...] = ()
    #: The luminosity in cm⁻² s⁻¹ of each of the `prescale_columns`; 0: that of the samples. Samples of
    #: interactions are scaled to it; samples of crossings are reweighted to the pile-up that they have at it,
    #: unless the column has one in `column_pileup`.
    column_luminosity_cm2s: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()  #: The names of the trigger levels, in the order in which they decide.

    def mistakes(self) -> Iterator[tuple[str, str]]:
        yield from rate_mistakes("crossing_rate_hz", self.crossing_rate_hz)
        yield from (("prescale_columns", mistake) for mistake in name_mistakes(self.prescale_columns))
        if self.column is not None and self.column not in self.prescale_columns:
            known = nearest(self.column, self.prescale_columns) if self.prescale_columns else "; it has none"
            yield "column", f"column = {quoted(self.column)}: not one of the prescale_columns{known}"
        for key in ("column_pileup", "column_luminosity_cm2s"):
            values, n = getattr(self, key), len(self.prescale_columns)
            if values and len(values) != n:
                yield key, f"{key}: {len(values)} for the {n} prescale_columns"
            yield from ((key, f"{key}: {wrong}") for value in values if (wrong := condition_mistake(value)))
        if not all(self.levels) or len(set(self.levels)) < len(self.levels):
            yield "levels", f"levels = {list(self.levels)}: give each level a different name"


class TriggerTable(TomlTable, frozen=True):
    """The keys that every [[trigger]] may have; the others belong to its kind."""

    name: Annotated[str, msgspec.Meta(min_length=1)]  #: The name of the trigger.
    kind: str  #: The kind of the trigger: one of trigemu, or of a plugin of the menu.
    group: str | None = None  #: A group of triggers, which also has rates.
    #: The trigger accepts one of this number of events in which it fires; it need not be an integer. Not used
    #: if it has `prescales`.
    prescale: Annotated[float, msgspec.Meta(ge=1)] = 1.0
    #: One prescale for each of the `prescale_columns` of the menu; 0 or a negative number switches the
    #: trigger off.
    prescales: tuple[float, ...] = ()
    coherent: str | None = None  #: The name of a set of triggers that share one prescale counter.
    #: Whether the trigger is part of the menu. Others may still use the raw decision of a disabled trigger:
    #: before its prescale and, if it has a seed, before the prescales of its seeds.
    enabled: bool = True
    #: An expression over other triggers, such as "L1_G15 or L1_2G10". The trigger receives only events for
    #: which it is true after the prescales of these triggers. If one of them is disabled, its raw decision
    #: counts, without any prescales, also those of its own seeds.
    seed: str | None = None
    level: str | None = None  #: The level of the trigger, one of the `levels` of the menu.
    #: The name of its decision in a sample with stored decisions; by default that of the trigger.
    stored: str | None = None
    #: A unique rate in Hz, which no other trigger accepts: the run finds the threshold with this rate.
    unique_rate_hz: Positive | None = None
    #: A total rate in Hz: the run finds the threshold with this rate.
    total_rate_hz: Positive | None = None
    #: The catalogue with which the threshold was found; `trigemu calibrate` writes it.
    fitted_on: str | None = None
    #: The unit of the score, shown with thresholds in figures and tables: a label, which converts nothing. By
    #: default it follows from the observable: pT, masses, HT and missing momenta are in GeV, and another unit
    #: for them is an error. The units of other columns of a sample are not known.
    unit: Annotated[str, msgspec.Meta(max_length=20)] | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if None not in (self.unique_rate_hz, self.total_rate_hz):
            yield "total_rate_hz", "unique_rate_hz and total_rate_hz: a threshold can meet one of them"
        yield from (("prescales", wrong) for p in self.prescales if (wrong := prescale_mistake(p)))
        try:
            if self.seed is not None:
                parse_expression(self.seed)
        except TrigemuError as error:
            yield "seed", f"seed: {error}"


_COMMON = frozenset(field.encode_name for field in fields_of(TriggerTable))
#: What a trigger has from its table as it is.
_SHARED = ("name", "kind", "group", "coherent", "enabled", "fitted_on", "stored", "level", "unit")


def read_menu(path: Path | str, plugin_path: Folders = None) -> Menu:
    """Read and check a menu.

    Parameters
    ----------
    path : Path or str
        The TOML file.
    plugin_path : path or list of paths, optional
        The folders to search for plugins; by default those of the search path.

    Returns
    -------
    Menu

    Raises
    ------
    TableError
        With all mistakes of the file, including failures of plugins.
    """
    if not isinstance(path, str | os.PathLike):
        raise wrong_type("the menu", path, "the path of a TOML file")
    document = load_toml(Path(path))
    refuse_other_kinds(document, "trigger")
    table = document.data.get("menu", {})
    version = table.get("format") if isinstance(table, dict) else None
    if isinstance(version, int) and version > FORMAT:  # other mistakes may be valid in the newer format
        newer = f"written for a newer trigemu; this one reads format {FORMAT}: install a newer one"
        document.problem(("menu", "format"), "[menu]", f"format = {quoted(version)}: {newer}")
        document.finish()
    further = providers("tables", None) if document.data.keys() - _TABLES else {}
    known = _TABLES | {key: f"[[{key}]]" for key in further}
    misspelt = [_unknown(document, key, known) for key in document.data if key not in known]
    head = read_table(document, table, MenuTable, ("menu",), "[menu]")
    listed = table.get("plugins") if isinstance(table, dict) else None  # of a [menu] with mistakes as well
    folders = search_path(plugin_path)
    kinds = Kinds(folders)
    for i, plugin_name in enumerate(listed if isinstance(listed, list) else ()):
        try:
            if isinstance(plugin_name, str):
                kinds.add(find(plugin_name, folders))
        except PluginError as error:
            kinds.failed.add(plugin_name)
            document.problem(("menu", "plugins", i), "[menu]", str(error), error)
    scope = read_scope(document)

    def base_of(name: str) -> str:
        if not scope.has_object(name):  # a scale with a wrong name would have no effect
            raise TrigemuError(f"unknown object {name!r}{nearest(name, dict(scope.objects))}")
        return scope.object(name).base

    scope = replace(scope, integers=read_integers(document, base_of))
    used = head or MenuTable()
    by_name: dict[str, Trigger | None] = {}
    if "trigger" in document.data or "trigger" not in misspelt:  # which is reported
        by_name = _triggers(document, kinds, scope, used.crossing_rate_hz)
    triggers = tuple(trigger for trigger in by_name.values() if trigger)
    levels = head.levels if head else None
    order = check_relations(document, triggers, set(by_name), len(used.prescale_columns), levels)
    plugins = {key: plugin.found() for key, plugin in further.items() if document.data.get(key)}
    tables = [
        read_table(document, {key: document.data[key]}, plugin.part("tables", key), (), "")
        for key, plugin in plugins.items()
    ]
    menu = Menu(
        name=used.name or printable(Path(path).stem),
        crossing_rate_hz=used.crossing_rate_hz,
        plugins=tuple(dict.fromkeys((*kinds.used.values(), *plugins.values()))),
        scope=scope,
        triggers=triggers,
        order=order,
        path=Path(path),
        sha256=document.sha256,
        columns=PrescaleColumns(
            used.prescale_columns,
            default=used.column,
            pileup=used.column_pileup,
            luminosity_cm2s=used.column_luminosity_cm2s,
        ),
        levels=used.levels,
        tables=tuple(filter(None, tables)),
    )
    for further_table in menu.tables:
        further_table.check(document, menu)
    document.finish()
    return menu


def _unknown(document: Document, key: str, known: Mapping[str, str]) -> str | None:
    """Report a table that menus do not have; return the one that it is a misspelling of, if any."""
    value, name = document.data[key], excerpt(key)
    is_array = isinstance(value, list) and all(isinstance(table, dict) for table in value)
    written = f"table [{name}]" if isinstance(value, dict) else f"key {name!r}"
    written = f"table [[{name}]]" if is_array else written
    meant = next(iter(get_close_matches(name.lower(), known, 1)), None)
    other = next((text for kind, text in KINDS.items() if key in (kind, f"{kind}s") and not meant), None)
    hint = f"; did you mean {known[meant]}?" if meant else ""
    hint = f"; {other[0]} is a file of its own: {other[1]}" if other else hint
    document.problem((key,), "", f"unknown {written}{hint} (a menu has {', '.join(known.values())})")
    return meant


def _triggers(document: Document, kinds: Kinds, scope: Scope, rate: float) -> dict[str, Trigger | None]:
    """Return the triggers by name, None for those that cannot be read."""
    tables = document.data.get("trigger", [])
    if not isinstance(tables, list) or not tables:
        message = "a menu needs at least one [[trigger]]"
        if isinstance(tables, dict):
            message = "expected [[trigger]] in two brackets, a table for each trigger with its name"
            message = f"[trigger]: {message}"
        document.problem(("trigger",), "", message)
        return {}
    triggers: dict[str, Trigger | None] = {}
    lines: dict[str, int] = {}
    for i, table in enumerate(tables):
        if not isinstance(table, dict):
            document.problem(("trigger", i), "", "expected a table [[trigger]]")
            continue
        name = table.get("name")
        where = f"trigger {table.get('name', f'number {i + 1}')!r}"
        trigger = _trigger(document, table, ("trigger", i), where, kinds, scope, rate)
        if isinstance(name, str) and name in lines:
            message = f"name = {name!r}: another trigger has this name (line {lines[name]})"
            document.problem(("trigger", i, "name"), where, message)
        elif isinstance(name, str):
            lines[name] = document.lines.get(("trigger", i), 1)
            triggers[name] = trigger
    return triggers


def _trigger(
    document: Document, table: dict[str, Any], key: Key, where: str, kinds: Kinds, scope: Scope, rate: float
) -> Trigger | None:
    def wrong(name: str, message: str, cause: Exception | None = None) -> None:
        document.problem((*key, name), where, message, cause)

    kind, struct = table.get("kind"), None
    try:
        if isinstance(kind, str) and kind in kinds:
            struct = kinds[kind]
        elif isinstance(kind, str) and (message := kinds.unknown(kind)):
            wrong("kind", message)
    except PluginError as error:
        wrong("kind", str(error), error)
    own = {name: value for name, value in table.items() if name not in _COMMON}
    common = {name: value for name, value in table.items() if name in _COMMON}
    if "kind" not in table:
        wrong("kind", f"the key 'kind' is missing{nearest('', kinds)}")
        common["kind"] = ""
    head = read_table(document, common, TriggerTable, key, where)
    if struct is None:
        return None
    try:
        read = description = read_table(document, own, struct, key, where, also=_COMMON)
        if read is None:  # without its unknown keys, it may have other mistakes
            names = {field.encode_name for field in fields_of(struct)}
            own = {name: value for name, value in own.items() if name in names}
            description = read_table(replace(document, problems=[]), own, struct, key, where)
        if description is None:
            return None
        factor = own_prescale(description, rate)
        if isinstance(description, BitKind):
            description.inputs()
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        failed(document, "read", error, key, where)
        return None
    if not factor >= 1:
        wrong("rate_hz", f"its rate is above the crossing rate of {rate:g} Hz")
    budgets = [name for name in BUDGETS if name in table]
    if read is None:
        pass
    elif not isinstance(description, ScoreKind):
        for name in (*budgets, *({"unit"} & table.keys())):
            wrong(name, f"{name}: the kind {kind!r} has no threshold")
    elif description.above is None and not budgets:
        wrong("kind", f"the key 'above' is missing, or a rate to find it from: {' or '.join(BUDGETS)}")
    elif description.above is not None and budgets:
        wrong("above", f"above and {budgets[0]}: give the threshold or the rate to find it from, not both")
    if head and head.unit and (message := unit_mistake(description, head.unit, scope)):
        wrong("unit", message)
    if isinstance(description, Kind):
        try_compile(document, description, scope, own, key, where)
    if head is None or read is None:
        return None
    budget = Budget("unique", head.unique_rate_hz) if head.unique_rate_hz else None
    return Trigger(
        **{name: getattr(head, name) for name in _SHARED},
        description=description,
        prescale=head.prescale * factor,
        seed=parse_expression(head.seed) if head.seed is not None else None,
        budget=Budget("total", head.total_rate_hz) if head.total_rate_hz else budget,
        place=f"{document.path}:{document.lines.get(key, 1)}",
        prescales=tuple(prescale * factor for prescale in head.prescales),
    )


#: A menu, or the path of one.
MenuLike = Menu | str | os.PathLike[str]
#: One menu or several.
MenusLike = MenuLike | Iterable[MenuLike]
EXPECTED = "the path of a menu (TOML), or a Menu"
#: Type of another argument → what to give in its place.
_ADVICE = {
    **dict.fromkeys(("Catalogue", "Events", "Array"), "the menu comes first, then the samples"),
    **dict.fromkeys(("list", "tuple"), "emulate and compare accept several"),
    "MenuRates": "its menu is .menu",
    "Emulation": "its menus are .menus",
    "dict": "write it to a file first",
}
#: Files that a message names.
_NAMED = 10


def menu_of(menu: MenuLike, expected: str = EXPECTED, what: str = "the menu") -> Menu:
    """Return a menu; read it if the argument is its path. expected, what: for the message on any other."""
    if isinstance(menu, Menu):
        return menu
    if not isinstance(menu, str | os.PathLike):
        raise wrong_type(what, menu, expected, _ADVICE.get(type(menu).__name__, ""))
    path = Path(menu)
    text = str(path)
    if is_folder(path):
        inside = few_of(sorted(file.name for file in path.glob("*.toml")), _NAMED)
        raise TrigemuError(f"{text} is a folder: give the path of one menu{inside and f' in it ({inside})'}")
    if not is_there(path) and "\n" in text:
        first = text.strip().partition("\n")[0]
        raise TrigemuError(f"{excerpt(first)!r} … is not a path: write the menu to a file first")
    if not is_there(path):
        where = "" if path.is_absolute() else f" in the current folder, {Path.cwd()}"
        raise TrigemuError(f"there is no menu {text}{where}")
    return read_menu(path)


def menus_of(menus: MenusLike) -> tuple[Menu, ...]:
    """Return one or several menus as a tuple."""
    if isinstance(menus, list | tuple | Iterator):
        return tuple(map(menu_of, menus))
    return (menu_of(menus, f"{EXPECTED}, or a list of these", "the menus"),)  # type: ignore[arg-type]
