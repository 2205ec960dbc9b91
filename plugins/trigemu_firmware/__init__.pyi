import trigemu.api

from .circuit import Circuit as Circuit, Resources as Resources, Routed as Routed, simulate as simulate
from .estimate import Estimate as Estimate
from .model import read_rows as read_rows, tree_model as tree_model
from .precision import (
    PAPER_PRECISION as PAPER_PRECISION,
    Change as Change,
    choose as choose,
)
from .project import Project as Project, make_project as make_project, write_project as write_project
from .scan import BitScan as BitScan, Point as Point, scan_bits as scan_bits
from .verify import FirmwareCheck as FirmwareCheck
from .verilog_trees import trees_circuit as trees_circuit

PLUGIN: trigemu.api.Plugin
