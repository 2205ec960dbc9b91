"""Checks that no output of a command is one of its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from trigemu.decisions import make_plan
from trigemu.menus import Menu
from trigemu.samples import Catalogue
from trigemu.support import check_outputs, is_file


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
        for models in make_plan([menu]).models:
            yield from models
