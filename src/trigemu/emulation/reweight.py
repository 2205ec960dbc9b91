"""Reweight the background to another pile-up, or to another luminosity.

Crossings are reweighted so that their number of interactions n follows Poisson(n; µ), or the mixture of these
for a measured histogram of µ; the distribution of events at a given n stays the same, and their weights still
add up to the crossing rate R0. The estimator of a ratio, for a known µ₀, is unbiased even with few crossings
at some n; without it, a range of n includes neighbours until the sample has enough crossings in it. In both
cases only the accepted fraction of a fixed weight fluctuates.

A measured µ is a histogram, uniform in each bin: a ROOT file with the histogram (TH1) `pileup`, or only one;
JSON, {"edges": [0, 1, 2, …], "contents": [3.1, 4.2, …]}; or CSV with rows of low edge, high edge, content,
after a heading.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.base.errors import SampleError, TrigemuError, number_of
from trigemu.base.files import read_bounded
from trigemu.base.mapping import engine_of
from trigemu.counting.patterns import Keys, PatternTable, count_patterns, merge_tables
from trigemu.emulation.engine import Chunk, Job, Task, over_background
from trigemu.emulation.plan import Plan, check_needs, make_plan
from trigemu.menus.menu import Menu
from trigemu.samples.catalogue import Catalogue, Pileup
from trigemu.samples.events import Events
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.samples.root import open_root
from trigemu.samples.sample import INTERACTIONS

#: The largest mean, and number of interactions in one crossing: others must be mistakes.
MAX_INTERACTIONS = 100_000
#: Values of µ in each bin of a histogram: exact to twelve digits for bins of width 10.
_NODES = 16
#: The minimum effective number of crossings in a range of n: otherwise a few crossings that happen to include
#: none of the common processes would get the full weight of the range.
MIN_EFFECTIVE = 10.0
#: The largest fraction of the target distribution for which the sample has fewer crossings.
MAX_SPARSE = 0.05
#: The step of the means that a message finds allowed.
_STEP = 0.1
#: The largest relative difference between the sum of a sample's events and its rate.
_COMPLETE = 1e-3
#: The largest relative difference between the mean of a sample and that of its generation.
_MEAN_AGREES = 0.05


class Pileups(NamedTuple):
    """A mixture of Poisson distributions."""

    means: FloatArray  # float64[k]
    weights: FloatArray  # float64[k], which add up to 1
    file: str = ""  # The file of its histogram; empty for one number

    @property
    def mean(self) -> float:
        return float(self.means @ self.weights)

    def over(self, logarithms: FloatArray) -> FloatArray:
        """Return Σ of weight × mean**n × exp(−mean) for n = 0, 1, …, over the exponentials of `logarithms`,
        float64[n]."""
        powers = np.log(self.means)[:, None] * np.arange(len(logarithms)) - self.means[:, None]
        ratios: FloatArray = self.weights @ np.exp(powers - logarithms)
        return ratios

    def probabilities(self, n: int) -> FloatArray:
        """Return the probabilities of 0 to n − 1 interactions, float64[n]."""
        return self.over(np.cumsum(np.log(np.maximum(np.arange(n), 1))))


def pileups_of(target: float | str | os.PathLike[str]) -> Pileups:
    """Return the distribution of a mean, or of a file. Raises TrigemuError if it cannot be used."""
    if not isinstance(target, str | os.PathLike):
        mean = number_of("the pile-up", target)
        if not 0 < mean < MAX_INTERACTIONS:
            raise TrigemuError(f"pile-up {mean:g}: expected a mean number of interactions above 0")
        return Pileups(np.array([mean]), np.ones(1))
    path = Path(target)
    if path.suffix not in (".root", ".json", ".csv"):
        raise TrigemuError(f"pile-up {target}: expected a number, or a histogram of µ: .root, .json or .csv")
    try:
        if path.suffix == ".json":
            read = json.loads(read_bounded(path))
            edges, contents = read["edges"], read["contents"]
        elif path.suffix == ".csv":
            lines = [line for line in read_bounded(path).decode().splitlines()[1:] if line.strip()]
            low, high, contents = np.array([line.split(",") for line in lines], np.float64).T
            if (low[1:] != high[:-1]).any():
                raise ValueError("each bin has to begin where the one before it ends")
            edges = np.append(low, high[-1])
        else:
            with open_root(str(path)) as file:
                names = file.keys(cycle=False, filter_classname="TH1*")
                if len(names) != 1 and "pileup" not in names:
                    raise ValueError(f"expected one histogram (TH1), or one called pileup, among {names}")
                contents, edges = file["pileup" if "pileup" in names else names[0]].to_numpy()
        edges, contents = np.asarray(edges, np.float64), np.asarray(contents, np.float64)
    except OSError as error:
        raise TrigemuError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:  # of libraries, which have many for a damaged file
        raise TrigemuError(f"{path}: it is no histogram of µ: {error}") from None
    if edges.ndim != 1 or edges.shape != (contents.size + 1,) or not (np.diff(edges) > 0).all():
        raise TrigemuError(f"{path}: expected ascending edges of bins, one more than contents")
    if not 0 <= edges[0] < edges[-1] < MAX_INTERACTIONS:
        raise TrigemuError(f"{path}: bins from {edges[0]:g} to {edges[-1]:g}: expected µ of at least 0")
    if not (np.isfinite(contents) & (contents >= 0)).all() or not contents.sum() > 0:
        raise TrigemuError(f"{path}: expected contents of at least 0, of which some are above 0")
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    full = contents > 0
    low, width = edges[:-1][full, None], np.diff(edges)[full, None]
    of_bins = contents[full, None] / contents.sum() * weights / 2
    return Pileups((low + width * (nodes + 1) / 2).ravel(), of_bins.ravel(), str(path))


def at_pileup(
    catalogue: SamplesLike,
    mean: float | str | os.PathLike[str],
    *,
    executor: Any = None,
) -> Catalogue:
    """Reweight the background of a catalogue to another mean number of interactions.

    One pass over the numbers of interactions determines the factors.

    Parameters
    ----------
    catalogue : path, Catalogue, Events, ak.Array, list of paths, or None
        Samples whose events are crossings with a known number of interactions, as in `emulate`.
    mean : float or path
        The mean of the Poisson distribution of the number of interactions per crossing; or a file with a
        histogram of this mean, over crossings: ROOT (TH1), JSON or CSV.
    executor
        As in `emulate`.

    Returns
    -------
    Catalogue
        The same catalogue with reweighted background; its `pileup` describes the reweighting.

    Raises
    ------
    TrigemuError
        If the mean is no positive number or histogram, or the pile-up is already reweighted.
    SampleError
        If the sample cannot be reweighted to this mean.

    Notes
    -----
    If the catalogue gives the mean µ₀ of the generated crossings, the weights of crossings with n
    interactions are multiplied by Poisson(n; µ) / Poisson(n; µ₀), averaged over the µ of a histogram, and
    all by a factor that restores the crossing rate. Otherwise they are multiplied by R0 P / W, where P and W
    are the probability and the total weight of all background crossings with n interactions, or in a range
    of n with enough crossings.

    Examples
    --------
    >>> import trigemu
    >>> reweighted = trigemu.at_pileup(None, 8.0)
    >>> f"{reweighted.pileup.before:.2f} interactions before, factor {reweighted.pileup.factor:.3f}"
    '12.92 interactions before, factor 1.006'
    >>> result = trigemu.run("menus/primary.toml", reweighted)
    """
    engine, pileups = engine_of(executor), pileups_of(mean)
    catalogue = samples_of(catalogue, executor=engine)
    made_with, path, r0 = catalogue.table.mean_interactions, catalogue.path, catalogue.crossing_rate_hz
    if catalogue.pileup:
        raise TrigemuError(f"{path}: its pile-up is already reweighted; start from the catalogue")
    if catalogue.table.convention == "luminosity":
        raise SampleError(
            f"{path}: the events are single interactions and have no pile-up: use --luminosity for rates at "
            f"another luminosity"
        )
    plan = make_plan(())
    plan.check_background(catalogue)
    check_needs(catalogue.background, [INTERACTIONS], "pile-up reweighting needs")
    job = Job((), plan, catalogue, frozenset((INTERACTIONS,)))
    table = merge_tables(over_background(job, _CountPileup(), engine))
    held_hz = np.bincount(table.sample, table.weight, len(catalogue.samples))
    for sample in catalogue.background:
        if abs(held_hz[sample.number] - sample.rate_hz) > _COMPLETE * sample.rate_hz:
            raise SampleError(
                f"sample {sample.name!r}: its events sum to {held_hz[sample.number]:g} of {sample.rate_hz:g} "
                f"Hz, and the number of interactions of the missing ones is unknown: a skim cannot be "
                f"reweighted"
            )
    total, square = np.bincount(table.bin, table.weight), np.bincount(table.bin, table.square)
    n = np.arange(len(total))
    sample_mean = float(total @ n / total.sum())
    if made_with is not None and abs(sample_mean / made_with - 1) > _MEAN_AGREES:
        raise SampleError(
            f"{path}: mean_interactions = {made_with:g}, but its crossings have {sample_mean:.4g} "
            f"interactions on average: correct the key, or leave it out"
        )
    _check_sparse(path, pileups, (total**2 >= MIN_EFFECTIVE * square) & (total > 0))
    if made_with is None:
        # Ranges of n, ascending, each with enough crossings; the last n join the range before them if they
        # have too few.
        strata, number, inside = np.zeros(len(n), np.int64), 0, np.zeros(2)
        for k in n:
            strata[k] = number
            inside += total[k], square[k]
            if inside[0] > 0 and inside[0] ** 2 >= MIN_EFFECTIVE * inside[1]:
                number, inside = number + 1, np.zeros(2)
        strata = np.minimum(strata, max(number - 1, 0))
        ends = np.append(np.flatnonzero(np.diff(strata)), len(n) - 1)
        below = np.cumsum(pileups.probabilities(len(n)))[ends[:-1]]
        shares = np.diff(np.concatenate([[0.0], below, [1.0]]))
        factors, normalisation = (shares * r0 / np.bincount(strata, total))[strata], 1.0
    else:
        strata = np.zeros(len(n), np.int64)
        ratios = pileups.over(n * np.log(made_with) - made_with)
        normalisation = r0 / float(ratios @ total)
        factors = normalisation * ratios
    after = np.bincount(table.sample, table.weight * factors[table.bin], len(catalogue.samples))
    samples = tuple(
        replace(s, per_interactions=tuple(factors.tolist()), rate_hz=float(after[s.number]))
        if s.table.role == "background"
        else s
        for s in catalogue.samples
    )
    pileup = Pileup(
        mean=pileups.mean,
        measured=pileups.file,
        before=sample_mean if made_with is None else made_with,
        after=float(factors * total @ n / (factors @ total)),
        factor=normalisation,
        known=made_with is not None,
        events=int(table.n.sum()),
        effective_events=float(factors @ total) ** 2 / float(factors**2 @ square),
        effective_before=float(total.sum()) ** 2 / float(square.sum()),
    )
    return replace(catalogue, samples=samples, pileup=pileup, stratum_of=tuple(strata.tolist()))


@dataclass(frozen=True)
class _CountPileup(Task[PatternTable]):
    """The task that sums the weights of a chunk, with one entry for each number of interactions."""

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> PatternTable:
        n = events.scalars[INTERACTIONS[1]][events.core]
        where = f"sample {events.sample!r}: {INTERACTIONS[1]}"
        if not np.issubdtype(n.dtype, np.integer):
            raise SampleError(f"{where} is not an integer ({n.dtype}): expected a number of interactions")
        if len(n) and not 0 <= n.min() <= n.max() < MAX_INTERACTIONS:
            raise SampleError(f"{where} goes from {n.min()} to {n.max()}: expected a number of interactions")
        none = np.zeros((len(n), 1), np.uint64)
        return count_patterns(chunk.sample, none, events.weight[events.core], Keys(bin=n.astype(np.int64)))


def _check_sparse(path: Path, pileups: Pileups, enough: BoolArray) -> None:
    """Raise SampleError if too few crossings have the numbers of interactions of a target. enough: bool[n],
    which numbers have enough."""

    def sparse(target: Pileups) -> float:
        """Return the fraction of a target for which the sample has too few crossings."""
        return 1.0 - float(target.probabilities(len(enough))[enough].sum())

    if sparse(pileups) <= MAX_SPARSE:
        return
    held, covered = "too few of any", np.flatnonzero(enough)
    if len(covered):
        held = f"enough with {covered[0]} to {covered[-1]}"
        means = (_STEP * np.arange(1, round(2 * len(enough) / _STEP))).tolist()
        allowed = [mean for mean in means if sparse(pileups_of(mean)) <= MAX_SPARSE]
        held += f", which allows means of {allowed[0]:.3g} to {allowed[-1]:.3g}" if allowed else ""
    raise SampleError(
        f"{path}: pile-up {pileups.file or f'{pileups.mean:g}'}: {100 * sparse(pileups):.3g} % of the "
        f"crossings would have a number of interactions for which the sample has too few (it has {held}), "
        f"more than {100 * MAX_SPARSE:g} %: generate crossings at that pile-up (trigemu generate run3 makes "
        f"them at a mean of 60)"
    )


def at_luminosity(catalogue: SamplesLike, luminosity_cm2s: float) -> Catalogue:
    """Scale all samples with a cross-section to another luminosity.

    Parameters
    ----------
    catalogue : path, Catalogue, or list of paths
        Samples whose events are single interactions, with a luminosity.
    luminosity_cm2s : float
        The luminosity in cm⁻² s⁻¹.

    Returns
    -------
    Catalogue

    Raises
    ------
    TrigemuError
        If the luminosity is not a positive number.
    SampleError
        If the events are crossings, in which interactions overlap, so rates are not proportional to the
        luminosity; or if the catalogue has no luminosity.
    """
    luminosity_cm2s = number_of("the luminosity", luminosity_cm2s)
    catalogue = samples_of(catalogue)
    table = catalogue.table
    if not 0 < luminosity_cm2s < np.inf:
        raise TrigemuError(f"luminosity {luminosity_cm2s:g}: expected a number above 0, in cm⁻² s⁻¹")
    if table.convention == "crossing":
        raise SampleError(
            f"{catalogue.path}: the events are crossings with all interactions at their luminosity: "
            f"their weights cannot be scaled to another one; reweight their pile-up (--pileup), or generate "
            f"crossings at that luminosity"
        )
    if table.luminosity_cm2s is None:
        raise SampleError(f"{catalogue.path}: there is no luminosity_cm2s under [catalogue] to scale from")
    ratio = luminosity_cm2s / table.luminosity_cm2s
    samples = tuple(
        replace(s, hz_per_weight=s.hz_per_weight * ratio, rate_hz=s.rate_hz * ratio)
        if s.table.cross_section_pb is not None
        else s
        for s in catalogue.samples
    )
    head = msgspec.structs.replace(table, luminosity_cm2s=luminosity_cm2s)
    return replace(catalogue, table=head, samples=samples)


def at_conditions(menus: Sequence[Menu], samples: SamplesLike, executor: Any = None) -> Catalogue:
    """Return samples at the pile-up or the luminosity of the chosen columns of prescales of menus.

    A luminosity of a column also gives the pile-up of crossings, in proportion to that of the samples.
    Samples at another pile-up already, and samples of menus whose columns have neither, stay as they are.
    """
    catalogue = samples_of(samples, executor=executor)
    of_menus = {conditions: menu for menu in menus if any(conditions := menu.columns.conditions)}
    if not of_menus or catalogue.pileup:
        return catalogue
    if len(of_menus) > 1:
        each = (
            f"{menu.name}, column {menu.columns.chosen}: "
            + (f"µ = {pileup:g}" if pileup else f"{luminosity:g} cm⁻² s⁻¹")
            for (pileup, luminosity), menu in of_menus.items()
        )
        raise TrigemuError(
            f"the columns are for different conditions, at which menus do not share their events "
            f"({'; '.join(each)}): choose one with --pileup or --luminosity"
        )
    (((pileup, luminosity), menu),) = of_menus.items()
    table, column = catalogue.table, menu.columns.chosen or menu.columns.default
    if table.convention == "luminosity" and luminosity:
        return at_luminosity(catalogue, luminosity)
    if not pileup:
        if not (table.mean_interactions and table.luminosity_cm2s):
            raise SampleError(
                f"{catalogue.path}: column {column!r} is for {luminosity:g} cm⁻² s⁻¹, and the pile-up there "
                f"is not known: mean_interactions and luminosity_cm2s of the catalogue would give it; "
                f"or give the pile-up of the column"
            )
        crossings = catalogue.crossing_rate_hz / menu.crossing_rate_hz
        pileup = table.mean_interactions * luminosity / table.luminosity_cm2s * crossings
    try:
        return at_pileup(catalogue, pileup, executor=executor)
    except SampleError as error:
        raise SampleError(f"column {column!r}: {error}") from error
