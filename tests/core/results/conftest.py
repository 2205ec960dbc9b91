from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import pytest


@pytest.fixture(scope="session", autouse=True)
def _without_window() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}):
        yield
