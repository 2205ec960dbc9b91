"""What is warned of is what events lie on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st
from rounding_twin import rounded
from toys import memory_catalogue, menu_from, toy_events

from trigemu import emulate, open_catalogue, rates_of
from trigemu.rates.containment import _step, _stored, on_stored_values
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.normalisation import Rounding


def catalogue(**rounding: Rounding) -> Catalogue:
    made = memory_catalogue({"a": toy_events(1, 20)})
    return replace(made, table=msgspec.structs.replace(made.table, rounding=rounding))


def told(folder: Path, keys: str, **rounding: Rounding) -> list[str]:
    text = f'[objects.soft]\nfrom = "jet"\npt = {{ min = 5.0 }}\n[[trigger]]\nname = "T"\n{keys}\n'
    return list(on_stored_values(menu_from(folder, text), catalogue(**rounding)))


MET = 'kind = "threshold"\nobservable = "met"\nabove = '
JET = 'kind = "threshold"\nobservable = "soft[1].pt"\nabove = '
LEGS = 'kind = "combination"\nlegs = [{{ object = "jet", pt = {{ {} }} }}, {{ object = "muon" }}]'
OTHER = '[[trigger]]\nname = "N"\n'
SIX = Rounding(bits=6)
CENTRED = Rounding(bits=6, centred=True)


@pytest.mark.parametrize(
    ("keys", "rounding", "named"),
    [
        (MET + "100", {"met": SIX}, "T (met 100, step 1)"),
        (MET + "100.5", {"met": SIX}, None),
        (MET + "60.5", {"met": SIX}, "T (met 60.5, step 0.5)"),
        (MET + "100", {"met": CENTRED}, None),
        (MET + "100.5", {"met": CENTRED}, "T (met 100.5, step 1)"),
        (MET + "100", {"jet": SIX}, None),
        (MET + "100", {}, None),
        (MET + "100", {"met": Rounding(bits=9)}, None),
        (MET + '10.01\nrequires = "met < 100"', {"met": SIX}, None),
        (MET + '10.01\nrequires = "jet[0].pt >= 40"', {"jet": SIX}, "T (jet 40, step 0.5)"),
        (JET + "30", {"jet": SIX}, "T (jet 30, step 0.25)"),
        (JET + "-1", {"jet": SIX}, None),
        (LEGS.format("min = 40.0"), {"jet": SIX}, "T (jet 40, step 0.5)"),
        (LEGS.format("above = 40.0"), {"jet": SIX}, "T (jet 40, step 0.5)"),
        (LEGS.format("max = 40.0"), {"jet": SIX}, None),
        ('kind = "threshold"\nobservable = "ht"\nabove = 100', {"jet": SIX}, None),
        (MET + "100\nenabled = false\n" + OTHER + MET + "99.5", {"met": SIX}, None),
    ],
)
def test_thresholds_on_stored_values(
    tmp_path: Path, keys: str, rounding: dict[str, Rounding], named: str | None
) -> None:
    lines = told(tmp_path, keys, **rounding)
    assert len(lines) == (named is not None)
    assert all(f"the thresholds of {named}: up to about" in line for line in lines)


@given(st.floats(2.0**-6, 5000, width=32), st.integers(3, 12), st.booleans())
def test_stored_values_are_rounded_ones(value: float, bits: int, middle: bool) -> None:
    rounding = Rounding(bits=bits, centred=middle)
    stored = rounded(value, bits, middle)
    assert _stored(stored, rounding) == stored
    assert _stored(np.nextafter(stored, np.inf), rounding) == stored  # above it
    assert abs(stored - value) <= _step(stored, rounding) / (1 if middle else 2)
    assert _stored(stored + _step(stored, rounding) / 3, rounding) is None


def test_one_line_for_many(tmp_path: Path) -> None:
    text = "".join(f'[[trigger]]\nname = "M{i}"\n{MET}{64 + i}\n' for i in range(9))
    menu, sample = menu_from(tmp_path, text), catalogue(met=SIX)
    (line,) = on_stored_values(menu, sample)
    assert "M3 (met 67, step 1) and 5 more: up to about 23 %" in line
    assert line in rates_of(emulate([menu], sample)).warnings


def test_what_the_embedded_sample_says_of_itself_is_so() -> None:
    """Every stored pT is one of those; one bit fewer would be wrong."""
    background = open_catalogue().background
    for name, rounding in open_catalogue().table.rounding.items():
        need = ("", name) if name == "met" else (name, "pt")
        read = [s.read(0, 0, min(3000, s.entries), [need]) for s in background]
        values = np.concatenate(
            [e.scalars[name] if name == "met" else e.collections[name].columns["pt"] for e in read]
        )
        values = np.unique(values[values > 0])
        assert len(values) > 50, name
        assert all(_stored(value, rounding) == value for value in values.tolist()), name
        coarser = msgspec.structs.replace(rounding, bits=rounding.bits - 1)
        assert not all(_stored(value, coarser) == value for value in values.tolist()), name
