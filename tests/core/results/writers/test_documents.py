from __future__ import annotations

import csv
import io
import json

from trigemu.results.table import in_csv, in_json


def test_json_has_no_numbers_that_json_does_not_have() -> None:
    text = in_json({"a": [1.5, float("nan")], "b": {"c": float("inf")}, "d": (-float("inf"), "NaN")})
    assert json.loads(text) == {"a": [1.5, None], "b": {"c": None}, "d": [None, "NaN"]}
    assert "Infinity" not in text


def test_finite_numbers_keep_every_bit() -> None:
    assert json.loads(in_json([0.1 + 0.2, 2**70])) == [0.1 + 0.2, 2**70]


def test_no_cell_of_csv_is_a_formula() -> None:
    names = ["=1+1", "+a", "-a", "@a", "\ta", "\ra", "\na", "a=1", "", "'a"]
    rows = list(csv.reader(io.StringIO(in_csv([names, [-1.5, 2, None, float("-1e-9")]]), newline="")))
    assert rows[0] == ["'=1+1", "'+a", "'-a", "'@a", "\\ta", "\\ra", "\\na", "a=1", "", "'a"]
    assert rows[1] == ["-1.5", "2", "", "-1e-09"]
