"""What an experiment with prescales records of the embedded sample: each crossing of it happens, and is
collected, as often as a Poisson distribution says, so the rates of the sample are those of the experiment."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from toys import menu_from, threshold, write_tree

import trigemu

RUN, SECTIONS, LIVE_S = 400_001, 12, 0.8
RANDOM_HZ = 3_000.0
#: Collected by: name → observable, threshold, coherent set, rate in Hz that its prescale aims at.
COLLECTING: dict[str, tuple[str, float, str, float]] = {
    "J20": ("jet[0].pt", 20, "jets", 500),
    "J35": ("jet[0].pt", 35, "jets", 500),
    "J60": ("jet[0].pt", 60, "jets", 500),
    "J100": ("jet[0].pt", 100, "", 500),
    "J200": ("jet[0].pt", 200, "", 1e9),
    "DJ30": ("jet[1].pt", 30, "dijets", 500),
    "DJ60": ("jet[1].pt", 60, "dijets", 500),
    "QJ20": ("jet[3].pt", 20, "", 300),
    "G10": ("photon[0].pt", 10, "photons", 500),
    "G20": ("photon[0].pt", 20, "photons", 500),
    "G40": ("photon[0].pt", 40, "", 1e9),
    "DG10": ("photon[1].pt", 10, "", 300),
    "E10": ("electron[0].pt", 10, "", 500),
    "E20": ("electron[0].pt", 20, "", 500),
    "M3": ("muon[0].pt", 3, "", 500),
    "M8": ("muon[0].pt", 8, "", 500),
    "M15": ("muon[0].pt", 15, "", 1e9),
    "T30": ("tau[0].pt", 30, "", 500),
    "MET40": ("met", 40, "", 500),
}
#: The 30 whose rates are asked for.
OTHERS: dict[str, tuple[str, float]] = {
    f"{name}_{threshold}": (observable, threshold)
    for name, observable, thresholds in (
        ("jet", "jet[0].pt", (25, 30, 40, 50, 75, 90, 120)),
        ("dijet", "jet[1].pt", (20, 25, 40, 50, 75)),
        ("trijet", "jet[2].pt", (20, 30, 40)),
        ("photon", "photon[0].pt", (12, 18, 20, 30)),
        ("electron", "electron[0].pt", (10, 18, 22)),
        ("muon", "muon[0].pt", (3, 8, 10, 18)),
        ("tau", "tau[0].pt", (20, 40)),
        ("met", "met", (30, 50)),
    )
    for threshold in thresholds
}


class Crossings(NamedTuple):
    """The m kinds of crossings of the embedded sample: those with the same decisions."""

    fired: dict[str, np.ndarray]  # bool[m], of COLLECTING and OTHERS
    hz: np.ndarray  # float64[m]


@cache
def crossings() -> Crossings:
    text = "".join(threshold(name, *key[:2]) for name, key in (COLLECTING | OTHERS).items())
    result = trigemu.emulate(menu_from(Path(mkdtemp()), text), trigemu.open_catalogue())
    (word,) = result.table.words.T
    words, number = np.unique(np.append(word, np.uint64(0)), return_inverse=True)
    hz = np.bincount(number, np.append(result.table.weight, 40e6 - result.table.weight.sum()))
    (bits,) = result.plan.bits
    return Crossings({name: words >> np.uint64(bit) & np.uint64(1) == 1 for name, bit in bits.items()}, hz)


def prescales(seed: int) -> dict[str, np.ndarray]:
    """float64[SECTIONS] of each trigger: different in each section, and sometimes off, if
    another one of its set collects most of the same events."""
    rng, kinds = np.random.default_rng(seed), crossings()
    result = {}
    for name, (_, _, coherent, aim) in COLLECTING.items():
        rate = kinds.hz[kinds.fired[name]].sum()
        values = np.round(np.maximum(1.0, rate / aim * 2 ** rng.uniform(-1, 1, SECTIONS)), 2)
        result[name] = np.where(rng.random(SECTIONS) < 0.2 * bool(coherent), 0.0, values)
    return result | {"RND": np.round(2 ** rng.uniform(0, 1, SECTIONS), 2)}


def probabilities(of: dict[str, np.ndarray]) -> np.ndarray:
    """The probability that each kind of crossing is collected in each section, float64[m, SECTIONS]."""
    kinds = crossings()
    best = {"RND": np.tile(RANDOM_HZ / 40e6 / of["RND"], (len(kinds.hz), 1))}
    for name, (_, _, coherent, _) in COLLECTING.items():
        accept = np.array([1 / p if p else 0.0 for p in of[name]])
        here = np.outer(kinds.fired[name], accept)
        best[coherent or name] = np.maximum(best.get(coherent or name, 0.0), here)
    return 1 - np.prod([1 - accept for accept in best.values()], axis=0)


def collect(seed: int, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The kind and the section of each crossing that is collected, int64[n], in any order."""
    rng = np.random.default_rng(seed)
    expected = np.cumsum(crossings().hz[:, None] * LIVE_S * probability)
    places = rng.random(rng.poisson(expected[-1])) * expected[-1]
    return np.divmod(np.searchsorted(expected, places), SECTIONS)


