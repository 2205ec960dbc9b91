"""Write the best menu: the file of the menu with its comments and order, other values, and how it was
made."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import tomlkit

from trigemu.base import toml_text
from trigemu.base.errors import TrigemuError
from trigemu.base.files import read_bounded, write_text
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.write import calibrated_document, set_key, write_point
from trigemu.triggers.base import ScoreKind

from .results import BEST, Summary

#: The name of the plugin, which makes `trigemu report` show its section.
PLUGIN = "optimise"
#: The longest file of numbers that is read, in bytes.
MOST = 2**26


def numbers_file(menu: Path) -> Path:
    """Return the file of numbers beside a menu."""
    return menu.with_suffix(".optimise.json")


def write_menu(written: Menu, best: Menu, summary: Summary, path: Path) -> None:
    """Write the best menu, and its numbers beside it."""
    document = calibrated_document(written, path, summary.samples)
    if written.columns.path:  # their file would replace what is written
        write_point(document, written)
    for table, before, after in zip(document["trigger"], written.triggers, best.triggers, strict=True):
        _change(table, before, after, written)
    head = document["menu"]
    head["name"] = best.name
    plugins = list(head.get("plugins", []))
    if PLUGIN not in plugins:
        head["plugins"] = [*plugins, PLUGIN]
    text = _origin(summary) + "\n" + tomlkit.dumps(document).lstrip("\n")
    digest = hashlib.sha256(text.encode()).hexdigest()
    summary = replace(summary, new_sha256=digest)
    write_text(numbers_file(path), msgspec.json.format(msgspec.json.encode(summary)).decode() + "\n")
    write_text(path, text)


def _change(table: Any, before: Trigger, after: Trigger, menu: Menu) -> None:
    """Write the values of a trigger that differ."""
    kind, was = after.description, before.description
    if isinstance(kind, ScoreKind) and isinstance(was, ScoreKind):
        if kind.threshold != was.threshold:
            table["above"] = kind.threshold
        if after.fitted_on is None:
            table.pop("fitted_on", None)
        elif after.fitted_on != before.fitted_on:
            set_key(table, "above", "fitted_on", after.fitted_on)
    if after.prescale != before.prescale and after.prescales and not menu.columns.path:
        table["prescales"][menu.columns.names.index(str(menu.columns.chosen))] = _plain(after.prescale)
    elif after.prescale != before.prescale:
        set_key(table, "kind", "prescale", _plain(after.prescale))
    if after.enabled != before.enabled:
        set_key(table, "kind", "enabled", after.enabled)


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _origin(summary: Summary) -> str:
    """Return how the menu was made, as comments."""
    best = summary.contender(BEST)
    lines = [
        f"Made by trigemu optimise from {Path(summary.menu).name} (sha256 {summary.menu_sha256[:12]}) with "
        f"the goals {Path(summary.goals).name} (sha256 {summary.goals_sha256[:12]}) and the samples "
        f"{summary.samples}: seed {summary.seed}, {summary.starts} starts of {summary.hops} hops.",
        f"Cap {summary.cap_hz / 1e3:g} kHz; on the fitted half {best.fitted.rate_hz / 1e3:.2f} kHz and a "
        f"loss of {best.fitted.loss:.5f}, on the unseen half {best.unseen.rate_hz / 1e3:.2f} kHz and "
        f"{best.unseen.loss:.5f} ± {best.unseen.loss_error:.5f}.",
    ]
    return "".join(toml_text.comment(line) for line in lines)


def read_summary(menu: Menu) -> Summary | None:
    """Return the numbers beside a menu; None if there are none."""
    path = numbers_file(menu.path)
    if not path.exists():
        return None
    try:
        summary = msgspec.json.decode(read_bounded(path, MOST), type=Summary)
    except (OSError, msgspec.MsgspecError) as error:
        raise TrigemuError(f"cannot read {path}: it is no result of trigemu optimise: {error}") from None
    if summary.new_sha256 != menu.sha256:
        raise TrigemuError(
            f"{menu.path} has changed since trigemu optimise wrote it: make it again, or remove {path.name}"
        )
    return summary
