from __future__ import annotations

import gc
import os

from hypothesis import HealthCheck, settings

# In CI the same examples every time: new ones are found where someone is there to look at them.
settings.register_profile(
    "trigemu",
    deadline=None,
    max_examples=70,
    suppress_health_check=list(HealthCheck),
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("trigemu")


def pytest_collection_finish() -> None:
    """Tests and the libraries that they import stay to the end: walking through them at each collection of
    garbage took longer than some tests."""
    gc.collect()
    gc.freeze()
