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
    """Compile what ordinary runs need, once for all of them.

    Otherwise the first runs do that. Compiled code goes to the folder of the variable TRIGEMU_CACHE_DIR;
    without it, beside the installed sources, or to your own cache folder if these cannot be written to. It
    serves all processors of the same level, as x86-64-v3. With MENUs, what these need is compiled too.
    """
    begin = time.perf_counter()
    if given_folder() is not None:
        folder_of_cache()  # others may write to it: say so before the work
    level = compile_for_others()
    from trigemu.cli.warming import menus_at_hand, places, use  # kernels, after the level is chosen

    for menu in (*menus_at_hand(), *menus):
        started, before = time.perf_counter(), len(KEPT.compiled)
        use(menu)
        new, seconds = len(KEPT.compiled) - before, time.perf_counter() - started
        say(f"{menu}: {new} kernels compiled, {seconds:.1f} s")
    if KEPT.unkept:
        raise TrigemuError(f"{len(KEPT.unkept)} kernels could not be written anywhere: set TRIGEMU_CACHE_DIR")
    took = time.perf_counter() - begin
    where = f" to {places()}" if KEPT.compiled else ""
    say(f"{len(KEPT.compiled)} kernels for {level} written{where}, {KEPT.loaded} were there; {took:.1f} s")
