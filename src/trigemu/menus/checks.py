"""Check how the triggers of a menu depend on each other, and compile each on trial: all mistakes at once,
each at the key that causes it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from trigemu.base.errors import TrigemuError, chain, excerpt, nearest, own_cause
from trigemu.base.plugins import reason_of
from trigemu.base.toml import Document, Key, TableError, dotted, read_table
from trigemu.menus.menu import Trigger
from trigemu.observables.expressions import Condition, Constant, Number, Relation
from trigemu.observables.language import MAX_LEVELS
from trigemu.observables.selections import Scope
from trigemu.triggers.base import BitKind, Compiled, Context, Kind


def check_columns(document: Document, triggers: Iterable[Trigger], names: Sequence[str]) -> None:
    """Check that each trigger with prescales has one for every column."""
    for trigger in triggers:
        if trigger.prescales and len(trigger.prescales) != len(names):
            message = f"prescales: {len(trigger.prescales)} for the {len(names)} prescale_columns of [menu]"
            key = ("trigger", _number(document, trigger.name), "prescales")
            document.problem(key, f"trigger {trigger.name!r}", message)


def check_inputs(document: Document, triggers: Iterable[Trigger], names: set[str]) -> None:
    """Check the names in logic and seeds, except those of triggers that could not be read."""
    budgets = {trigger.name: trigger.budget for trigger in triggers if trigger.budget}
    for trigger in triggers:
        for key, name in _read(trigger):
            if name in budgets:
                document.problem(
                    ("trigger", _number(document, trigger.name), key),
                    f"trigger {trigger.name!r}",
                    f"{key}: {name!r} has {budgets[name].key}, and other triggers cannot read the decisions "
                    f"of a trigger whose threshold is found from a rate; give it above",
                )
            if name not in names:
                document.problem(
                    ("trigger", _number(document, trigger.name), key),
                    f"trigger {trigger.name!r}",
                    f"{key}: unknown trigger {excerpt(name)!r}{nearest(name, names - {trigger.name})}",
                )


def _read(trigger: Trigger) -> Iterator[tuple[str, str]]:
    """Yield (key, name) for each trigger whose decision a trigger reads."""
    inputs = trigger.description.inputs() if isinstance(trigger.description, BitKind) else ()
    yield from (("expression", name) for name in dict.fromkeys(inputs))
    yield from (("seed", name) for name in (trigger.seed.names() if trigger.seed else ()))


def order_of(document: Document, triggers: Sequence[Trigger]) -> tuple[str, ...]:
    """Return the names of the triggers, each after those whose decisions it reads."""
    by_name = {trigger.name: trigger for trigger in triggers}
    order: dict[str, None] = {}
    for trigger in triggers:
        open_: dict[str, Iterator[str]] = {}  # the path to a trigger, with the remaining inputs of each
        following: str | None = trigger.name
        while following is not None or open_:
            if following in open_:
                path = [*open_]
                _cycle(document, [*path[path.index(following) :], following])
                order[following] = None
            elif following is not None and following not in order and following in by_name:
                open_[following] = iter(by_name[following].inputs())
            last = next(reversed(open_), None)
            following = next(open_[last], None) if last is not None else None
            if last is not None and following is None:
                del open_[last]
                order[last] = None
    return tuple(order)


def _cycle(document: Document, names: Sequence[str]) -> None:
    message = f"depends on itself: {chain(names)}"
    document.problem(("trigger", _number(document, names[0])), f"trigger {names[0]!r}", message)


def check_depth(document: Document, triggers: Sequence[Trigger], order: Sequence[str]) -> None:
    """Check that no trigger reads others through too many levels of logic and seeds. order: the names of the
    triggers, each after those that it reads."""
    by_name = {trigger.name: trigger for trigger in triggers}
    depth: dict[str, int] = {}
    for name in order:
        trigger = by_name[name]
        below = max((depth.get(other, 0) for other in trigger.inputs()), default=0)
        depth[name] = below + trigger.depth
        if depth[name] > MAX_LEVELS >= below:
            message = (
                f"it reads others through {depth[name]} levels, including those within expressions: at most "
                f"{MAX_LEVELS} are allowed"
            )
            document.problem(("trigger", _number(document, name)), f"trigger {name!r}", message)


def check_levels(document: Document, triggers: Sequence[Trigger], levels: Sequence[str]) -> None:
    """Check that each trigger belongs to a level and has no seeds of a later one, that each group is within
    one level, and that the last level has an enabled trigger."""
    position = {level: number for number, level in enumerate(levels)}
    of_group: dict[str, Trigger] = {}
    by_name = {trigger.name: trigger for trigger in triggers}
    for trigger in triggers:
        if message := _level_mistake(trigger, levels):
            _problem(document, trigger, "level", message)
            continue
        for name in trigger.seed.names() if trigger.seed else ():
            seed = by_name.get(name)
            if seed and levels and position.get(seed.level or "", 0) > position[trigger.level or ""]:
                message = f"seed: {name!r} is of level {seed.level!r}, which follows {trigger.level!r}"
                _problem(document, trigger, "seed", message)
        if trigger.group:
            first = of_group.setdefault(trigger.group, trigger)
            if first.level != trigger.level:
                message = (
                    f"group = {trigger.group!r}: {first.name!r} of this group is of level {first.level!r}, "
                    f"this one of {trigger.level!r}; give the groups of each level different names"
                )
                _problem(document, trigger, "group", message)
    if levels and triggers and not any(t.enabled and t.level == levels[-1] for t in triggers):
        message = f"no enabled trigger is of the last level, {levels[-1]!r}, which gives the rate of the menu"
        document.problem(("menu", "levels"), "[menu]", message)


def _level_mistake(trigger: Trigger, levels: Sequence[str]) -> str | None:
    if not levels:
        return f"level = {trigger.level!r}, but [menu] has no levels" if trigger.level else None
    if trigger.level is None:
        return f"the key 'level' is missing: one of {', '.join(levels)}"
    if trigger.level not in levels:
        return f"level = {trigger.level!r}: unknown level{nearest(trigger.level, levels)}"
    return None


def check_counters(document: Document, triggers: Sequence[Trigger]) -> None:
    """Check that no trigger shares its prescale counter with one of its seeds."""
    by_name = {trigger.name: trigger for trigger in triggers}
    for trigger in triggers:
        if not trigger.coherent:
            continue
        waiting, seen = [trigger], set[str]()
        while waiting:
            seed = waiting.pop().seed
            for name in seed.names() if seed else ():
                if name in seen or name not in by_name:
                    continue
                seen.add(name)
                waiting.append(by_name[name])
                if by_name[name].coherent == trigger.coherent:
                    message = f"coherent = {trigger.coherent!r}: its seed {name!r} is in the same set"
                    _problem(document, trigger, "coherent", message)


def _problem(document: Document, trigger: Trigger, key: str, message: str) -> None:
    document.problem(("trigger", _number(document, trigger.name), key), f"trigger {trigger.name!r}", message)


def _number(document: Document, name: str) -> int:
    """Return the position in the file of the first trigger with a name."""
    tables = document.data["trigger"]
    return next(i for i, table in enumerate(tables) if isinstance(table, dict) and table.get("name") == name)


class _Checking(Context):
    """A context that records mistakes and continues, to report all mistakes of a trigger at once."""

    def __init__(self, scope: Scope, folder: Path) -> None:
        super().__init__(scope, folder)
        self.mistakes: list[tuple[str, str]] = []

    def observable(self, text: str, above: float | None = None) -> Number:
        try:
            return super().observable(text, above)
        except TrigemuError as error:
            self.mistakes.append((text, str(error)))
            return Constant(0.0)

    def condition(self, text: str) -> Condition:
        try:
            return super().condition(text)
        except TrigemuError as error:
            self.mistakes.append((text, str(error)))
            return Relation(">", Constant(0.0), Constant(0.0))


def try_compile(
    document: Document, description: Kind, scope: Scope, table: dict[str, Any], key: Key, where: str
) -> None:
    """Compile a description, and report its mistakes at the keys that cause them."""
    context = _Checking(scope, document.path.parent)
    try:
        compiled = description.compile(context)
        if not isinstance(compiled, Compiled):
            kind = type(compiled).__name__
            raise TypeError(f"expected an object with threshold and evaluate (a Compiled), not {kind}")
        if isinstance(compiled, Hashable):
            hash(compiled)
    except TableError as error:  # of a file that the trigger names
        files = ((at, document.path.parent / text) for at, text in _texts(table, ()))
        at = next((at for at, file in files if str(file) == error.problems[0].file), ())
        document.problem((*key, *at), where, str(error))
    except TrigemuError as error:
        context.mistakes.append(("", str(error)))
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        if not context.mistakes:
            failed(document, "compile", error, key, where)
    texts = dict(_texts(table, ()))
    reported: set[Key] = set()
    for text, message in context.mistakes:
        meant = [at for at, value in texts.items() if value == text]
        meant += [at for at, value in texts.items() if value and repr(value) in message]
        at = next((at for at in meant if at not in reported), ())
        if at or not (reported or meant):
            reported.add(at)
            document.problem((*key, *at), where, f"{dotted((*key, *at))}: {message}" if at else message)


def try_known(
    document: Document,
    own_keys: dict[str, Any],
    struct: type[Kind] | type[BitKind],
    scope: Scope,
    key: Key,
    where: str,
) -> None:
    """Compile a trigger with mistakes without its unknown keys, to report its other mistakes."""
    names = {field.encode_name for field in msgspec.structs.fields(struct)}
    table = {name: value for name, value in own_keys.items() if name in names}
    description = read_table(replace(document, problems=[]), table, struct, key, where)
    if isinstance(description, Kind):
        try_compile(document, description, scope, table, key, where)


def _texts(value: Any, key: Key) -> Iterator[tuple[Key, str]]:
    """Yield all strings in a table, with their keys."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(inner, (*key, name))


def failed(document: Document, what: str, error: Exception, key: Key, where: str) -> None:
    """Report an error in the code of a kind, perhaps of a plugin."""
    document.problem(key, where, f"its kind failed to {what} it: {reason_of(error)}", error)
