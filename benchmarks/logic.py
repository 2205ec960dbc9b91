"""Networks in integers, in several widths of weights and activations: their unique share and size in logic.

    python benchmarks/logic.py 6:8 6:8 6:6 4:6      # WEIGHTS:ACTIVATIONS; a second 6:8 has the next seed

The configuration is that of models/logic. Networks and trees are trained on one half of the embedded sample
(odd seeds: the training half), and judged on the other, with trees of 12 and 16 bits. Each point is a line of
JSON. It needs yosys and takes minutes a point.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from trigemu_anomaly.integer_file import read_integer_file
from trigemu_anomaly.models import load_trees, open_model
from trigemu_anomaly.precision import PrecisionTable
from trigemu_anomaly.xgboost_file import QUANTILE
from trigemu_decade.training import train as training
from trigemu_decade.training.config import Config, read_config, replica
from trigemu_firmware.circuit import mapped
from trigemu_firmware.network import network_circuit

from trigemu.api import say
from trigemu.emulation.budgets import threshold_for
from trigemu.samples import split
from trigemu.samples.opening import open_catalogue

MODELS = Path(__file__).parents[1] / "plugins" / "trigemu_decade" / "models" / "logic"
#: Of the network.
CLOCKS = 12
GATHERED: dict[int, Any] = {}
_gather = training.gather


def _once(menu: Any, catalogue: Any, half: int, *arguments: Any, **more: Any) -> Any:
    """Read each half of the sample once for all trainings, which have the same inputs."""
    for one in {half, split.other_half(half)} - {*GATHERED}:
        GATHERED[one] = _gather(menu, catalogue, one, *arguments, **more)
    return GATHERED[half]


def types(thresholds: int, leaves: int) -> PrecisionTable:
    """As in menus/decade-logic.toml, with other widths."""
    of_input = f"ap_ufixed<{thresholds},8,AP_TRN,AP_SAT>"
    return PrecisionTable(of_input, of_input, f"ap_fixed<{leaves},8,AP_RND>", (0, 1, 5))


def judged(config: Config, model: bytes, quantile: bytes, precision: PrecisionTable) -> dict[str, float]:
    """Return the rates on the half that was not trained on, at the threshold that meets the budget there."""
    events = GATHERED[split.other_half(config.half)]
    features, x = (events.values[name].astype(np.float32) for name in ("features", "x"))
    trees = precision.of(load_trees(quantile, x.shape[1], QUANTILE).ensemble)
    score = open_model(model, features.shape[1]).score(features) - trees.to_float(trees.predict(x))
    budget = config.table.training.unique_rate_hz
    threshold = threshold_for(score, events.failing, budget).threshold
    total, unique = (float(rate[score > threshold].sum()) for rate in (events.weight, events.failing))
    return {"total_hz": total, "unique_hz": unique, "unique_share": unique / total}


def networks(points: list[str]) -> Iterator[dict[str, Any]]:
    """Train a network and trees for each point, and judge and map the network."""
    base, samples = read_config(MODELS / "train.toml", quantise=True), open_catalogue(None)
    assert base.quantise
    for number, point in enumerate(points):
        weights, activations = map(int, point.split(":"))
        bits = msgspec.structs.replace(base.quantise, weights=weights, activations=activations)
        seed = 1 + points[:number].count(point)
        config = replace(replica(base, seed), quantise=bits)
        trained = training.train(config, samples)
        assert trained.model
        rates = judged(config, trained.model, trained.quantile.content, types(12, 16))
        used = mapped(network_circuit(read_integer_file(trained.model), "network", CLOCKS))
        of_point = {"weights": weights, "activations": activations, "seed": seed, **rates}
        yield {**of_point, "clocks": CLOCKS, "lut": used.lut, "ff": used.ff, "levels": used.levels}


if __name__ == "__main__":
    training.gather = _once  # type: ignore[assignment]
    for point in networks(sys.argv[1:]):
        say(json.dumps(point))
