"""Which anomaly trigger is contained in which."""

from __future__ import annotations

import pytest
from trigemu_anomaly.anomaly import Anomaly

from trigemu.api import Context
from trigemu.observables.selections import make_scope
from trigemu.triggers.questions import kind_extent


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        (Anomaly(card="a", above=1.0), Anomaly(card="a", above=1.0, requires="n_jet > 0"), True),
        (Anomaly(card="a", above=1.0, requires="n_jet > 0"), Anomaly(card="a", above=2.0), False),
        (Anomaly(card="a", above=1.0), Anomaly(card="b", above=2.0), False),
    ],
)
def test_one_of_the_same_card_with_a_lower_cut(wide: Anomaly, narrow: Anomaly, expected: bool) -> None:
    scope = make_scope({}, {}, lambda key, message: pytest.fail(message))
    first, second = (kind_extent(kind, Context(scope)) for kind in (wide, narrow))
    assert first is not None
    assert second is not None
    assert first.contains(second) == expected
