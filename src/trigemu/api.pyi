"""What plugins are written with, in the order of the flow: 60 names, and modules that serve as namespaces."""

# What a plugin brings
from .base.plugins import Plugin as Plugin

# Errors, each a message for the user
from .base.errors import (
    MissingExtraError as MissingExtraError,
    nearest as nearest,
    PluginError as PluginError,
    SampleError as SampleError,
    TrigemuError as TrigemuError,
)

# Tables of TOML files, with their mistakes and lines
from .base import toml_text as toml_text
from .base.toml import load_toml as load_toml, read_table as read_table, TomlTable as TomlTable

# Arrays, kernels, files
from .base.arrays import BoolArray as BoolArray, FloatArray as FloatArray, IntArray as IntArray
from .base.files import check_outputs as check_outputs, write_text as write_text
from .base.kernels import kernel as kernel

# Events, samples, and formats of files
from .samples.catalogue import Catalogue as Catalogue
from .samples.events import Collection as Collection, Events as Events, ReadEvents as ReadEvents
from .samples.root import RootFile as RootFile
from .samples.source import (
    Beginning as Beginning,
    Schema as Schema,
    Source as Source,
    collection_of as collection_of,
)
from .samples.memory import samples_of as samples_of
from .samples.sample import Sample as Sample

# The observable language
from .observables import expressions as expressions
from .observables.expressions import Condition as Condition, Number as Number
from .observables.selections import ObjectSelection as ObjectSelection, Window as Window
from .observables.workspace import Workspace as Workspace

# Trigger kinds
from .triggers.base import (
    BitKind as BitKind,
    Compiled as Compiled,
    Context as Context,
    Kind as Kind,
    ScoreKind as ScoreKind,
)
from .triggers.function import CompiledFunction as CompiledFunction
from .triggers.threshold import CompiledThreshold as CompiledThreshold

# Menus
from .menus.menu import Menu as Menu, Trigger as Trigger
from .menus.read import read_menu as read_menu

# Running a menu over samples
from .emulation.loop import emulate as emulate, Emulation as Emulation
from .emulation.plan import decide as decide, make_plan as make_plan, Plan as Plan

# Rates
from .counting.acceptance import acceptances as acceptances
from .rates.menu_rates import rates_of as rates_of
from .rates.results import MenuRates as MenuRates, Rate as Rate

# Results: tables, pages, figures, sections of reports
from .base.shown import Shown as Shown
from .results import numbers as numbers
from .results.figures import style as style
from .results.section import Contents as Contents, Section as Section
from .results.table import Column as Column, Page as Page, Table as Table
from .results.view import View as View

# Commands
from .cli import options as options
from .cli.console import say as say
from .cli.outputs import present as present, present_result as present_result
