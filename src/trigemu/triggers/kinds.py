"""The trigger kinds of the core, by their names in menus."""

from trigemu.triggers.anomaly import Anomaly
from trigemu.triggers.base import BitKind, Kind
from trigemu.triggers.combination.kind import Combination
from trigemu.triggers.combination.leg_threshold import LegThreshold
from trigemu.triggers.external import External
from trigemu.triggers.logic import Logic
from trigemu.triggers.random import Random
from trigemu.triggers.stored import Stored
from trigemu.triggers.threshold import Threshold

KINDS: dict[str, type[Kind] | type[BitKind]] = {
    "threshold": Threshold,
    "combination": Combination,
    "leg_threshold": LegThreshold,
    "anomaly": Anomaly,
    "external": External,
    "stored": Stored,
    "logic": Logic,
    "random": Random,
}
