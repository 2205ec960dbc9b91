"""The interface for plugins that do not come with trigemu: all that they need of it.

The stub lists its names in the order of the flow; the reference documents each. A name is imported when it is
used. Names that are neither here nor in `trigemu.__all__` may change between versions.
"""

import importlib
from typing import Any

import lazy_loader

# The stub lists the exported names; each is imported when it is used.
_name, __dir__, __all__ = lazy_loader.attach_stub("trigemu", __file__)
#: Modules that serve as namespaces.
_MODULES = {
    "expressions": "trigemu.observables.expressions",
    "numbers": "trigemu.results.numbers",
    "options": "trigemu.cli.options",
    "style": "trigemu.results.figures.style",
    "toml_text": "trigemu.base.toml_text",
}


def __getattr__(name: str) -> Any:
    return importlib.import_module(_MODULES[name]) if name in _MODULES else _name(name)
