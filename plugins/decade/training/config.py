"""The training configuration, one TOML file.

[training]
menu = "primary.toml"               # the other triggers, whose events should not be accepted again
requires = "n_photon >= 1"          # the events that the anomaly trigger evaluates
unique_rate_hz = 1350.0
seed = 1

[autoencoder]                       # or: card = "…/autoencoder.toml", an existing one
[[autoencoder.inputs]]
observables = ["n_jet", "ht"]

[quantile]
x = ["jet[0].pt", "photon[0].pt"]   # the primary observables; or "menu": chosen from those in the menu's cuts

[objects.jet] …  [sums.ht] …        # definitions of these names, as in a menu
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from trigemu.api import (
    Condition,
    Context,
    Document,
    Inputs,
    Key,
    Number,
    TomlTable,
    load_toml,
    nearest,
    read_menu,
    read_scope,
    read_table,
    split,
)
from trigemu_anomaly import InputBlock, read_inputs

from .candidates import Candidate, candidates

# The upper bounds are far beyond what a training can use.
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e12)]
Width = Annotated[int, msgspec.Meta(gt=0, le=100_000)]
Count = Annotated[int, msgspec.Meta(gt=0, le=10_000_000)]
Depth = Annotated[int, msgspec.Meta(gt=0, le=30)]
Fraction = Annotated[float, msgspec.Meta(gt=0, lt=1)]
S = TypeVar("S", bound=TomlTable)


class TrainingTable(TomlTable, frozen=True, kw_only=True):
    """[training]: the purpose of the training.

    Attributes
    ----------
    menu : str
        The menu of the other triggers, a path relative to this file.
    requires : str
        The preselection of the events that the trigger evaluates.
    unique_rate_hz : float
        The budget: the unique rate in Hz.
    seed : int
        The seed of all random numbers.
    description : str
        Free text for the cards.
    """

    menu: str
    requires: str
    unique_rate_hz: Positive
    seed: Annotated[int, msgspec.Meta(ge=0, lt=2**32)] = 1
    description: str = ""


class AutoencoderTable(TomlTable, frozen=True, kw_only=True):
    """[autoencoder]: the defaults follow the paper (arXiv:2508.10224), except for the batch size.

    Attributes
    ----------
    card : str or None
        The card of an existing autoencoder, in place of all other keys.
    inputs : tuple of InputBlock
        The inputs, in blocks of one object each.
    hidden : tuple of int
        The widths of the hidden layers.
    epochs : int
        The number of passes over the training events.
    learning_rate : float
        The step size of the optimiser.
    batch_size : int
        The number of events in a step.
    fraction : float
        The fraction of the interactions of the training half that the network is trained on. The others give
        the test loss, and Y(x) is fitted to them.
    log : tuple of str
        The inputs that enter the network as logarithms, ln(max(v, 1)).
    event_weights : bool
        Whether the loss and the standardisation use event weights; else all events count the same.
    initialisation : str
        The initial weights: "he" or "glorot".
    """

    card: str | None = None
    inputs: tuple[InputBlock, ...] = ()
    hidden: Annotated[tuple[Width, ...], msgspec.Meta(max_length=100)] = (32, 16, 8, 3, 8, 16, 32)
    epochs: Count = 200
    learning_rate: Positive = 1e-3
    batch_size: Count = 256
    fraction: Fraction = 0.2
    log: tuple[str, ...] = ()
    event_weights: bool = True
    initialisation: Literal["he", "glorot"] = "he"

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if (self.card is None) == (not self.inputs):
            yield (
                "inputs",
                "give either the inputs of an autoencoder to train, or the card of an existing one",
            )
        names = {text for block in self.inputs for text in block.observables}
        for text in self.log:
            if text not in names:
                yield "log", f"{text!r} is not among the inputs{nearest(text, names)}"


class QuantileTable(TomlTable, frozen=True, kw_only=True):
    """[quantile]: the defaults follow the paper (arXiv:2508.10224).

    Attributes
    ----------
    x : tuple of str, or "menu"
        The observables that the correction depends on; "menu": chosen from those that the triggers cut on.
    learning_rate : float
        The shrinkage of the trees.
    max_depth : int
        The largest depth of a tree.
    max_trees : int
        The largest number of trees; early stopping may give fewer.
    patience : int
        The fit ends after this many trees without a better loss in the early-stopping sample.
    tail_events : float
        The number of events expected above the quantile in every leaf.
    levelled : bool
        Whether weights are divided by their mean at x.
    refit : bool
        Whether the trees are fitted again to all events once their number is determined.
    """

    x: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | Literal["menu"]
    learning_rate: Positive = 0.3
    max_depth: Depth = 4
    max_trees: Count = 100
    patience: Count = 5
    tail_events: Annotated[float, msgspec.Meta(ge=0, le=1e12)] = 5.0
    levelled: bool = True
    refit: bool = True


class ConfigTable(TomlTable, frozen=True, kw_only=True):
    """The configuration of a training.

    Attributes
    ----------
    training : TrainingTable
        The purpose of the training.
    autoencoder : AutoencoderTable
        The network.
    quantile : QuantileTable
        The trees of the correction.
    """

    training: TrainingTable
    autoencoder: AutoencoderTable
    quantile: QuantileTable


@dataclass(frozen=True)
class Config:
    """A configuration with resolved names. inputs: of the autoencoder to train, None if a card is used. x:
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
        """The card of an existing autoencoder."""
        name = self.table.autoencoder.card
        return None if name is None else self.path.parent / name


