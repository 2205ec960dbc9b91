"""The card of a decorrelated score; the module `decade` shows one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec
import numpy as np
from trigemu_anomaly.card import CardTable, ModelFile

from trigemu.base.toml import NumberOrNaN, TomlTable


class ScoreTable(TomlTable, frozen=True):
    """[score]: the card of a model, as of the kinds `network` and `anomaly`."""

    card: str  #: Its path, relative to this card.
    sha256: str  #: Its expected digest; any other card is refused.


class Step(TomlTable, frozen=True):
    """[[quantile.chosen]]: the state after an observable was added to x, on the training half."""

    observable: str  #: The observable that was added; "" for the score alone.
    trigger: str  #: The trigger whose overlap it reduces.
    #: The rate that other triggers accept too, at the budget of the training.
    overlap_hz: float = msgspec.field(name="not_unique_hz")
    #: The reduction of that rate by this step.
    overlap_reduction_hz: float = msgspec.field(name="fell_hz")
    error_hz: float  #: The error of the reduction.
    share: float  #: The unique share.
    trees: float  #: The mean number of trees of the fits.
    #: The mean number of their split nodes, which the size of firmware is proportional to.
    split_nodes: float = 0.0


class Seen(TomlTable, frozen=True):
    """[[quantile.seen]]: the values of an observable of x in the events that Y(x) was fitted to. `run` warns
    of samples with others."""

    observable: str  #: The observable, in the order of x.
    min: float  #: The smallest value.
    max: float  #: The largest value.
    mean: float  #: The weighted mean.
    spread: Annotated[float, msgspec.Meta(ge=0)]  #: The weighted standard deviation.

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if not self.min <= self.mean <= self.max:
            yield (
                "mean",
                f"mean = {self.mean:g}: expected a value from min = {self.min:g} to max = {self.max:g}",
            )


class QuantileTable(ModelFile, frozen=True):
    """[quantile]: the model that gives Y(x), and its inputs. Its file has boosted trees in XGBoost's JSON, or
    a network in ONNX."""

    q: Annotated[float, msgspec.Meta(gt=0, lt=1)]  #: The fraction of the background with y > Y(x).
    x: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]  #: The observables that Y depends on.
    #: Replaces the value of a missing object; `nan` for a model that was trained with it.
    missing: NumberOrNaN
    #: The steps in which x was chosen from the observables that a menu cuts on, if it was.
    chosen: tuple[Step, ...] = ()
    seen: tuple[Seen, ...] = ()  #: The values of x in training; older cards have none.

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if abs(self.missing) > float(np.finfo(np.float32).max):
            yield "missing", f"missing = {self.missing:g}: is infinite as a float32, which models read"
        names = tuple(seen.observable for seen in self.seen)
        if names and names != self.x:
            yield "x", f"x = {list(self.x)}: Y(x) was fitted to {list(names)} (seen), in this order"


class DecadeCard(CardTable, frozen=True):
    """The card of a decorrelated score."""

    score: ScoreTable  #: The card of y.
    quantile: QuantileTable  #: The model of Y(x).
