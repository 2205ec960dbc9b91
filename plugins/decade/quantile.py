"""Y(x): the conditional quantile of a score given the primary observables, an XGBoost BDT in JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np
import treelite

from trigemu.api import Features, FloatArray, Inputs, TrigemuError, own_cause
from trigemu_anomaly import CellRow, Ensemble, PrecisionTable, RowFunction, cell_table

from .library import LibraryRow, Scores, build, interpret
from .model_file import read_model
from .precision import read_ensemble

#: Most nodes that are compiled, in about 12 s and 1 GB. The interpreter is ten times slower for an event.
MAX_COMPILED = 20_000


@dataclass(frozen=True)
class Trees:
    """Boosted trees. predict: float32[n, d] → float32[n]. interpreted: why treelite's interpreter evaluates
    them, "" if it does not. tau: the quantile they were trained for. ensemble: their nodes. row: makes their
    form for single events, if they have any."""

    predict: Callable[[Features], Scores | FloatArray]
    interpreted: str
    tau: float
    ensemble: Ensemble
    row: Callable[[], RowFunction] | None = None


@dataclass(frozen=True)
class Quantile:
    """A BDT and its inputs; compared by the inputs, the content of the model file and the precision, which is
    None for floating point."""

    inputs: Inputs
    sha256: str
    trees: Trees = field(compare=False)
    precision: PrecisionTable | None = None
    content: bytes = field(default=b"", compare=False)

    def predict(self, x: Features) -> FloatArray:
        """Return Y(x), float64[n], for x float32[n, d]."""
        return self.trees.predict(x).astype(np.float64)

    @property
    def compiled(self) -> Trees:
        """The trees as compiled by treelite, for comparison."""
        return load_trees(self.content, len(self.inputs), True)


@lru_cache(maxsize=32)
def load_trees(content: bytes, features: int, compiled: bool = False) -> Trees:
    """Read a BDT with this number of inputs and make a table of it, or compile it if the table would be too
    large, or if `compiled`; raise TrigemuError if it cannot be used."""
    checked = read_model(content, features)
    try:
        model = treelite.frontend.from_xgboost_json(checked.json)
    except Exception as error:
        if own := own_cause(error):
            raise own from error
        reason = " ".join(str(error).split())[:200]
        raise TrigemuError(f"is not a model that treelite can read ({reason})") from None
    ensemble = read_ensemble(model)
    cells = None if compiled else cell_table(ensemble)
    if cells:
        return Trees(cells.predict, "", checked.tau, ensemble, partial(CellRow, cells))
    nodes = len(ensemble.feature)
    library = build(model, content) if nodes <= MAX_COMPILED else None
    if library:
        return Trees(library.predict, "", checked.tau, ensemble, partial(LibraryRow, library))
    reason = "no C compiler (gcc, clang or the variable CC)"
    if nodes > MAX_COMPILED:
        reason = f"{nodes} nodes, of which at most {MAX_COMPILED} are compiled"
    return Trees(lambda x: interpret(model, x), reason, checked.tau, ensemble)
