import trigemu.api

from .stream.stream import ARRAYS_FROM as ARRAYS_FROM
from .stream.stream import Stream as Stream
from .timing.clock import Histogram as Histogram
from .timing.clock import Timing as Timing
from .timing.costs import Asking as Asking
from .timing.costs import Bench as Bench
from .timing.costs import Timings as Timings
from .timing.costs import TriggerCost as TriggerCost
from .timing.costs import bench as bench
from .timing.draw import draw_events as draw_events
from .timing.first import FirstDecision as FirstDecision
from .timing.first import first_decision as first_decision

PLUGIN: trigemu.api.Plugin
