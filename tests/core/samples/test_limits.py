"""Values that no reconstructed object has, and offsets that no events have."""

from __future__ import annotations

import numpy as np
import pytest

from trigemu import Collection, make_events
from trigemu.api import SampleError, collection_of

IMPOSSIBLE = [
    ("jet", "pt", 0.0, "pt = 0 is impossible: expected finite and above 0"),
    ("tau", "pt", -3.0, "pt = -3 is impossible"),
    ("jet", "pt", np.inf, "pt = inf is impossible"),
    ("muon", "eta", 20.5, "eta = 20.5 is impossible: expected from -20 to 20"),
    ("photon", "eta", -np.inf, "eta = -inf is impossible"),
    ("electron", "phi", 6.4, "phi = 6.4 is impossible"),
    ("jet", "phi", np.nan, r"phi is not a number \(NaN\)"),
]


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize(("name", "column", "value", "message"), IMPOSSIBLE)
def test_values_that_no_object_has(name: str, column: str, value: float, message: str, kind: str) -> None:
    columns = {key: np.ones(3, kind) for key in ("pt", "eta", "phi", "charge")}
    columns[column][2] = value
    made = {name: Collection(np.array([0, 0, 2, 3]), columns)}
    with pytest.raises(SampleError, match=rf"sample 'a', event 12: {name}\.{message}"):
        make_events("a", np.ones(3), made, first=10, physical=True)
    other = {"genpart": made[name]}
    for collections, physical in ((made, False), (other, True)):
        if value == value and not (column == "pt" and value == np.inf):
            make_events("a", np.ones(3), collections, physical=physical)


@pytest.mark.parametrize("kind", ["f4", "f8", "i4"])
def test_values_at_the_limits_are_possible(kind: str) -> None:
    columns = {"pt": [3e38, 1e-38], "eta": [-20, 20], "phi": [-6.28, 6.28]}
    arrays = {name: np.array([1, 1] if kind == "i4" else values, kind) for name, values in columns.items()}
    made = {"jet": Collection(np.array([0, 2]), arrays)}
    make_events("a", np.ones(1), made, {"met": np.zeros(1, kind)}, physical=True)


@pytest.mark.parametrize(("name", "value"), [("met", -1.0), ("met", np.inf), ("met_phi", 7.0)])
def test_missing_momenta_that_no_event_has(name: str, value: float) -> None:
    with pytest.raises(SampleError, match=rf"sample 'a', event 1: {name} "):
        make_events("a", np.ones(2), {}, {name: np.array([1.0, value])}, physical=True)


@pytest.mark.parametrize("offsets", [[0, 2, 1, 3], [-1, 0, 2, 3], [0, 3, 3, 2]])
def test_offsets_that_fall(offsets: list[int]) -> None:
    with pytest.raises(SampleError, match=r"sample 'a', event \d: jet is damaged: its objects go from row"):
        make_events("a", np.ones(3), {"jet": Collection(np.array(offsets), {"pt": np.ones(3, "f4")})})
    with pytest.raises(SampleError, match="the numbers of objects of pt are damaged"):
        collection_of({"pt": (np.array(offsets), np.ones(3, "f4"))})


def test_offsets_beyond_the_data() -> None:
    with pytest.raises(SampleError, match="damaged"):
        collection_of({"pt": (np.array([0, 10**6]), np.ones(3, "f4"))})
