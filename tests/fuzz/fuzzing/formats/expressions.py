"""Expressions of the observable language: drawn from its grammar, and spoilt."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from toys import COLLECTIONS, columns

from fuzzing.edits import NUMBERS, word_edits
from fuzzing.formats import language_twin
from fuzzing.formats.base import EVENTS, Files, Format, close
from trigemu.observables import Workspace, make_scope, parse_condition, parse_observable
from trigemu.samples import make_events
from trigemu.support import TrigemuError

_elements = st.builds("{}[{}]".format, st.sampled_from(COLLECTIONS), st.sampled_from((0, 0, 0, 1, 1, 2, 5)))
_vectors = st.one_of(
    _elements, st.sampled_from(("met", "mht")), st.builds("{} + {}".format, _elements, _elements)
)
_numbers = st.one_of(
    st.builds("{}.{}".format, _elements, st.sampled_from(("pt", "pt", "eta", "phi", "charge"))),
    st.sampled_from(("ht", "met", "mht", "n_jet", "n_muon", "n_photon", "met_phi")),
    st.sampled_from((*(n for n in NUMBERS if abs(n) < 1e30), 30, 12.5)).map(str),
    st.builds("{}({}, {})".format, st.sampled_from(("dr", "deta", "m")), _elements, _elements),
    st.builds("dphi({}, {})".format, _vectors, _vectors),
    st.builds("{}({})".format, st.sampled_from(("pt", "phi", "m")), _vectors),
)
_arithmetic = st.recursive(
    _numbers,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner),
        st.builds("abs({})".format, inner),
        st.builds("-{}".format, inner),
    ),
    max_leaves=6,
)
_relations = st.builds(
    "{} {} {}".format, _arithmetic, st.sampled_from((">", ">=", "<", "<=", "==", "!=")), _arithmetic
)
CONDITIONS = st.recursive(
    _relations,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(("and", "or")), inner),
        st.builds("not ({})".format, inner),
    ),
    max_leaves=4,
)


def _cases() -> st.SearchStrategy[Files]:
    plain = st.one_of(_arithmetic, CONDITIONS)
    spoilt = plain.flatmap(word_edits)
    return st.one_of(plain, spoilt, spoilt).map(lambda text: {"text": text.encode("utf-8", "surrogatepass")})


def _text(folder: Path) -> str:
    return (folder / "text").read_bytes().decode("utf-8", "replace")


def _use(folder: Path) -> list[Any]:
    scope = make_scope({}, {}, lambda key, message: None)
    read = columns(EVENTS)
    events = make_events("toy", read.weight, read.collections, read.scalars)
    text = _text(folder)
    try:
        made: Any = parse_observable(text, scope)
    except TrigemuError:
        made = parse_condition(text, scope)
    missing = {
        c
        for of, c in made.needs()
        if of and (of not in COLLECTIONS or c not in ("pt", "eta", "phi", "charge"))
    }
    missing |= {c for of, c in made.needs() if not of and c not in ("met", "met_phi")}
    if missing:
        raise TrigemuError(f"the sample has no {', '.join(map(ascii, sorted(missing)))}")
    values: list[Any] = made.evaluate(Workspace(events)).tolist()
    return values


def _twin(folder: Path, made: list[Any]) -> str | None:
    text = _text(folder)
    for number, (event, found) in enumerate(zip(EVENTS, made, strict=True)):
        try:
            expected = language_twin.evaluate(text, event)
        except language_twin.UnknownError:
            return None
        if isinstance(found, bool):
            if bool(expected) != found and not _is_edge(text, event):
                return f"event {number}: {found}, expected {expected}"
        elif not _same(found, float(expected), event):
            return f"event {number}: {found!r}, expected {float(expected)!r}"
    return ""


def _same(found: float, expected: float, event: dict[str, Any]) -> bool:
    """Differences of nearly equal numbers are as exact as those numbers; a pole may lie at either side."""
    if close(found, expected, 1e-5):
        return True
    either = abs(found) < 1e-3 and abs(expected) < 1e-3  # the mass of one object is 0 but for rounding
    return (
        either
        or not (math.isfinite(found) and math.isfinite(expected))
        or min(abs(found), abs(expected)) > 1e12
    )


def _is_edge(text: str, event: dict[str, Any]) -> bool:
    """Whether the truth changes if all pT change by one part in 10⁹: rounding decides."""
    truths = set()
    for factor in (1 - 1e-9, 1.0, 1 + 1e-9):
        moved: dict[str, Any] = {"met": event["met"] * factor, "met_phi": event["met_phi"] * factor}
        for name in COLLECTIONS:
            moved[name] = [
                o | {c: float(np.float64(o[c]) * factor) for c in ("pt", "eta", "phi")} for o in event[name]
            ]
        truths.add(bool(language_twin.evaluate(text, moved)))
    return len(truths) > 1


FORMAT = Format("expressions", 110, _cases, _use, _twin)
