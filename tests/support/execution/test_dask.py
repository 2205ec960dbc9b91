"""Clusters of dask on this machine."""

from __future__ import annotations

import logging
import socket
import warnings
from contextlib import suppress

from trigemu.support import dask_client


def test_a_second_cluster_says_nothing_and_its_workers_say_nothing_at_the_end() -> None:
    with socket.socket() as taken, warnings.catch_warnings():
        with suppress(OSError):
            taken.bind(("127.0.0.1", 8787))
            taken.listen()
        warnings.simplefilter("error")
        with dask_client(None, 1) as client:
            levels = client.run(logging.getLogger("distributed.worker").getEffectiveLevel)
    assert [*levels.values()] == [logging.CRITICAL]
