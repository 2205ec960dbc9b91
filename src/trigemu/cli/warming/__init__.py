"""The runs of `trigemu warm`: menus with triggers of every kind, over a few events."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import trigemu
from trigemu.support import KERNEL_STATISTICS, available, providers, search_path

#: The file name of a plugin's menu.
_OF_PLUGIN = "warm.toml"
#: Embedded samples to run over: a background in which all triggers accept events, and a signal.
_BACKGROUND, _SIGNAL = "photon", "yy"


def menus_at_hand() -> Iterator[Path]:
    """Yield the menus of trigemu and of the plugins."""
    yield from sorted(Path(__file__).parent.glob("*.toml"))
    for _, (plugin, *_) in sorted(available(search_path()).items()):
        file = plugin.file
        menu = file.with_name(_OF_PLUGIN)
        if file.name == "__init__.py" and menu.is_file():
            yield menu


def use(path: Path) -> None:
    """Run a menu on some events in the same way as the commands."""
    samples = trigemu.open_catalogue()
    entries = trigemu.Entries(_BACKGROUND, 0, 0, samples.sample(_BACKGROUND).sources[0].entries)
    menu, some = trigemu.read_menu(path), samples.limited_to(entries)
    emulation = trigemu.emulate([menu, replace(menu, name=f"{menu.name}, again")], some)
    trigemu.emulate(menu.part([menu.enabled[0].name]), some)  # a separate kernel counts few triggers
    for name, plugin in providers("warm", search_path()).items():
        plugin.found().part("warm", name)(emulation)
    trigemu.rates_of(emulation, menu)
    trigemu.compare(emulation)
    trigemu.exclusive_rates(emulation, menu)
    trigemu.binned_rates(menu, "n_interaction", (0, 10, 20, 40), some)
    trigemu.efficiencies([menu], samples, [_SIGNAL], [trigemu.Profile("photon[0].pt", (10, 20, 40))])


def written_to() -> str:
    """Return where kernels were written; for folders of sources, their common parent."""
    beside = [str(folder.parent) for folder in KERNEL_STATISTICS.folders if folder.name == "__pycache__"]
    folders = [str(folder) for folder in KERNEL_STATISTICS.folders if folder.name != "__pycache__"]
    return " and ".join([*folders, *([f"__pycache__ in {os.path.commonpath(beside)}"] if beside else [])])
