"""The formats, one file each."""

from __future__ import annotations

from types import ModuleType

from fuzzing.formats import (
    catalogues,
    commands,
    configurations,
    expressions,
    imports,
    integer_networks,
    live,
    live_runs,
    menus,
    models,
    optimise,
    prescales,
    profiles,
    samples,
)
from fuzzing.formats.base import Format

_MODULES: tuple[ModuleType, ...] = (
    *(expressions, menus, catalogues, profiles, models, integer_networks, samples, imports, prescales),
    *(configurations, commands, live, live_runs, optimise),
)
FORMATS: dict[str, Format] = {form.name: form for module in _MODULES for form in module.FORMATS}
