"""Sections as one self-contained HTML page, and as a folder of figures with their numbers."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import jinja2
import matplotlib as mpl
from markupsafe import Markup
from matplotlib.figure import Figure

from trigemu.api import Numbers, Picture, Section, in_csv, printable, style, table_css, table_html, write_text

#: Resolution of dense figures in dots per inch.
RESOLUTION = 130
#: Spaces between a number, its error and its unit, at which no line ends.
_INSIDE_QUANTITY = re.compile(r"(?<=\d) (?=± |[kMm]?Hz\b|GeV\b|%|σ)|(?<=±) (?=\d)")
#: A number of a vector graphic, to be rounded, or the scale of a glyph, which is kept.
_NUMBER = re.compile(r"scale\([^)]*\)|\d+\.\d{3,}")


def render(title: str, sections: Sequence[Section], explorer: str = "") -> str:
    """Return the HTML page; the same sections give the same bytes. explorer: the address of the page in which
    the menus can be changed, if there is one."""
    source = resources.files(__package__).joinpath("report.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_without_control,
    )
    environment.filters["picture"] = _image
    environment.filters["table"] = table_html
    environment.filters["unbroken"] = lambda line: _INSIDE_QUANTITY.sub("\u00a0", line)
    template = environment.from_string(source)
    return (
        template.render(
            title=title, sections=sections, explorer=explorer, tables=Markup(table_css().rstrip())
        )
        + "\n"
    )


def _without_control(value: object) -> object:
    """Return a value of the page; control characters of a text become escapes."""
    return printable(value, keep="\n") if isinstance(value, str) and not isinstance(value, Markup) else value


def write_figures(sections: Sequence[Section], folder: Path) -> list[Path]:
    """Write each picture as PNG and PDF and its numbers as CSV; return the paths."""
    pictures: dict[str, Picture] = {}
    taken: set[str] = set()  # in lower case: some file systems take names that differ in case for one
    for picture in (picture for section in sections for picture in section.all_pictures()):
        name, number = picture.name, 1
        while name.casefold() in taken:
            number += 1
            name = f"{picture.name}_{number}"
        taken.add(name.casefold())
        pictures[name] = picture
    files = []
    for name, picture in pictures.items():
        for ending in ("png", "pdf"):
            files.append(folder / f"{name}.{ending}")
            style.save(picture.figure, files[-1])
        files.append(folder / f"{name}.csv")
        write_text(files[-1], as_csv(picture.numbers))
    return files


def as_csv(numbers: Numbers) -> str:
    """Return numbers as CSV, each entry a column; NaN is left empty."""
    return in_csv([numbers, *zip(*map(list, numbers.values()), strict=True)])


def _image(picture: Picture) -> Markup:
    width, height = (float(size) for size in picture.figure.get_size_inches())
    kind, content = ("png", _png(picture.figure)) if picture.dense else ("svg+xml", _svg(picture))
    data = base64.b64encode(content).decode()
    return Markup(
        '<img alt="{}" width="{:.0f}" height="{:.0f}" style="--inches: {:.2f}" src="data:image/{};base64,{}">'
    ).format(printable(picture.caption), 96 * width, 96 * height, width, kind, data)


def _png(figure: Figure) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=RESOLUTION, metadata={"Software": None})
    return stream.getvalue()


def _svg(picture: Picture) -> bytes:
    """Return a picture as SVG: text as paths, to look the same everywhere, numbers to 0.01 point."""
    stream = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": picture.name}):
        picture.figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return _NUMBER.sub(_shorter, stream.getvalue()).encode()


def _shorter(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith("scale") else f"{float(found[0]):.2f}"
