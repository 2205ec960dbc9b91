"""Test vectors as samples of servers."""

from __future__ import annotations

from servers import check_a_server_that_falls_silent


def test_a_server_that_falls_silent() -> None:
    check_a_server_that_falls_silent("a.txt", "cms-l1-vector")
