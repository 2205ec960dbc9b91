from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("trigemu", deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("trigemu")
