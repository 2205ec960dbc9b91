from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from trigemu.base.errors import TrigemuError, excerpt
from trigemu.observables.expressions import Condition, Number
from trigemu.observables.language import MAX_LEVELS, parse_condition, parse_observable
from trigemu.observables.selections import ObjectSelection, Scope, selections_in
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Collection, make_events

JET, PHOTON = ObjectSelection("jet"), ObjectSelection("photon")
SCOPE = Scope((("jet", JET), ("photon", PHOTON)), (JET,), (JET, PHOTON))


def test_a_text_may_go_over_several_lines() -> None:
    text = "\n  n_photon >= 1  # a remark\n  and not\n  ht > 100\n"
    assert parse_condition(text, SCOPE) == parse_condition("n_photon >= 1 and not ht > 100", SCOPE)
    with pytest.raises(TrigemuError, match=r"'foo'.* is not part of the observable language"):
        parse_condition("ht > 100\nor 'foo'", SCOPE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("jet[0].pt +", "cannot be read"),
        ("jet[0", "cannot be read at column"),
        ("jet[-1].pt", "'jet[-1]': objects are written NAME[NUMBER], counted from 0"),
        ("jet[0:2].pt", "'jet[0:2]': objects are written NAME[NUMBER]"),
        ("jet[True].pt", "'jet[True]': objects are written NAME[NUMBER]"),
        ("jet[10000000000000000000000].pt", "the largest number is 9999"),
        ("jet[10**30].pt", "'jet[10**30]': objects are written NAME[NUMBER]"),
        ("ht > 1e400", "'1e400' is too large: the largest number is 1.8e308"),
        ("ht > 1" + "0" * 400, "is too large"),
        ("ht > 1" + "0" * 5000, "cannot be read"),
        ("jet[0]", "'jet[0]' is not a number per event, such as jet[0].pt"),
        ("jet", "'jet' is a collection: write jet[0].pt or n_jet"),
        ("jet.pt", "'jet.pt' has a number for each object: write jet[0].pt for the first one"),
        ("ht > 3", "'ht > 3' is a condition, not a number per event"),
        ("mass(jet[0], jet[1])", "unknown function 'mass'"),
        ("dhpi(jet[0], jet[1])", "unknown function 'dhpi'; did you mean 'dphi'?"),
        ("dr(jet[0])", "dr(…) takes 2 object(s), such as jet[0]"),
        ("pt(jet[0], jet[1])", "pt(…) takes 1 object(s)"),
        ("m()", "m(…) takes objects"),
        ("m(3)", "m(…) takes objects"),
        ("abs()", "abs(…) takes one number"),
        ("max(ht)", "max(…) takes 2 to 100 numbers"),
        ("min(ht, jet[0])", "'jet[0]' is not a number per event"),
        ("abs(jet[0])", "'jet[0]' is not a number per event"),
        ("dr(jet[0], met)", "dr(…) needs objects: met and mht have no η"),
        ("m(mht)", "m(…) needs objects"),
        ("eta(jet[0] + met)", "eta(…) needs objects"),
        ("ht ** 2", "is not + - * /"),
        ("ht // 2", "is not + - * /"),
        ("True", "'True' is not part of the observable language"),
        ("'ht'", "is not part of the observable language"),
        ("1j", "is not part of the observable language"),
        ("ht if ht else 2", "is not part of the observable language"),
        ("[ht][0]", "objects are written NAME[NUMBER]"),
        ("(lambda: 1)()", "is not part of the observable language"),
        ("__import__('os').system('ls')", "is not part of the observable language"),
        ("ht.__class__", "is not part of the observable language"),
        ("abs(x=1)", "is not part of the observable language"),
        ("(y := 3)", "is not part of the observable language"),
        ("-" * 101 + "1", "nests more than 100 levels"),
        ("-" * 10_000 + "1", "nests more than 100 levels"),
        ("ht" + "+1" * 101, "nests more than 100 levels"),
        ("ht" + "*1" * 5000, "nests more than 100 levels"),
        ("x" * 20_001, "has 20001 characters, at most 20000 are allowed"),
        ("a\0b", "cannot be read"),
    ],
)
def test_what_is_not_in_the_language(text: str, message: str) -> None:
    with pytest.raises(TrigemuError) as error:
        parse_observable(text, SCOPE)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{excerpt(text)!r}: ")
    assert len(str(error.value)) < 1000


DEEPEST = [
    "+".join(["met"] * MAX_LEVELS),
    "-".join(["met"] * MAX_LEVELS),
    "*".join(["ht"] * MAX_LEVELS),
    "-" * (MAX_LEVELS - 1) + "ht",
    "abs(" * (MAX_LEVELS - 1) + "ht" + ")" * (MAX_LEVELS - 1),
    "m(" + "+".join(["jet[0]"] * (MAX_LEVELS - 2)) + ")",
]


@pytest.mark.parametrize("text", DEEPEST)
def test_the_deepest_expressions_are_read_evaluated_and_pickled(text: str) -> None:
    number = parse_observable(text, SCOPE)
    again = pickle.loads(pickle.dumps(number))
    assert (again, hash(again), repr(again)) == (number, hash(number), repr(number))
    assert set(number.needs()) <= {("", "met"), *(("jet", column) for column in ("pt", "eta", "phi"))}
    assert {*selections_in(number)} <= {JET, PHOTON}
    weight = np.ones(2)
    jets = {name: np.full(2, 40.0, np.float32) for name in ("pt", "eta", "phi")}
    events = make_events("toy", weight, {"jet": Collection(np.arange(3), jets)}, {"met": weight})
    assert len(number.evaluate(Workspace(events))) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ht", "'ht' is not a condition, such as n_photon >= 1"),
        ("ht and n_jet > 2", "'ht' is not a condition"),
        ("ht > 1 & met > 2", "is not + - * /"),
        ("ht > 1 && met > 2", "cannot be read at column 9: write and for &&"),
        ("ht > 1 || !(met > 2)", "write or for ||, write not ( for !("),
        ("ht in [1, 2]", "expected one of the comparisons > >= < <= == !="),
        ("ht is 1", "expected one of the comparisons"),
        ("(ht > 1) == (met > 1)", "'ht > 1' is a condition, not a number per event"),
        ("not ht", "'ht' is not a condition"),
        ("True and ht > 1", "'True' is not part of the observable language"),
    ],
)
def test_what_is_no_condition(text: str, message: str) -> None:
    with pytest.raises(TrigemuError) as error:
        parse_condition(text, SCOPE)
    assert message in str(error.value)


WORDS = st.sampled_from(
    [*"[].(),+-*/><:='0m", "==", "jet", "photon", "pt", "n_jet", "ht", "met", "dr", "max", "and", "or", "not"]
)


@settings(max_examples=150)
@given(st.one_of(st.lists(WORDS, max_size=12).map(" ".join), st.text(max_size=20)))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse, made in ((parse_observable, Number), (parse_condition, Condition)):
        try:
            node = parse(text, SCOPE)
        except TrigemuError:
            continue
        assert isinstance(node, made)
        assert node == parse(f"({text.strip()}\n)", SCOPE)
        assert isinstance(hash(node), int)
