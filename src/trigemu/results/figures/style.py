"""The style of every figure: that of mplhep, with colours for colour-blind readers."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

import matplotlib as mpl
import mplhep
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from trigemu.base.errors import printable
from trigemu.base.files import write_bytes
from trigemu.results.numbers import short, with_unit

#: Petroff's ten colours (arXiv:2107.02270), made for scatter plots that everyone can read.
COLOURS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6",
    "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip

#: Longer names are shortened in figures, and written in full where their numbers are.
LONGEST = 26
#: Quantities that figures typeset.
_TRANSVERSE = re.compile(r"\b([pEH])T\b")
#: A character of no width.
_NOTHING = "\u200b"
#: The style without its fonts, which are rarely installed.
_STYLE = {
    key: value
    for key, value in mplhep.style.ATLAS.items()
    if key in mpl.rcParams and not key.startswith(("mathtext.", "font.sans-serif"))
} | {"font.family": "sans-serif", "font.size": 13, "figure.dpi": 110}
#: What makes a figure.
_make: ContextVar[Callable[..., Figure]] = ContextVar("make", default=Figure)


@contextmanager
def figure(width: float = 8.0, height: float = 6.0) -> Iterator[tuple[Figure, Axes]]:
    """Make a figure of a size in inches and its axes in the common style, which ends with the block."""
    with mpl.rc_context(_STYLE):
        made = _make.get()(figsize=(width, height), layout="constrained")
        axes = made.add_subplot()
        yield made, axes


@contextmanager
def managed() -> Iterator[None]:
    """Let the figures that are made inside belong to pyplot, so that a notebook displays them."""
    import matplotlib.pyplot as plt  # here, because it chooses a window system

    # This loads the backend, whose settings would be undone with those of the style.
    plt.draw_if_interactive()  # type: ignore[no-untyped-call]
    before = _make.set(plt.figure)
    try:
        yield
    finally:
        _make.reset(before)


def log_axis(axis: Axis) -> None:
    """Label a logarithmic axis with plain numbers at 1, 2 and 5 times the powers of ten."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def rate_axis(axis: Axis, low: float, high: float) -> None:
    """Label a logarithmic axis of rates in Hz from low to high: 1k, 10k, and between where there is room."""
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 100 * low else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axis.set_minor_formatter(NullFormatter())


def save(made: Figure, path: Path) -> None:
    """Write a figure, completely or not at all. The ending of the path (png, pdf, svg) chooses the
    format; its folder is made if needed."""
    with suppress(OSError):  # an unusable folder is reported when the file is written
        path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, drawn(made, path.suffix[1:]))


def drawn(made: Figure, kind: str) -> bytes:
    """Return the content of a file of a figure; `kind` is "png", "pdf" or "svg"."""
    stream = io.BytesIO()
    made.savefig(stream, format=kind)
    return stream.getvalue()


def literal(text: str) -> str:
    """Return a text of others, such as the name of a trigger, for Matplotlib to draw as it is: what is
    between two $ is no formula, and a name that begins with _ is not left out of the legend."""
    plain = printable(text).replace("$", r"\$")
    return f"{_NOTHING}{plain}" if plain.startswith("_") else plain


def axis_label(text: str, unit: str = "") -> str:
    """Return the label of an axis for a text of others, such as an observable, and its unit; pT, ET and HT in
    it are typeset."""
    return _TRANSVERSE.sub(r"$\1_{\\mathrm{T}}$", literal(with_unit(text, unit)))


def shown(names: Iterable[str]) -> dict[str, str]:
    """Return the labels of names in figures, no two of them equal, where long names are shortened."""
    labels: dict[str, str] = {}
    for name in names:
        label = name if len(name) <= LONGEST else f"{name[:14]}…{name[-11:]}"
        same = sum(other.startswith(label) for other in labels.values())
        labels[name] = f"{label} ({same + 1})" if label in labels.values() else label
    return labels
