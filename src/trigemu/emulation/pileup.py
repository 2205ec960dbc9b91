"""Distributions of the mean number of interactions per crossing, µ: one number, or a measured histogram.

With a histogram, the number of interactions has a mixture of Poisson distributions, with µ uniform in each
bin. Bins are integrated with `_NODES` values of µ, exact to twelve digits for bins of width 10.

.root   a histogram (TH1): `pileup`, or the only one of the file
.json   {"edges": [0, 1, 2, …], "contents": [3.1, 4.2, …]}
.csv    rows of low edge, high edge, content, after a heading
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError, number_of
from trigemu.base.files import read_bounded
from trigemu.samples.formats.root import open_root

#: The largest mean, and number of interactions in one crossing: others must be mistakes.
MAX_INTERACTIONS = 100_000
#: Values of µ in each bin.
_NODES = 16


@dataclass(frozen=True)
class Pileups:
    """A mixture of Poisson distributions. means, weights: float64[k], the weights add up to 1. file: the file
    of its histogram, empty for one number."""

    means: FloatArray
    weights: FloatArray
    file: str = ""

    @property
    def mean(self) -> float:
        return float(self.means @ self.weights)

    def __str__(self) -> str:
        return self.file or f"{self.mean:g}"

    def ratios(self, mean: float, n: int) -> FloatArray:
        """Return the probabilities of 0 to n − 1 interactions over those of Poisson(mean), float64[n]."""
        exponents = np.log(self.means / mean)[:, None] * np.arange(n) - (self.means - mean)[:, None]
        ratios: FloatArray = self.weights @ np.exp(exponents)
        return ratios

    def probabilities(self, n: int) -> FloatArray:
        """Return the probabilities of 0 to n − 1 interactions, float64[n]."""
        numbers = np.arange(n)
        factorials = np.cumsum(np.log(np.maximum(numbers, 1)))
        exponents = np.log(self.means)[:, None] * numbers - self.means[:, None] - factorials
        probabilities: FloatArray = self.weights @ np.exp(exponents)
        return probabilities


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
        edges, contents = (np.asarray(values, np.float64) for values in _read(path))
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


def _read(path: Path) -> Any:
    """Return the edges of the bins of a histogram, and their contents."""
    if path.suffix == ".json":
        read = json.loads(read_bounded(path))
        return read["edges"], read["contents"]
    if path.suffix == ".csv":
        lines = [line for line in read_bounded(path).decode().splitlines()[1:] if line.strip()]
        low, high, contents = np.array([line.split(",") for line in lines], np.float64).T
        if (low[1:] != high[:-1]).any():
            raise ValueError("each bin has to begin where the one before it ends")
        return np.append(low, high[-1]), contents
    with open_root(str(path)) as file:
        names = file.keys(cycle=False, filter_classname="TH1*")
        if len(names) != 1 and "pileup" not in names:
            raise ValueError(f"expected one histogram (TH1), or one called pileup, among {names}")
        return file["pileup" if "pileup" in names else names[0]].to_numpy()[::-1]
