"""trigemu emulates a trigger menu: which events it takes, at which rates, at what cost.

    samples ──► Events ──► triggers ──► decision bits ──► pattern table ──► rates ──► studies, output
    (ROOT, …,   (columns,  (plugins,    (uint64 words     (pattern → n,      (total,
     generator)  weights    one kind     per event)        Σw, Σw²;           unique,
                 in Hz)     per file)                       mergeable)        overlap …)

Each room knows only those before it: support, samples, observables, triggers, menus, counting, decisions,
emulation, rates, studies, generate, firmware, output, cli. `emulation/loop.py` is the loop that joins them;
read it next.

    import trigemu
    menu = trigemu.read_menu("menus/primary.toml")
    print(trigemu.run(menu))
"""

from __future__ import annotations

from trigemu import starting as starting  # isort: split  # before all that takes time to load
from trigemu.support import (  # isort: split
    Checkpoint,
    Engine,
    Environment,
    PluginError,
    SampleError,
    TableError,
    TrigemuError,
    UnreadableError,
    WorkerPool,
    worker_pool,
)

from trigemu.samples import (  # isort: split
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
    make_events,
    open_catalogue,
    without_bad_files,
)

from trigemu.observables import Condition, Number, Scope, Workspace  # isort: split

from trigemu.triggers import (  # isort: split
    BitKind,
    Compiled,
    Context,
    Expression,
    Kind,
    ModelCall,
    Plugin,
    ScoreKind,
    TrainedOn,
)

from trigemu.menus import (  # isort: split
    Budget,
    Menu,
    PrescaleColumns,
    Solution,
    Trigger,
    menu_schema,
    read_menu,
    write_calibrated,
)

from trigemu.counting import PatternTable  # isort: split

from trigemu.decisions import Plan, Slot, Stream, decide, make_plan  # isort: split

from trigemu.emulation import Axis, Emulation, at_luminosity, at_pileup, emulate, solve_budgets  # isort: split

from trigemu.rates import Half, LevelRates, MenuRates, Rate, TriggerRates, column_rates, rates_of, run  # isort: split

from trigemu.studies import (  # isort: split
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
    Efficiencies,
    ExclusiveRate,
    ExclusiveRates,
    Gain,
    Histogram,
    Met,
    Overall,
    Profile,
    Scan,
    Steps,
    Timing,
    TriggerCost,
    Turnon,
    bench,
    binned_rates,
    check_decisions,
    compare,
    efficiencies,
    exclusive_rates,
    scan,
    thresholds_met,
)

__version__ = "0.2.0.dev0"

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
    "Common",
    "Comparison",
    "Compiled",
    "Condition",
    "Context",
    "Curve",
    "DecisionCheck",
    "Difference",
    "Disagreement",
    "Efficiencies",
    "Emulation",
    "Engine",
    "Entries",
    "Environment",
    "Events",
    "ExclusiveRate",
    "ExclusiveRates",
    "Expression",
    "Gain",
    "Half",
    "Histogram",
    "Kind",
    "LeftOut",
    "LevelRates",
    "Menu",
    "MenuRates",
    "Met",
    "ModelCall",
    "Number",
    "Overall",
    "PatternTable",
    "Pileup",
    "Plan",
    "Plugin",
    "PluginError",
    "PrescaleColumns",
    "Profile",
    "Rate",
    "Rounding",
    "Sample",
    "SampleError",
    "SampleTable",
    "Scan",
    "Scope",
    "ScoreKind",
    "Slot",
    "Solution",
    "Source",
    "Steps",
    "Stream",
    "TableError",
    "Timing",
    "TrainedOn",
    "TrigemuError",
    "Trigger",
    "TriggerCost",
    "TriggerRates",
    "Turnon",
    "UnreadableError",
    "WorkerPool",
    "Workspace",
    "at_luminosity",
    "at_pileup",
    "bench",
    "binned_rates",
    "catalogue_of",
    "check_decisions",
    "column_rates",
    "compare",
    "decide",
    "efficiencies",
    "emulate",
    "exclusive_rates",
    "make_events",
    "make_plan",
    "menu_schema",
    "open_catalogue",
    "rates_of",
    "read_menu",
    "run",
    "scan",
    "solve_budgets",
    "thresholds_met",
    "without_bad_files",
    "worker_pool",
    "write_calibrated",
]
