"""Replicas: the spread of results between trainings with other seeds and on the other half.

`decade train --replicas N` writes one set of models into each of the folders 1 to N. Here each replaces the
models of the `decade` trigger of a menu, and the results of `decade check` are summarised: a published number
is the mean, its spread between replicas, and its statistical error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from trigemu.base.errors import TrigemuError, file_stem
from trigemu.base.toml import load_toml
from trigemu.menus.menu import Menu, Trigger
from trigemu.results.figures import style
from trigemu.results.table import Column, Table
from trigemu.samples.catalogue import Catalogue
from trigemu.studies.efficiency import Efficiencies
from trigemu.studies.efficiency_profiles import ProfileSet

from .check import scored_events, trigger_of
from .closure import Closure
from .decade import Decade
from .diagnostics import Diagnostics, Estimate, diagnose
from .figures import draw_replicas

CARD, METRICS = "decade.toml", "metrics.json"


@dataclass(frozen=True)
class Replica:
    """A set of models."""

    number: int  # Of its folder
    card: Path
    score: Path  # The card of its score
    x: tuple[str, ...]
    half: str
    trees: int
    split_nodes: int
    budget_hz: float  # The unique rate that it was trained for
    error_hz: float  # The error of that rate out of fold


@dataclass(frozen=True)
class Spread:
    """A number of each replica."""

    mean: float
    spread: float  # The standard deviation between replicas; NaN for one
    error: float  # The mean of the statistical errors; NaN for a number without any
    values: tuple[float, ...]  # NaN of a replica without the number


def read_replicas(folder: Path) -> tuple[Replica, ...]:
    """Return the replicas in a folder, by number. TrigemuError if there is none, or one is incomplete."""
    numbers = sorted(
        int(path.parent.name) for path in folder.glob(f"*/{CARD}") if path.parent.name.isdecimal()
    )
    if not numbers:
        raise TrigemuError(f"{folder}: no replicas: expected folders 1, 2, …, each with a {CARD}")
    return tuple(_replica(folder / str(number), number) for number in numbers)


def _replica(folder: Path, number: int) -> Replica:
    card = load_toml(folder / CARD).data
    try:
        quantile, score = Path(card["quantile"]["file"]), card["score"]["card"]
        metrics = json.loads((folder / quantile.parent / METRICS).read_bytes())
        return Replica(
            number,
            folder / CARD,
            folder / score,
            tuple(card["quantile"]["x"]),
            card["trained_on"].get("half", "training"),
            metrics["trees"],
            metrics["split_nodes"],
            metrics["unique_rate_hz"],
            metrics["out_of_fold"]["error_hz"],
        )
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise TrigemuError(f"{folder}: not a complete replica of `decade train`: {error!r}") from None


def with_replica(menu: Menu, decade: Decade, home: Path, replica: Replica) -> Menu:
    """Return a menu with a replica's models, also in triggers on the score. home: of the card."""
    card = (home / decade.card).resolve()
    score = (card.parent / load_toml(card).data["score"]["card"]).resolve()
    card_of = {card: replica.card, score: replica.score}

    def replaced(trigger: Trigger) -> Trigger:
        name = getattr(trigger.description, "card", None)
        new_card = card_of.get((menu.path.parent / name).resolve()) if isinstance(name, str) else None
        if new_card is None:
            return trigger
        description = msgspec.structs.replace(trigger.description, card=str(new_card.resolve()), sha256=None)
        return replace(trigger, description=description)

    return replace(menu, triggers=tuple(map(replaced, menu.triggers)))


def numbers_of(result: Diagnostics) -> dict[str, Estimate]:
    """Return the numbers of a check of which the spread is of interest, by quantity."""
    numbers: dict[str, Estimate] = {}
    for quantity, title in _NAMES.items():
        for name, rates in (("y − Y(x)", result.overlap), ("y alone", result.overlap_uncorrected)):
            numbers[f"{title}, {name}"] = getattr(rates, quantity)
    numbers["ceiling of the unique share"] = result.overlap.ceiling
    numbers["threshold"] = Estimate(result.threshold, result.threshold_error or 0.0)
    numbers["unique rate at y′ > 0 [Hz]"] = result.overlap_at_zero.unique
    for closure in result.closures:
        names = ("y′ > 0", "y alone for y′ > 0", "y′ > threshold", "y alone")
        for name, acceptance in zip(names, closure.acceptances, strict=True):
            chi2 = acceptance.against_q
            each = Estimate(chi2.value / max(chi2.ndf, 1), np.nan)
            numbers[f"χ²/ndf of acceptance in {_axes(closure)}, {name}"] = each
    return numbers


_NAMES = {
    "total": "total rate [Hz]",
    "unique": "unique rate [Hz]",
    "not_unique": "overlap with other triggers [Hz]",
    "share": "unique share",
}


def _axes(closure: Closure) -> str:
    """Return the observables of a closure, sorted, since the order of the choice may differ."""
    return ", ".join(sorted(axis.observable for axis in closure.axes))


def gains_of(result: Efficiencies) -> dict[str, Estimate]:
    """Return the gain in overall efficiency of each menu over the first menu, by quantity."""
    first, profile = result.menus[0].name, result.turnons[0].profile
    return {
        f"{turnon.full_name}: gain of {curve.name} over {first}": Estimate(
            curve.overall.gain, curve.overall.gain_error
        )
        for turnon in result.turnons
        for curve in turnon.curves
        if turnon.profile == profile and curve.menu != first
    }


