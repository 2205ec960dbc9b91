"""Errors of reweighted pile-up against a bootstrap of interactions: `python benchmarks/pileup.py [MEAN …]`.

Of the rates of menus/full.toml with the most events, the spread of 500 samples in which each interaction is
drawn a Poisson number of times, reweighted anew, over the quoted error.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import trigemu

MENU = Path(__file__).parents[1] / "menus" / "full.toml"
TRIGGERS, COPIES = 12, 500


def main(means: list[float]) -> None:
    for mean in means:
        catalogue = trigemu.at_pileup(None, mean)
        rates = trigemu.run(MENU, catalogue)
        chosen = sorted(rates.triggers, key=lambda t: -t.total.events)[:TRIGGERS]
        arrays = trigemu.event_table(MENU, catalogue).arrays()
        weight, parent = arrays["weight"], np.unique(arrays["parent"], return_inverse=True)[1]
        accepted = [weight * arrays[f"acceptance_{t.name}"] for t in chosen]
        sums = np.array([np.bincount(parent, column) for column in (weight, *accepted)])
        copies = np.random.default_rng(1).poisson(1.0, (COPIES, sums.shape[1]))
        drawn = copies @ sums.T
        varied = rates.menu.crossing_rate_hz * drawn[:, 1:] / drawn[:, :1]
        print(f"µ = {mean:g}: Σw = {weight.sum():.15g} Hz, factor {catalogue.pileup.factor:.4f}")  # noqa: T201
        for t, column in zip(chosen, varied.T, strict=True):
            quoted, ratio = t.total.error_hz, column.std() / t.total.error_hz
            print(f"{t.name:22} {t.total.hz:10.2f} ± {quoted:8.2f} Hz  ratio {ratio:.3f}")  # noqa: T201


if __name__ == "__main__":
    main([float(text) for text in sys.argv[1:]] or [8.0, 20.0])
