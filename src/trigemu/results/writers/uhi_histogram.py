"""Values and variances in bins as a histogram that other tools read (UHI)."""

from __future__ import annotations

from typing import Any

import numpy as np

from trigemu.results.histograms import Histograms
from trigemu.support import part_of


def as_histogram(histograms: Histograms, name: str | None) -> Any:
    """Return a hist.Hist without flow bins: the histogram of a name, the only one, or all with a category
    axis."""
    import hist  # here, because the import takes a tenth of a second and is needed nowhere else

    axis = hist.axis.Variable(histograms.edges, flow=False, name="observable", label=histograms.label)
    single = "" if name is None and "" in histograms.of else name
    if single is not None:
        values, variances = part_of(single, "histogram", histograms.of)
        made = hist.Hist(axis, storage="Weight")
    else:
        values, variances = (np.stack(part) for part in zip(*histograms.of.values(), strict=True))
        names = hist.axis.StrCategory(list(histograms.of), flow=False, name="name")
        made = hist.Hist(names, axis, storage="Weight")
    view = made.view()
    view.value, view.variance = values, variances
    return made
