"""trigemu emulates a trigger menu: which events it takes, at which rates, at what cost.

    samples ──► Events ──► triggers ──► decision bits ──► pattern table ──► rates ──► studies, results
    (ROOT, …,   (columns,  (plugins,    (uint64 words     (pattern → n,      (total,
     generator)  weights    one kind     per event)        Σw, Σw²;           unique,
                 in Hz)     per file)                       mergeable)        overlap …)

Each room knows only those before it: support, samples, observables, triggers, menus, counting, emulation,
rates, studies, results, cli. `emulation/loop.py` is the loop that joins them; read it next. All else is a
plugin, written with `trigemu.api` alone. What is neither exported here nor there is private.

    import trigemu
    print(trigemu.run("menus/primary.toml"))                      # the embedded samples
    print(trigemu.run("menus/primary.toml", "mine.root"))         # or a catalogue, or an awkward array
"""

import os

import lazy_loader

# ONNX Runtime would keep a device number and a database with paths in the cache folder, and send them. It
# reads the variable when it is imported, also by a plugin; other processes inherit it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

__version__ = "0.2.0.dev0"

# What is exported stands in the stub; it is imported when it is used: all of it takes a second.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
