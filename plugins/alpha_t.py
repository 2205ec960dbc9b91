"""`alpha_t`, the template for a trigger kind: αT of two jets (Randall and Tucker-Smith, arXiv:0806.1049).

    [menu]
    plugins = ["alpha_t"]

    [[trigger]]
    name = "HT100_AlphaT0p6"
    kind = "alpha_t"
    object = "jet"
    above = 0.6

Copy this file into a folder on the plugin path and change four things: the fields of the kind, which are the
keys of its TOML table; the observables that it requests; the score; and its name in KINDS.

αT = ET(j2) / MT = pT2 / √(2 pT1 pT2 (1 − cos Δφ)) is ½ for two balanced jets, less if one is mismeasured, and
more if something invisible recoils against both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trigemu.observables import Number, Workspace
from trigemu.support import FloatArray
from trigemu.triggers import Compiled, Context, ScoreKind


class AlphaT(ScoreKind, frozen=True):
    """The trigger kind `alpha_t`: its score is αT of the two leading objects of a collection.

    Attributes
    ----------
    object : str
        The collection.
    """

    object: str = "jet"

    def compile(self, context: Context) -> CompiledAlphaT:
        first, second = f"{self.object}[0]", f"{self.object}[1]"
        needed = f"{first}.pt", f"{second}.pt", f"dphi({first}, {second})"
        pt1, pt2, dphi = map(context.observable, needed)
        return CompiledAlphaT(pt1, pt2, dphi, self.cut)


@dataclass(frozen=True)
class CompiledAlphaT(Compiled):
    pt1: Number
    pt2: Number
    dphi: Number
    cut: float

    def evaluate(self, work: Workspace) -> FloatArray:
        pt1, pt2, dphi = (number.evaluate(work) for number in (self.pt1, self.pt2, self.dphi))
        with np.errstate(divide="ignore", invalid="ignore"):
            alpha_t = pt2 / np.sqrt(2 * pt1 * pt2 * (1 - np.cos(dphi)))
        return np.where(np.isnan(alpha_t), -np.inf, alpha_t)  # NaN: there are no two jets


KINDS = {"alpha_t": AlphaT}
