"""Toy models of the decade kind, what they give by other means, and a menu with them."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.reference
import onnx_toys
import xgboost
from click.testing import CliRunner
from object_choices import distance as distance

from trigemu import Catalogue, Events, Menu, make_plan, read_menu
from trigemu.cli.commands import cli


def train_quantile(features: int, trees: int = 10, depth: int = 3, **others: Any) -> xgboost.Booster:
    """Of toys like observables in GeV, often 0; `constant`: of a target that never changes."""
    rng = np.random.default_rng(features)
    x = np.float32(rng.exponential(25, (4000, features)) * others.pop("scale", 1.0))
    x[rng.random(x.shape) < 0.3] = 0
    spread = 0.0 if others.pop("constant", False) else 1.0
    y = 1.0 + spread * (np.log1p(x).sum(axis=1) / 4 + rng.normal(0, 0.3, len(x)))
    given = {"objective": "reg:quantileerror", "quantile_alpha": 0.9, "max_depth": depth, "nthread": 1}
    return xgboost.train(given | others, xgboost.DMatrix(x, y), trees)


OBJECTS = """
[objects.photon]
from = "photon"
pt = { min = 8.0 }

[objects.jet]
from = "jet"
pt = { min = %s }
remove_overlap = { with = "photon", dr = 0.4 }

[sums.ht]
of = ["jet", "photon"]
"""
NETWORK_INPUTS = [
    (["n_jet", "ht / 100", "met / 100"], None),
    (["jet[0].pt / 100", "jet[0].eta"], 0.0),
    (["photon[0].pt / 100"], -1.0),
]
#: The menu's objects are others than those of the cards, whose jets differ too.
MENU = """
[menu]
name = "toy"
plugins = ["decade"]

[objects.photon]
from = "photon"
pt = { min = 15.0 }

[objects.jet]
from = "jet"
pt = { min = 30.0 }

[[trigger]]
name = "J60"
kind = "threshold"
observable = "jet[0].pt"
above = 60.0

[[trigger]]
name = "MU"
kind = "threshold"
observable = "muon[0].pt"
above = 30.0
prescale = 2

[[trigger]]
name = "AD"
kind = "decade"
card = "decade.toml"
requires = "n_photon >= 1"
above = 0.0
"""


@dataclass(frozen=True)
class Models:
    """A folder with models, cards and menu.toml, to spoil at will."""

    folder: Path
    booster: xgboost.Booster

    def write_network(self, content: bytes, name: str = "network.toml") -> None:
        head = 'description = "toy"\n' + OBJECTS % 12.0
        card = onnx_toys.write_card(self.folder, content, NETWORK_INPUTS, head)
        card.rename(self.folder / name)

    def write_card(
        self, *replaced: tuple[str, str], name: str = "decade.toml", bdt: bytes | None = None
    ) -> None:
        """The card of the decade score, some texts of it replaced, with another BDT if one is given."""
        if bdt is not None:
            (self.folder / "quantile.json").write_bytes(bdt)
        files = ("network.toml", "quantile.json")
        score, quantile = (hashlib.sha256((self.folder / f).read_bytes()).hexdigest() for f in files)
        text = OBJECTS % 20.0 + (
            f'[score]\ncard = "network.toml"\nsha256 = "{score}"\n'
            f'[quantile]\nfile = "quantile.json"\nsha256 = "{quantile}"\n'
            'q = 0.1\nx = ["jet[0].pt", "photon[0].pt"]\nmissing = 0.0\n'
        )
        for old, new in replaced:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (self.folder / name).write_text(text)

    def menu(self, text: str = MENU, *replaced: tuple[str, str], name: str = "menu.toml") -> Menu:
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        file = self.folder / name
        file.write_text(text)
        return read_menu(file)


@dataclass(frozen=True)
class Truth:
    """Of all events, by other libraries and loops; y, Y and score also where AD does not ask."""

    passed: np.ndarray
    x: np.ndarray
    y: np.ndarray
    quantile: np.ndarray

    @property
    def score(self) -> np.ndarray:
        return np.where(self.passed, self.y - self.quantile, -np.inf)


def observables(events: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """The inputs of the network, float32[n, 6], and x, float64[n, 2]: NaN where its object is missing."""
    inputs, x = [], []
    for event in events:
        photons = [p for p in event["photon"] if p["pt"] >= 8]
        clear = [j for j in event["jet"] if all(distance(j, p) >= 0.4 for p in photons)]
        jets, hard = ([j for j in clear if j["pt"] >= minimum] for minimum in (12, 20))
        ht = sum(o["pt"] for o in jets + photons)
        jet = [jets[0]["pt"] / 100, jets[0]["eta"]] if jets else [0.0, 0.0]
        photon = photons[0]["pt"] / 100 if photons else -1.0
        inputs.append([len(jets), ht / 100, event["met"] / 100, *jet, photon])
        x.append([objects[0]["pt"] if objects else math.nan for objects in (hard, photons)])
    return np.array(inputs, np.float32), np.array(x)


def truth(models: Models, events: list[dict[str, Any]], missing: float = 0.0) -> Truth:
    """y by the reference evaluator of ONNX, Y(x) by XGBoost. x is 0 where its object is missing."""
    inputs, x = observables(events)
    network = onnx.load_from_string((models.folder / "model.onnx").read_bytes())
    y = onnx.reference.ReferenceEvaluator(network).run(None, {"x": inputs})[0]
    passed = [any(p["pt"] >= 15 for p in event["photon"]) for event in events]
    quantile = models.booster.inplace_predict(np.float32(np.nan_to_num(x, nan=missing)))
    return Truth(np.array(passed), np.nan_to_num(x), np.float64(y), np.float64(quantile))


def compiled(menu: Menu, name: str = "AD") -> Any:
    plan = make_plan([menu])
    return plan.slots[plan.bits[0][name]].compiled


def read_events(menu: Menu, catalogue: Catalogue, sample: int = 0) -> Events:
    chosen = catalogue.samples[sample]
    return chosen.read(0, 0, chosen.entries, make_plan([menu]).needs)


def command(*given: str) -> tuple[int, str]:
    """Run `trigemu decade` in this process: its exit status and all it says."""
    result = CliRunner().invoke(cli, ("decade", *given), prog_name="trigemu")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


#: A configuration of `decade train`, and the menu that it names.
TRAINING_MENU = '[[trigger]]\nname = "J"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = 60.0\n'
AD_MENU = TRAINING_MENU + '[[trigger]]\nname = "AD"\nkind = "decade"\ncard = "{}/decade.toml"\nabove = 0.0\n'
TRAINING = """
[training]
menu = "others.toml"
requires = "n_jet >= 1"
unique_rate_hz = 8.0e6

[autoencoder]
epochs = 2
hidden = [3]

[[autoencoder.inputs]]
observables = ["n_jet", "met"]

[quantile]
x = ["jet[0].pt"]
"""
