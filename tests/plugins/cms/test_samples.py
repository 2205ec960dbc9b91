"""Test vectors as samples of servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from servers import check_a_server_that_falls_silent, check_a_server_that_never_ends

from trigemu import TrigemuError, catalogue_of


def test_a_server_that_falls_silent_or_never_ends() -> None:
    check_a_server_that_falls_silent("a.txt", "cms-l1-vector")
    check_a_server_that_never_ends("a.txt", "cms-l1-vector")


def test_three_numbers_are_a_broken_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 2 3\n")
    with pytest.raises(TrigemuError, match=r"sample 'a': .*line 1: 3 columns, expected"):
        catalogue_of(tmp_path / "a.txt")
