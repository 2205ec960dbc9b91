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

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from trigemu_anomaly.anomaly import InputBlock, open_scorer, read_inputs
from trigemu_anomaly.inputs import Inputs

from trigemu.base.errors import TrigemuError, nearest
from trigemu.base.toml import Document, Key, TomlTable, load_toml, read_table, refuse_other_kinds
from trigemu.emulation.plan import lacks
from trigemu.menus.prescales import at_own_column
from trigemu.menus.read import read_menu
from trigemu.observables.expressions import Condition
from trigemu.observables.selections import read_scope
from trigemu.samples import split
from trigemu.samples.sample import Sample
from trigemu.triggers.base import Context
from trigemu_decade.observables import Candidate, candidates

# The upper bounds are far beyond what a training can use.
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e12)]
Width = Annotated[int, msgspec.Meta(gt=0, le=100_000)]
Count = Annotated[int, msgspec.Meta(gt=0, le=10_000_000)]
Depth = Annotated[int, msgspec.Meta(gt=0, le=30)]
Fraction = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class TrainingTable(TomlTable, frozen=True, kw_only=True):
    """[training]: the purpose of the training."""

    menu: str  #: The menu of the other triggers, a path relative to this file.
    requires: str  #: The preselection of the events that the trigger evaluates.
    unique_rate_hz: Positive  #: The budget: the unique rate in Hz.
    seed: Annotated[int, msgspec.Meta(ge=0, lt=2**32)] = 1  #: The seed of all random numbers.
    description: str = ""  #: Free text for the cards.


class ScoreTable(TomlTable, frozen=True):
    """[score]: an existing score, in place of one to train."""

    #: The card of any model, as of the kinds `network` and `anomaly`; a path relative to this file.
    card: str


class WordTable(TomlTable, frozen=True, kw_only=True):
    """The word of an input in hardware: floor(v / step), which saturates; or the bin of an angle."""

    step: Positive = 1.0  #: The value of one step, in the unit of the input.
    lowest: Annotated[int, msgspec.Meta(ge=-(2**15), le=0)] = 0  #: The first word.
    highest: Annotated[int, msgspec.Meta(ge=1, lt=2**12)] = 255  #: The last word.
    #: The number of bins of a circle, a power of two, in place of the other keys.
    bins: Annotated[int, msgspec.Meta(ge=0, le=2**12)] = 0

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if self.bins & (self.bins - 1):
            yield "bins", f"bins = {self.bins}: expected a power of two, so that differences of angles wrap"


class QuantiseTable(TomlTable, frozen=True, kw_only=True):
    """[autoencoder.quantise]: the network in integers, for logic."""

    #: The bits of a weight, of which two are before the point.
    weights: Annotated[int, msgspec.Meta(ge=3, le=12)] = 6
    #: The bits of an activation or a standardised input, of which three are before the point.
    activations: Annotated[int, msgspec.Meta(ge=4, le=10)] = 6
    #: The word of each input: of `jet[0].pt`, or of all that end in `pt`. `dphi(jet[0], mht)` is the
    #: difference of the words of two `phi`.
    words: dict[str, WordTable]

    def word(self, text: str) -> WordTable | None:
        """Return the word of an input."""
        return self.words.get(text) or self.words.get("phi" if _is_angle(text) else text.rpartition(".")[2])


def _is_angle(text: str) -> bool:
    return text.endswith(".phi") or text.startswith(("phi(", "dphi("))


class AutoencoderTable(TomlTable, frozen=True, kw_only=True):
    """[autoencoder]: the defaults follow the paper (arXiv:2508.10224), except for the batch size."""

    #: The inputs, in blocks of one object each.
    inputs: Annotated[tuple[InputBlock, ...], msgspec.Meta(min_length=1)]
    #: The widths of the hidden layers.
    hidden: Annotated[tuple[Width, ...], msgspec.Meta(max_length=100)] = (32, 16, 8, 3, 8, 16, 32)
    epochs: Count = 200  #: The number of passes over the training events.
    learning_rate: Positive = 1e-3  #: The step size of the optimiser.
    batch_size: Count = 256  #: The number of events in a step.
    #: The fraction of the interactions of the training half that the network is trained on. The others give
    #: the test loss, and Y(x) is fitted to them.
    fraction: Fraction = 0.2
    log: tuple[str, ...] = ()  #: The inputs that enter the network as logarithms, ln(max(v, 1)).
    #: Whether the latent variables are normal distributions, of which the middle number of `hidden` is the
    #: number (variational autoencoder). The score is then the sum of their squared means, which needs the
    #: encoder alone.
    variational: bool = False
    #: The weight of the divergence of these distributions from a standard normal one, relative to the
    #: variational bound.
    beta: Positive = 0.3
    #: The integers of `decade train --quantise`; without this option, it has floating-point numbers.
    quantise: QuantiseTable | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if self.variational and len(self.hidden) % 2 == 0:
            yield (
                "hidden",
                f"hidden = {list(self.hidden)}: expected an odd number, with the latent layer in the middle",
            )
        names = {text for block in self.inputs for text in block.observables}
        for text in self.log:
            if text not in names:
                yield "log", f"{text!r} is not among the inputs{nearest(text, names)}"
        for text in sorted(names) if self.quantise else ():
            word = self.quantise.word(text) if self.quantise else None
            if not word:
                yield "quantise", f"words has no entry for the input {text!r}, nor for its last part"
            elif bool(word.bins) != _is_angle(text):
                yield "quantise", f"words of {text!r}: bins are for angles, and angles need bins"
            elif text in self.log and word.lowest:
                yield "quantise", f"words of {text!r}: a logarithm needs lowest = 0"