def write_menu(folder: Path, of: dict[str, np.ndarray]) -> None:
    """collected.toml, prescales.csv and columns.csv."""
    text = "".join(
        f'[[trigger]]\nname = "{name}"\nkind = "stored"\ndecision = "L1_{name}"\n'
        + (f'coherent = "{coherent}"\n' if coherent else "")
        for name, (_, _, coherent, _) in COLLECTING.items()
    )
    text += f'[[trigger]]\nname = "RND"\nkind = "random"\nrate_hz = {RANDOM_HZ}\n'
    (folder / "collected.toml").write_text(f'[menu]\nname = "collected"\n{text}')
    header = ",".join(["name", *(f"c{section}" for section in range(SECTIONS))])
    rows = [f"{name}," + ",".join(map(str, values)) for name, values in of.items()]
    (folder / "prescales.csv").write_text("\n".join([header, *rows]) + "\n")
    columns = [f"{RUN},{section + 1},c{section}" for section in range(SECTIONS)]
    (folder / "columns.csv").write_text("\n".join(["run,section,column", *columns]) + "\n")


def write_events(
    path: Path,
    kind: np.ndarray,
    section: np.ndarray,
    further: Mapping[str, np.ndarray] = MappingProxyType({}),
) -> None:
    columns = {f"L1_{name}": fired[kind] for name, fired in crossings().fired.items()}
    columns |= {
        **further,
        "run": np.full(len(kind), RUN, "u4"),
        "luminosityBlock": (section + 1).astype("u4"),
        "event": np.arange(len(kind), dtype="u8"),
    }
    write_tree(path, columns)


def write_catalogue(folder: Path, of: dict[str, np.ndarray], further: str = "") -> Path:
    """A catalogue of events.root with its sections, for given prescales."""
    write_menu(folder, of)
    sections = "".join(f"{RUN},{section + 1},{LIVE_S}\n" for section in range(SECTIONS))
    (folder / "sections.csv").write_text("run,section,live_s\n" + sections)
    (folder / "catalogue.toml").write_text(
        '[catalogue]\nname = "c"\nconvention = "crossing"\n[[sample]]\nname = "data"\nrole = "background"\n'
        'files = ["events.root"]\n[sample.recorded]\nsection_table = "sections.csv"\n'
        '[sample.recorded.collected]\nmenu = "collected.toml"\nprescales = "prescales.csv"\n'
        f'columns = "columns.csv"\n{further}'
    )
    return folder / "catalogue.toml"


def rates(folder: Path) -> np.ndarray:
    """The rates of the others and their errors in Hz, float64[30, 2], from the events in a folder."""
    text = "".join(
        f'[[trigger]]\nname = "{name}"\nkind = "stored"\ndecision = "L1_{name}"\n' for name in OTHERS
    )
    result = trigemu.run(menu_from(folder, text), trigemu.open_catalogue(folder / "catalogue.toml"))
    return np.array([(t.total.hz, t.total.error_hz) for t in result.triggers])


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text in a file, where it is first."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
