"""The coverage of quoted errors if crossings share interactions; docs/explanation/sample.md has the results.

python benchmarks/reuse.py bootstrap menus/full.toml J100 "J100 & HT220" "unique J100" "J100 - 2J70"
python benchmarks/reuse.py parts menus/full.toml J100 --config CONFIG --pools FOLDER

`bootstrap` gives each `parent` of a sample a Poisson number with mean 1, again and again, and compares the
spread of the rates with errors by event, √Σ w² f², and by parent, √Σ_parent(Σ w f)². It does not see what
crossings of different parents share.

`parts` does: it cuts pools of interactions (`trigemu generate CONFIG -o FOLDER`) into disjoint parts, makes
crossings of each as the sample's configuration does, and compares the spread of the rates over the parts with
the errors quoted for each. CONFIG is the sample's with fewer blocks, another name and another seed; of every
slice the same share of the sample's interactions is used. Further repeats cut the groups into other parts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import msgspec
import numpy as np
from numpy.typing import NDArray
from trigemu_simulation import crossings, crossings as recipes, pools
from trigemu_simulation.config import Config, load_config
from trigemu_simulation.interactions import Columns
from trigemu_simulation.run import INTERACTIONS

import trigemu
from trigemu.base.arrays import Words
from trigemu.base.mapping import Engine
from trigemu.counting.acceptance import acceptances
from trigemu.emulation.engine import Chunk, Job, over_background
from trigemu.menus.menu import Menu

Array = NDArray[np.float64]

BLOCK = 50  # replicas at a time, for memory
SCALARS = {"met": "MET_pt", "met_phi": "MET_phi", "n_interaction": "nInteraction"}


@dataclass(frozen=True)
class Quantities:
    """Return fractions f of events, whose Σ w f are rates: of a trigger ("J100"), of its unique events
    ("unique J100"), of an overlap ("J100 & HT220"), of a difference ("J100 - 2J70")."""

    menu: Menu
    plan: trigemu.api.Plan
    labels: tuple[str, ...]

    def of(self, words: Words) -> Array:
        """float64[n, q] from the decisions of n events."""
        patterns, which = np.unique(words, axis=0, return_inverse=True)
        enabled = self.menu.enabled
        place = {trigger.name: i for i, trigger in enumerate(enabled)}
        acceptance = acceptances(patterns, self.menu, self.plan.bits[0])
        accepted = acceptance.total
        unique = acceptance.unique(np.ones(len(enabled), np.bool_)).toarray()

        def one(label: str) -> Array:
            match label.split():
                case [name]:
                    return np.asarray(accepted[:, place[name]])
                case ["unique", name]:
                    return np.asarray(unique[:, place[name]])
                case [first, "-", second]:
                    return one(first) - one(second)
                case [first, "&", second]:
                    pair = np.isin(np.arange(len(enabled)), [place[first], place[second]])
                    return one(first) + one(second) - acceptance.either(pair)
            raise SystemExit(f"{label!r}: expected 'A', 'unique A', 'A & B' or 'A - B' of triggers")

        return np.column_stack([one(label) for label in self.labels])[which.reshape(-1)]


@dataclass(frozen=True)
class Decided:
    """Contributions w f to rates in Hz, float64[n, q], of n events, and their parents, uint64[n]."""

    contributions: Array
    parent: NDArray[np.uint64]

    @classmethod
    def of(cls, events: trigemu.Events, quantities: Quantities) -> Decided:
        contributions = events.weight[:, None] * quantities.of(trigemu.decide(events, quantities.plan))
        some = contributions.any(axis=1)
        return cls(contributions[some], events.parent[some])

    @classmethod
    def joined(cls, parts: Iterable[Decided]) -> Decided:
        decided = list(parts)
        return cls(
            np.concatenate([p.contributions for p in decided]),
            np.concatenate([p.parent for p in decided]),
        )

    def rates(self) -> Array:
        return np.asarray(self.contributions.sum(axis=0))

    def by_event(self) -> Array:
        """Σ w² f²."""
        return np.asarray((self.contributions**2).sum(axis=0))

    def of_parents(self) -> Array:
        """float64[parents, q]: Σ w f over the events of each."""
        parents, which = np.unique(self.parent, return_inverse=True)
        return np.column_stack([np.bincount(which, column, len(parents)) for column in self.contributions.T])

    def by_parent(self) -> Array:
        """Σ_parent(Σ w f)²."""
        return np.asarray((self.of_parents() ** 2).sum(axis=0))


def of_catalogue(catalogue: trigemu.Catalogue, quantities: Quantities) -> Decided:
    """Read all background events of a catalogue."""
    job = Job((quantities.menu,), quantities.plan, catalogue)
    return Decided.joined(over_background(job, _Decide(quantities), Engine(workers=1)))


@dataclass(frozen=True)
class _Decide:
    """The task that decides a chunk, in this process."""

    quantities: Quantities

    def __call__(self, plan: trigemu.api.Plan, chunk: Chunk, events: trigemu.Events) -> Decided:
        return Decided.of(events, self.quantities)

    def merge(self, parts: Sequence[Decided]) -> Decided:
        return Decided.joined(parts)


def bootstrapped(decided: Decided, replicas: int, seed: int) -> Array:
    """float64[replicas, q]: rates with a Poisson number of each parent."""
    rng, sums = np.random.default_rng(seed), decided.of_parents()
    blocks = [
        rng.poisson(1.0, (min(BLOCK, replicas - start), len(sums))).astype(np.float64) @ sums
        for start in range(0, replicas, BLOCK)
    ]
    return np.concatenate(blocks)


class Pools:
    """Pools of interactions, to be divided into parts that each represent a smaller sample."""

    def __init__(self, config: Config, folder: Path, sample: Config) -> None:
        """sample: the configuration whose errors are tested, with its uses and weights."""
        full = {part.name: part.blocks * part.block_size for part in sample.slices}
        own = [config.source(part) for part in config.slices]
        shares = [part.blocks * part.block_size / full[part.name] for part in own]
        self.share, self.config = min(shares), config
        self.classes = [
            _first(pools.load(config, number, folder / INTERACTIONS), self.share / share)
            for number, share in enumerate(shares)
            if config.slices[number].role == "background"
        ]

    def cut(self, groups: int, parts: int, seed: int) -> Iterator[list[pools.Pool]]:
        """Return the interactions of the classes in so many parts of each group. Groups are the same for any
        seed."""
        rng = np.random.default_rng(seed)
        # A collision is in one part with all its records, also where two classes share them.
        of_source = {
            source: _dealt(
                max(_collisions(p) for p in self.classes if p.source == source), groups, parts, rng
            )
            for source in sorted({pool.source for pool in self.classes})
        }
        dealt = [of_source[pool.source][pool.rows.scalars["origin"]] for pool in self.classes]
        for part in range(groups * parts):
            yield [_some(pool, of == part) for pool, of in zip(self.classes, dealt, strict=True)]

    def crossings(self, part: list[pools.Pool], share: float, seed: int) -> list[Columns]:
        """Return, for each class, all crossings of a part that is a share of the sample."""
        # A share of the crossings at the same µ: each has its weight of the sample, in Hz.
        config = msgspec.structs.replace(
            self.config,
            seed=seed,
            luminosity_cm2s=self.config.luminosity_cm2s * share,
            crossing_rate_hz=self.config.crossing_rate_hz * share,
        )
        # A part has too few crossings without any object to compensate for the rest.
        unchanged = mock.patch.object(crossings, "_normalised", lambda weight, quiet, rate_hz: weight)
        with unchanged, mock.patch.object(crossings, "MIN_CROSSINGS", crossings.MIN_CROSSINGS * share):
            return [crossings.make(recipes.recipe(config, part, pool))[0] for pool in part]


def _some(pool: pools.Pool, rows: NDArray[np.bool_]) -> pools.Pool:
    return pools.make_pool(pool.part, pool.number, pool.rows.of(rows), pool.cross_section_pb, pool.source)


def _first(pool: pools.Pool, share: float) -> pools.Pool:
    return _some(pool, pool.rows.scalars["origin"] < round(share * _collisions(pool)))


def _collisions(pool: pools.Pool) -> int:
    return int(pool.rows.scalars["origin"].max()) + 1


def _dealt(n: int, groups: int, parts: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the part of each of n interactions, the parts of the first group first."""
    of = np.empty(n, np.int64)
    for group in range(groups):
        members = np.arange(group, n, groups)
        of[rng.permutation(members)] = group * parts + np.arange(len(members)) % parts
    return of