class ClassifierTable(TomlTable, frozen=True, kw_only=True):
    """[classifier]: boosted trees that separate signals from the background."""

    #: The names of samples of signals in the catalogue. Each counts as much as the others, and all of them as
    #: much as the background.
    signals: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    #: The inputs, in blocks of one object each.
    inputs: Annotated[tuple[InputBlock, ...], msgspec.Meta(min_length=1)]
    #: The fraction of the interactions of the training half of the background that the classifier is trained
    #: on; Y(x) is fitted to the others. Of the signals, the whole half is used.
    fraction: Fraction = 0.2
    learning_rate: Positive = 0.1  #: The shrinkage of the trees.
    max_depth: Depth = 4  #: The largest depth of a tree.
    trees: Count = 100  #: The number of trees.


class QuantileTable(TomlTable, frozen=True, kw_only=True):
    """[quantile]: the defaults follow the paper (arXiv:2508.10224)."""

    #: The observables that the correction depends on; "menu": chosen from those that the triggers cut on.
    x: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | Literal["menu"]
    #: Boosted trees, which firmware can evaluate, or a network of two layers of 32, which the other keys do
    #: not concern.
    model: Literal["trees", "network"] = "trees"
    learning_rate: Positive = 0.3  #: The shrinkage of the trees.
    max_depth: Depth = 4  #: The largest depth of a tree.
    max_trees: Count = 100  #: The largest number of trees; early stopping may give fewer.

    def mistakes(self) -> Iterator[tuple[str, str]]:
        twice = [name for name in dict.fromkeys(self.x) if self.x != "menu" and self.x.count(name) > 1]
        if twice:
            yield "x", f"x = {list(self.x)}: {', '.join(twice)} is there twice; once is enough"


class ConfigTable(TomlTable, frozen=True, kw_only=True):
    """The configuration of a training. One of `autoencoder`, `classifier` and `score` says what y is."""

    training: TrainingTable  #: The purpose of the training.
    autoencoder: AutoencoderTable | None = None  #: An autoencoder to train.
    classifier: ClassifierTable | None = None  #: A classifier to train.
    score: ScoreTable | None = None  #: An existing score.
    quantile: QuantileTable  #: The correction.

    def mistakes(self) -> Iterator[tuple[str, str]]:
        given = [name for name in ("autoencoder", "classifier", "score") if getattr(self, name)]
        if len(given) != 1:
            tables = " and ".join(f"[{name}]" for name in given) or "neither"
            key = given[-1] if given else "training"
            yield key, f"has {tables}: expected one of [autoencoder], [classifier] and [score]"

    @property
    def learner(self) -> AutoencoderTable | ClassifierTable | None:
        """The model to train; None with the card of an existing one."""
        return self.classifier or self.autoencoder


@dataclass(frozen=True)
class Config:
    """A configuration with resolved names."""

    path: Path
    table: ConfigTable
    document: Document  # The TOML file, of which parts are copied into cards
    context: Context
    requires: Condition
    inputs: Inputs | None  # Of the model to train, None if a card is used
    x: Inputs  # The primary observables
    candidates: tuple[Candidate, ...]  # The ones to choose from, empty if x is listed
    of_x: Document  # The file with the names in x
    half: int = split.TRAINING  # The half of the events to train on
    has_half: bool = False  # Whether it is that of the card of the score
    quantise: QuantiseTable | None = None  # The integers of the model to train, None for floating point

    @property
    def menu(self) -> Path:
        return self.path.parent / self.table.training.menu

    @property
    def card(self) -> Path | None:
        """The card of an existing score."""
        return self.path.parent / self.table.score.card if self.table.score else None