def spreads(replicas: Sequence[Mapping[str, Estimate]]) -> dict[str, Spread]:
    """Return the numbers of all replicas, by quantity. Where x was chosen from the menu, some replicas may
    lack a quantity."""
    found: dict[str, Spread] = {}
    for quantity in dict.fromkeys(quantity for numbers in replicas for quantity in numbers):
        estimates = [numbers[quantity] for numbers in replicas if quantity in numbers]
        values, errors = ([getattr(e, key) for e in estimates] for key in ("value", "error"))
        few = f" ({len(values)} replicas)" if len(values) < len(replicas) else ""
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
        found[f"{quantity}{few}"] = Spread(
            float(np.mean(values)), spread, float(np.mean(errors)), tuple(values)
        )
    return found


@dataclass(frozen=True)
class Checked:
    """The results of `decade check` for each replica, and their spread."""

    replicas: tuple[Replica, ...]
    results: tuple[Diagnostics, ...]
    spreads: Mapping[str, Spread]

    def summary(self) -> Table:
        """Return a table of the mean, the spread and the statistical error of each number."""
        names = ("mean", "spread", "statistical error", "from", "to")
        columns = (Column(name, "number", name, text=_short) for name in names)
        table = Table((Column("", "label", ""), *columns), title=f"{len(self.replicas)} replicas")
        for quantity, spread in self.spreads.items():
            numbers = spread.mean, spread.spread, spread.error, min(spread.values), max(spread.values)
            table.add(quantity, *numbers)
        return table

    def each(self) -> Table:
        """Return a table of share, threshold and unique rate at y′ > 0 of each replica. The pull of the rate
        from the budget includes the error of Y(x), which comes from other events."""
        labels = (Column(name, "label", name) for name in ("replica", "trained on"))
        names = ("unique share", "threshold", "unique rate at y′ > 0 [Hz]", "± of Y(x)", "− budget")
        columns = (*labels, *(Column(name, "number", name) for name in names))
        table = Table(columns, title="Each replica")
        for replica, result in zip(self.replicas, self.results, strict=True):
            unique = result.overlap_at_zero.unique
            pull = (unique.value - replica.budget_hz) / math.hypot(unique.error, replica.error_hz)
            table.add(
                str(replica.number),
                replica.half,
                f"{result.overlap.share.value:.4f}",
                f"{result.threshold:.4f} ± {result.threshold_error or 0.0:.4f}",
                f"{unique.value:.0f} ± {unique.error:.0f}",
                f"{replica.error_hz:.0f}",
                f"{pull:+.1f} σ",
            )
        return table

    def notes(self) -> Iterator[str]:
        """Yield sentences: the x of each replica."""
        for x in dict.fromkeys(replica.x for replica in self.replicas):
            numbers = [str(replica.number) for replica in self.replicas if replica.x == x]
            yield f"x = {', '.join(x)}: replica{'s' * (len(numbers) > 1)} {', '.join(numbers)}"

    def as_dict(self) -> dict[str, Any]:
        """Return the content of `--json`."""
        paths = [{"card": str(replica.card), "score": str(replica.score)} for replica in self.replicas]
        return {
            "replicas": [asdict(r) | path for r, path in zip(self.replicas, paths, strict=True)],
            "numbers": {quantity: asdict(spread) for quantity, spread in self.spreads.items()},
            "results": [asdict(result) for result in self.results],
        }

    def draw(self, folder: Path) -> list[Path]:
        """Draw the acceptance in bins of each observable that is in x of all replicas; return the files."""
        files = []
        for axes in map(_axes, self.results[0].closures):
            closures = [c for result in self.results for c in result.closures if _axes(c) == axes]
            if len(closures) == len(self.results) and len(closures[0].axes) == 1:
                files.append(folder / f"replicas_{file_stem(axes)}.png")
                style.save(draw_replicas(closures, [result.q for result in self.results]), files[-1])
        return files


def check_replicas(
    menu: Menu,
    catalogue: Catalogue,
    folder: Path,
    name: str | None,
    profiles: ProfileSet | None,
    about: Sequence[Menu],
    executor: Any = None,
) -> Checked:
    """Check each replica in place of the models of a trigger. about: menus of the profiles."""
    replicas, name = read_replicas(folder), trigger_of(menu, name)
    decade, home = menu.trigger(name).description, menu.path.parent
    assert isinstance(decade, Decade)
    results, numbers = [], []
    for replica in replicas:
        exchanged = partial(with_replica, decade=decade, home=home, replica=replica)
        results.append(diagnose(scored_events(exchanged(menu), catalogue, name, executor)))
        sizes = {"trees": replica.trees, "split nodes": replica.split_nodes}
        numbers.append(numbers_of(results[-1]) | {k: Estimate(float(n), np.nan) for k, n in sizes.items()})
        if profiles:
            measured = profiles.measure([exchanged(m) for m in about], catalogue, executor=executor)
            numbers[-1] |= gains_of(measured)
    return Checked(replicas, tuple(results), spreads(numbers))


def _short(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4g}"
