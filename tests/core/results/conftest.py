from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import pytest
from result_toys import results_in


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Class → a result of it."""
    return results_in(tmp_path_factory.mktemp("views"))


@pytest.fixture(scope="session", autouse=True)
def _without_window() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}):
        yield