def events_of(columns: Columns, scale: float) -> trigemu.Events:
    """Return the contributions as trigemu reads them from a file; weights are multiplied by scale."""
    collections = {
        kind: trigemu.Collection(np.concatenate([[0], np.cumsum(objects.counts)]), objects.columns)
        for kind, objects in columns.objects.items()
    }
    scalars = {name: columns.scalars[branch] for name, branch in SCALARS.items()}
    weight = columns.scalars["genWeight"].astype(np.float64) * scale
    return trigemu.make_events("part", weight, collections, scalars, parent=columns.scalars["parent"])


def of_parts(source: Pools, quantities: Quantities, groups: int, parts: int, seed: int) -> Array:
    """float64[groups, parts, 3, q]: rates, and their squared errors by event and by parent."""
    share = source.share / (groups * parts)
    rows = []
    for number, part in enumerate(source.cut(groups, parts, seed)):
        result = source.crossings(part, share, seed * groups * parts + number)
        decided = Decided.joined(Decided.of(events_of(c, 1.0 / share), quantities) for c in result)
        rows.append([decided.rates(), decided.by_event(), decided.by_parent()])
    return np.array(rows).reshape(groups, parts, 3, -1)


def factors(measured: Array) -> tuple[Array, Array]:
    """float64[2, q] each: spread over error by event and by parent, and their errors, from the differences
    between groups. measured: float64[repeats, groups, parts, 3, q]."""
    spread = measured[:, :, :, 0].var(axis=2, ddof=1).mean(axis=0)
    quoted = measured[:, :, :, 1:].mean(axis=(0, 2))
    groups = len(spread)

    def ratio(chosen: NDArray[np.int64]) -> Array:
        with np.errstate(invalid="ignore"):  # no event in any part
            return np.asarray(np.sqrt(spread[chosen].mean(axis=0) / quoted[chosen].mean(axis=0)))

    numbers = np.arange(groups)
    left_out = np.array([ratio(np.delete(numbers, group)) for group in numbers])
    return ratio(numbers), np.sqrt((groups - 1) * left_out.var(axis=0))


