from __future__ import annotations

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
