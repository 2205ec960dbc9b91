"""Expressions of the observable language: drawn from its grammar, and spoilt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from toys import COLLECTIONS, columns

from fuzzing.edits import NUMBERS, encoded, word_edits
from fuzzing.formats.base import EVENTS, Files, Format
from trigemu import TrigemuError, make_events
from trigemu.api import Workspace
from trigemu.observables.language import parse_condition, parse_observable
from trigemu.observables.selections import make_scope

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
        st.builds("{}({}, {})".format, st.sampled_from(["max", "min"]), inner, inner),
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
    return st.one_of(plain, spoilt, spoilt).map(lambda text: {"text": encoded(text)})


def _use(folder: Path) -> list[Any]:
    scope = make_scope({}, {}, lambda key, message: None)
    read = columns(EVENTS)
    events = make_events("toy", read.weight, read.collections, read.scalars)
    text = (folder / "text").read_bytes().decode("utf-8", "replace")
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


FORMATS = (Format("expressions", _cases, _use),)
