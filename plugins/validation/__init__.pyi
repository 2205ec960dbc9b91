import trigemu.api

from .decisions import (
    Checked as Checked,
    DecisionCheck as DecisionCheck,
    Disagreement as Disagreement,
    check_decisions as check_decisions,
)
from .decisions_view import doubts as doubts
from .drifts import Drift as Drift, Gate as Gate, gate as gate
from .tolerances import (
    Tolerance as Tolerance,
    Tolerances as Tolerances,
    TriggerTolerance as TriggerTolerance,
    read_tolerances as read_tolerances,
)

PLUGIN: trigemu.api.Plugin
