"""Files of tolerances: what they mean, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from trigemu_validation import read_tolerances

from trigemu import TrigemuError
from trigemu.base.toml import TableError


def write(folder: Path, text: str) -> Path:
    file = folder / "tolerances.toml"
    file.write_text(text)
    return file


def test_the_narrowest_table_with_a_limit_holds(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        """
[default]
percent = 1
removed = true
[quantity.unique_hz]
sigma = 3
[trigger.A]
percent = 10
[trigger.B]
percent = 2
sigma = 5
[trigger.C]
added = true
""",
    )
    read = read_tolerances(file)

    def limits(names: tuple[str, ...], quantity: str) -> str:
        return str(read.of(names, quantity))

    assert limits((), "rate_hz") == limits(("D",), "total_hz") == limits(("C",), "total_hz") == "1 %"
    assert limits(("D",), "unique_hz") == limits(("C",), "unique_hz") == "3 σ"
    assert limits(("A",), "unique_hz") == "10 %"
    assert limits(("A", "B"), "overlap_hz") == "10 % or 5 σ"
    assert limits(("B", "C"), "overlap_hz") == "2 % or 5 σ"
    assert (read.allows("D", "removed"), read.allows("D", "added")) == (True, False)
    assert (read.allows("C", "removed"), read.allows("C", "added")) == (False, True)
    assert str(read_tolerances(write(tmp_path, "")).of((), "rate_hz")) == "none"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[defalt]", r":1: unknown key 'defalt'; did you mean 'default'"),
        ("[default]\npercnt = 1", r":2: unknown key 'percnt'; did you mean 'percent'"),
        ("[default]\npercent = -1", r":2: default.percent = -1: expected a number >= 0"),
        ("[default]\nsigma = nan", r":2: default.sigma = nan: expected a finite number"),
        ("[quantity.rate]", r":1: unknown quantity 'rate'"),
        ("quantity = 3", r":1: quantity = 3: expected a table"),
        ("[quantity.rate_hz]\nadded = true", r":2: unknown key 'added'"),
        ("[trigger]\nA = 3", r":2: trigger.A = 3: expected a table"),
        ("x = ", r":1: not valid TOML"),
    ],
)
def test_mistakes_are_reported_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        read_tolerances(write(tmp_path, text))


def test_a_trigger_that_no_menu_has(tmp_path: Path) -> None:
    read = read_tolerances(write(tmp_path, "[trigger.J10]\npercent = 1"))
    with pytest.raises(
        TrigemuError, match=r"\[trigger.J10\]: no menu has such a trigger; did you mean 'J100'"
    ):
        read.check_names({"J100", "G30"})
