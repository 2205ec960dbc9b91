"""A small Phase-2 menu, its objects and events, in the files of the CMS tools, and a slow twin of them."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import awkward as ak
import numpy as np

from trigemu.api import Window

#: By file.
OBJECTS = {
    "egamma.yaml": """
Ele:
  eta_ranges:
    inclusive: [0, 7]
    barrel: [0, 1.479]
    endcap: [1.479, 3]
  ids:
    Loose:
      cuts:
        inclusive:
          - "abs({eta}) < 2.4"
        endcap:
          - "({eleId} == 1) | ({pt} < 25)"
        barrel:
          - "{eleId} == 1"
    Open: {}
""",
    "others.yml": """
Mu:
  eta_ranges: {inclusive: [0, 7], barrel: [0, 0.83], endcap: [0.83, 2.4]}
  cuts:
    inclusive:
      - "(({hwQual}>>1)&1 == 1) | (({pt} > 8) & (({hwQual}>>0)&1 == 1))"
  ids:
    default: {}
Vertex:
  ids: {default: {}}
Jet:
  eta_ranges: {inclusive: [0, 7]}
  ids: {default: {cuts: {inclusive: ["abs({eta}) < 2.4"]}}}
MissingEt:
  ids: {default: {}}
Sums:
  ids:
    HT:
      cuts:
        inclusive: ["{sumType} == 0"]
""",
}
MENU = """
Single:
  cross_masks: []
  leg1: {threshold_cut: offline_pt >= 36.0, obj: "Ele:Loose:inclusive"}
Barrel:
  leg1: {threshold_cut: leg1.pt > 10, obj: "Ele:Open:barrel"}
Pair:
  cross_masks:
    - (leg1+leg2).mass > 4.4
    - ((leg1.charge*leg2.charge < 0.0) & (leg1.deltaR(leg2) > 0))
    - (abs(leg2.z0-leg1.z0) < 1 & (leg1.deltaR(leg2) > 0))
  leg1: {threshold_cut: pt > 5, obj: "Mu:default"}
  leg2: {threshold_cut: pt > 3, obj: "Mu:default"}
Cross:
  cross_masks:
    - abs(leg2.z0-leg1.z0) < 1
    - abs(leg2.eta) < 1.3
    - leg2.deltaR(leg3) > 0.3
    - abs(leg2.eta-leg3.eta) < 1.6
  leg1: {threshold_cut: null, obj: "Vertex:default"}
  leg2: {threshold_cut: offline_pt >= 9, obj: "Mu:default"}
  leg3: {threshold_cut: offline_pt > 20, obj: "Ele:Loose"}
  leg4: {threshold_cut: offline_pt >= 30, obj: "MissingEt:default"}
Either:
  cross_masks: ["(abs(leg1.eta) < 0.5) | (abs(leg1.deltaphi(leg2)) > 2.5)"]
  leg1: {threshold_cut: pt > 3, obj: "Mu:default"}
  leg2: {threshold_cut: offline_pt > 75, obj: "Sums:HT"}
"""
#: Forms of other menus of the tools, by seed.
FORMS = """
Sum:
  cross_masks:
    - (leg2.btagScore + leg3.btagScore + leg4.btagScore + leg5.btagScore) > 2.2
    - abs(leg4.eta-leg5.eta) < 2
  leg1: {threshold_cut: offline_pt > 20, obj: "Sums:HT"}
  leg2: {threshold_cut: pt > 9, obj: "Jet:default"}
  leg3: {threshold_cut: pt > 6, obj: "Jet:default"}
  leg4: {threshold_cut: pt > 3, obj: "Jet:default"}
  leg5: {threshold_cut: pt > 3, obj: "Jet:default"}
Low:
  cross_masks: ["leg1.btagScore + leg2.btagScore <= 0.5"]
  leg1: {threshold_cut: pt > 3, obj: "Jet:default"}
  leg2: {threshold_cut: pt > 3, obj: "Mu:default"}
