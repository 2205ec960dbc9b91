"""How every figure looks: the mplhep style, and colours that survive colour blindness."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import matplotlib as mpl
import mplhep
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from trigemu.output.numbers import short
from trigemu.support import replacing

#: Petroff's ten colours (arXiv:2107.02270), made for scatter plots that everyone can read.
COLOURS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6",
    "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip

#: Longer names are shortened in figures; their numbers have them in full.
LONGEST = 26


@contextmanager
def figure(width: float = 8.0, height: float = 6.0) -> Iterator[tuple[Figure, Axes]]:
    """A figure and its axes in the house style; sizes in inches."""
    style = {**mplhep.style.ATLAS, "font.family": "sans-serif", "font.size": 13, "figure.dpi": 110}
    fonts = ("mathtext.", "font.sans-serif")  # of the style: they are rarely installed
    wanted = {key: value for key, value in style.items() if not key.startswith(fonts)}
    with mpl.rc_context({key: value for key, value in wanted.items() if key in mpl.rcParams}):
        made = Figure(figsize=(width, height), layout="constrained")
        axes = made.add_subplot()
        yield made, axes


def log_axis(axis: Axis) -> None:
    """Plain numbers at 1, 2 and 5 times the powers of ten."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def rate_axis(axis: Axis, low: float, high: float) -> None:
    """Rates in Hz on a logarithmic axis from low to high: 1k, 10k, and between them where there is room."""
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 100 * low else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axis.set_minor_formatter(NullFormatter())


def save(made: Figure, path: Path) -> None:
    """Write whole or not at all; the ending of the name chooses the format."""
    with suppress(OSError):  # what is wrong with the folder is told where the file is written
        path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        made.savefig(temporary)


def shown(names: Iterable[str]) -> dict[str, str]:
    """Name → what figures call it, no two alike."""
    found: dict[str, str] = {}
    for name in names:
        label = name if len(name) <= LONGEST else f"{name[:14]}…{name[-11:]}"
        alike = sum(known.startswith(label) for known in found.values())
        found[name] = f"{label} ({alike + 1})" if label in found.values() else label
    return found
