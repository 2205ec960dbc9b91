"""The formats, one file each."""

from __future__ import annotations

import importlib

from fuzzing.formats.base import Format

_MODULES = (
    *("expressions", "menus", "catalogues", "profiles", "models", "integer_networks", "precisions"),
    *(
        "samples",
        "imports",
        "prescales",
        "configurations",
        "projects",
        "scores",
        "checkpoints",
        "commands",
        "live",
        "live_runs",
        "optimise",
        "repeated",
    ),
)
FORMATS: dict[str, Format] = {}
for _name in _MODULES:
    _module = importlib.import_module(f"fuzzing.formats.{_name}")
    for _format in getattr(_module, "FORMATS", None) or (_module.FORMAT,):
        FORMATS[_format.name] = _format


def warm() -> None:
    """Load what most cases need, so that a fork of this process starts at once. No session of a network and
    no thread is started here: a fork does not have them."""
    import tempfile
    from pathlib import Path

    import trigemu
    from fuzzing.formats import menus
    from trigemu.cli import commands, console  # noqa: F401
    from trigemu.support import CORE, providers

    for name in (
        "h5py",
        "matplotlib.figure",
        "onnx.reference",
        "onnxruntime",
        "pyarrow.parquet",
        "tl2cgen",
        "treelite",
    ):
        importlib.import_module(name)
    for part in ("commands", "importers", "kinds", "formats"):
        for name, who in providers(part, None).items():
            (CORE if who is CORE else who.found()).part(part, name)
    menus.sample_files()
    with tempfile.TemporaryDirectory() as folder:
        for text in (menus.PLAIN, menus.RICH):
            (Path(folder) / "menu.toml").write_text(text)
            menu = trigemu.read_menu(Path(folder) / "menu.toml")
            trigemu.rates_of(trigemu.emulate([menu], menus.toy_catalogue()))
