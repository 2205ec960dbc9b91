"""Rates as figures, each with its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.rates.results import MenuRates, TriggerRates
from trigemu.results.figures.rates import draw_rates
from trigemu.results.figures.style import save, shown
from trigemu.results.section import Picture


def of_groups(variants: Sequence[MenuRates]) -> Picture | None:
    """Draw the rates of groups."""
    listed = {v.menu.name: v.groups for v in variants}
    caption = "Rates by group: total (full) and unique (open)."
    return by_name("groups", caption, listed) if any(listed.values()) else None


def of_triggers(variants: Sequence[MenuRates]) -> Picture:
    """Draw the rates of triggers."""
    caption = "Rates by trigger: total (full) and unique (open)."
    return by_name("triggers", caption, {v.menu.name: v.triggers for v in variants})


def by_name(name: str, caption: str, listed: Mapping[str, Sequence[TriggerRates]]) -> Picture:
    """Draw the rates of triggers or groups, listed by what they are drawn beside each other for."""
    names = list(dict.fromkeys(entry.name for entries in listed.values() for entry in entries))
    known = {menu: {entry.name: entry for entry in entries} for menu, entries in listed.items()}

    def rates_of(menu: str, quantity: str) -> tuple[FloatArray, FloatArray]:
        rates = [getattr(known[menu].get(entry), quantity, None) for entry in names]
        pairs = [(rate.hz, rate.error_hz) if rate else (np.nan, np.nan) for rate in rates]
        values, errors = np.array(pairs, np.float64).reshape(-1, 2).T
        return values, errors

    total, unique = ({menu: rates_of(menu, quantity) for menu in listed} for quantity in ("total", "unique"))
    numbers: dict[str, Sequence[object] | FloatArray] = {name.removesuffix("s"): names}
    for menu in listed:
        for quantity, rates in (("total", total), ("unique", unique)):
            numbers[f"{menu}_{quantity}_hz"], numbers[f"{menu}_{quantity}_error_hz"] = rates[menu]
    labels, menus = shown(names), shown(listed)
    drawn = [{menus[menu]: pair for menu, pair in rates.items()} for rates in (total, unique)]
    return Picture(name, caption, draw_rates(list(labels.values()), *drawn), numbers)


def write_figures(variants: Sequence[MenuRates], folder: Path) -> list[Path]:
    """Write the rates of triggers, and of groups if there are any, as PNG into a folder."""
    pictures = (of_groups(variants), of_triggers(variants))
    return write_pictures([picture for picture in pictures if picture], folder)


def write_pictures(pictures: Iterable[Picture], folder: Path) -> list[Path]:
    """Write pictures as PNG into a folder."""
    files = []
    for picture in pictures:
        files.append(folder / f"{picture.name}.png")
        save(picture.figure, files[-1])
    return files
