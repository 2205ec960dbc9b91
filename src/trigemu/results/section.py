"""The parts of a report: sections, tables and pictures.

A function that is given the `Contents` of a report returns its sections. The functions of a plugin are called
once if a menu of the report names the plugin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from trigemu.menus.menu import Menu
from trigemu.rates.results import MenuRates
from trigemu.results.table import Table
from trigemu.samples.catalogue import Catalogue
from trigemu.studies.comparison import Comparison
from trigemu.studies.efficiency import Efficiencies
from trigemu.studies.efficiency_profiles import ProfileSet
from trigemu.studies.exclusive import ExclusiveRates
from trigemu.studies.intervals import Profile
from trigemu.studies.scan import Scan

#: Columns by name, with a number or a text in each row; all of one length.
Numbers = Mapping[str, Sequence[object] | npt.NDArray[np.generic]]


@dataclass(frozen=True)
class Profiles:
    """The efficiencies that a report shows."""

    observables: tuple[Profile, ...]  #: What they are measured against
    efficiencies: Efficiencies
    profile_set: ProfileSet | None  #: The set of profiles from a file, if there is one


@dataclass(frozen=True)
class Contents:
    """All numbers of a report."""

    variants: tuple[MenuRates, ...]  #: The rates of each menu
    comparison: Comparison | None  #: The differences between menus; None for a single menu
    combinations: tuple[ExclusiveRates, ...]  #: For each menu, the rates of combinations of its triggers
    scans: tuple[tuple[Menu, Scan], ...]  #: Scans of a trigger, each with its menu
    profiles: tuple[ProfileSet, ...]  #: The sets of profiles from files
    turnons: tuple[Profiles, ...]  #: The efficiencies
    command: str = ""  #: The command line, for the provenance

    @property
    def catalogue(self) -> Catalogue:
        """The samples."""
        return self.variants[0].catalogue


@dataclass(frozen=True)
class Picture:
    """A figure with a caption."""

    name: str  #: Stem of its files
    caption: str  #: The text below it
    figure: Figure  #: The figure
    numbers: Numbers  #: The values that it shows
    dense: bool = False  #: Whether it has too many elements for a vector graphic


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, tables, pictures and smaller sections below it, in this order."""

    title: str  #: The heading
    text: tuple[str, ...] = ()  #: Paragraphs
    tables: tuple[Table, ...] = ()  #: Tables
    pictures: tuple[Picture, ...] = ()  #: Figures
    parts: tuple[Section, ...] = ()  #: Smaller sections
    menu: str = ""  #: Name of the menu that the section is about, if any
    #: By trigger (None: the menu) and quantity, the value and its error, to compare with published numbers
    measured: Mapping[tuple[str | None, str], tuple[float, float | None]] | None = None
