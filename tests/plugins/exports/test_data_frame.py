"""Tables as data frames."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from trigemu_exports.frames import as_frame

from trigemu.api import Column, Rate, Table
from trigemu.base.errors import MissingExtraError

COLUMNS = (
    Column("name", "key"),
    Column("n", "count"),
    Column("limit_hz", "number"),
    Column("group", "label"),
    Column("x", "rate", parts=("hz", "unseen")),
)


def test_columns_keep_their_kinds() -> None:
    rows = [
        {
            "name": "a",
            "n": 2**53 - 1,
            "limit_hz": None,
            "group": None,
            "x": Rate(0.1, 0, 1, 1, None, ("s", "t")),
        },
        {"name": "b", "n": 0, "limit_hz": None, "group": None, "x": None},
    ]
    frame = as_frame(Table.of(COLUMNS, rows))
    assert list(frame.columns) == ["n", "limit_hz", "group", "x_hz", "x_unseen", "x_error_too_small"]
    assert frame.n.tolist() == [2**53 - 1, 0]
    assert (frame.x_hz.dtype, frame.limit_hz.dtype) == (float, float)
    assert frame.group.isna().all()
    assert frame.group.dtype != float
    assert frame.x_unseen.tolist() == ["s;t", ""]
    assert frame.x_error_too_small.tolist() == [True, False]


def test_no_rows_are_an_empty_frame() -> None:
    frame = as_frame(Table(COLUMNS))
    assert (len(frame), frame.index.names) == (0, ["name"])


@pytest.mark.parametrize(
    ("library", "extra", "method"),
    [
        ("pandas", "pandas", "to_pandas"),
        ("hepdata_lib", "hepdata", "to_hepdata"),
        ("correctionlib", "correction", "to_correction"),
    ],
)
def test_without_a_library_it_says_how_to_install_it(
    results: dict[str, Any], monkeypatch: pytest.MonkeyPatch, library: str, extra: str, method: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf'^{method}\(\) needs .* pip install "trigemu\[{extra}\]"$'):
        getattr(results["Curve"], method)()
