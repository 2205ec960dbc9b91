import trigemu.api

from .bits import (
    PAPER_PRECISION as PAPER_PRECISION,
    choose as choose,
    with_modes as with_modes,
    with_widths as with_widths,
)
from .estimate import BUDGETS as BUDGETS, PAPER as PAPER, Estimate as Estimate
from .model import read_rows as read_rows, tree_model as tree_model
from .project import Manifest as Manifest, Project as Project, open_project as open_project
from .ranges import InputRange as InputRange, Survey as Survey, survey as survey
from .resources import VU9P as VU9P, Resources as Resources, of_model as of_model
from .scan import (
    BitScan as BitScan,
    Point as Point,
    each_of as each_of,
    parse_bits as parse_bits,
    scan_bits as scan_bits,
    types_of as types_of,
)
from .sources import CLOCK_MHZ as CLOCK_MHZ
from .verify import BACKEND_NAMES as BACKEND_NAMES, FirmwareCheck as FirmwareCheck

PLUGIN: trigemu.api.Plugin