Product:
  cross_masks: ["(leg1.chg*leg2.chg < 0.0) & (leg1.deltaR(leg2) > 0.3)"]
  leg1: {threshold_cut: pt > 3, obj: "Mu:default"}
  leg2: {threshold_cut: pt > 3, obj: "Mu:default"}
Mixed:
  cross_masks: ["leg2.chg*leg1.charge > 0"]
  leg1: {threshold_cut: pt > 3, obj: "Mu:default"}
  leg2: {threshold_cut: pt > 3, obj: "Mu:default"}
Tracks:
  cross_masks: ["abs(leg2.zvtx-leg1.z0) < 0.4", "abs(leg2.zvtx - leg3.zvtx) < 1"]
  leg1: {threshold_cut: pt > 3, obj: "Mu:default"}
  leg2: {threshold_cut: offline_pt > 9, obj: "Ele:Loose"}
  leg3: {threshold_cut: offline_pt > 5, obj: "Ele:Loose"}
Unnamed:
  cross_masks: ["(abs(leg2.zvtx-leg1['']) < 1 & (leg2.deltaR(leg3) > 0.2))", "abs(leg1[''] - leg3.z0) < 1"]
  leg1: {threshold_cut: null, obj: "Vertex:default"}
  leg2: {threshold_cut: offline_pt > 9, obj: "Ele:Loose"}
  leg3: {threshold_cut: pt > 3, obj: "Mu:default"}
