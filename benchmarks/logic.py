"""A trigger in logic in several widths of weights, activations, thresholds and leaves: unique share and size.

    python benchmarks/logic.py networks 6:8 6:8 6:6 4:6    # WEIGHTS:ACTIVATIONS; a second 6:8: the next seed
    python benchmarks/logic.py trees 8:12 12:16              # THRESHOLDS:LEAVES, of the trees of models/logic
    python benchmarks/logic.py figure POINTS FIGURE.png      # from the lines that these print

The configuration is that of models/logic. Networks and trees are trained on one half of the embedded sample
(odd seeds: the training half), and judged on the other. Each point is a line of JSON. It needs yosys and
takes minutes a point.
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
from trigemu_decade.training.config import Config, ConfigTable, read_config, replica
from trigemu_firmware.network import network_circuit
from trigemu_firmware.rtl import mapped
from trigemu_firmware.verilog_trees import trees_circuit

from trigemu.api import say
from trigemu.emulation.budgets import threshold_for
from trigemu.results.figures import style
from trigemu.samples import split
from trigemu.samples.opening import open_catalogue

MODELS = Path(__file__).parents[1] / "plugins" / "trigemu_decade" / "models" / "logic"
#: Of the network and of the trees.
CLOCKS = 12, 2
GATHERED: list[Any] = []
_gather = training.gather


def _once(*arguments: Any) -> Any:
    """Read the sample once for all trainings, which have the same inputs."""
    if not GATHERED:
        GATHERED.append(_gather(*arguments))
    return GATHERED[0]


def types(thresholds: int, leaves: int) -> PrecisionTable:
    """As in menus/decade-logic.toml, with other widths."""
    of_input = f"ap_ufixed<{thresholds},8,AP_TRN,AP_SAT>"
    return PrecisionTable(of_input, of_input, f"ap_fixed<{leaves},8,AP_RND>", (0, 1, 5))


def judged(config: Config, model: bytes, quantile: bytes, precision: PrecisionTable) -> dict[str, float]:
    """Return the rates on the half that was not trained on, at the threshold that meets the budget there."""
    events = GATHERED[0].of(split.other_half(config.half))
    features, x = (events.values[name].astype(np.float32) for name in ("features", "x"))
    trees = precision.of(load_trees(quantile, x.shape[1], QUANTILE).ensemble)
    score = open_model(model, features.shape[1]).score(features) - trees.to_float(trees.predict(x))
    failing = events.weight * (1 - events.any_but())
    budget = config.table.training.unique_rate_hz
    threshold = threshold_for(score, failing, budget).threshold
    total, unique = (float(rate[score > threshold].sum()) for rate in (events.weight, failing))
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
        used = mapped(network_circuit(read_integer_file(trained.model), "network", CLOCKS[0]))
        of_point = {"weights": weights, "activations": activations, "seed": seed, **rates}
        yield {**of_point, "clocks": CLOCKS[0], "lut": used.lut, "ff": used.ff, "levels": used.levels}


def trees(points: list[str]) -> Iterator[dict[str, Any]]:
    """Judge and map the trees of the model in the repository in other widths."""
    config, samples = read_config(MODELS / "train.toml", quantise=True), open_catalogue(None)
    training.scored(replace(config, table=few_epochs(config)), samples, lambda epochs: None, None)
    model, quantile = ((MODELS / name).read_bytes() for name in ("autoencoder.json", "quantile.json"))
    for point in points:
        thresholds, leaves = map(int, point.split(":"))
        precision = types(thresholds, leaves)
        fixed = precision.of(load_trees(quantile, len(config.x), QUANTILE).ensemble)
        used = mapped(trees_circuit(fixed, CLOCKS[1]))
        rates = judged(config, model, quantile, precision)
        of_point = {"thresholds": thresholds, "leaves": leaves, **rates, "clocks": CLOCKS[1]}
        yield {**of_point, "lut": used.lut, "ff": used.ff, "levels": used.levels}


def few_epochs(config: Config) -> ConfigTable:
    """Return the table with one epoch, for a network that only reads the sample."""
    assert config.table.autoencoder
    learner = msgspec.structs.replace(config.table.autoencoder, epochs=1)
    return msgspec.structs.replace(config.table, autoencoder=learner)


def draw(points: list[dict[str, Any]], path: Path) -> None:
    """Draw the unique share against the look-up tables."""
    with style.figure(9, 5) as (figure, axes):
        for kind, key, colour in (("network", "weights", 0), ("trees", "thresholds", 2)):
            of_kind = [point for point in points if key in point]
            luts, shares = ([point[name] for point in of_kind] for name in ("lut", "unique_share"))
            axes.plot(luts, shares, "os"[colour // 2], color=style.COLOURS[colour], label=f"{kind}, in bits")
            other = "activations" if kind == "network" else "leaves"
            for point in of_kind:
                place, text = (point["lut"], point["unique_share"]), f"{point[key]}:{point[other]}"
                axes.annotate(text, place, (4, 4), textcoords="offset points", fontsize=10)
        axes.set(xscale="log", xlabel="look-up tables of UltraScale+", ylabel="unique share")
        axes.legend(loc="lower right")
        style.save(figure, path)


if __name__ == "__main__":
    command, *words = sys.argv[1:]
    training.gather = _once  # type: ignore[assignment]
    if command == "figure":
        lines = Path(words[0]).read_text().splitlines()
        draw([json.loads(line) for line in lines], Path(words[1]))
    else:
        for point in {"networks": networks, "trees": trees}[command](words):
            say(json.dumps(point))
