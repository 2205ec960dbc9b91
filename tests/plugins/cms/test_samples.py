"""Test vectors as samples: sealed, and of servers."""

from __future__ import annotations

import gzip
from pathlib import Path

from sealing_checks import check_any_change_is_noticed, sealable, small_chunks as small_chunks
from servers import check_a_server_that_falls_silent, check_a_server_that_never_ends


def test_a_change_of_a_sealed_one_is_noticed(tmp_path: Path, small_chunks: None) -> None:
    words = ["0" * 16] * 8 + ["00000000"] * 36 + ["0" * 64, "0" * 128, "0"]
    lines = "\n".join(" ".join([str(number), *words]) for number in range(20))
    (tmp_path / "a.gz").write_bytes(gzip.compress(lines.encode(), 0))
    check_any_change_is_noticed(sealable(tmp_path / "a.gz", "cms-l1-vector"))


def test_a_server_that_falls_silent_or_never_ends() -> None:
    check_a_server_that_falls_silent("a.txt", "cms-l1-vector")
    check_a_server_that_never_ends("a.txt", "cms-l1-vector")
