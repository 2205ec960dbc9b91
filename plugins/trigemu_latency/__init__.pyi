import trigemu.api

from .stream.stream import ARRAYS_FROM as ARRAYS_FROM, Stream as Stream
from .timing.clock import Histogram as Histogram, Timing as Timing
from .timing.costs import (
    Bench as Bench,
    Timings as Timings,
    TriggerCost as TriggerCost,
    bench as bench,
    draw_events as draw_events,
)

PLUGIN: trigemu.api.Plugin
