"""Write the results of a training: models, their cards, metrics and the training curve."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec
from matplotlib.figure import Figure

from trigemu.base import toml_text
from trigemu.base.files import new_folder, write_text
from trigemu.base.toml import Document
from trigemu.results.figures import style
from trigemu.results.table import Column, Table
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue
from trigemu_decade.card import Step

from .config import MISSING, AutoencoderTable, ClassifierTable, Config
from .train import Trained

LIBRARIES = ("numpy", "jax", "optax", "onnx", "xgboost-cpu")
AUTOENCODER, INTEGERS, CLASSIFIER = "autoencoder.onnx", "autoencoder.json", "classifier.json"
TREES, NETWORK = "quantile.json", "quantile.onnx"
CARD, METRICS, CURVE = "decade.toml", "metrics.json", "training.png"
_FILES = {AUTOENCODER, INTEGERS, CLASSIFIER, TREES, NETWORK, METRICS, CURVE}
_FILES |= {"autoencoder.toml", "classifier.toml"}
#: Names of the folders of sets: this prefix and so many digits of the digest of their files.
_SET, _DIGITS = "decade-", 16


def write(trained: Trained, config: Config, catalogue: Catalogue, folder: Path) -> dict[str, str]:
    """Write a trained set: all files but one into a new folder named by their digest, then the card that
    refers to them, so that sets are never mixed. Return the sha256 of the cards."""
    metrics = {
        "config_sha256": config.document.sha256,
        "catalogue": {"name": catalogue.table.name, "sha256": catalogue.sha256},
        "seed": config.table.training.seed,
        "half": split.HALF_NAMES[config.half],
        "versions": {name: version(name) for name in LIBRARIES},
        **trained.metrics,
    }
    quantile = NETWORK if trained.quantile.weights else TREES
    files = {quantile: trained.quantile.content, METRICS: (json.dumps(metrics, indent=1) + "\n").encode()}
    if trained.curve:
        files[CURVE] = style.drawn(_curve(trained), "png")
    if trained.model is None:
        assert config.card
        score, score_card = Path(os.path.relpath(config.card, folder)), config.card.read_bytes()
    else:
        model = CLASSIFIER if config.table.classifier else INTEGERS if config.quantise else AUTOENCODER
        files[model] = trained.model
        score_card = _model_card(trained.model, model, config, catalogue).encode()
        files[Path(model).with_suffix(".toml").name] = score_card
    digest = hashlib.sha256()
    for file, content in sorted(files.items()):
        digest.update(f"{file} {len(content)}\n".encode() + content)
    name = f"{_SET}{digest.hexdigest()[:_DIGITS]}"
    if trained.model is not None:
        score = Path(name) / Path(model).with_suffix(".toml")
    sha256 = hashlib.sha256(score_card).hexdigest()
    card = _card(trained, config, catalogue, f"{name}/{quantile}", score.as_posix(), sha256)
    if not (folder / name).is_dir():  # else from a run that was killed before it replaced the card
        with new_folder(folder / name) as new:
            for file, content in files.items():
                (new / file).write_bytes(content)
    write_text(folder / CARD, card)
    for other in folder.glob(f"{_SET}{'[0-9a-f]' * _DIGITS}"):
        # Sets that the card no longer refers to, unless they contain other files
        if other.name != name and {file.name for file in other.iterdir()} <= _FILES:
            shutil.rmtree(other, ignore_errors=True)
    digests = {} if trained.model is None else {score.as_posix(): sha256}
    return digests | {CARD: hashlib.sha256(card.encode()).hexdigest()}


def _model_card(content: bytes, file: str, config: Config, catalogue: Catalogue) -> str:
    network = {"file": file, "sha256": hashlib.sha256(content).hexdigest()}
    table = config.table.learner
    assert table
    blocks = ({"observables": block.observables, "padding": block.padding} for block in table.inputs)
    tables = [toml_text.table("[network]", network)]
    tables += (toml_text.table("[[network.inputs]]", block) for block in blocks)
    return "\n".join([*_head(_title(table), config, catalogue, config.document), *tables])


def _title(table: AutoencoderTable | ClassifierTable) -> str:
    if isinstance(table, ClassifierTable):
        return (
            f"Classifier of {', '.join(table.signals)} against the background: the margin of boosted trees."
        )
    if table.variational:
        return "Variational autoencoder: the sum of the squared means of the latent variables."
    return "Autoencoder: the logarithm of the masked mean squared error."


def _card(
    trained: Trained, config: Config, catalogue: Catalogue, file: str, score_card: str, score_digest: str
) -> str:
    quantile = {
        "file": file,
        "sha256": hashlib.sha256(trained.quantile.content).hexdigest(),
        "q": trained.q,
        "x": trained.x,
        "missing": MISSING,
    }
    title = "DECADE: a score less its conditional quantile."
    tables = [toml_text.table("[score]", {"card": score_card, "sha256": score_digest})]
    tables.append(toml_text.table("[quantile]", quantile))
    for key, steps in (("chosen", trained.choice), ("seen", trained.seen)):
        tables += (toml_text.table(f"[[quantile.{key}]]", msgspec.to_builtins(step)) for step in steps)
    return "\n".join([*_head(title, config, catalogue, config.of_x), *tables])


def _head(title: str, config: Config, catalogue: Catalogue, names: Document) -> Iterator[str]:
    """Yield the tables that both cards have. names: the file that defines the names."""
    further = config.table.training.description
    yield toml_text.entry("description", f"{title} {further}".strip()) + "\n"
    digests = [digest for sample in catalogue.background for digest in sample.digests if digest]
    trained_on = {"catalogue": catalogue.table.name, "files": digests}
    if config.half != split.TRAINING:
        trained_on["half"] = split.HALF_NAMES[config.half]
    yield toml_text.table("[trained_on]", trained_on)
    for section in ("objects", "sums"):
        for name, entries in names.data.get(section, {}).items():
            yield toml_text.table(f"[{section}.{name}]", entries)


def chosen(steps: Sequence[Step]) -> Table:
    """Return a table of the steps in which x was chosen."""
    heads = ("overlap [Hz]", "reduced by", "unique share", "trees", "split nodes")
    names = (
        Column("observable", "key", "observable"),
        Column("trigger", "label", "for the overlap with", leads=False),
    )
    columns = (*names, *(Column(head, "number", head) for head in heads))
    table = Table(columns, title="x from the menu, on the training half")
    for step in steps:
        reduction = f"{step.overlap_reduction_hz:.0f} ± {step.error_hz:.0f}" if step.observable else ""
        rates = f"{step.overlap_hz:.0f}", reduction, f"{step.share:.3f}"
        size = f"{step.trees:.1f}", f"{step.split_nodes:.1f}"
        table.add(step.observable or "(the score alone)", step.trigger, *rates, *size)
    return table


def _curve(trained: Trained) -> Figure:
    epochs = range(1, len(trained.curve) + 1)
    with style.figure() as (figure, axes):
        for kind, colour, text in (("train", 0, "training events"), ("test", 2, "test events")):
            losses = [getattr(loss, kind) for loss in trained.curve]
            axes.plot(epochs, losses, color=style.COLOURS[colour], label=text)
        axes.set(xlabel="epoch", ylabel="weighted mean squared error")
        axes.legend()
        return figure
