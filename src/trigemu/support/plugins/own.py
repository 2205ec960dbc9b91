"""The plugins that come with trigemu: what to say where one is needed whose package is not installed."""

from __future__ import annotations

import importlib.util

#: How the names of their packages begin.
OWN = "trigemu_"
#: What they bring that users ask for by name, by the part of a `Plugin`; the packages say it too, but not if
#: they are missing.
BROUGHT = {
    "kinds": {"anomaly": "anomaly", "decade": "decade"},
    "formats": {
        "challenge": "formats",
        "cms-l1-vector": "cms",
        "delphes": "formats",
        "parquet": "formats",
        "physlite": "formats",
    },
    "importers": {"cms-l1": "cms", "cms-phase2": "cms"},
    "commands": {
        "bench": "latency",
        "check": "cms",
        "decade": "decade",
        "explore": "pages",
        "firmware": "firmware",
        "gate": "validation",
        "generate": "simulation",
        "report": "pages",
    },
}
NAMES = frozenset(plugin for names in BROUGHT.values() for plugin in names.values())


def remedy(part: str, name: str) -> str:
    """Return what to say of a name that no plugin brings: the package that would, if it is not installed.

    Parameters
    ----------
    part : str
        The part of a `Plugin`: "kinds", "formats", "importers" or "commands".
    name : str
        What was asked for.
    """
    plugin = BROUGHT[part].get(name)
    return f"; the plugin {plugin!r} brings it, and {absent(plugin)}" if plugin and absent(plugin) else ""


def absent(plugin: str) -> str:
    """Return what to say of a plugin that comes with trigemu if its package is missing."""
    if plugin not in NAMES or importlib.util.find_spec(f"{OWN}{plugin}") is not None:
        return ""
    return f"its package {OWN}{plugin} is not installed"


def missing_package(error: BaseException) -> str:
    """Return what to say of a failed import if a plugin that comes with trigemu is missing."""
    name = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
    plugin = name.partition(".")[0].removeprefix(OWN) if name.startswith(OWN) else ""
    return f"it needs the plugin {plugin!r}, and {absent(plugin)}" if absent(plugin) else ""
