"""One direction: each module imports only what comes before it in the flow."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import trigemu

ROOT = Path(trigemu.__file__).parent
#: From left to right; what shares a line does not import each other.
LAYERS = [
    {"errors"},
    {"kernels", "tables", "files"},
    {"events", "integers", "windows"},
    {"objects"},
    {"counters", "exact", "halves", "shared", "timing", "workspace"},
    {"observables", "patterns"},
    {"vectors", "samples"},
    {"features", "language", "lean"},
    {"triggers"},
    {"plugins", "checking", "seeds"},
    {"menu"},
    {"coherent", "menu_relations", "prescales"},
    {"menu_file"},
    {"schema", "decisions", "acceptance"},
    {"chunks", "intervals", "quantities", "results", "strata", "stream"},
    {"legend", "sums"},
    {"calibrate", "containment", "contenders", "drawn", "pileup", "rounding", "unseen"},
    {"emulate"},
    {"changes", "rates", "spectra"},
    {"combinations", "compare", "efficiency", "latency", "scan"},
    {"check", "firmware", "imports", "profiles", "rates_vs"},
    {"output_numbers"},
    {"output"},
    {"report"},
    {
        "output_bench",
        "output_check",
        "output_columns",
        "output_compare",
        "output_efficiency",
        "output_firmware",
        "output_rates_vs",
        "output_scan",
    },
    {"output_bits"},
    {"generate"},
    {"cli"},
    {"__main__"},
]


def imports(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("trigemu"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("trigemu.")}
    return found


def modules() -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for file in ROOT.rglob("*.py"):
        name = file.relative_to(ROOT).parts[0].removesuffix(".py")
        if name != "__init__":
            found.setdefault(name, []).append(file)
    return found


def test_every_module_has_its_place() -> None:
    assert set(modules()) == set().union(*LAYERS)


@pytest.mark.parametrize("name", sorted(set().union(*LAYERS)))
def test_imports_point_to_the_left(name: str) -> None:
    position = next(i for i, layer in enumerate(LAYERS) if name in layer)
    left = set().union(*LAYERS[:position], {name})
    # The command line stands outside of the flow and uses the public names of all of it.
    for file in modules()[name]:
        assert imports(file) & set().union(*LAYERS) <= left, file
