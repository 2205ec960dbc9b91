"""The explorer page of menus, from the samples to the HTML: small enough to open and share. With too many
events, the ranges of thresholds become narrower."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trigemu.base.errors import MissingExtraError, TrigemuError
from trigemu.base.files import read_bounded
from trigemu.base.mapping import engine_of
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.event_table import EventTable, ThresholdRange
from trigemu.emulation.loop import emulate
from trigemu.emulation.tabulate import score_table
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.read import MenusLike, menus_of
from trigemu.rates.menu_rates import rates_of
from trigemu.samples.catalogue import Catalogue
from trigemu.triggers.base import ScoreKind

from .columns import Contents, columns_of, turnon_bins, turnon_profiles, unseen_of
from .pack import background_rows, block_of
from .page import page_of

#: The most bytes of compressed data: with the scripts, a page stays below 6 MB.
MAX_BYTES = 3_500_000
#: Largest factors on a trigger's own rate, tried one after the other if a page is too large.
_FACTORS = (7.0, 5.0, 3.5, 2.5, 1.8, 1.3)


@dataclass(frozen=True)
class Explorer:
    """The page."""

    html: str
    events: int  # The number of events in its data
    warnings: tuple[str, ...]  # On its limits

    def to_widget(self, height: int = 900) -> Any:
        """Return the page as a widget of Jupyter, marimo and other notebooks.

        Its trait `toml` is the menu with the thresholds and prescales that the page shows, as `address` is
        its state, which can be set. height: in pixels. MissingExtraError if anywidget is not installed.
        """
        try:
            from .widget import ExplorerWidget
        except ModuleNotFoundError as error:
            if error.name not in ("anywidget", "traitlets"):
                raise
            raise MissingExtraError("to_widget()", "widget", "anywidget") from None
        return ExplorerWidget(html=self.html, height=height)


def make_explorer(
    menus: Sequence[Menu],
    samples: Catalogue | EventTable,
    version: str,
    *,
    vary: Mapping[str, tuple[float, float]] | None = None,
    signals: Sequence[str] = (),
    executor: Any = None,
) -> Explorer:
    """Make the page of these menus from events, or from a score table, which has its own ranges of thresholds
    and signals. vary, signals, executor: as in `score_table`. version: of trigemu."""
    engine = engine_of(executor)
    solved, scores = solve_budgets(menus, samples, executor=engine), samples
    if not isinstance(scores, EventTable):
        scores = score_table(all_enabled(solved), samples, vary=vary, signals=signals, executor=engine)
    data = page_data(solved, scores, version, executor=engine)
    html = page_of([menu.name for menu in solved], base64.b64encode(data.packed).decode())
    events = sum(len(table["id"]) for table in (scores.table, *scores.signals.values()))
    return Explorer(html, events, data.warnings)


def all_enabled(menus: Sequence[Menu]) -> tuple[Menu, ...]:
    """Return menus with all triggers enabled, except triggers whose threshold still has to be solved for a
    rate. With a score table of these menus, a page can enable them."""

    def enabled(trigger: Trigger) -> Trigger:
        return replace(trigger, enabled=trigger.enabled or not trigger.budget or bool(trigger.solution))

    return tuple(replace(menu, triggers=tuple(map(enabled, menu.triggers))) for menu in menus)


@dataclass(frozen=True)
class PageData:
    """The data of a page."""

    menus: tuple[Menu, ...]  # As written, with their budgets solved
    block: bytes  # In the format of `pack`
    packed: bytes  # The block, compressed
    warnings: tuple[str, ...]  # On the ranges of thresholds, for the user


def page_data(
    menus: MenusLike,
    scores: EventTable,
    version: str,
    most: int = MAX_BYTES,
    executor: Any = None,
) -> PageData:
    """Return the data of a page, at most `most` compressed bytes, with the events of all signals of `scores`,
    a score table for the menus (`all_enabled`)."""
    menus = menus_of(menus)
    if scores.catalogue.pileup:
        raise TrigemuError(
            "a page cannot show the errors of reweighted pile-up: make it from the samples as they are "
            "(--pileup 0)"
        )
    texts = []
    for menu in menus:
        content = read_bounded(menu.path)
        if hashlib.sha256(content).hexdigest() != menu.sha256:
            raise TrigemuError(f"{menu.path} has changed since it was read: make the page again")
        texts.append(content.decode("utf-8-sig"))
    emulation = emulate(menus, scores)
    profiles = turnon_profiles(scores, menus) if scores.signals else ()
    contents = Contents(
        scores,
        emulation.menus,
        tuple(texts),
        tuple(rates_of(emulation, menu) for menu in emulation.menus),
        unseen_of(scores, emulation.menus),
        profiles,
        {name: turnon_bins(menus[0], scores, name, profiles, executor) for name in scores.signals},
        version,
    )
    threshold_ranges, narrowed = scores.threshold_ranges, ""
    for factor in (*_FACTORS, None):
        block = block_of(contents, columns_of(scores, contents.menus, threshold_ranges))
        packed = gzip.compress(block, 9, mtime=0)
        if len(packed) <= most:
            return PageData(contents.menus, block, packed, (narrowed,) if narrowed else ())
        if factor:
            threshold_ranges, narrowed = _narrower(contents, factor)
    raise TrigemuError(
        f"the score table has {len(scores.table['id'])} events, too many for a page "
        f"({len(packed) / 1e6:.1f} MB, at most {most / 1e6:.1f} MB): set narrower ranges of thresholds, "
        f"--vary NAME=LOW:HIGH"
    )


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
