"""Agreement of emulated and stored decisions, one line per trigger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from trigemu.results import numbers
from trigemu.results.figures import style

_COLOURS = (style.COLOURS[3], style.COLOURS[2], style.COLOURS[4])


def draw_decisions(names: Sequence[str], counts: Mapping[str, Sequence[int]]) -> Figure:
    """Draw for each trigger a bar for each outcome, name → numbers of crossings, on an axis that is
    logarithmic from 1 on."""
    with style.figure(6.4, 1.5 + 0.42 * len(names)) as (figure, axes):
        height = 0.8 / len(counts)
        for number, (outcome, values) in enumerate(counts.items()):
            rows = np.arange(len(names)) - 0.4 + height * (number + 0.5)
            axes.barh(
                rows, values, height, color=_COLOURS[number % len(_COLOURS)], label=style.literal(outcome)
            )
        axes.set_xscale("symlog", linthresh=1.0)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: numbers.short(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(0.0, 2.0 * max((1, *(count for values in counts.values() for count in values))))
        axes.set_yticks(range(len(names)), list(map(style.literal, names)), fontsize=12)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_tick_params(length=0)
        axes.set_ylim(len(names) - 0.45, -0.55)
        axes.set_xlabel("number of crossings", fontsize=14)
        figure.legend(loc="outside upper left", ncols=3, fontsize=11, frameon=False)
    return figure
