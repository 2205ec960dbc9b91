"""Write the results of a training: models, their cards, metrics and the training curve."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from trigemu.output.figures.style import COLOURS, figure, save
from trigemu.samples import Catalogue
from trigemu.support import check_writable, toml_text, write_bytes, write_text

from .config import MISSING, Config
from .train import Trained

NETWORK, QUANTILE = "autoencoder.onnx", "quantile.json"
NETWORK_CARD, CARD = "autoencoder.toml", "decade.toml"
METRICS, CURVE = "metrics.json", "training.png"
_LIBRARIES = ("numpy", "jax", "optax", "onnx", "xgboost-cpu")


def write(trained: Trained, config: Config, catalogue: Catalogue, folder: Path) -> dict[str, str]:
    """Write all files into a folder, models before the cards that refer to them. Return the sha256 of the
    cards, which a menu may give."""
    for name in (NETWORK, QUANTILE, NETWORK_CARD, CARD, METRICS, CURVE):
        check_writable(folder / name)
    digests = {}
    if trained.network is not None:
        _write(folder / NETWORK, trained.network)
        save(_curve(trained), folder / CURVE)
        digests[NETWORK_CARD] = _write_text(folder / NETWORK_CARD, _network_card(trained, config, catalogue))
        score_card, score_digest = NETWORK_CARD, digests[NETWORK_CARD]
    else:
        given = config.path.parent / str(config.table.autoencoder.card)
        score_card = Path(os.path.relpath(given, folder)).as_posix()
        score_digest = hashlib.sha256(given.read_bytes()).hexdigest()
    _write(folder / QUANTILE, trained.quantile.json)
    digests[CARD] = _write_text(folder / CARD, _card(trained, config, catalogue, score_card, score_digest))
    write_text(folder / METRICS, json.dumps(metrics(trained, config, catalogue), indent=1) + "\n")
    return digests


def metrics(trained: Trained, config: Config, catalogue: Catalogue) -> dict[str, Any]:
    """Return the metrics of the training, with losses by epoch and pinball losses by tree."""
    return {
        "config_sha256": config.document.sha256,
        "catalogue": {"name": catalogue.table.name, "sha256": catalogue.sha256},
        "seed": config.table.training.seed,
        "versions": {name: version(name) for name in _LIBRARIES},
        "events": trained.events,
        "effective_events": trained.effective_events,
        "failing_hz": trained.failing_hz,
        "unique_rate_hz": config.table.training.unique_rate_hz,
        "fits": [
            {
                "q": attempt.q,
                "unique_hz_above_quantile": attempt.unique_hz,
                "cut": attempt.solution.cut,
                "cut_error": attempt.solution.error,
            }
            for attempt in trained.attempts
        ],
        "trees": trained.quantile.trees,
        "split_nodes": trained.quantile.split_nodes,
        "pinball_loss_by_tree": {
            "train": [round(loss.train, 7) for loss in trained.quantile.curve],
            "stop": [round(loss.stop, 7) for loss in trained.quantile.curve],
        },
        "autoencoder_loss_by_epoch": {
            "train": [round(loss.train, 5) for loss in trained.curve],
            "test": [round(loss.test, 5) for loss in trained.curve],
        },
    }


def _write(path: Path, content: bytes) -> None:
    write_bytes(path, content)


def _write_text(path: Path, text: str) -> str:
    write_text(path, text)
    return hashlib.sha256(text.encode()).hexdigest()


def _network_card(trained: Trained, config: Config, catalogue: Catalogue) -> str:
    assert trained.network is not None
    network = {"file": NETWORK, "sha256": hashlib.sha256(trained.network).hexdigest()}
    blocks = (
        {"observables": block.observables, "padding": block.padding}
        for block in config.table.autoencoder.inputs
    )
    what = "Autoencoder: the logarithm of the masked mean squared error."
    tables = [toml_text.table("[network]", network)]
    tables += (toml_text.table("[[network.inputs]]", block) for block in blocks)
    return "\n".join([*_head(what, config, catalogue), *tables])


def _card(trained: Trained, config: Config, catalogue: Catalogue, score_card: str, score_digest: str) -> str:
    quantile = {
        "file": QUANTILE,
        "sha256": hashlib.sha256(trained.quantile.json).hexdigest(),
        "q": trained.q,
        "x": config.table.quantile.x,
        "missing": MISSING,
    }
    return "\n".join(
        [
            *_head("DECADE: a score less its conditional quantile.", config, catalogue),
            toml_text.table("[score]", {"card": score_card, "sha256": score_digest}),
            toml_text.table("[quantile]", quantile),
        ]
    )


def _head(what: str, config: Config, catalogue: Catalogue) -> Iterator[str]:
    """Yield the tables that both cards have."""
    further = config.table.training.description
    yield toml_text.entry("description", f"{what} {further}".strip()) + "\n"
    digests = [digest for sample in catalogue.background for digest in sample.sha256 if digest]
    yield toml_text.table("[trained_on]", {"catalogue": catalogue.table.name, "files": digests})
    for section in ("objects", "sums"):
        for name, entries in config.document.data.get(section, {}).items():
            yield toml_text.table(f"[{section}.{name}]", entries)


def _curve(trained: Trained) -> Figure:
    epochs = range(1, len(trained.curve) + 1)
    with figure() as (made, axes):
        axes.plot(epochs, [loss.train for loss in trained.curve], color=COLOURS[0], label="training events")
        axes.plot(epochs, [loss.test for loss in trained.curve], color=COLOURS[2], label="test events")
        axes.set(xlabel="epoch", ylabel="weighted mean squared error")
        axes.legend()
        return made
