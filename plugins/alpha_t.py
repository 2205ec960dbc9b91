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
more if something invisible recoils against both. It uses the two leading jets and ignores all others, as if
they were invisible. With menus/alpha_t.toml and the embedded sample, 0.28 of 1.61 kHz have two jets, 1.06 kHz
three and 0.27 kHz more.
"""

from __future__ import annotations

import math

from trigemu.api import CompiledFunction, Context, ScoreKind


class AlphaT(ScoreKind, frozen=True):
    """The trigger kind `alpha_t`: its score is αT of the two leading objects of a collection, in events with
    two objects or more. It ignores the others, as if they were invisible."""

    object: str = "jet"  #: The collection.

    def compile(self, context: Context) -> CompiledFunction:
        first, second = f"{self.object}[0]", f"{self.object}[1]"
        needed = f"{first}.pt", f"{second}.pt", f"dphi({first}, {second})"
        return CompiledFunction(alpha_t, tuple(map(context.observable, needed)), self.threshold)


def alpha_t(pt1: float, pt2: float, dphi: float) -> float:
    return pt2 / math.sqrt(2 * pt1 * pt2 * (1 - math.cos(dphi)))


KINDS = {"alpha_t": AlphaT}
