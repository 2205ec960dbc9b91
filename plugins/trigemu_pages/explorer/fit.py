"""The data of a page, small enough to open and share: with too many events, the ranges of thresholds become
narrower."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trigemu.base.errors import TrigemuError
from trigemu.base.files import read_bounded
from trigemu.emulation.event_table import EventTable, ThresholdRange
from trigemu.emulation.loop import emulate
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.read import MenusLike, menus_of
from trigemu.rates.menu_rates import rates_of
from trigemu.triggers.base import ScoreKind

from .columns import Contents, columns_of, unseen_of
from .pack import background_rows, block_of
from .turnon_bins import SignalBins

#: The most bytes of compressed data: with the scripts, a page stays below 6 MB.
MAX_BYTES = 3_500_000
#: Largest factors on a trigger's own rate, tried one after the other if a page is too large.
_FACTORS = (7.0, 5.0, 3.5, 2.5, 1.8, 1.3)


@dataclass(frozen=True)
class PageData:
    """The data of a page."""

    menus: tuple[Menu, ...]  # As written, with their budgets solved
    block: bytes  # In the format of `pack`
    base64: str  # The block, compressed
    warnings: tuple[str, ...]  # On the ranges of thresholds, for the user


def all_enabled(menus: Sequence[Menu]) -> tuple[Menu, ...]:
    """Return menus with all triggers enabled, except triggers whose threshold still has to be solved for a
    rate. With a score table of these menus, a page can enable them."""

    def enabled(trigger: Trigger) -> Trigger:
        return replace(trigger, enabled=trigger.enabled or not trigger.budget or bool(trigger.solution))

    return tuple(replace(menu, triggers=tuple(map(enabled, menu.triggers))) for menu in menus)


def page_data(
    menus: MenusLike,
    scores: EventTable,
    signals: Mapping[str, SignalBins],
    version: str,
    most: int = MAX_BYTES,
) -> PageData:
    """Return the data of a page, at most `most` compressed bytes, with the events of all signals of `scores`,
    a score table for the menus (`all_enabled`)."""
    menus = menus_of(menus)
    if scores.catalogue.pileup:
        raise TrigemuError(
            "a page cannot show the errors of reweighted pile-up: make it from the samples as they are "
            "(--pileup 0)"
        )
    emulation = emulate(menus, scores)
    contents = Contents(
        scores,
        emulation.menus,
        tuple(_text_of(menu) for menu in menus),
        tuple(rates_of(emulation, menu) for menu in emulation.menus),
        unseen_of(scores, emulation.menus),
        signals,
        version,
    )
    threshold_ranges, narrowed = scores.threshold_ranges, ""
    for factor in (*_FACTORS, None):
        block = block_of(contents, columns_of(scores, contents.menus, threshold_ranges))
        packed = gzip.compress(block, 9, mtime=0)
        if len(packed) <= most:
            warnings = (narrowed,) if narrowed else ()
            return PageData(contents.menus, block, base64.b64encode(packed).decode(), warnings)
        if factor:
            threshold_ranges, narrowed = _narrower(contents, factor)
    raise TrigemuError(
        f"the score table has {len(scores.table['id'])} events, too many for a page "
        f"({len(packed) / 1e6:.1f} MB, at most {most / 1e6:.1f} MB): set narrower ranges of thresholds, "
        f"--vary NAME=LOW:HIGH"
    )


def _text_of(menu: Menu) -> str:
    """Return the file of a menu. TrigemuError if it has changed since it was read."""
    content = read_bounded(menu.path)
    if hashlib.sha256(content).hexdigest() != menu.sha256:
        raise TrigemuError(f"{menu.path} has changed since it was read: make the page again")
    return content.decode("utf-8-sig")


def _narrower(contents: Contents, factor: float) -> tuple[dict[str, ThresholdRange], str]:
    """Return ranges in which no trigger's own rate exceeds its present one times a factor, and a sentence
    about those that were changed."""
    threshold_ranges = contents.scores.threshold_ranges
    columns = columns_of(contents.scores, contents.menus, threshold_ranges)
    rows = background_rows(contents, columns)
    lows: dict[str, float] = {}
    for menu, columns_of_menu in zip(contents.menus, columns.of, strict=True):
        for name, (number, limits) in columns_of_menu.items():
            kind = menu.trigger(name).description
            if limits and isinstance(kind, ScoreKind):
                steps = columns.scores[number].steps
                by_value = np.bincount(rows.scores[:, number], rows.weight, len(steps) + 1)
                above = by_value[::-1].cumsum()[::-1][1:]  # each step
                most = factor * above[columns.scores[number].step(kind.threshold)]
                lowest = float(steps[np.argmax(above <= most)])
                lows[name] = min(lowest, lows.get(name, np.inf))
    narrower = {
        name: ThresholdRange(max(low, lows.get(name, low)), high)
        for name, (low, high) in threshold_ranges.items()
    }
    raised = [name for name, limits in narrower.items() if limits.low > threshold_ranges[name].low]
    return narrower, (
        f"with all thresholds the page would be too large: {', '.join(raised)} can be lowered only to where "
        f"their own rate is {factor:g} times the present one"
    )
