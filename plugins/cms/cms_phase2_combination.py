"""Alternatives of a Phase-2 seed as entries of triggers of the kind `combination`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trigemu.api import TrigemuError, Window

from .cms_phase2_objects import Identified, sorted_windows
from .cms_phase2_windows import Z0, Conjunction, OfLeg, OfPair, OfSum, written


def combination(of_legs: Sequence[Identified], windows: Conjunction) -> dict[str, Any]:
    """Return the entries of a trigger. TrigemuError if a combination cannot have them."""
    legs: list[dict[str, Any]] = []
    for number, leg in enumerate(of_legs):
        own = {of: w for of, w in windows.items() if isinstance(of, OfLeg) and of.leg == number}
        legs.append({"object": leg.name, **{of.column: written(w) for of, w in sorted_windows(own)}})
    for number, columns in sorted(_columns(windows).items()):
        legs[number] |= {"columns": columns} if columns else {}
    pairs: dict[tuple[int, int], dict[str, Any]] = {}
    for of, window in windows.items():
        if isinstance(of, OfPair):
            cut: Any = _limits(window)
            if of.quantity == "charge":
                cut = "opposite" if window.below == 0 else "same"
            pair = pairs.setdefault(of.legs, {"legs": list(of.legs)})
            if pair.setdefault(of.quantity, cut) != cut:
                raise TrigemuError(f"legs {list(of.legs)} have several cuts on {of.quantity}")
    sums = [(of, window) for of, window in windows.items() if isinstance(of, OfSum)]
    if len(sums) > 1:
        raise TrigemuError("a seed may have one sum over legs")
    summed = [{"legs": list(of.legs), "column": of.column, **_limits(window)} for of, window in sums]
    table = {"kind": "combination", "legs": legs, "pairs": [pairs[legs_] for legs_ in sorted(pairs)] or None}
    return table | ({"sum": summed[0]} if summed else {})


def _limits(window: Window) -> dict[str, float]:
    return {k: v for k in ("min", "above", "max", "below") if (v := getattr(window, k)) is not None}


def _columns(windows: Conjunction) -> dict[int, dict[str, str]]:
    """Return by leg the columns that differ from the usual ones of z0 and charge."""
    read: dict[tuple[int, str], str] = {}
    for of in windows:
        if isinstance(of, OfPair) and of.quantity in ("dz0", "charge"):
            usual = Z0 if of.quantity == "dz0" else "charge"
            for leg, column in zip(of.legs, of.columns or (usual, usual), strict=True):
                if read.setdefault((leg, usual), column) != column:
                    raise TrigemuError(
                        f"leg{leg + 1} has two columns as its {usual}, {read[leg, usual]!r} and {column!r}"
                    )
    named: dict[int, dict[str, str]] = {}
    for (leg, usual), column in read.items():
        if column != usual:
            named.setdefault(leg, {})[usual] = column
    return named
