"""Test vectors as samples of servers."""

from __future__ import annotations

from servers import check_a_server_that_falls_silent, check_a_server_that_never_ends


def test_a_server_that_falls_silent_or_never_ends() -> None:
    check_a_server_that_falls_silent("a.txt", "cms-l1-vector")
    check_a_server_that_never_ends("a.txt", "cms-l1-vector")
