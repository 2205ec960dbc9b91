"""The kinds, formats and commands of the core, declared like those of a plugin."""

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    kinds={
        "threshold": "trigemu.triggers.threshold:Threshold",
        "combination": "trigemu.triggers.combination:Combination",
        "leg_threshold": "trigemu.triggers.combination:LegThreshold",
        "external": "trigemu.triggers.logic:External",
        "stored": "trigemu.triggers.logic:Stored",
        "logic": "trigemu.triggers.logic:Logic",
        "random": "trigemu.triggers.logic:Random",
    },
    formats={
        "nanoaod": "trigemu.samples.root:NanoAOD",
    },
    commands={
        "run": "trigemu.cli.rates:run",
        "compare": "trigemu.cli.rates:compare",
        "scan": "trigemu.cli.studies:scan",
        "rates-vs": "trigemu.cli.studies:rates_vs",
        "efficiency": "trigemu.cli.studies:efficiency",
        "calibrate": "trigemu.cli.studies:calibrate",
        "import": "trigemu.cli.commands:import_",
    },
)