def report_bootstrap(quantities: Quantities, catalogue: Path | None, replicas: int, seed: int) -> None:
    decided = of_catalogue(trigemu.open_catalogue(catalogue), quantities)
    spread = bootstrapped(decided, replicas, seed).std(axis=0, ddof=1)
    event, parent = np.sqrt(decided.by_event()), np.sqrt(decided.by_parent())
    _say(f"{'':24} {'rate':>10} {'by event':>9} {'by parent':>9} {'bootstrap':>9}  spread / by parent")
    for row in zip(quantities.labels, decided.rates(), event, parent, spread, spread / parent, strict=True):
        error = row[-1] / np.sqrt(2 * (replicas - 1))
        _say("{:24} {:10.4g} {:9.3g} {:9.3g} {:9.3g}  {:.3f}".format(*row) + f" ± {error:.3f}")


def report_parts(
    quantities: Quantities, source: Pools, groups: int, parts: int, repeats: int, seed: int
) -> None:
    measured = np.array(
        [of_parts(source, quantities, groups, parts, seed + repeat) for repeat in range(repeats)]
    )
    (by_event, by_parent), (event_error, parent_error) = factors(measured)
    rates = measured[:, :, :, 0].mean(axis=(0, 1, 2))
    _say(f"{'':24} {'rate':>10}  spread / by event  spread / by parent")
    columns = (rates, by_event, event_error, by_parent, parent_error)
    for label, *row in zip(quantities.labels, *columns, strict=True):
        _say("{:24} {:10.4g}  {:8.2f} ± {:.2f}    {:8.2f} ± {:.2f}".format(label, *row))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("how", choices=["bootstrap", "parts"])
    parser.add_argument("menu", type=Path)
    parser.add_argument("quantities", nargs="*", help="all triggers by default")
    parser.add_argument("--catalogue", type=Path, help="of the bootstrap; the embedded one by default")
    parser.add_argument("--replicas", type=int, default=1000)
    parser.add_argument("--config", help="of the pools")
    parser.add_argument("--pools", type=Path, help="the folder they were generated into")
    parser.add_argument("--sample", default="embedded", help="the configuration of the sample in question")
    parser.add_argument("--groups", type=int, default=10, help="of pools, that give the error of the spread")
    parser.add_argument("--parts", type=int, default=10, help="of each group")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    menu = trigemu.read_menu(options.menu)
    labels = tuple(options.quantities) or tuple(trigger.name for trigger in menu.enabled)
    quantities = Quantities(menu, trigemu.make_plan([menu]), labels)
    if options.how == "bootstrap":
        report_bootstrap(quantities, options.catalogue, options.replicas, options.seed)
    elif options.config and options.pools:
        source = Pools(load_config(options.config), options.pools, load_config(options.sample))
        report_parts(quantities, source, options.groups, options.parts, options.repeats, options.seed)
    else:
        parser.error("parts needs --config and --pools")


if __name__ == "__main__":
    main()
