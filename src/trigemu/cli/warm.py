"""`trigemu warm`"""

from __future__ import annotations

import time
from pathlib import Path

import click

from trigemu.cli.console import say
from trigemu.support import KEPT, TrigemuError, compile_for_others, folder_of_cache, given_folder


@click.command()
@click.argument("menus", type=click.Path(path_type=Path), nargs=-1, metavar="[MENU]...")
def warm(menus: tuple[Path, ...]) -> None:
    """Compile the code for ordinary runs, once for all runs.

    Otherwise the first runs compile it. Compiled code goes to the folder of the variable TRIGEMU_CACHE_DIR;
    without it, to the folder of the installed sources, or to your own cache folder if that is not writable.
    All processors of the same level, such as x86-64-v3, can use it. With MENUs, their code is compiled too.
    """
    begin = time.perf_counter()
    if given_folder() is not None:
        folder_of_cache()  # first, since it refuses a folder that others may write to
    level = compile_for_others()
    from trigemu.cli.warming import menus_at_hand, use, written_to  # kernels, after the level is chosen

    for menu in (*menus_at_hand(), *menus):
        started, before = time.perf_counter(), len(KEPT.compiled)
        use(menu)
        new, seconds = len(KEPT.compiled) - before, time.perf_counter() - started
        say(f"{menu}: {new} kernels compiled, {seconds:.1f} s")
    if KEPT.unkept:
        raise TrigemuError(f"{len(KEPT.unkept)} kernels could not be written anywhere: set TRIGEMU_CACHE_DIR")
    took = time.perf_counter() - begin
    where = f" to {written_to()}" if KEPT.compiled else ""
    say(f"{len(KEPT.compiled)} kernels for {level} written{where}, {KEPT.loaded} already there; {took:.1f} s")
