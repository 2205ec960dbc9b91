"""trigemu emulates a trigger menu: which events it takes, at which rates, at what cost.

    samples ──► Events ──► triggers ──► decision bits ──► pattern table ──► rates ──► studies, output
    (ROOT, …,   (columns,  (plugins,    (uint64 words     (pattern → n,      (total,
     generator)  weights    one kind     per event)        Σw, Σw²;           unique,
                 in Hz)     per file)                       mergeable)        overlap …)

Each room knows only those before it: support, samples, observables, triggers, menus, counting, decisions,
emulation, rates, studies, generate, firmware, output, cli. `emulation/loop.py` is the loop that joins them;
read it next.

    import trigemu
    print(trigemu.run("menus/primary.toml"))                      # the embedded samples
    print(trigemu.run("menus/primary.toml", "mine.root"))         # or a catalogue, or an awkward array
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from trigemu.support import show_with

if TYPE_CHECKING:  # `__getattr__` does it when a name is used
    from trigemu.counting import PatternTable, ScoreTable
    from trigemu.decisions import Plan, Slot, Stream, decide, make_plan
    from trigemu.emulation import (
        Axis,
        Emulation,
        EventTable,
        Offer,
        Scores,
        at_luminosity,
        at_pileup,
        decisions,
        emulate,
        event_table,
        read_scores,
        score_table,
        solve_budgets,
        write_scores,
    )
    from trigemu.menus import (
        Budget,
        Menu,
        PrescaleColumns,
        Solution,
        Trigger,
        menu_schema,
        read_menu,
        write_calibrated,
    )
    from trigemu.observables import Condition, Number, Scope, Workspace
    from trigemu.rates import (
        ColumnRates,
        Half,
        LevelRates,
        MenuRates,
        Rate,
        TriggerRates,
        column_rates,
        rates_of,
        run,
    )
    from trigemu.samples import (
        BadFilesError,
        Catalogue,
        CatalogueTable,
        Collection,
        Entries,
        Events,
        LeftOut,
        Pileup,
        Rounding,
        Sample,
        SampleTable,
        Source,
        catalogue_of,
        events_from_awkward,
        make_events,
        open_catalogue,
        without_bad_files,
    )
    from trigemu.studies import (
        Asking,
        Bench,
        Bin,
        BinnedRates,
        Change,
        Checked,
        Common,
        Comparison,
        Curve,
        DecisionCheck,
        Difference,
        Disagreement,
        Drift,
        Efficiencies,
        ExclusiveRate,
        ExclusiveRates,
        FirstDecision,
        Gain,
        Gate,
        Histogram,
        Met,
        Overall,
        Profile,
        Quantity,
        Scan,
        Spectrum,
        Steps,
        Timing,
        Tolerance,
        Tolerances,
        TriggerCost,
        TriggerTolerance,
        Turnon,
        bench,
        binned_rates,
        check_decisions,
        compare,
        efficiencies,
        exclusive_rates,
        gate,
        read_tolerances,
        sample_spectra,
        scan,
        thresholds_met,
    )
    from trigemu.support import (
        Checkpoint,
        Engine,
        Environment,
        PluginError,
        SampleError,
        TableError,
        TrigemuError,
        UnknownNameError,
        UnreadableError,
        WorkerPool,
        WrongTypeError,
        show_with,
        worker_pool,
    )
    from trigemu.triggers import (
        BitKind,
        Compiled,
        CompiledFunction,
        Context,
        Expression,
        Kind,
        ModelCall,
        Native,
        Plugin,
        ScoreKind,
        TrainedOn,
    )

# ONNX Runtime would keep a device number and a database with paths in the cache folder, and send them. It
# reads the variable when it is imported, also by a plugin; other processes inherit it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

__version__ = "0.2.0.dev0"

show_with("trigemu.output.views")

__all__ = [
    "Asking",
    "Axis",
    "BadFilesError",
    "Bench",
    "Bin",
    "BinnedRates",
    "BitKind",
    "Budget",
    "Catalogue",
    "CatalogueTable",
    "Change",
    "Checked",
    "Checkpoint",
    "Collection",
    "ColumnRates",
    "Common",
    "Comparison",
    "Compiled",
    "CompiledFunction",
    "Condition",
    "Context",
    "Curve",
    "DecisionCheck",
    "Difference",
    "Disagreement",
    "Drift",
    "Efficiencies",
    "Emulation",
    "Engine",
    "Entries",
    "Environment",
    "EventTable",
    "Events",
    "ExclusiveRate",
    "ExclusiveRates",
    "Expression",
    "FirstDecision",
    "Gain",
    "Gate",
    "Half",
    "Histogram",
    "Kind",
    "LeftOut",
    "LevelRates",
    "Menu",
    "MenuRates",
    "Met",
    "ModelCall",
    "Native",
    "Number",
    "Offer",
    "Overall",
    "PatternTable",
    "Pileup",
    "Plan",
    "Plugin",
    "PluginError",
    "PrescaleColumns",
    "Profile",
    "Quantity",
    "Rate",
    "Rounding",
    "Sample",
    "SampleError",
    "SampleTable",
    "Scan",
    "Scope",
    "ScoreKind",
    "ScoreTable",
    "Scores",
    "Slot",
    "Solution",
    "Source",
    "Spectrum",
    "Steps",
    "Stream",
    "TableError",
    "Timing",
    "Tolerance",
    "Tolerances",
    "TrainedOn",
    "TrigemuError",
    "Trigger",
    "TriggerCost",
    "TriggerRates",
    "TriggerTolerance",
    "Turnon",
    "UnknownNameError",
    "UnreadableError",
    "WorkerPool",
    "Workspace",
    "WrongTypeError",
    "at_luminosity",
    "at_pileup",
    "bench",
    "binned_rates",
    "catalogue_of",
    "check_decisions",
    "column_rates",
    "compare",
    "decide",
    "decisions",
    "efficiencies",
    "emulate",
    "event_table",
    "events_from_awkward",
    "exclusive_rates",
    "gate",
    "make_events",
    "make_plan",
    "menu_schema",
    "open_catalogue",
    "rates_of",
    "read_menu",
    "read_scores",
    "read_tolerances",
    "run",
    "sample_spectra",
    "scan",
    "score_table",
    "solve_budgets",
    "thresholds_met",
    "without_bad_files",
    "worker_pool",
    "write_calibrated",
    "write_scores",
]


#: In the order of the flow. A name is exported by the first of them that exports it.
_ROOMS = (
    *("support", "samples", "observables", "triggers", "menus", "counting", "decisions", "emulation"),
    *("rates", "studies", "generate", "firmware", "output", "cli"),
)


def __getattr__(name: str) -> Any:
    """Import a room when it or one of its names is used: all of them take a second."""
    for room in _ROOMS if name in __all__ else ():
        module = importlib.import_module(f"trigemu.{room}")
        if name in module.__all__:
            globals()[name] = value = getattr(module, name)
            return value
    if name in _ROOMS:
        return importlib.import_module(f"trigemu.{name}")
    raise AttributeError(f"module 'trigemu' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})


class _Package(ModuleType):
    """The attribute `decisions` is the call, also after an import has found the room of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
