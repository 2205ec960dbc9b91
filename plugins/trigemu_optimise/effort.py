"""How thorough a search is."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Starts for the ceiling of each channel.
CEILING_STARTS = 2


@dataclass(frozen=True)
class Effort:
    """How thorough a search is."""

    seed: int = 1  #: The seed of the random numbers
    starts: int = 8  #: The number of random starts
    hops: int = 8  #: The number of hops from each
    replicas: int = 40  #: The number of replicas of the bootstrap
    caps: int = 10  #: The number of caps of the front; 0 for none
    seconds: float = math.inf  #: The time after which no further search begins

    def steps(self, channels: int) -> int:
        """Return the number of searches, for a progress bar."""
        return CEILING_STARTS * channels + self.starts + self.replicas + (4 if self.caps else 0)
