"""Studies of menus beyond their rates: comparisons, scans, efficiencies, exclusive rates, rates in bins,
validation against recorded decisions, timing (`timing`).

in: `Menu`s, a `Catalogue`, an `Emulation`
out: one result per study, numbers only
"""

from trigemu.studies.comparison import Change, Common, Comparison, Difference, Gain, compare
from trigemu.studies.drifts import Drift, Gate, gate
from trigemu.studies.efficiency import Efficiencies, Turnon, efficiencies
from trigemu.studies.efficiency_profiles import (
    Category,
    Observable,
    ProfileSet,
    Reference,
    parse_bins,
    read_profiles,
)
from trigemu.studies.exclusive import ExclusiveRate, ExclusiveRates, exclusive_rates
from trigemu.studies.intervals import Curve, Overall, Profile
from trigemu.studies.rates_in_bins import Bin, BinnedRates, binned_rates
from trigemu.studies.report_contents import (
    Contents,
    Profiles,
    collect_contents,
    parse_scan,
    passes_over_events,
    profiles_beside,
    shown_turnons,
)
from trigemu.studies.scan_steps import Steps, parse_values, steps_of
from trigemu.studies.spectra import Quantity, Spectrum, sample_spectra
from trigemu.studies.threshold_scan import Met, Scan, scan, thresholds_met
from trigemu.studies.timing.clock import Histogram, Timing
from trigemu.studies.timing.costs import Asking, Bench, Timings, TriggerCost, bench
from trigemu.studies.timing.draw import draw_events
from trigemu.studies.timing.first import FirstDecision, first_decision
from trigemu.studies.tolerances import Tolerance, Tolerances, TriggerTolerance, read_tolerances
from trigemu.studies.turnon_bins import SignalBins, signal_bins
from trigemu.studies.validate import Checked, DecisionCheck, Disagreement, check_decisions
from trigemu.studies.validation_pairs import CheckedPair, Pair, find_pairs, read_menu_of

__all__ = [
    "Asking",
    "Bench",
    "Bin",
    "BinnedRates",
    "Category",
    "Change",
    "Checked",
    "CheckedPair",
    "Common",
    "Comparison",
    "Contents",
    "Curve",
    "DecisionCheck",
    "Difference",
    "Disagreement",
    "Drift",
    "Efficiencies",
    "ExclusiveRate",
    "ExclusiveRates",
    "FirstDecision",
    "Gain",
    "Gate",
    "Histogram",
    "Met",
    "Observable",
    "Overall",
    "Pair",
    "Profile",
    "ProfileSet",
    "Profiles",
    "Quantity",
    "Reference",
    "Scan",
    "SignalBins",
    "Spectrum",
    "Steps",
    "Timing",
    "Timings",
    "Tolerance",
    "Tolerances",
    "TriggerCost",
    "TriggerTolerance",
    "Turnon",
    "bench",
    "binned_rates",
    "check_decisions",
    "collect_contents",
    "compare",
    "draw_events",
    "efficiencies",
    "exclusive_rates",
    "find_pairs",
    "first_decision",
    "gate",
    "parse_bins",
    "parse_scan",
    "parse_values",
    "passes_over_events",
    "profiles_beside",
    "read_menu_of",
    "read_profiles",
    "read_tolerances",
    "sample_spectra",
    "scan",
    "shown_turnons",
    "signal_bins",
    "steps_of",
    "thresholds_met",
]
