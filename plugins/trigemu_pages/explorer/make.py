"""The explorer page of menus, from the samples to the HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trigemu.base.errors import MissingExtraError
from trigemu.base.mapping import engine_of
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.event_table import EventTable
from trigemu.emulation.tabulate import score_table
from trigemu.menus.menu import Menu
from trigemu.samples.catalogue import Catalogue

from .columns import turnon_profiles
from .fit import all_enabled, page_data
from .page import page_of
from .turnon_bins import signal_bins


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
    profiles = turnon_profiles(scores, solved) if scores.signals else ()
    bins = {
        name: signal_bins(solved[0], scores.catalogue, name, profiles, executor=engine)
        for name in scores.signals
    }
    data = page_data(solved, scores, bins, version)
    events = sum(len(table["id"]) for table in (scores.table, *scores.signals.values()))
    return Explorer(page_of(data), events, data.warnings)
