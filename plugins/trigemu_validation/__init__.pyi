import trigemu.api

from .decisions import (
    Checked as Checked,
    DecisionCheck as DecisionCheck,
    Disagreement as Disagreement,
    check_decisions as check_decisions,
)
from .decisions_view import doubts as doubts, other_bits as other_bits
from .drifts import (
    Drift as Drift,
    Gate as Gate,
    Tolerance as Tolerance,
    Tolerances as Tolerances,
    TriggerTolerance as TriggerTolerance,
    gate as gate,
    read_tolerances as read_tolerances,
)

PLUGIN: trigemu.api.Plugin
