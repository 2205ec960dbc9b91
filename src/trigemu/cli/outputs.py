"""What a command writes: tables, or one document and files, none of which may be an input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType

from trigemu.cli.console import console, say
from trigemu.emulation import make_plan
from trigemu.menus import Menu
from trigemu.samples import Catalogue
from trigemu.support import TrigemuError, check_outputs, is_file, write_text

#: What `-` means as the name of a document: the standard output. A file of this name is `./-`.
STDOUT = Path("-")


class DocumentFile(click.Path):
    """The name of a file that is written, or `-`."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return STDOUT if value is STDOUT or value == "-" else super().convert(value, param, ctx)


def on_disk(*files: Path | None) -> list[Path]:
    """Return those of the files to be written that are not the standard output; TrigemuError if two are."""
    written = [file for file in files if file]
    kept = [file for file in written if file is not STDOUT]
    if len(kept) < len(written) - 1:
        raise TrigemuError("only one document can go to the standard output: name a file for the other")
    return kept


def present(
    tables: Iterable[RenderableType],
    documents: Iterable[tuple[Path | None, Callable[[], str]]],
    lines: Iterable[object] = (),
) -> None:
    """Write documents, each given by its file and what makes it; then print tables and lines, unless one of
    the documents is the standard output, which then holds nothing else."""
    asked = [(file, make) for file, make in documents if file]
    for file, make in asked:
        if file is STDOUT:
            click.echo(make().encode("utf-8", errors="backslashreplace"), nl=False)
        else:
            write_text(file, make())
    if any(file is STDOUT for file, _ in asked):
        return
    console().print(*tables, sep="\n")
    for line in lines:
        say(line)


def check_inputs(outputs: Iterable[Path | None], menus: Iterable[Menu], catalogue: Catalogue) -> None:
    """Raise TrigemuError if an output is a file that menus or samples are read from: cards, models, plugins
    and event files among them."""
    there = [output for output in outputs if output and is_file(output)]
    if there:  # one that does not exist is no input
        check_outputs(there, _inputs(menus, catalogue))


def _inputs(menus: Iterable[Menu], catalogue: Catalogue) -> Iterator[Path | str]:
    yield catalogue.path
    for sample in catalogue.samples:
        yield from (source.path for source in sample.sources)
    for menu in menus:
        yield menu.path
        yield from (plugin.file for plugin in menu.plugins)
        every = tuple(replace(trigger, enabled=True) for trigger in menu.triggers)
        for models in make_plan([replace(menu, triggers=every)]).models:
            yield from models
