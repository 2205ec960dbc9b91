"""The training configuration, one TOML file.

[training]
menu = "primary.toml"               # the other triggers, whose events should not be accepted again
requires = "n_photon >= 1"          # the events that the anomaly trigger evaluates
unique_rate_hz = 1350.0
seed = 1

[autoencoder]                       # or [classifier]; or [score] with the card of an existing score
[[autoencoder.inputs]]
observables = ["n_jet", "ht"]

[quantile]
x = ["jet[0].pt", "photon[0].pt"]   # the primary observables; or "menu": chosen from those in the menu's cuts

[objects.jet] …  [sums.ht] …        # definitions of these names, as in a menu
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from trigemu.api import (
    Condition,
    Context,
    Document,
    Inputs,
    Key,
    Number,
    TomlTable,
    at_own_column,
    load_toml,
    read_menu,
    read_scope,
    read_table,
    refuse_other_kinds,
    split,
)
from trigemu_anomaly import InputBlock, read_inputs

from .candidates import Candidate, candidates
from .tables import AutoencoderTable, ClassifierTable, ConfigTable, QuantileTable, TrainingTable

S = TypeVar("S", bound=TomlTable)


@dataclass(frozen=True)
class Config:
    """A configuration with resolved names. inputs: of the model to train, None if a card is used. x:
    the primary observables. candidates: the ones to choose from, empty if x is listed. document: the TOML
    file, of which parts are copied into cards; of_x: the file with the names in x. half: the half of the
    events to train on."""

    path: Path
    table: ConfigTable
    document: Document
    context: Context
    requires: Condition
    inputs: Inputs | None
    x: Inputs
    candidates: tuple[Candidate, ...]
    of_x: Document
    half: int = split.TRAINING

    @property
    def menu(self) -> Path:
        return self.path.parent / self.table.training.menu

    @property
    def card(self) -> Path | None:
        """The card of an existing score."""
        name = self.table.card
        return None if name is None else self.path.parent / name


#: Padding of missing objects in all inputs, in training and in cards; the same as in the paper.
MISSING = 0.0


def read_config(path: Path) -> Config:
    """Read a configuration; raise TableError with all mistakes of the file."""
    document = load_toml(path)
    refuse_other_kinds(document, "training")
    scope = read_scope(document)
    own = {key: value for key, value in document.data.items() if key not in ("objects", "sums")}
    table = read_table(document, own, ConfigTable, (), "")
    context = Context(scope, path.parent)
    requires = _requires(document, context, _section(document, "training", TrainingTable))
    of_autoencoder = _inputs(document, context, "autoencoder", AutoencoderTable)
    of_classifier = _inputs(document, context, "classifier", ClassifierTable)
    x = _primary(document, context, _section(document, "quantile", QuantileTable))
    document.finish()
    assert table is not None
    assert requires is not None
    inputs = of_classifier if table.classifier else of_autoencoder
    config = Config(
        path, table, document, context, requires, inputs if table.learner else None, x, (), document
    )
    return from_menu(config) if table.quantile.x == "menu" else config


def from_menu(config: Config) -> Config:
    """Return a configuration with x = "menu": x has all observables that the triggers of its menu cut on."""
    menu = at_own_column(read_menu(config.menu))
    chosen_from = candidates(menu)
    context = config.context.within(menu.scope, config.context.folder)
    blocks = (InputBlock(tuple(candidate.observable for candidate in chosen_from), MISSING),)
    x = read_inputs(blocks, lambda text, i, j: context.observable(text))
    return replace(config, x=x, candidates=chosen_from, of_x=load_toml(config.menu))


def with_most_trees(config: Config, most: int | None) -> Config:
    """Return the configuration with this largest number of trees, unless it is None."""
    if most is None:
        return config
    quantile = msgspec.structs.replace(config.table.quantile, max_trees=most)
    return replace(config, table=msgspec.structs.replace(config.table, quantile=quantile))


def replica(config: Config, number: int, half: int | None = None) -> Config:
    """Return the configuration of a replica: its seed is its number; replicas with even numbers are trained
    on the evaluation half, unless the half is given."""
    training = msgspec.structs.replace(config.table.training, seed=number)
    table = msgspec.structs.replace(config.table, training=training)
    if half is None:
        half = split.TRAINING if number % 2 else split.EVALUATION
    return replace(config, table=table, half=half)


def _section(document: Document, name: str, struct: type[S]) -> S | None:
    """Read one table, or return None if it has mistakes, which are already recorded. The names in the other
    tables can then still be checked."""
    return read_table(replace(document, problems=[]), document.data.get(name), struct, (name,), "")


def _requires(document: Document, context: Context, table: TrainingTable | None) -> Condition | None:
    if table is None:
        return None
    return document.attempt(lambda: context.condition(table.requires), ("training", "requires"))


def _inputs(
    document: Document, context: Context, name: str, struct: type[AutoencoderTable] | type[ClassifierTable]
) -> Inputs:
    table = _section(document, name, struct) if name in document.data else None
    blocks = table.inputs if table else ()
    for i, block in enumerate(blocks):
        if block.padding not in (None, MISSING):
            message = f"padding = {block.padding}: expected {MISSING}, the value that the model masks"
            document.problem((name, "inputs", i, "padding"), "", message)
    return _read(document, context, blocks, lambda i, j: (name, "inputs", i, "observables", j))


def _primary(document: Document, context: Context, table: QuantileTable | None) -> Inputs:
    blocks = (InputBlock(table.x, MISSING),) if table and table.x != "menu" else ()
    return _read(document, context, blocks, lambda i, j: ("quantile", "x", j))


def _read(
    document: Document, context: Context, blocks: tuple[InputBlock, ...], key: Callable[[int, int], Key]
) -> Inputs:
    def parse(text: str, i: int, j: int) -> Number | None:
        return document.attempt(lambda: context.observable(text), key(i, j))

    return read_inputs(blocks, parse)
