import trigemu.api

from .circuit import Circuit as Circuit, Resources as Resources, Routed as Routed, simulate as simulate
from .estimate import Estimate as Estimate
from .model import read_rows as read_rows, tree_model as tree_model
from .precision import (
    PAPER_PRECISION as PAPER_PRECISION,
    Survey as Survey,
    choose as choose,
    survey as survey,
    with_modes as with_modes,
    with_widths as with_widths,
)
from .project import Manifest as Manifest, Project as Project, export as export, open_project as open_project
from .scan import BitScan as BitScan, Point as Point, scan_bits as scan_bits
from .verify import FirmwareCheck as FirmwareCheck
from .verilog_trees import trees_circuit as trees_circuit

PLUGIN: trigemu.api.Plugin
