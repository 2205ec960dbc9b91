"""Catalogues, whose sums of weights are computed from their text."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fuzzing.edits import spoilt
from fuzzing.formats.base import EVENTS, Files, Format, close, sha256
from fuzzing.formats.menus import sample_files

CROSSING = """
[catalogue]
name = "toy"
convention = "crossing"
mean_interactions = 2.0
note = "x"

[catalogue.rounding]
jet = { bits = 8 }

[[sample]]
name = "a"
role = "background"
files = ["all.root"]
sha256 = ["%s"]
rate_hz = 30e6

[[sample]]
name = "b"
role = "background"
format = "nanoaod"
files = ["al*.root"]
rate_hz = 1e6
sum_of_weights = 2000.0

[[sample]]
name = "s"
role = "signal"
files = ["all.root", "./all.root"]
require = "n_jet >= 1"
description = "x"
"""
LUMINOSITY = """
[catalogue]
name = "toy"
convention = "luminosity"
luminosity_cm2s = 2e34
crossing_rate_hz = 40e6

[[sample]]
name = "a"
role = "background"
files = ["all.root"]
cross_section_pb = 8e10
filter_efficiency = 0.5
k_factor = 1.25

[[sample]]
name = "s"
role = "signal"
files = ["all.root"]
cross_section_pb = 3.0
"""


def _cases() -> st.SearchStrategy[Files]:
    files = sample_files()
    crossing = CROSSING % sha256(files["all.root"])
    locations = (
        *("all.root", "./all.root", "/dev/zero", "http://127.0.0.1:1/x.root"),
        *("root://127.0.0.1:1//x", "**"),
    )
    declared = st.sampled_from((1e-300, 1.0, 1936.0, 1937.0, 3800.0, 3900.0, 1e30)).map(
        lambda sum_: crossing.replace("sum_of_weights = 2000.0", f"sum_of_weights = {sum_}").encode()
    )
    further = (*locations, "nanoaod", "parquet", 1e3, 2.0)
    whole = st.one_of(spoilt(crossing, further, locations), spoilt(LUMINOSITY, further), declared)
    return whole.map(lambda content: {"catalogue.toml": content, "all.root": files["all.root"]})


def _use(folder: Path) -> list[tuple[str, str, float]]:
    import trigemu

    catalogue = trigemu.open_catalogue(folder / "catalogue.toml")
    made = []
    for sample in catalogue.samples:
        weights = [sample.read(i, 0, source.entries, ()).weight for i, source in enumerate(sample.sources)]
        made.append((sample.name, sample.table.role, math.fsum(w for part in weights for w in part.tolist())))
    return made


def _twin(folder: Path, made: list[tuple[str, str, float]]) -> str | None:
    document = tomllib.loads((folder / "catalogue.toml").read_text())
    total = math.fsum(event["weight"] for event in EVENTS)
    expected = []
    for sample in document["sample"]:
        number = sum(len(_matches(folder, pattern)) for pattern in sample["files"])
        if sample.get("sum_of_weights", math.inf) < 0.99 * number * total:
            return f"{sample['name']}: its files have a larger sum of weights than {sample['sum_of_weights']}"
        scale = _hz(document["catalogue"], sample, number * total)
        expected.append((sample["name"], sample["role"], number * total * scale))
    for one, other in zip(made, expected, strict=True):
        if one[:2] != other[:2] or not close(one[2], other[2]):
            return f"{one}, expected {other}"
    return ""


def _matches(folder: Path, pattern: str) -> list[Any]:
    if any(sign in pattern for sign in "*?["):
        return list(folder.glob(pattern))
    return [pattern]


def _hz(head: dict[str, Any], sample: dict[str, Any], in_files: float) -> float:
    of = sample.get("sum_of_weights", in_files)
    if head["convention"] == "crossing" and sample["role"] == "background":
        return float(sample["rate_hz"] / of)
    if "cross_section_pb" not in sample:
        return 1.0
    factor = sample.get("filter_efficiency", 1.0) * sample.get("k_factor", 1.0) * 1e-36
    return float(sample["cross_section_pb"] * factor * head["luminosity_cm2s"] / of)


FORMATS = (Format("catalogues", _cases, _use, _twin),)
