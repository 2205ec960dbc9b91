"""Boosted trees of a trigger on an FPGA: fixed point, conifer projects, their verification and resources.

in: `Menu`s, a `Catalogue`
out: `Survey`, `BitScan`, `Project`, `Estimate`
"""

from trigemu.firmware.bits import PAPER_PRECISION, choose, with_modes, with_widths
from trigemu.firmware.estimate import BUDGETS, PAPER, Estimate
from trigemu.firmware.model import read_rows, tree_model
from trigemu.firmware.project import Manifest, Project, open_project
from trigemu.firmware.ranges import InputRange, Survey, survey
from trigemu.firmware.resources import VU9P, Resources, of_model
from trigemu.firmware.scan import BitScan, Point, each_of, parse_bits, scan_bits, types_of
from trigemu.firmware.sources import CLOCK_MHZ
from trigemu.firmware.verify import BACKEND_NAMES, FirmwareCheck

__all__ = [
    "BACKEND_NAMES",
    "BUDGETS",
    "CLOCK_MHZ",
    "PAPER",
    "PAPER_PRECISION",
    "VU9P",
    "BitScan",
    "Estimate",
    "FirmwareCheck",
    "InputRange",
    "Manifest",
    "Point",
    "Project",
    "Resources",
    "Survey",
    "choose",
    "each_of",
    "of_model",
    "open_project",
    "parse_bits",
    "read_rows",
    "scan_bits",
    "survey",
    "tree_model",
    "types_of",
    "with_modes",
    "with_widths",
]
