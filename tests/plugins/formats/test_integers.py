"""Integers of every type, in every store: menus see the number itself, as Python has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from toys import menu_from, write_tree

from trigemu import run

HZ = 40e6


def _columns(values: list[int], dtype: str) -> dict[str, Any]:
    """One object an event, and the same number as a scalar."""
    numbers = np.array(values, dtype)
    of_objects = ak.unflatten(numbers, np.ones(len(numbers), int))
    return {"Word_pt": ak.values_astype(of_objects * 0 + 50, "f4"), "Word_k": of_objects, "k": numbers}


def _stored(folder: Path, store: str, values: list[int], dtype: str) -> Any:
    columns = _columns(values, dtype)
    if store == "awkward":
        return ak.Array(columns)
    if store == "Parquet":
        ak.to_parquet(ak.Array(columns), folder / "x.parquet")
        return folder / "x.parquet"
    if store == "TTree":
        return write_tree(folder / "x.root", columns)
    with uproot.recreate(folder / "x.root") as file:
        file.mkrntuple("Events", columns)
    return folder / "x.root"


EVERY = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
CASES = [("TTree", dtype) for dtype in EVERY]
CASES += [(store, dtype) for store in ("RNTuple", "Parquet", "awkward") for dtype in ("i2", "i8", "u8")]


@pytest.mark.parametrize(("store", "dtype"), CASES)
def test_integers_are_compared_as_what_they_are(tmp_path: Path, store: str, dtype: str) -> None:
    """Comparisons and windows are those of float64, `any_of` and `bits` those of integers."""
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    values = sorted(
        {low, low + 1, 0, 1, 5, high // 2, high // 2 + 1, high - 1, high} | ({-1, -85} if low else set())
    )
    samples = _stored(tmp_path, store, values, dtype)
    listed = [value for value in values if value < 2**63]
    objects = {
        "least": (f"min = {float(high // 2)!r}", [v for v in values if float(v) >= float(high // 2)]),
        "most": (f"max = {float(low + 1)!r}", [v for v in values if float(v) <= float(low + 1)]),
        "wide": (
            f"abs_above = {float(high // 2)!r}",
            [v for v in values if abs(float(v)) > float(high // 2)],
        ),
        "among": (f"any_of = {listed[1::2]}", listed[1::2]),
        "four": ("bits = 5", [v for v in values if v & 5 == 5]),
        "top": (f"bits = {high // 2 + 1}", [v for v in values if v & (high // 2 + 1)]),
    }
    if high // 2 + 1 > 2**63 - 1:  # no integer of TOML
        del objects["top"]
    expected = {name: len(of) for name, (_, of) in objects.items()}
    text = "".join(
        f'[objects.{name}]\nfrom = "word"\nk = {{ {window} }}\n' for name, (window, _) in objects.items()
    )
    for name in objects:
        text += f'[[trigger]]\nname = "{name}"\nkind = "threshold"\nobservable = "n_{name}"\nabove = 0\n'
    for number, above in enumerate((-1.5, 0.0, float(high // 2), float(high - 1) * 0.999)):
        for observable in ("k", "word[0].k", "k - 1", "-k + 2"):
            numbers = {"k - 1": lambda v: v - 1.0, "-k + 2": lambda v: 2.0 - v}.get(observable, float)
            name = f"T{number} {observable}"
            text += f'[[trigger]]\nname = "{name}"\nkind = "threshold"\n'
            text += f'observable = "{observable}"\nabove = {above!r}\n'
            expected[name] = sum(numbers(float(value)) > above for value in values)
    rates = run(menu_from(tmp_path, text), samples)
    counted = {name: round(rates[name].total.hz * len(values) / HZ) for name in expected}
    assert counted == expected
