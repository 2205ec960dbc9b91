"""The quantities of the validation page. Those of collections that a sample lacks are left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from measure import Quantity, objects, observable, pairs, sum_of

#: Collections, with the lowest pT that is drawn.
OBJECTS = {"jet": 20.0, "photon": 10.0, "electron": 5.0, "muon": 3.0, "tau": 15.0}


@dataclass(frozen=True)
class Panels:
    """The quantities of one picture."""

    name: str
    title: str
    quantities: tuple[Quantity, ...]


def _counts(n: int) -> np.ndarray:
    return np.arange(n + 2) - 0.5


def _event(text: str, label: str, unit: str, edges: np.ndarray) -> Quantity:
    return Quantity(text, label, unit, edges, *observable(text))


def _of_object(name: str, lowest: float) -> Panels:
    highest = {"jet": 1000.0, "photon": 500.0}.get(name, 200.0)
    edge = 4.5 if name == "jet" else 2.5
    made = (
        _event(f"{name}[0].pt", f"leading {name} pT", "GeV", np.geomspace(lowest, highest, 31)),
        Quantity(f"{name} eta", f"η of all {name}s", "", np.linspace(-edge, edge, 31), *objects(name, "eta")),
        _event(f"n_{name}", f"number of {name}s", "", _counts(10 if name == "jet" else 4)),
    )
    return Panels(name, f"{name.capitalize()}s", made)


def spectra() -> tuple[Panels, ...]:
    """Return the pictures of spectra."""
    sums = (
        _event("met", "missing ET", "GeV", np.linspace(0, 200, 41)),
        _event("ht", "HT", "GeV", np.linspace(0, 1000, 41)),
        _event("mht", "missing HT", "GeV", np.linspace(0, 300, 41)),
    )
    masses = (
        Quantity("mμμ", "mass of μ⁺μ⁻", "GeV", np.geomspace(0.5, 200, 31), *pairs("muon")),
        Quantity("mee", "mass of e⁺e⁻", "GeV", np.linspace(0, 150, 31), *pairs("electron")),
        Quantity("mγγ", "mass of γγ", "GeV", np.linspace(0, 200, 41), *pairs("photon", charge=False)),
    )
    other = (
        Quantity("jet pt", "pT of all jets", "GeV", np.geomspace(20, 1000, 31), *objects("jet")),
        _event("jet[1].pt", "second jet pT", "GeV", np.geomspace(20, 1000, 31)),
        _event("n_interaction", "number of interactions", "", _counts(60)),
    )
    return (
        *(_of_object(name, lowest) for name, lowest in OBJECTS.items()),
        Panels("sums", "Sums", sums),
        Panels("masses", "Masses of pairs", masses),
        Panels("other", "All jets, the second jet, and pile-up", other),
    )


def curves() -> dict[str, Quantity]:
    """Return the quantities whose rate above a threshold is drawn, by the name of the curve in
    published.toml."""

    def leading(label: str, low: float, high: float, *texts: str) -> Quantity:
        return Quantity(label, label, "GeV", np.geomspace(low, high, 40), *observable(*texts), above=True)

    central = Quantity("HT", "HT", "GeV", np.linspace(60, 700, 40), *sum_of("jet", 30.0, 2.5), above=True)
    return {
        "jet": leading("one jet, pT", 20, 400, "jet[0].pt"),
        "jet2": leading("two jets, pT", 20, 300, "jet[1].pt"),
        "eg": leading("photon or e, pT", 10, 100, "photon[0].pt", "electron[0].pt"),
        "photon": leading("photon, pT", 10, 100, "photon[0].pt"),
        "electron": leading("electron, pT", 5, 80, "electron[0].pt"),
        "muon": leading("muon, pT", 3, 60, "muon[0].pt"),
        "met": leading("missing ET", 10, 200, "met"),
        "ht": central,
        "tau": leading("tau, pT", 15, 200, "tau[0].pt"),
    }
