"""The plugins that come with trigemu, and messages for those whose package is not installed."""

from __future__ import annotations

import importlib.util

#: Prefix of the names of their packages.
OWN = "trigemu_"
#: The plugin of each name that users may write, by the part of a `Plugin`. The packages declare the same, but
#: they may be missing.
PROVIDED = {
    "kinds": {"anomaly": "anomaly", "decade": "decade", "network": "anomaly"},
    "formats": {
        "challenge": "formats",
        "cms-l1-vector": "cms",
        "delphes": "formats",
        "parquet": "formats",
        "physlite": "formats",
    },
    "importers": {"cms-l1": "cms", "cms-phase2": "cms", "hls4ml": "hls4ml"},
    "commands": {
        "anomaly": "anomaly",
        "bench": "latency",
        "check-decisions": "cms",
        "decade": "decade",
        "explore": "pages",
        "fill": "live",
        "firmware": "firmware",
        "gate": "validation",
        "generate": "simulation",
        "live": "live",
        "optimise": "optimise",
        "report": "pages",
    },
}
NAMES = frozenset(plugin for names in PROVIDED.values() for plugin in names.values())


def remedy(part: str, name: str) -> str:
    """Return the end of a message on an unknown name: the missing package that provides it, if there is one.

    Parameters
    ----------
    part : str
        The part of a `Plugin`: "kinds", "formats", "importers" or "commands".
    name : str
        The unknown name.
    """
    plugin = PROVIDED[part].get(name)
    return f"; the plugin {plugin!r} provides it, and {absent(plugin)}" if plugin and absent(plugin) else ""


def absent(plugin: str) -> str:
    """Return a message if the package of a plugin that comes with trigemu is missing; else an empty text."""
    if plugin not in NAMES or importlib.util.find_spec(f"{OWN}{plugin}") is not None:
        return ""
    return f"its package {OWN}{plugin} is not installed"


def missing_package(error: BaseException) -> str:
    """Return a message on a failed import if a plugin that comes with trigemu is missing; else an empty
    text."""
    name = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
    plugin = name.partition(".")[0].removeprefix(OWN) if name.startswith(OWN) else ""
    return f"it needs the plugin {plugin!r}, and {absent(plugin)}" if absent(plugin) else ""
