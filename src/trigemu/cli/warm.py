"""`trigemu warm`"""

from __future__ import annotations

import time
from pathlib import Path

import click

from trigemu.cli.console import say
from trigemu.support import (
    KERNEL_STATISTICS,
    TrigemuError,
    compile_for_others,
    folder_from_environment,
    folder_of_cache,
)


@click.command()
@click.argument("menus", type=click.Path(path_type=Path), nargs=-1, metavar="[MENU]...")
def warm(menus: tuple[Path, ...]) -> None:
    """Compile the code for ordinary runs, once for all runs.

    Otherwise the first runs compile it. Compiled code goes to the folder of the variable TRIGEMU_CACHE_DIR;
    without it, to the folder of the installed sources, or to your own cache folder if that is not writable.
    All processors of the same level, such as x86-64-v3, can use it. With MENUs, their code is compiled too.
    """
    begin = time.perf_counter()
    if folder_from_environment() is not None:
        folder_of_cache()  # first, since it refuses a folder that others may write to
    level = compile_for_others()
    from trigemu.cli.warming import menus_at_hand, use, written_to  # kernels, after the level is chosen

    for menu in (*menus_at_hand(), *menus):
        started, before = time.perf_counter(), len(KERNEL_STATISTICS.compiled)
        use(menu)
        new, seconds = len(KERNEL_STATISTICS.compiled) - before, time.perf_counter() - started
        say(f"{menu}: {new} kernels compiled, {seconds:.1f} s")
    if not_stored := len(KERNEL_STATISTICS.not_stored):
        raise TrigemuError(f"{not_stored} kernels could not be written anywhere: set TRIGEMU_CACHE_DIR")
    took = time.perf_counter() - begin
    written, loaded = len(KERNEL_STATISTICS.compiled), KERNEL_STATISTICS.loaded
    where = f" to {written_to()}" if written else ""
    say(f"{written} kernels for {level} written{where}, {loaded} already there; {took:.1f} s")