"""
#: Offline pT = slope × pT + offset, in float32.
SLOPE, OFFSET = np.float32(1.1), np.float32(2.0)


def write_files(folder: Path, menu: str = MENU) -> tuple[Path, Path]:
    """The menu, and the folder of its objects."""
    (folder / "objects").mkdir()
    for name, text in OBJECTS.items():
        (folder / "objects" / name).write_text(text)
    (folder / "menu.yml").write_text(menu)
    return folder / "menu.yml", folder / "objects"


def events(n: int, seed: int) -> dict[str, list[list[dict[str, Any]]]]:
    """Objects by collection, a list an event; many stand at the edges of ranges."""
    rng = np.random.default_rng(seed)
    edges = np.array([0, 0.83, 1.479, 2.4, -0.83, -1.479, 3.0], "f4")

    def objects(mean: float, scale: float, **more: Any) -> list[list[dict[str, Any]]]:
        def one() -> dict[str, Any]:
            eta = rng.choice(edges) if rng.random() < 0.3 else np.float32(rng.uniform(-3.2, 3.2))
            made = {"pt": np.float32(2 + rng.exponential(scale)), "eta": eta}
            made["phi"] = np.float32(rng.uniform(-math.pi, math.pi))
            return made | {name: draw() for name, draw in more.items()}

        return [[one() for _ in range(rng.poisson(mean))] for _ in range(n)]

    def z0() -> np.float32:
        return np.float32(rng.normal(0, 1))

    def charge() -> int:
        return int(rng.choice([-1, 1]))

    def score() -> np.float32:
        return np.float32(rng.random())

    def sums(event: int) -> list[dict[str, Any]]:
        return [{"pt": np.float32(rng.exponential(50)), "phi": np.float32(0.5), "sumType": k} for k in (0, 1)]

    return {
        "Ele": objects(1.5, 15, eleId=lambda: int(rng.integers(2)), zvtx=z0),
        "Mu": objects(
            *(2.0, 5),
            **{
                "hwQual": lambda: int(rng.integers(16)),
                "z0": z0,
                "btagScore": score,
                "chg": charge,
                "charge": charge,
            },
        ),
        "Jet": objects(4.0, 10, btagScore=score),
        "Vertex": [[{"z0": z0()}] for _ in range(n)],
        "MissingEt": [[{"pt": np.float32(rng.exponential(30)), "phi": np.float32(0)}] for _ in range(n)],
        "Sums": [sums(event) for event in range(n)],
    }


def write_events(folder: Path, made: dict[str, list[list[dict[str, Any]]]]) -> Path:
    """A file a collection, as the tools keep them; of MissingEt a number an event."""
    folder.mkdir()
    for name, of_events in made.items():
        columns = list(next(objects[0] for objects in of_events if objects))
        lists = {
            f"{name}_{c}": ak.Array([[o[c] for o in objects] for objects in of_events])
            if name != "MissingEt"
            else ak.Array([objects[0][c] for objects in of_events])
            for c in columns
        }
        lists = {
            key: ak.values_astype(a, "f4") if "f" in str(a.type.content) else a for key, a in lists.items()
        }
        ak.to_parquet(ak.zip(lists), folder / f"V1_MinBias_{name}.parquet")
    return folder


class Leg(SimpleNamespace):
    """An object with the methods that expressions use; float64 for what is derived."""

    def __getitem__(self, name: str) -> Any:
        """The vertex has one column, without a name."""
        return vars(self)[name or "z0"]

    def deltaR(self, other: Any) -> float:  # noqa: N802 (the tools' name)
        return math.hypot(float(self.eta) - float(other.eta), self.deltaphi(other))

    def deltaphi(self, other: Any) -> float:
        return math.remainder(float(self.phi) - float(other.phi), 2 * math.pi)

    def __add__(self, other: Any) -> Any:
        cosines = math.cosh(float(self.eta) - float(other.eta)) - math.cos(float(self.phi) - float(other.phi))
        return SimpleNamespace(mass=math.sqrt(2 * float(self.pt) * float(other.pt) * cosines))


def truth(seeds: dict[str, Any], tables: dict[str, Any], made: dict[str, Any], event: int) -> dict[str, bool]:
    """Every choice of objects tried, every expression evaluated as Python does."""
    fired = {}
    for name, seed in seeds.items():
        legs = {key: leg for key, leg in seed.items() if key.startswith("leg")}
        pools = []
        for key, leg in legs.items():
            collection, id_, range_ = (*leg["obj"].split(":"), "inclusive")[:3]
            table = tables[collection] | (tables[collection]["ids"][id_] or {})
            pool = [Leg(**o, of=leg["obj"], at=i) for i, o in enumerate(made[collection][event])]
            pools.append([o for o in pool if _passes(o, table, range_, leg["threshold_cut"], key)])
        fired[name] = any(
            len({(o.of, o.at) for o in choice}) == len(choice)
            and all(eval(mask, dict(zip(legs, choice, strict=True))) for mask in seed.get("cross_masks", []))
            for choice in itertools.product(*pools)
        )
    return fired


def _passes(o: Leg, table: Any, range_: str, threshold: str | None, leg: str) -> bool:
    ranges = {"inclusive": [0, 7]} | table.get("eta_ranges", {})
    cuts = {name: list(texts) for name, texts in table.get("cuts", {}).items()}
    if range_ != "inclusive":
        low, high = ranges[range_]
        cuts.setdefault("inclusive", []).append(f"(abs({{eta}}) > {low}) & (abs({{eta}}) < {high})")
    regions = {name: limits for name, limits in ranges.items() if name != "inclusive"}
    o.offline_pt = sum(
        (
            vars(o).get("pt", 0) * SLOPE + OFFSET
            for low, high in regions.values() or [(0, math.inf)]
            if not hasattr(o, "eta") or low <= abs(o.eta) < high
        ),
        np.float32(0),
    )
    for name, texts in cuts.items():
        low, high = ranges[name]
        if not hasattr(o, "eta") or low < abs(o.eta) < high:
            columns = {key: np.array(value) for key, value in vars(o).items() if key not in ("of", "at")}
            if not all(eval(re.sub(r"\{(\w+)\}", r"\1", text), columns) for text in texts):
                return False
    return threshold is None or bool(eval(threshold, vars(o) | {leg: o}))


def holds(window: Window, value: float) -> bool:
    """Whether a value is in a window."""
    low, high = window.span()
    abs_low, abs_high = window.span("abs_")
    return (
        low <= value <= high
        and abs_low <= abs(value) <= abs_high
        and (window.any_of is None or value in window.any_of)
        and (window.bits is None or int(value) & window.bits == window.bits)
    )
