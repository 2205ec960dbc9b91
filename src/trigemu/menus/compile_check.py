"""Trial compilation of a trigger: all mistakes at once, each reported at the key that causes it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from trigemu.observables import Condition, Constant, Number, Relation, Scope
from trigemu.support import Document, Key, TableError, TrigemuError, dotted, own_cause, read_table, reason_of
from trigemu.triggers import BitKind, Compiled, Context, Kind


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
        if own := own_cause(error):
            raise own from error
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
    own: dict[str, Any],
    struct: type[Kind] | type[BitKind],
    scope: Scope,
    key: Key,
    where: str,
) -> None:
    """Compile a trigger with mistakes without its unknown keys, to report its other mistakes."""
    names = {field.encode_name for field in msgspec.structs.fields(struct)}
    table = {name: value for name, value in own.items() if name in names}
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
