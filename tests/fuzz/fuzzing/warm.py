"""Load what most cases need, so that a fork of this process starts at once.

No session of a network and no thread is started here: a fork does not have them.
"""

from __future__ import annotations

import gc
import importlib
import tempfile
from pathlib import Path

import trigemu
from fuzzing.formats import menus
from trigemu.base.plugins import CORE, providers

for _name in ("h5py", "matplotlib.figure", "onnx.reference", "onnxruntime", "pyarrow.parquet", "tl2cgen"):
    importlib.import_module(_name)
for _part in ("commands", "importers", "kinds", "formats"):
    for _name, _who in providers(_part, None).items():
        (CORE if _who is CORE else _who.found()).part(_part, _name)
menus.sample_files()
with tempfile.TemporaryDirectory() as _folder:
    for _text in (menus.PLAIN, menus.RICH):
        (Path(_folder) / "menu.toml").write_text(_text)
        _menu = trigemu.read_menu(Path(_folder) / "menu.toml")
        trigemu.rates_of(trigemu.emulate([_menu], menus.toy_catalogue()))
gc.collect()
gc.freeze()
