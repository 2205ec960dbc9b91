import trigemu.api

from .circuit import Circuit as Circuit
from .estimate import (
    BUDGETS as BUDGETS,
    PAPER as PAPER,
    VU9P as VU9P,
    Estimate as Estimate,
    of_model as of_model,
)
from .model import read_rows as read_rows, tree_model as tree_model
from .project import Manifest as Manifest, Project as Project, open_project as open_project
from .ranges import (
    PAPER_PRECISION as PAPER_PRECISION,
    InputRange as InputRange,
    Survey as Survey,
    choose as choose,
    survey as survey,
    with_modes as with_modes,
    with_widths as with_widths,
)
from .rtl import Resources as Resources, Routed as Routed, simulate as simulate
from .scan import (
    BitScan as BitScan,
    Point as Point,
    each_of as each_of,
    parse_bits as parse_bits,
    scan_bits as scan_bits,
    types_of as types_of,
    with_resources as with_resources,
)
from .sources import CLOCK_MHZ as CLOCK_MHZ
from .verify import BACKEND_NAMES as BACKEND_NAMES, FirmwareCheck as FirmwareCheck
from .verilog_trees import trees_circuit as trees_circuit

PLUGIN: trigemu.api.Plugin
