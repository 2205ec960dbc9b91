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
    """A number of each replica, and the mean of its statistical errors, if it has any."""

    values: tuple[float, ...]
    error: float | None = None

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def spread(self) -> float:
        """The standard deviation between replicas; NaN for one."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else np.nan

    def as_dict(self) -> dict[str, object]:
        numbers = {"mean": _plain(self.mean), "spread": _plain(self.spread), "error": self.error}
        return numbers | {"values": [_plain(value) for value in self.values]}


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


def spreads(results: Sequence[Diagnostics], replicas: Sequence[Replica]) -> dict[str, Spread]:
    """Return the results of `decade check` for all replicas, by quantity."""
    numbers: dict[str, Spread] = {}
    for quantity, title in _NAMES.items():
        for name, what in (("y − Y(x)", "overlap"), ("y alone", "overlap_uncorrected")):
            estimates = [getattr(getattr(result, what), quantity) for result in results]
            numbers[f"{title}, {name}"] = _spread(estimates)
    numbers["ceiling of the unique share"] = _spread([result.overlap.ceiling for result in results])
    errors = [result.threshold_error or 0.0 for result in results]
    numbers["threshold"] = Spread(tuple(result.threshold for result in results), float(np.mean(errors)))
    numbers["unique rate at y′ > 0 [Hz]"] = _spread([result.overlap_at_zero.unique for result in results])
    for names in dict.fromkeys(_axes(closure) for result in results for closure in result.closures):
        closures = _closures(results, names)
        axes = ", ".join(names)
        if len(closures) < len(results):  # x was chosen from the menu and differs between replicas
            axes += f" ({len(closures)} replicas)"
        for i, name in enumerate(("y′ > 0", "y alone for y′ > 0", "y′ > threshold", "y alone")):
            chi2 = [closure.acceptances[i].against_q for closure in closures]
            each = tuple(c.value / c.ndf if c.value is not None and c.ndf else np.nan for c in chi2)
            numbers[f"χ²/ndf of acceptance in {axes}, {name}"] = Spread(each)
    numbers["trees"] = Spread(tuple(float(replica.trees) for replica in replicas))
    numbers["split nodes"] = Spread(tuple(float(replica.split_nodes) for replica in replicas))
    return numbers


_NAMES = {
    "total": "total rate [Hz]",
    "unique": "unique rate [Hz]",
    "not_unique": "overlap with other triggers [Hz]",
    "share": "unique share",
}


def _axes(closure: Closure) -> tuple[str, ...]:
    """Return the observables of a closure, sorted, since the order of the choice may differ."""
    return tuple(sorted(axis.observable for axis in closure.axes))


def _closures(results: Sequence[Diagnostics], names: tuple[str, ...]) -> list[Closure]:
    """Return the closures in these observables, one of each result that has it."""
    return [closure for result in results for closure in result.closures if _axes(closure) == names]


def _spread(estimates: Sequence[Estimate]) -> Spread:
    values = tuple(np.nan if e.value is None else e.value for e in estimates)
    return Spread(values, float(np.mean([e.error or 0.0 for e in estimates])))


def gains(results: Sequence[Efficiencies]) -> dict[str, Spread]:
    """Return the gain in overall efficiency of each menu over the first menu, for all replicas."""
    numbers: dict[str, Spread] = {}
    first = results[0].menus[0].name
    for number, turnon in enumerate(results[0].turnons):
        for position, curve in enumerate(turnon.curves):
            if turnon.profile != results[0].turnons[0].profile or curve.menu == first:
                continue
            overalls = [result.turnons[number].curves[position].overall for result in results]
            error = float(np.mean([overall.gain_error for overall in overalls]))
            values = tuple(overall.gain for overall in overalls)
            numbers[f"{turnon.full_name}: gain of {curve.name} over {first}"] = Spread(values, error)
    return numbers


def nearest_to_median(replicas: Sequence[Replica], spreads: Mapping[str, Spread]) -> Replica:
    """Return the replica to ship: of the replicas trained on the training half, the one whose unique share is
    nearest to the median of all. It is not the best one."""
    share = np.array(spreads[MEASURE].values)
    usual = [i for i, replica in enumerate(replicas) if replica.half == "training"] or range(len(replicas))
    return replicas[min(usual, key=lambda i: abs(share[i] - np.median(share)))]


#: The quantity that determines the shipped replica.
MEASURE = f"{_NAMES['share']}, y − Y(x)"


@dataclass(frozen=True)
class Checked:
    """The results of `decade check` for each replica, and their spread."""

    replicas: tuple[Replica, ...]
    results: tuple[Diagnostics, ...]
    spreads: Mapping[str, Spread]

    @property
    def shipped(self) -> Replica:
        return nearest_to_median(self.replicas, self.spreads)

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
        """Return a table of the threshold and the unique rate at y′ > 0 of each replica. The pull of the rate
        from the budget includes the error of Y(x), which comes from other events."""
        labels = (Column(name, "label", name) for name in ("replica", "trained on"))
        names = ("threshold", "unique rate at y′ > 0 [Hz]", "± of Y(x)", "− budget")
        columns = (*labels, *(Column(name, "number", name) for name in names))
        table = Table(columns, title="Each replica")
        for replica, result in zip(self.replicas, self.results, strict=True):
            unique = result.overlap_at_zero.unique
            value, error = unique.value or 0.0, unique.error or 0.0
            pull = (value - replica.budget_hz) / math.hypot(error, replica.error_hz)
            table.add(
                str(replica.number),
                replica.half,
                f"{result.threshold:.4f} ± {result.threshold_error or 0.0:.4f}",
                f"{value:.0f} ± {error:.0f}",
                f"{replica.error_hz:.0f}",
                f"{pull:+.1f} σ",
            )
        return table

    def notes(self) -> Iterator[str]:
        """Yield sentences: the x of each replica, and which replica is nearest to the median."""
        for x in dict.fromkeys(replica.x for replica in self.replicas):
            numbers = [str(replica.number) for replica in self.replicas if replica.x == x]
            yield f"x = {', '.join(x)}: replica{'s' * (len(numbers) > 1)} {', '.join(numbers)}"
        yield (
            f"Of the replicas trained on the training half, replica {self.shipped.number} is nearest to the "
            f"median of the {MEASURE}."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the content of `--json`; missing numbers are null."""
        paths = [{"card": str(replica.card), "score": str(replica.score)} for replica in self.replicas]
        return {
            "replicas": [asdict(r) | path for r, path in zip(self.replicas, paths, strict=True)],
            "nearest_to_median": self.shipped.number,
            "numbers": {quantity: spread.as_dict() for quantity, spread in self.spreads.items()},
            "results": [asdict(result) for result in self.results],
        }

    def draw(self, folder: Path | None) -> list[Path]:
        """Draw the acceptance in bins of each observable that is in x of all replicas; return the files."""
        files = []
        for closure in self.results[0].closures if folder else ():
            closures = _closures(self.results, _axes(closure))
            if folder and len(closures) == len(self.results) and len(closure.axes) == 1:
                files.append(folder / f"replicas_{file_stem(closure.axes[0].observable)}.png")
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
    results, measured = [], []
    for replica in replicas:
        exchanged = partial(with_replica, decade=decade, home=home, replica=replica)
        results.append(diagnose(scored_events(exchanged(menu), catalogue, name, executor)))
        if profiles:
            measured.append(
                profiles.measure([exchanged(other) for other in about], catalogue, executor=executor)
            )
    numbers = spreads(results, replicas) | (gains(measured) if measured else {})
    return Checked(replicas, tuple(results), numbers)


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else value


def _short(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4g}"
