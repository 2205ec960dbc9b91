import trigemu.api

from .bits import PAPER_PRECISION as PAPER_PRECISION
from .bits import choose as choose
from .bits import with_modes as with_modes
from .bits import with_widths as with_widths
from .estimate import BUDGETS as BUDGETS
from .estimate import PAPER as PAPER
from .estimate import Estimate as Estimate
from .model import read_rows as read_rows
from .model import tree_model as tree_model
from .project import Manifest as Manifest
from .project import Project as Project
from .project import open_project as open_project
from .ranges import InputRange as InputRange
from .ranges import Survey as Survey
from .ranges import survey as survey
from .resources import VU9P as VU9P
from .resources import Resources as Resources
from .resources import of_model as of_model
from .scan import BitScan as BitScan
from .scan import Point as Point
from .scan import each_of as each_of
from .scan import parse_bits as parse_bits
from .scan import scan_bits as scan_bits
from .scan import types_of as types_of
from .sources import CLOCK_MHZ as CLOCK_MHZ
from .verify import BACKEND_NAMES as BACKEND_NAMES
from .verify import FirmwareCheck as FirmwareCheck

PLUGIN: trigemu.api.Plugin