#: Padding of missing objects in all inputs, in training and in cards; the same as in the paper.
MISSING = 0.0


def read_config(path: Path) -> Config:
    """Read a configuration; raise TableError with all mistakes of the file."""
    document = load_toml(path)
    scope = read_scope(document)
    own = {key: value for key, value in document.data.items() if key not in ("objects", "sums")}
    table = read_table(document, own, ConfigTable, (), "")
    context = Context(scope, path.parent)
    requires = _requires(document, context, _section(document, "training", TrainingTable))
    inputs = _inputs(document, context, _section(document, "autoencoder", AutoencoderTable))
    x = _primary(document, context, _section(document, "quantile", QuantileTable))
    document.finish()
    assert table is not None
    assert requires is not None
    trained_inputs = inputs if table.autoencoder.inputs else None
    config = Config(path, table, document, context, requires, trained_inputs, x, (), document)
    return from_menu(config) if table.quantile.x == "menu" else config


def from_menu(config: Config) -> Config:
    """Return a configuration with x = "menu": x has all observables that the triggers of its menu cut on."""
    menu = read_menu(config.menu)
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


def replica(config: Config, number: int) -> Config:
    """Return the configuration of a replica: its seed is its number; replicas with even numbers are trained
    on the evaluation half."""
    training = msgspec.structs.replace(config.table.training, seed=number)
    table = msgspec.structs.replace(config.table, training=training)
    return replace(config, table=table, half=split.TRAINING if number % 2 else split.EVALUATION)


def _section(document: Document, name: str, struct: type[S]) -> S | None:
    """Read one table, or return None if it has mistakes, which are already recorded. The names in the other
    tables can then still be checked."""
    return read_table(replace(document, problems=[]), document.data.get(name), struct, (name,), "")


def _requires(document: Document, context: Context, table: TrainingTable | None) -> Condition | None:
    if table is None:
        return None
    return document.attempt(lambda: context.condition(table.requires), ("training", "requires"))


def _inputs(document: Document, context: Context, table: AutoencoderTable | None) -> Inputs:
    blocks = table.inputs if table else ()
    for i, block in enumerate(blocks):
        if block.padding not in (None, MISSING):
            message = f"padding = {block.padding}: expected {MISSING}, the value that the network masks"
            document.problem(("autoencoder", "inputs", i, "padding"), "", message)
    return _read(document, context, blocks, lambda i, j: ("autoencoder", "inputs", i, "observables", j))


def _primary(document: Document, context: Context, table: QuantileTable | None) -> Inputs:
    blocks = (InputBlock(table.x, MISSING),) if table and table.x != "menu" else ()
    return _read(document, context, blocks, lambda i, j: ("quantile", "x", j))


def _read(
    document: Document, context: Context, blocks: tuple[InputBlock, ...], key: Callable[[int, int], Key]
) -> Inputs:
    def parse(text: str, i: int, j: int) -> Number | None:
        return document.attempt(lambda: context.observable(text), key(i, j))

    return read_inputs(blocks, parse)
