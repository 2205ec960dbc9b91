"""Sections as one self-contained HTML page, with the provenance of its numbers."""

from __future__ import annotations

import base64
import io
import os
import platform
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import jinja2
import matplotlib as mpl
from markupsafe import Markup
from matplotlib.figure import Figure

from trigemu.base.errors import file_stem, printable
from trigemu.results.notes import points
from trigemu.results.section import Contents, Picture, Section
from trigemu.results.table import Column, Table

from ..html import table_css, table_html

#: Libraries that numbers or figures depend on.
LIBRARIES = (
    "numpy", "numba", "awkward", "uproot", "onnxruntime", "treelite", "tl2cgen", "matplotlib", "mplhep",
)  # fmt: skip


def provenance(contents: Contents) -> Iterator[Section]:
    """Yield the section. Paths are as given; for samples only the names of the files are listed."""
    files = Table(
        (*(Column(key, "label", key) for key in ("what", "file")), Column("sha256", "digest", "sha256")),
        title="Files that the numbers depend on.",
    )
    for file in dict.fromkeys(_files(contents)):
        files.add(*file)
    heads = Column("library", "label", "program or library"), Column("version", "label", "version")
    versions = Table(heads, title="Versions.")
    versions.add("trigemu", _version("trigemu"))
    versions.add("Python", platform.python_version())
    for library in LIBRARIES:
        versions.add(library, _version(library))
    where = points((variant.menu for variant in contents.variants), contents.catalogue)
    command = (f"Command: {contents.command}",) if contents.command else ()
    yield Section("Provenance", (*command, *where), (files, versions))


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"


def _files(contents: Contents) -> Iterator[tuple[str, str, str]]:
    for variant in contents.variants:
        yield f"menu {variant.menu.name}", str(variant.menu.path), variant.menu.sha256
        if variant.menu.columns.path:
            yield "prescales", str(variant.menu.columns.path), variant.menu.columns.sha256 or ""
    for profiles in contents.profiles:
        yield f"profile {profiles.name}", str(profiles.path), profiles.sha256
    for variant in contents.variants:
        for plugin in variant.menu.plugins:
            yield f"plugin {plugin.name}", plugin.file.parent.name, plugin.sha256
        for path, digest in variant.models.items():
            yield "model", Path(os.path.normpath(path)).as_posix(), digest
    catalogue = contents.catalogue
    yield f"catalogue {catalogue.table.name}", catalogue.path.name, catalogue.sha256 or "not known"
    for sample in catalogue.samples:
        for source in sample.sources:
            yield f"sample {sample.name}", Path(source.path).name, source.sha256 or "not known"


#: Widths in inches: on a wide screen, figures narrower than SMALL are three in a row, wider than LARGE alone.
SMALL, LARGE = 5.7, 8.5
#: Resolution of dense figures in dots per inch.
RESOLUTION = 130
#: Spaces between a number, its error and its unit, at which no line ends.
_INSIDE_QUANTITY = re.compile(r"(?<=\d) (?=± |[kMm]?Hz\b|GeV\b|%|σ)|(?<=±) (?=\d)")
#: A number of a vector graphic, to be rounded, or the scale of a glyph, which is kept.
_NUMBER = re.compile(r"scale\([^)]*\)|\d+\.\d{3,}")


def render(title: str, sections: Sequence[Section]) -> str:
    """Return the HTML page; the same sections give the same bytes."""
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
    environment.filters["stem"] = file_stem
    environment.tests["large"] = lambda figure: SMALL < figure.get_figwidth() <= LARGE
    environment.tests["wide"] = lambda figure: figure.get_figwidth() > LARGE
    environment.filters["unbroken"] = lambda line: _INSIDE_QUANTITY.sub("\u00a0", line)
    template = environment.from_string(source)
    return template.render(title=title, sections=sections, tables=Markup(table_css().rstrip())) + "\n"


def _without_control(value: object) -> object:
    """Return a value of the page; control characters of a text become escapes."""
    return printable(value, keep="\n") if isinstance(value, str) and not isinstance(value, Markup) else value


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
    return _NUMBER.sub(
        lambda found: found[0] if found[0].startswith("scale") else f"{float(found[0]):.2f}",
        stream.getvalue(),
    ).encode()
