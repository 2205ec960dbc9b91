"""trigemu emulates a trigger menu: which events it accepts, at which rates, at what cost.

    samples ──► Events ──► triggers ──► decision bits ──► pattern table ──► rates ──► studies, results
    (ROOT, …,   (columns,  (plugins,    (uint64 words     (pattern → n,      (total,
     generator)  weights    one kind     per event)        Σw, Σw²;           unique,
                 in Hz)     per file)                       mergeable)        overlap …)

Each subpackage imports only those before it: base, samples, observables, triggers, menus, counting,
emulation, rates, studies, results, cli. `emulation/loop.py` is the loop that joins them; read it next.
Everything else is a plugin; one of yours needs `trigemu.api` alone. Names that are exported neither here nor
there may change between versions.

    import trigemu
    print(trigemu.run("menus/primary.toml"))                      # the embedded samples
    print(trigemu.run("menus/primary.toml", "mine.root"))         # or a catalogue, or an awkward array
"""

import os

import lazy_loader

# ONNX Runtime would store a device number and a database with paths in the cache folder, and send them. It
# reads the variable when it is imported, also by a plugin; child processes inherit it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

__version__ = "0.2.0.dev0"

# The stub lists the exported names; each is imported when it is used: importing all takes a second.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
