"""What is trained on what, in one TOML file.

[training]
menu = "primary.toml"               # the triggers that the anomaly trigger shall not repeat
requires = "n_photon >= 1"          # the events that it is asked for
unique_rate_hz = 1350.0
seed = 1

[autoencoder]                       # or: card = "…/autoencoder.toml", one that is there
[[autoencoder.inputs]]
observables = ["n_jet", "ht"]

[quantile]
x = ["jet[0].pt", "photon[0].pt"]   # the primary observables

[objects.jet] …  [sums.ht] …        # what these names mean, as in a menu
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from trigemu.features import Inputs
from trigemu.objects import read_scope
from trigemu.observables import Condition, Number
from trigemu.tables import Document, Key, Table, load, read
from trigemu.triggers.anomaly import InputBlock, read_inputs
from trigemu.triggers.base import Context

Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(gt=0)]
Fraction = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class TrainingTable(Table, frozen=True, kw_only=True):
    """[training]"""

    menu: str
    requires: str
    unique_rate_hz: Positive
    seed: int = 1
    description: str = ""


class AutoencoderTable(Table, frozen=True, kw_only=True):
    """[autoencoder]: the defaults are the paper's (arXiv:2508.10224), but for the batch."""

    card: str | None = None
    inputs: tuple[InputBlock, ...] = ()
    hidden: tuple[Count, ...] = (32, 16, 8, 3, 8, 16, 32)
    epochs: Count = 200
    learning_rate: Positive = 1e-3
    batch_size: Count = 512
    test_fraction: Fraction = 0.2

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if (self.card is None) == (not self.inputs):
            yield "inputs", "give the inputs of an autoencoder to train, or the card of one that is there"


class QuantileTable(Table, frozen=True, kw_only=True):
    """[quantile]: the defaults are the paper's (arXiv:2508.10224)."""

    x: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    learning_rate: Positive = 0.3
    max_depth: Count = 4
    max_trees: Count = 100


class ConfigTable(Table, frozen=True, kw_only=True):
    training: TrainingTable
    autoencoder: AutoencoderTable
    quantile: QuantileTable


@dataclass(frozen=True)
class Config:
    """A configuration whose names are resolved. inputs: of the autoencoder to train, None where its
    card is given; x: the primary observables. document: for what is copied into cards."""

    path: Path
    table: ConfigTable
    document: Document
    context: Context
    requires: Condition
    inputs: Inputs | None
    x: Inputs

    @property
    def menu(self) -> Path:
        return self.path.parent / self.table.training.menu


#: What stands for a missing object in all inputs: training and cards agree on it, as the paper pads.
MISSING = 0.0


def read_config(path: Path) -> Config:
    """TableError holds all mistakes of the file."""
    document = load(path)
    scope = read_scope(document)
    own = {key: value for key, value in document.data.items() if key not in ("objects", "sums")}
    table = read(document, own, ConfigTable, (), "")
    document.finish()
    assert table is not None
    context = Context(scope, path.parent)

    def observable(text: str, key: Key) -> Number | None:
        return document.attempt(lambda: context.observable(text), key)

    wanted = table.training.requires
    requires = document.attempt(lambda: context.condition(wanted), ("training", "requires"))
    blocks = table.autoencoder.inputs
    for i, block in enumerate(blocks):
        if block.padding not in (None, MISSING):
            message = f"padding = {block.padding}: expected {MISSING}, which is what the network masks"
            document.problem(("autoencoder", "inputs", i, "padding"), "", message)
    inputs = read_inputs(
        blocks, lambda text, i, j: observable(text, ("autoencoder", "inputs", i, "observables", j))
    )
    primary = (InputBlock(table.quantile.x, MISSING),)
    x = read_inputs(primary, lambda text, i, j: observable(text, ("quantile", "x", j)))
    document.finish()
    assert requires is not None
    return Config(path, table, document, context, requires, inputs if blocks else None, x)
