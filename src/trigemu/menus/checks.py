"""Check how the triggers of a menu depend on each other, and compile each on trial: all mistakes at once,
each at the key that causes it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from trigemu.base.errors import TrigemuError, excerpt, nearest, own_cause
from trigemu.base.plugins import reason_of
from trigemu.base.toml import Document, Key, TableError, dotted
from trigemu.menus.menu import Trigger
from trigemu.observables.expressions import Condition, Constant, Number, Relation
from trigemu.observables.selections import Scope
from trigemu.triggers.base import BitKind, Compiled, Context, Kind

#: A trigger, the key that is wrong, and the message.
Mistake = tuple[Trigger, str, str]


def check_relations(
    document: Document,
    triggers: Sequence[Trigger],
    names: set[str],
    columns: int,
    levels: Sequence[str] | None,
) -> None:
    """Record mistakes in what triggers say of each other and of the menu. names: also of triggers that could
    not be read. columns: of prescales; levels: None if [menu] could not be read."""
    mistakes = [*_input_mistakes(triggers, names), *_counter_mistakes(triggers)]
    if levels is not None:
        mistakes += _level_mistakes(triggers, levels)
        for t in triggers:
            if t.prescales and len(t.prescales) != columns:
                wrong = f"prescales: {len(t.prescales)} for the {columns} prescale_columns of [menu]"
                mistakes.append((t, "prescales", wrong))
    for trigger, key, message in mistakes:
        document.problem((*_key(document, trigger.name), key), f"trigger {trigger.name!r}", message)
    enabled = [trigger for trigger in triggers if trigger.enabled]
    if triggers and not enabled:
        document.problem(("trigger", 0), "", "no trigger is enabled: a menu needs at least one that is")
    elif levels and enabled and not any(trigger.level == levels[-1] for trigger in enabled):
        message = f"no enabled trigger is of the last level, {levels[-1]!r}, which gives the rate of the menu"
        document.problem(("menu", "levels"), "[menu]", message)


def _key(document: Document, name: str) -> Key:
    """Return the key of the first trigger of the file with a name."""
    tables = enumerate(document.data["trigger"])
    return next(("trigger", i) for i, t in tables if isinstance(t, dict) and t.get("name") == name)


def _input_mistakes(triggers: Iterable[Trigger], names: set[str]) -> Iterator[Mistake]:
    """Check the names in logic and seeds."""
    budgets = {trigger.name: trigger.budget for trigger in triggers if trigger.budget}
    for trigger in triggers:
        inputs = trigger.description.inputs() if isinstance(trigger.description, BitKind) else ()
        read = [("expression", name) for name in dict.fromkeys(inputs)]
        for key, name in (*read, *(("seed", name) for name in trigger.seeds)):
            if name in budgets:
                message = (
                    f"{key}: {name!r} has {budgets[name].key}, and other triggers cannot read the decisions "
                    f"of a trigger whose threshold is found from a rate; give it above"
                )
                yield trigger, key, message
            if name not in names:
                known = nearest(name, names - {trigger.name})
                yield trigger, key, f"{key}: unknown trigger {excerpt(name)!r}{known}"


def _level_mistakes(triggers: Sequence[Trigger], levels: Sequence[str]) -> Iterator[Mistake]:
    """Check that each trigger belongs to a level and has no seeds of a later one, and that each group is
    within one level."""
    position = {level: number for number, level in enumerate(levels)}
    of_group: dict[str, Trigger] = {}
    by_name = {trigger.name: trigger for trigger in triggers}
    for trigger in triggers:
        level = trigger.level
        if not levels:
            if level:
                yield trigger, "level", f"level = {level!r}, but [menu] has no levels"
            continue
        if level is None:
            yield trigger, "level", f"the key 'level' is missing: one of {', '.join(levels)}"
            continue
        if level not in levels:
            yield trigger, "level", f"level = {level!r}: unknown level{nearest(level, levels)}"
            continue
        for name in trigger.seeds:
            seed = by_name.get(name)
            if seed and position.get(seed.level or "", 0) > position[level]:
                yield trigger, "seed", f"seed: {name!r} is of level {seed.level!r}, which follows {level!r}"
        first = of_group.setdefault(trigger.group, trigger) if trigger.group else trigger
        if first.level != level:
            message = (
                f"group = {trigger.group!r}: {first.name!r} of this group is of level {first.level!r}, this "
                f"one of {level!r}; give the groups of each level different names"
            )
            yield trigger, "group", message


def _counter_mistakes(triggers: Sequence[Trigger]) -> Iterator[Mistake]:
    """Check that no trigger shares its prescale counter with one of its seeds."""
    by_name = {trigger.name: trigger for trigger in triggers}
    for trigger in triggers:
        seeds = list(trigger.seeds) if trigger.coherent else []
        for name in seeds:  # followed by those of the seeds
            if seed := by_name.get(name):
                seeds += [other for other in seed.seeds if other not in seeds]
                if seed.coherent == trigger.coherent:
                    message = f"coherent = {trigger.coherent!r}: its seed {name!r} is in the same set"
                    yield trigger, "coherent", message


def order_of(document: Document, triggers: Sequence[Trigger]) -> tuple[str, ...]:
    """Return the names of the triggers, each after those whose decisions it reads; record each circle."""
    place = {trigger.name: number for number, trigger in enumerate(triggers)}
    inputs = {t.name: [name for name in dict.fromkeys(t.inputs()) if name in place] for t in triggers}
    while True:
        try:
            return tuple(TopologicalSorter(inputs).static_order())
        except CycleError as error:
            circle = error.args[1][:0:-1]  # each reads the next one
            start = circle.index(min(circle, key=place.__getitem__))
            circle = [*circle[start:], *circle[: start + 1]]
            message = f"depends on itself: {' → '.join(circle)}"
            document.problem(_key(document, circle[0]), f"trigger {circle[0]!r}", message)
            inputs[circle[0]].remove(circle[1])


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
        files = ((place, document.path.parent / text) for place, text in texts_of(table))
        place = next((place for place, file in files if str(file) == error.problems[0].file), ())
        document.problem((*key, *place), where, str(error))
    except TrigemuError as error:
        context.mistakes.append(("", str(error)))
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        if not context.mistakes:
            failed(document, "compile", error, key, where)
    texts = dict(texts_of(table))
    reported: set[Key] = set()
    for text, message in context.mistakes:
        meant = [place for place, value in texts.items() if value == text]
        meant += [place for place, value in texts.items() if value and repr(value) in message]
        place = next((place for place in meant if place not in reported), ())
        if place or not (reported or meant):
            reported.add(place)
            document.problem(
                (*key, *place), where, f"{dotted((*key, *place))}: {message}" if place else message
            )


def texts_of(value: Any, key: Key = ()) -> Iterator[tuple[Key, str]]:
    """Yield all strings in a table, with their keys."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from texts_of(inner, (*key, name))


def failed(document: Document, what: str, error: Exception, key: Key, where: str) -> None:
    """Report an error in the code of a kind, perhaps of a plugin."""
    document.problem(key, where, f"its kind failed to {what} it: {reason_of(error)}", error)
