"""The rates of a menu with coffea and awkward: NanoEvents in a processor, chunk by chunk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
from coffea import processor
from coffea.nanoevents import BaseSchema
from patterns import Patterns, counted

#: Events read at a time: the large baskets, whole.
CHUNK = 250_000
#: Opposite directions, up to rounding.
OPPOSITE = np.pi - 1e-12
MODELS = Path(__file__).parents[2] / "plugins" / "trigemu_decade" / "models" / "primary"


def delta_phi(phi1: Any, phi2: Any) -> Any:
    """Return φ1 − φ2 between −π and π; in double precision, as all derived quantities here."""
    return (phi1 - phi2 + np.pi) % (2 * np.pi) - np.pi


def delta_r(a: ak.Array, b: ak.Array) -> ak.Array:
    return np.hypot(a.eta - b.eta, delta_phi(a.phi, b.phi))


def objects(events: Any, name: str, *more: str) -> ak.Array:
    return ak.zip({column: events[f"{name}_{column}"] for column in ("pt", "eta", "phi", *more)})


def in_double(objects: ak.Array) -> ak.Array:
    return ak.zip({name: ak.values_astype(objects[name], "float64") for name in ak.fields(objects)})


def selected(jets: ak.Array, photons: ak.Array) -> tuple[ak.Array, ak.Array]:
    """Return jets and photons of the menus: above 20 and 10 GeV, jets not within ΔR 0.4 of a photon."""
    photons = photons[photons.pt >= 10]
    jets = jets[jets.pt >= 20]
    jet, photon = ak.unzip(ak.cartesian([in_double(jets), in_double(photons)], nested=True))
    return jets[~ak.any(delta_r(jet, photon) < 0.4, axis=-1)], photons


def leading(pt: ak.Array, number: int = 0) -> np.ndarray:
    """Return the pT of an object of each event; 0 where there is none."""
    return ak.to_numpy(ak.fill_none(ak.pad_none(pt, number + 1)[:, number], 0.0))


def primary(events: Any) -> list[np.ndarray]:
    jets, photons = selected(objects(events, "Jet"), objects(events, "Photon"))
    return [leading(jets.pt) > 100, leading(photons.pt) > 30]


def by_hand(events: Any) -> list[np.ndarray]:
    """Decide the primary menu, with overlap removal only of jets above the threshold."""
    jets = objects(events, "Jet")
    jets, photons = selected(jets[jets.pt > 100], objects(events, "Photon"))
    return [ak.to_numpy(ak.num(jets) > 0), leading(photons.pt) > 30]


def pair_mass(a: ak.Array, b: ak.Array) -> ak.Array:
    square = 2 * a.pt * b.pt * (np.cosh(a.eta - b.eta) - np.cos(a.phi - b.phi))
    return np.sqrt(np.maximum(square, 0))


def any_pair(a: ak.Array, b: ak.Array, passes: Any) -> np.ndarray:
    return ak.to_numpy(ak.any(passes(*ak.unzip(ak.cartesian([a, b]))), axis=1))


def any_of(objects: ak.Array, passes: Any) -> np.ndarray:
    """Whether any two different objects of each event pass."""
    return ak.to_numpy(ak.any(passes(*ak.unzip(ak.combinations(objects, 2))), axis=1))


def full(events: Any) -> list[np.ndarray]:
    jets, photons = selected(objects(events, "Jet"), objects(events, "Photon"))
    jets, photons = in_double(jets), in_double(photons)
    electrons, muons = (in_double(objects(events, name, "charge")) for name in ("Electron", "Muon"))
    met, met_phi = (np.asarray(values, "float64") for values in (events.MET_pt, events.MET_phi))
    central, forward = jets[abs(jets.eta) <= 2.4], jets[abs(jets.eta) >= 3.0]
    jet, photon, muon = leading(jets.pt), leading(photons.pt), leading(muons.pt)
    ht = ak.to_numpy(ak.sum(jets.pt, axis=1) + ak.sum(photons.pt, axis=1))
    mht = np.hypot(*(ak.to_numpy(ak.sum(jets.pt * f(jets.phi), axis=1)) for f in (np.cos, np.sin)))
    from_met = abs(delta_phi(leading(jets.phi), met_phi))
    j40, g12 = jets[jets.pt >= 40], photons[photons.pt >= 12]
    mu4, mu6, e12 = muons[muons.pt > 4], muons[muons.pt >= 6], electrons[electrons.pt >= 12]
    mu14, e10 = muon > 14, electrons[electrons.pt >= 10]
    mu6_j40 = any_pair(mu6, central[central.pt >= 40], lambda a, b: delta_r(a, b) <= 0.5)
    mu5 = muon >= 5
    return [
        *(jet > threshold for threshold in (40, 60, 80, 100)),
        *(leading(jets.pt, n) > threshold for n, threshold in ((1, 70), (2, 50), (3, 35))),
        leading(forward.pt) > 70,
        any_of(j40, lambda a, b: (abs(a.eta - b.eta) >= 3) & (pair_mass(a, b) >= 600)),
        photon > 15,
        photon > 30,
        leading(photons.pt, 1) > 10,
        any_of(photons[:, :2], lambda a, b: (b.pt > 15) & (pair_mass(a, b) > 30)),
        any_pair(photons[photons.pt >= 20], central[central.pt >= 30], lambda a, b: delta_r(a, b) >= 1),
        leading(electrons.pt) > 22,
        leading(electrons.pt, 1) > 10,
        any_pair(e12, g12, lambda a, b: delta_r(a, b) >= 0.4),
        muon > 4,
        mu14,
        leading(muons.pt, 1) > 4,
        any_of(mu4, lambda a, b: (a.charge * b.charge < 0) & (abs(pair_mass(a, b) - 12.5) <= 5.5)),
        mu6_j40,
        mu5 & ak.to_numpy(ak.num(g12) > 0),
        mu5 & ak.to_numpy(ak.num(e10) > 0),
        ht > 220,
        mht > 80,
        met > 100,
        (met > 60) & (jet > 50) & (from_met > 1),
        (jet > 100) & ~(ht > 220),
        (ak.to_numpy(ak.num(central)) > 1) & (mu14 | mu6_j40),
    ]


def decade(events: Any) -> list[np.ndarray]:
    """The primary triggers, and the autoencoder less its conditional quantile in events with a photon."""
    jets, photons = selected(objects(events, "Jet"), objects(events, "Photon"))
    j100, g30 = leading(jets.pt) > 100, leading(photons.pt) > 30
    some = ak.to_numpy(ak.num(photons) > 0)
    jets, photons = in_double(jets[some]), in_double(photons[some])
    both = ak.concatenate([jets, photons], axis=1)
    x, y = (ak.to_numpy(ak.sum(both.pt * f(both.phi), axis=1)) for f in (np.cos, np.sin))
    mht_phi = np.arctan2(-y, -x)
    n_jet, n_photon = (ak.to_numpy(ak.num(kind)) for kind in (jets, photons))
    inputs = [n_jet, n_photon, ak.to_numpy(ak.sum(both.pt, axis=1)), np.hypot(x, y)]
    for kind, n in ((jets, 6), (photons, 4)):
        d_phi = delta_phi(kind.phi, mht_phi)
        # The network was trained on π for opposite directions; with −π, events of a single object fire.
        turned = ak.zip({"pt": kind.pt, "eta": kind.eta, "phi": ak.where(d_phi < -OPPOSITE, np.pi, d_phi)})
        inputs += [leading(turned[name], number) for number in range(n) for name in ("pt", "eta", "phi")]
    network, trees = models()
    (score,) = network.run(None, {network.get_inputs()[0].name: np.column_stack(inputs).astype("float32")})
    quantile = trees.inplace_predict(np.column_stack([leading(jets.pt), leading(photons.pt), n_jet]))
    fired = np.zeros(len(some), bool)
    fired[some] = score.reshape(-1).astype("float64") - quantile > 0
    return [j100, g30, fired]


def models() -> tuple[Any, Any]:
    import onnxruntime
    import xgboost

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # chunks run side by side
    network = onnxruntime.InferenceSession(MODELS / "autoencoder.onnx", options)
    trees = xgboost.Booster(model_file=MODELS / "quantile.json")
    trees.set_param({"nthread": 1})
    return network, trees


DECISIONS = {"primary": primary, "by_hand": by_hand, "full": full, "decade": decade}


class Triggers(processor.ProcessorABC):
    """Counts the patterns of a chunk."""

    def __init__(self, menu: str) -> None:
        self.decide = DECISIONS[menu]

    def process(self, events: Any) -> Patterns:
        bits = sum(fired.astype("int64") << n for n, fired in enumerate(self.decide(events)))
        return counted(bits, np.asarray(events.genWeight))

    def postprocess(self, accumulator: Any) -> Any:
        return accumulator


def patterns(path: Path, menu: str, threads: int) -> Patterns:
    """Count the patterns in a ROOT file; with more threads than one, in as many processes."""
    several = processor.FuturesExecutor(workers=threads, status=False)
    executor = several if threads > 1 else processor.IterativeExecutor(status=False)
    run = processor.Runner(executor, schema=BaseSchema, chunksize=CHUNK)
    return run({"data": {"files": {str(path): "Events"}}}, Triggers(menu))
