import trigemu.api

from .decisions import (
    Checked as Checked,
    DecisionCheck as DecisionCheck,
    check_decisions as check_decisions,
)
from .decisions_view import doubts as doubts, other_bits as other_bits
from .disagreement import Disagreement as Disagreement
from .drifts import Drift as Drift, Gate as Gate, gate as gate
from .tolerances import (
    Tolerance as Tolerance,
    Tolerances as Tolerances,
    TriggerTolerance as TriggerTolerance,
    read_tolerances as read_tolerances,
)

PLUGIN: trigemu.api.Plugin
