"""Conversion of the conditions of CMS Level-1 algorithms into triggers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trigemu.base.errors import TrigemuError, nearest

from .l1_grammar import SCORES, SIGNALS, Condition, Function, Object, Signal
from .l1_objects import cuts_of, leg_of
from .l1_xml import Algorithm, Cut, XMLMenu

if TYPE_CHECKING:
    from .networks import ScoreNetwork


#: M in GeV whose M²/2 is 10⁶ GeV² in doubles.
MASS_LIMIT = 1414.2135623730949

#: The cuts of functions, and, for each function: the least and largest number of objects, and its cuts.
_RANGES = {"DETA": "deta", "DPHI": "dphi", "DR": "dr"}
_AT_LEAST = {"TBPT": "pair_pt", "MASSDR": "mass_over_dr"}
#: The functions whose mass is not that of two objects with their pT.
_MASSES = {
    **{"mass_trv": "transverse_mass", "mass_trv_orm": "transverse_mass"},
    **{"mass_inv_upt": "mass_upt", "mass_inv_3": "mass3"},
}
_OVERLAPS = {"ORMDETA": "outside_deta", "ORMDPHI": "outside_dphi", "ORMDR": "outside_dr"}
_PAIR = {*_RANGES, "CHGCOR", "TBPT"}
_FUNCTIONS: dict[str, tuple[int, int, set[str]]] = {
    "comb": (2, 12, {"CHGCOR", "TBPT"}),
    "dist": (2, 2, _PAIR),
    "mass": (2, 2, _PAIR | {"MASS"}),
    "mass_inv": (2, 2, _PAIR | {"MASS"}),
    "mass_trv": (2, 2, _PAIR | {"MASS"}),
    "mass_inv_upt": (2, 2, _PAIR | {"MASS", "MASSUPT"}),
    "mass_inv_dr": (2, 2, {"MASSDR", "CHGCOR"}),
    "mass_inv_3": (3, 3, {"MASS", "CHGCOR"}),
    "comb_orm": (2, 5, {"CHGCOR", "TBPT", *_OVERLAPS}),
    "dist_orm": (2, 3, _PAIR | {*_OVERLAPS}),
    "mass_inv_orm": (2, 3, _PAIR | {"MASS", *_OVERLAPS}),
    "mass_trv_orm": (2, 3, _PAIR | {"MASS", *_OVERLAPS}),
}
_CORRELATIONS = {"os": "opposite", "ls": "same", "1": "opposite", "0": "same"}


class InexpressibleError(Exception):
    """The reason why an algorithm cannot be emulated and is left out."""


@dataclass(frozen=True)
class AsEmulated:
    """How the emulators that made the test vectors compute, besides the menu: deviations in earlier years,
    and networks.

    mass_limit: `mass`, the function of 2016, never fires above M²/2 = 10⁶ GeV². any_overlap_vetoes: until
    2021, overlap removal rejects an object that overlaps with any object of the last leg, not only with the
    chosen one. networks: they compute scores; without one, a score is a column of the sample.
    """

    mass_limit: bool = False
    any_overlap_vetoes: bool = False
    networks: tuple[ScoreNetwork, ...] = ()


@dataclass(frozen=True)
class Converted:
    """A converted condition or algorithm. table: the keys of a trigger. note: a remark for the reader."""

    table: Mapping[str, Any]
    note: str = ""


def condition_table(
    menu: XMLMenu, algorithm: Algorithm, condition: Condition, as_emulated: AsEmulated
) -> Converted:
    """Convert a condition. TrigemuError if it has a mistake, InexpressibleError if it cannot be emulated."""
    if isinstance(condition, Signal):
        if condition.name in SCORES:
            return Converted(_score(algorithm, condition, as_emulated.networks))
        if condition.name in SIGNALS:
            return Converted(_external(*SIGNALS[condition.name], condition.crossing))
        name = condition.name.removeprefix("EXT_")
        if name not in menu.externals:
            hint = nearest(name, menu.externals)
            raise TrigemuError(f"unknown external signal {condition.name!r}{hint}")
        return Converted(_external(None, menu.externals[name], condition.crossing))
    if isinstance(condition, Object):
        legs = [leg_of(menu, algorithm, condition)]
        return Converted({"kind": "combination", "legs": legs})
    return _combination(menu, algorithm, condition, as_emulated)


def _score(algorithm: Algorithm, signal: Signal, networks: Sequence[ScoreNetwork]) -> dict[str, Any]:
    """Return a threshold on the score of a network, or on a column named after score and model. Scores are
    multiples of a step: `above` between two multiples means "at least" the upper one."""
    if signal.crossing:
        raise InexpressibleError(f"{signal.name} is of another crossing, where scores do not exist")
    model, least, step = "", None, SCORES[signal.name]
    for cut in cuts_of(algorithm, signal.cuts, signal.name, {"MODEL", "SCORE", "CSCORE"}):
        if cut.type == "MODEL":
            model = cut.data
        else:
            least = cut.minimum
    if least is None:
        raise InexpressibleError(f"{signal.name} has no cut on its score")
    matching = [network for network in networks if network.signal == signal.name]
    if not matching:
        column = "_".join([signal.name.lower(), *([re.sub(r"\W", "_", model)] if model else [])])
        return {"kind": "threshold", "observable": column, "above": least - step / 2}
    network = next((network for network in matching if network.is_model(model)), None)
    if network is None:
        given = ", ".join(f"{network.name} ({network.card})" for network in matching)
        raise InexpressibleError(f"it needs {signal.name} of the model {model!r}, not {given}")
    unit = network.step if step == 1.0 else 1.0  # a cut on the integer, or on the number
    return {"kind": "network", "card": network.card, "above": least * unit - network.step / 2}


def _external(word: str | None, bit: int, crossing: int) -> dict[str, Any]:
    table: dict[str, Any] = {"kind": "external"} | ({"word": word} if word else {}) | {"bit": bit}
    return table | ({"crossing": crossing} if crossing else {})


def _combination(
    menu: XMLMenu, algorithm: Algorithm, function: Function, as_emulated: AsEmulated
) -> Converted:
    """Convert a function of objects."""
    objects, (least, most, allowed) = function.objects, _FUNCTIONS[function.name]
    if not least <= len(objects) <= most:
        expected = str(least) if least == most else f"{least} to {most}"
        raise TrigemuError(f"{function.name} of {len(objects)} objects: expected {expected}")
    if function.name == "comb" and len({(o.type, o.crossing) for o in objects}) > 1:
        raise TrigemuError("comb of different types or crossings: join them by AND")
    cuts = list(cuts_of(algorithm, function.cuts, function.name, allowed))
    table: dict[str, Any] = {
        "kind": "combination",
        "legs": [leg_of(menu, algorithm, object_) for object_ in objects],
    }
    pairs: dict[tuple[int, int], dict[str, Any]] = {}
    note = ""
    for cut in cuts:
        if cut.type == "CHGCOR":
            if cut.data not in _CORRELATIONS:
                hint = nearest(cut.data, _CORRELATIONS)
                raise TrigemuError(f"cut {cut.name!r} (line {cut.line}): {cut.data!r}{hint}")
            table["charge"] = _CORRELATIONS[cut.data]
            continue
        if cut.type in _OVERLAPS:
            window = _limits(cut)
            for leg in range(len(objects) - 1):
                pair = pairs.setdefault((leg, len(objects) - 1), {})
                pair |= {_OVERLAPS[cut.type]: window}
                pair |= {"every": True} if as_emulated.any_overlap_vetoes else {}
            continue
        if cut.type in _AT_LEAST:
            key, window = _AT_LEAST[cut.type], {"min": cut.minimum}
        else:
            key, window = _RANGES.get(cut.type) or _MASSES.get(function.name, "mass"), _limits(cut)
        exceeds = function.name == "mass" and cut.type == "MASS" and cut.maximum > MASS_LIMIT
        if exceeds and as_emulated.mass_limit:
            note = (
                f"The XML's maximum of the mass is {cut.maximum!r} GeV. The emulator of 2016 never fires "
                f"above M²/2 = 10⁶ GeV², the limit used here; the hardware does."
            )
            window["max"] = MASS_LIMIT
        (table if key == "mass3" else pairs.setdefault((0, 1), {}))[key] = window
    if pairs:
        table["pairs"] = [{"legs": list(legs)} | cuts_ for legs, cuts_ in sorted(pairs.items())]
    return Converted(table, note)


def _limits(cut: Cut) -> dict[str, float]:
    """Return the exact doubles of the XML, on whose last bits the integer arithmetic depends."""
    if cut.minimum > cut.maximum:
        raise TrigemuError(
            f"cut {cut.name!r} (line {cut.line}): minimum {cut.minimum} is above maximum {cut.maximum}"
        )
    return ({"min": cut.minimum} if cut.minimum else {}) | {"max": cut.maximum}
