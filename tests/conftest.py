from __future__ import annotations

import gc
import os
import signal

from hypothesis import HealthCheck, given, settings, strategies as st

# In CI the same examples every time: new ones are found where someone is there to look at them. Many more:
# pytest -m hypothesis --hypothesis-profile=thorough
for name, examples in (("trigemu", 30), ("thorough", 300)):
    settings.register_profile(
        name,
        deadline=None,
        max_examples=examples,
        suppress_health_check=list(HealthCheck),
        derandomize=bool(os.environ.get("CI")),
    )
settings.load_profile("trigemu")

# A shell that starts the tests in the background has interruptions ignored, and programs inherit that: those
# that the tests start and interrupt would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Keep the thousands of collected tests out of searches for garbage, which took a sixth of the time.

    hypothesis runs once before: it looks for its own random generator among what is not frozen, and warns if
    it does not find it."""
    given(st.none())(lambda _: None)()
    gc.collect()
    gc.freeze()
