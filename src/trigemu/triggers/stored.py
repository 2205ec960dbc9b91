"""`stored`: a decision that is stored in the sample, such as that of the trigger that recorded the events.

    decision = "L1_SingleMu22"      # its name in the sample; a number in test vectors of CMS: "0" … "511"

In a menu with emulated triggers it gives their overlap with the recorded ones; a menu of such triggers gives
the rates of the recorded menu. In recorded data it may be the decision after prescales, as in NanoAOD.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trigemu.observables import Constant, Relation, Scalar, Workspace
from trigemu.support import BoolArray
from trigemu.triggers.base import Compiled, Context, Kind
from trigemu.triggers.extent import Extent
from trigemu.triggers.questions import kind_extent


class Stored(Kind, frozen=True):
    """The trigger kind `stored`: it fires if a decision that is stored in the sample is true.

    Attributes
    ----------
    decision : str
        The name of the stored decision.
    """

    decision: str

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if not self.decision:
            yield "decision", "decision = '': expected the name of a stored decision"

    def compile(self, context: Context) -> CompiledStored:
        return CompiledStored(context.stored(self.decision))


@dataclass(frozen=True)
class CompiledStored(Compiled):
    """A compiled trigger that repeats a decision recorded in the sample.

    Attributes
    ----------
    column : str
        The column of decisions, 0 or 1.
    threshold : None
        It gives decisions.
    """

    column: str
    threshold: None = None

    def evaluate(self, work: Workspace) -> BoolArray:
        return self.condition.evaluate(work)

    @property
    def condition(self) -> Relation:
        """The condition under which it fires."""
        return Relation("!=", Scalar(self.column), Constant(0.0))


@kind_extent.register(Stored)
def _(kind: Stored, context: Context) -> Extent:
    return Extent(conditions=(kind.compile(context),))
