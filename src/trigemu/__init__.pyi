from . import api as api
from .base.checkpoint import Checkpoint as Checkpoint
from .base.errors import TrigemuError as TrigemuError
from .base.mapping import Engine as Engine
from .base.processes import worker_pool as worker_pool
from .emulation.budgets import solve_budgets as solve_budgets
from .emulation.loop import decisions as decisions, emulate as emulate
from .emulation.plan import decide as decide, fed_menu as fed_menu, make_plan as make_plan
from .emulation.reweight import at_luminosity as at_luminosity, at_pileup as at_pileup
from .emulation.table_files import read_scores as read_scores, write_scores as write_scores
from .emulation.tabulate import event_table as event_table, score_table as score_table
from .menus.menu import Menu as Menu
from .menus.read import read_menu as read_menu
from .menus.schema import menu_schema as menu_schema
from .menus.write import write_calibrated as write_calibrated
from .rates.menu_rates import column_rates as column_rates, rates_of as rates_of, run as run
from .samples.catalogue import Catalogue as Catalogue
from .samples.events import Collection as Collection, Events as Events, make_events as make_events
from .samples.memory import events_from_awkward as events_from_awkward
from .samples.opening import catalogue_of as catalogue_of, open_catalogue as open_catalogue
from .studies.bins import binned_rates as binned_rates, sample_spectra as sample_spectra
from .studies.comparison import compare as compare
from .studies.efficiency import efficiencies as efficiencies
from .studies.exclusive import exclusive_rates as exclusive_rates
from .studies.intervals import Profile as Profile
from .studies.scan import Steps as Steps, budget_brackets as budget_brackets, scan as scan

__version__: str
