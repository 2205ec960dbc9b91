"""`trigemu warm`"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

import trigemu
from trigemu.cli import options
from trigemu.cli.console import say
from trigemu.support import KEPT, TrigemuError, compile_for_others, folder_of_cache, given_folder
from trigemu.triggers import available, search_path

#: Menus that use what ordinary runs use; a plugin may bring one.
_MENUS, _OF_PLUGIN = Path(__file__).with_name("warming"), "warm.toml"
#: Embedded samples to run over: a part that all triggers find events in, and a signal.
_SOME, _SIGNAL = trigemu.Entries("photon", 0, 0, 50_000), "yy"


@click.command()
@click.argument("menus", type=click.Path(path_type=Path), nargs=-1, metavar="[MENU]...")
@options.plugin_path
def warm(menus: tuple[Path, ...], plugin_path: tuple[Path, ...]) -> None:
    """Compile what ordinary runs need, once for all of them.

    Otherwise the first runs do that. Compiled code goes to the folder of the variable TRIGEMU_CACHE_DIR;
    without it, beside the installed sources, or to your own cache folder if these cannot be written to. It
    serves all processors of the same level, as x86-64-v3. With MENUs, what these need is compiled too.
    """
    begin = time.perf_counter()
    given = given_folder()
    if given is not None:
        folder_of_cache()  # others may write to it: say so before the work
    level = compile_for_others()
    folders = search_path(plugin_path)
    samples = trigemu.open_catalogue()
    for menu in (*_brought(folders), *menus):
        started, before = time.perf_counter(), len(KEPT.compiled)
        _use(trigemu.read_menu(menu, folders), samples)
        new, seconds = len(KEPT.compiled) - before, time.perf_counter() - started
        say(f"{menu}: {new} kernels compiled, {seconds:.1f} s")
    if KEPT.unkept:
        raise TrigemuError(f"{len(KEPT.unkept)} kernels could not be written anywhere: set TRIGEMU_CACHE_DIR")
    took = time.perf_counter() - begin
    done = f"{len(KEPT.compiled)} kernels for {level} written to {_places()}"
    say(f"{done}, {KEPT.loaded} were there; {took:.1f} s")


def _brought(folders: tuple[Path, ...]) -> Iterator[Path]:
    """Yield the menus that trigemu and the plugins bring."""
    yield from sorted(_MENUS.glob("*.toml"))
    for _, (file, *_) in sorted(available(folders).items()):
        menu = file.with_name(_OF_PLUGIN)
        if file.name == "__init__.py" and menu.is_file():
            yield menu


def _use(menu: trigemu.Menu, samples: trigemu.Catalogue) -> None:
    """Do with a menu, on some events, what the commands do."""
    some = samples.limited_to(_SOME)
    emulation = trigemu.emulate([menu, replace(menu, name=f"{menu.name}, again")], some)
    trigemu.rates_of(emulation, menu)
    trigemu.compare(emulation)
    trigemu.exclusive_rates(emulation, menu)
    trigemu.binned_rates(menu, "n_interaction", (0, 10, 20, 40), some)
    trigemu.efficiencies([menu], samples, [_SIGNAL], [trigemu.Profile("photon[0].pt", (10, 20, 40))])


def _places() -> str:
    """Return where kernels were written, those beside sources as the folder that holds them all."""
    beside = [str(folder.parent) for folder in KEPT.folders if folder.name == "__pycache__"]
    others = [str(folder) for folder in KEPT.folders if folder.name != "__pycache__"]
    return (
        " and ".join([*others, *([f"__pycache__ in {os.path.commonpath(beside)}"] if beside else [])])
        or "no folder"
    )