#: Padding of missing objects in all inputs, in training and in cards; the same as in the paper.
MISSING = 0.0
#: Angles relative to another one, which hardware subtracts.
_RELATIVE = re.compile(r"dphi\((\w+\[\d+\]), *(\w+)\)")


def _with_angles(table: AutoencoderTable) -> AutoencoderTable:
    """Return the table with angles, and last the one to subtract from them, in place of their differences."""
    found = {
        match[2] for block in table.inputs for match in map(_RELATIVE.fullmatch, block.observables) if match
    }
    blocks = [
        msgspec.structs.replace(
            block, observables=tuple(_RELATIVE.sub(r"\1.phi", text) for text in block.observables)
        )
        for block in table.inputs
    ]
    if len(found) != 1 or any("dphi(" in text for block in blocks for text in block.observables):
        raise TrigemuError("expected inputs such as dphi(jet[0], mht), all to the same momentum")
    return msgspec.structs.replace(table, inputs=(*blocks, InputBlock((f"phi({found.pop()})",))))


def read_config(path: Path, quantise: bool = False) -> Config:
    """Read a configuration; raise TableError with all mistakes of the file. quantise: for `--quantise`."""
    document = load_toml(path)
    refuse_other_kinds(document, "training")
    scope = read_scope(document)
    keys = {key: value for key, value in document.data.items() if key not in ("objects", "sums")}
    table = read_table(document, keys, ConfigTable, (), "")
    context = Context(scope, path.parent)
    if table is None:
        document.finish()
        raise AssertionError("a table that cannot be read has mistakes")
    network = table.learner
    integers = network.quantise if quantise and isinstance(network, AutoencoderTable) else None
    if quantise and not integers:
        raise TrigemuError(
            f"{path}: --quantise needs the words of the inputs, in [autoencoder.quantise.words]"
        )
    if integers and (given := table.autoencoder):
        of_words = document.attempt(lambda: _with_angles(given), ("autoencoder", "inputs"))
        table = msgspec.structs.replace(table, autoencoder=of_words or given)
    requires = document.attempt(lambda: context.condition(table.training.requires), ("training", "requires"))
    learner, x = table.learner, table.quantile.x
    name = "classifier" if table.classifier else "autoencoder"
    for i, block in enumerate(learner.inputs if learner else ()):
        if block.padding not in (None, MISSING):
            message = f"padding = {block.padding}: expected {MISSING}, the value that the model masks"
            document.problem((name, "inputs", i, "padding"), "", message)

    def parse(blocks: tuple[InputBlock, ...], key: Callable[[int, int], Key]) -> Inputs:
        return read_inputs(
            blocks, lambda text, i, j: document.attempt(lambda: context.observable(text), key(i, j))
        )

    inputs = parse(learner.inputs, lambda i, j: (name, "inputs", i, "observables", j)) if learner else None
    listed = () if x == "menu" else (InputBlock(x, MISSING),)
    of_x = parse(listed, lambda i, j: ("quantile", "x", j))
    document.finish()
    assert requires is not None
    config = Config(path, table, document, context, requires, inputs, of_x, (), document, quantise=integers)
    if table.score:
        open_scorer(context, table.score.card, None, "configuration")
        if context.trained:
            half = split.HALF_NAMES.index(context.trained[0].half)
            config = replace(config, half=half, has_half=True)
    if x != "menu":
        return config
    menu = at_own_column(read_menu(config.menu))
    chosen_from = candidates(menu)
    of_menu = context.within(menu.scope, context.folder)
    blocks = (InputBlock(tuple(candidate.observable for candidate in chosen_from), MISSING),)
    all_x = read_inputs(blocks, lambda text, i, j: of_menu.observable(text))
    return replace(config, x=all_x, candidates=chosen_from, of_x=load_toml(config.menu))


def check_columns(config: Config, sample: Sample) -> None:
    """Raise TrigemuError if a sample lacks a column that the inputs, x or the condition need."""
    for need in sorted(config.context.needs):
        if problem := lacks(sample, need):
            raise TrigemuError(f"{config.path}: {problem}, which the inputs, x or the condition need")


def replica(config: Config, number: int) -> Config:
    """Return the configuration of a replica: even numbers use the other half, unless a card says which."""
    training = msgspec.structs.replace(config.table.training, seed=number)
    half = split.TRAINING if number % 2 else split.EVALUATION
    table = msgspec.structs.replace(config.table, training=training)
    return replace(config, table=table, half=config.half if config.has_half else half)
