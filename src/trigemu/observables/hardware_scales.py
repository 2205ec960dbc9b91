"""The [integer] tables of a menu: hardware scales of objects, and the precision of hardware computations.

    [integer.jet]
    pt = { first = 0.0, step = 0.5, bins = 2046 }     # GeV
    [integer.digits]
    jet-jet = { delta = 3, mass = 1, pt = 1, trigonometry = 3 }

The plugin `cms` computes cuts on pairs of objects with a scale as the hardware does, from the columns
`hw_pt`, `hw_eta` and `hw_phi` of the sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import msgspec

from trigemu.base.errors import nearest
from trigemu.base.toml import Document, Positive, TomlTable, read_table

_Bins = Annotated[int, msgspec.Meta(ge=1)]
_Digits = Annotated[int, msgspec.Meta(ge=0, le=9)]


class LinearScale(TomlTable, frozen=True):
    """A linear scale: bin i begins at first + i · step; higher values are in one further bin."""

    first: float  #: The beginning of the first bin.
    step: Positive  #: The width of a bin.
    bins: _Bins  #: The number of bins.


class EtaScale(TomlTable, frozen=True):
    """A scale in η: bin i begins at i · step; if centred, its centre is there."""

    step: Positive  #: The width of a bin.
    centred: bool = False  #: Whether i · step is the centre of bin i, not its beginning.


class PhiScale(TomlTable, frozen=True):
    """A scale in φ: the number of bins in 2π, starting at 0."""

    bins: _Bins  #: The number of bins in 2π.


class HardwareScale(TomlTable, frozen=True):
    """[integer.NAME]: the scales of an object's integers, in GeV and radians."""

    pt: LinearScale  #: The scale of pT.
    eta: EtaScale | None = None  #: The scale of η.
    phi: PhiScale | None = None  #: The scale of φ.
    #: The scale of a second pT, without the constraint to the beam, in the column `hw_upt`.
    upt: LinearScale | None = None


class Digits(TomlTable, frozen=True):
    """Decimal digits in the hardware, for a pair of object types."""

    delta: _Digits | None = None  #: Digits of Δη and Δφ.
    mass: _Digits | None = None  #: Digits of the limits on M²/2.
    pt: _Digits | None = None  #: Digits of pT in a mass.
    trigonometry: _Digits | None = None  #: Digits of cosh and cos in a mass.
    inverse_dr: _Digits | None = None  #: Digits of 1/ΔR² in the ratio of a mass and a distance.
    two_body_pt: _Digits | None = None  #: Digits of pT and its limits in the pT of a pair.
    two_body_trigonometry: _Digits | None = None  #: Digits of cos and sin in the pT of a pair.


class IntegerTable(TomlTable, frozen=True):
    """[integer]: the digits of pairs of objects, such as jet-muon, and the scales of objects."""

    further: ClassVar[str | None] = "scales"

    digits: dict[str, Digits] = msgspec.field(default_factory=dict)
    scales: dict[str, HardwareScale] = msgspec.field(default_factory=dict)


@dataclass(frozen=True)
class Integers:
    """Scales and digits of an [integer] section."""

    scales: tuple[tuple[str, HardwareScale], ...]  # The scale of each collection of the sample
    digits: tuple[tuple[frozenset[str], Digits], ...]  # The digits of each pair of collections

    def scale(self, base: str) -> HardwareScale | None:
        """Return the scale of a collection of the sample; None if it has none."""
        return dict(self.scales).get(base)

    def of_pair(self, *bases: str) -> Digits:
        """Return the digits of a pair of collections in either order; all are None if it is not listed."""
        return dict(reversed(self.digits)).get(frozenset(bases), Digits())


def read_integers(document: Document, base_of: Callable[[str], str]) -> Integers | None:
    """Read the [integer] tables of a menu or a card."""
    if "integer" not in document.data:
        return None
    table = read_table(document, document.data["integer"], IntegerTable, ("integer",), "[integer]")
    if table is None:
        return None
    scales, bases = dict[str, HardwareScale](), dict[str, str]()
    for name, scale in table.scales.items():
        key = ("integer", name)
        base = document.attempt(partial(base_of, name), key)
        bases[name] = base or ""
        if base and scales.setdefault(base, scale) != scale:
            document.problem(key, f"[integer.{name}]", f"{base!r} already has a different scale above")
    pairs = {pair: pair.split("-") for pair in table.digits}
    for pair, names in pairs.items():
        wrong = [f"{pair}: no [integer.{name}]{nearest(name, bases)}" for name in names if name not in bases]
        if len(names) != 2:
            wrong.insert(0, f"{pair!r}: expected two objects, as in jet-muon")
        for message in wrong:
            document.problem(("integer", "digits", pair), "[integer.digits]", message)
    digits = ((frozenset(bases.get(n, "") for n in pairs[pair]), d) for pair, d in table.digits.items())
    return Integers(tuple(scales.items()), tuple(digits))
