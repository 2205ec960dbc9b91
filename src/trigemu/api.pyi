"""What plugins are written with, in the order of the flow."""

# What a plugin brings, and the plugins of others
from .support import Plugin as Plugin, reason_of as reason_of, search_path as search_path
from .support.plugins.search import find as find
from .support.plugins.found import FoundPlugin as FoundPlugin

# Errors, each a message for the user
from .samples.errors import SampleError as SampleError, UnreadableError as UnreadableError
from .support.errors import (
    excerpt as excerpt,
    listed as listed,
    MAX_EXCERPT as MAX_EXCERPT,
    MissingExtraError as MissingExtraError,
    nearest as nearest,
    own_cause as own_cause,
    PluginError as PluginError,
    TrigemuError as TrigemuError,
    WrongTypeError as WrongTypeError,
)
from .support.arguments import wrong_type as wrong_type

# Tables of TOML files, with their mistakes and lines
from .support import toml_text as toml_text
from .support.toml import (
    Document as Document,
    load_toml as load_toml,
    Problem as Problem,
    read_table as read_table,
    TableError as TableError,
    TomlTable as TomlTable,
)
from .support.toml_kinds import refuse_other_kinds as refuse_other_kinds
from .support.toml_lines import Key as Key

# Texts, files and archives
from .support.archives import read_arrays as read_arrays
from .support.arrays import (
    Array as Array,
    BoolArray as BoolArray,
    FloatArray as FloatArray,
    IntArray as IntArray,
    Words as Words,
)
from .support.files import (
    check_outputs as check_outputs,
    check_writable as check_writable,
    new_folder as new_folder,
    temporary_folder as temporary_folder,
    write_bytes as write_bytes,
    write_text as write_text,
)
from .support.reading import (
    contents_of as contents_of,
    is_file as is_file,
    is_folder as is_folder,
    read_bounded as read_bounded,
)
from .support.splitmix import splitmix64 as splitmix64
from .support.text import file_stem as file_stem, printable as printable, quoted as quoted

# The machine: kernels, child processes, caches, engines
from .support import cache as cache, children as children, machine as machine
from .support.execution.engine import CHUNK_EVENTS as CHUNK_EVENTS, Engine as Engine
from .support.execution.fingerprint import digest_of_code as digest_of_code, fingerprint as fingerprint
from .support.execution.processes import worker_pool as worker_pool
from .support.internals import insert_after as insert_after, without_clock as without_clock
from .support.kernels import (
    address_of as address_of,
    c_function as c_function,
    call_function as call_function,
    inlined as inlined,
    inner as inner,
    kernel as kernel,
    numbers_at as numbers_at,
    pointer as pointer,
)

# Events, samples, and formats of files
from .samples import split as split
from .samples.catalogue import (
    BadFilesError as BadFilesError,
    Catalogue as Catalogue,
    Errors as Errors,
    without_bad_files as without_bad_files,
)
from .samples.consecutive import not_consecutive as not_consecutive
from .samples.events import Collection as Collection, Events as Events, Need as Need
from .samples.formats.decoded import (
    Decoded as Decoded,
    Part as Part,
    pieces as pieces,
    WINDOW_BYTES as WINDOW_BYTES,
)
from .samples.formats.nanoaod import DECISIONS as DECISIONS
from .samples.formats.ragged import collection_of as collection_of, flat as flat, schema_of as schema_of
from .samples.formats.root import RootFile as RootFile
from .samples.formats.source import (
    Beginning as Beginning,
    ReadEvents as ReadEvents,
    Schema as Schema,
    Source as Source,
)
from .samples.samples_like import samples_of as samples_of, SamplesLike as SamplesLike
from .samples.locations import opened as opened, parts as parts
from .samples.margins import entries_with_neighbours as entries_with_neighbours, join_events as join_events
from .samples.opening import open_catalogue as open_catalogue
from .samples.recorded import with_decisions as with_decisions
from .samples.sample import Sample as Sample

# The observable language
from .observables import (
    expressions as expressions,
    momenta as momenta,
    vectors as vectors,
    windows as windows,
)
from .observables.expressions import Condition as Condition, Number as Number
from .observables.language import parse_tree as parse_tree, quoting as quoting
from .observables.input_kernels import (
    DONE as DONE,
    Features as Features,
    INFINITE as INFINITE,
    inputs_function as inputs_function,
)
from .observables.hardware_scales import Integers as Integers, read_integers as read_integers
from .observables.model_inputs import Inputs as Inputs
from .observables.selections import (
    ObjectSelection as ObjectSelection,
    read_scope as read_scope,
    Scope as Scope,
    STANDARD as STANDARD,
)
from .observables.windows import Window as Window
from .observables.workspace import Workspace as Workspace

# Trigger kinds
from .triggers.base import (
    BitKind as BitKind,
    Compiled as Compiled,
    Context as Context,
    Kind as Kind,
    ScoreKind as ScoreKind,
    TrainedOn as TrainedOn,
)
from .triggers.combination.kind import (
    CompiledCombination as CompiledCombination,
    CUT as CUT,
    LEG as LEG,
    MATCH_AFTER as MATCH_AFTER,
    MAX_LEGS as MAX_LEGS,
    MAX_STEPS as MAX_STEPS,
    search as search,
)
from .triggers.combination.leg_threshold import CompiledLegThreshold as CompiledLegThreshold
from .triggers.combination.pairs import COLUMNS as COLUMNS
from .triggers.extent import Extent as Extent, extent_of as extent_of
from .triggers.external import CompiledExternal as CompiledExternal
from .triggers.function import CompiledFunction as CompiledFunction
from .triggers.logic import Expression as Expression, Logic as Logic, parse_expression as parse_expression
from .triggers.questions import (
    answers as answers,
    threshold_observables as threshold_observables,
    kind_extent as kind_extent,
    objects_used as objects_used,
    SampleCheck as SampleCheck,
    preselection as preselection,
    sample_check as sample_check,
    Question as Question,
    score_above as score_above,
    objects_needed as objects_needed,
    warnings_of as warnings_of,
    without_soft_objects as without_soft_objects,
)
from .triggers.random import Random as Random
from .triggers.stored import CompiledStored as CompiledStored
from .triggers.threshold import CompiledThreshold as CompiledThreshold

# Menus
from .menus.calibrated import calibrated_document as calibrated_document
from .menus.format import FORMAT as FORMAT
from .menus.menus_like import (
    menu_of as menu_of,
    MenuLike as MenuLike,
    menus_of as menus_of,
    MenusLike as MenusLike,
)
from .menus.menu import (
    Menu as Menu,
    named_apart as named_apart,
    own_prescale as own_prescale,
    Solution as Solution,
    Trigger as Trigger,
)
from .menus.prescales import (
    at_column as at_column,
    at_own_column as at_own_column,
    read_prescales as read_prescales,
)
from .menus.read import read_menu as read_menu
from .menus.units import unit_of_observable as unit_of_observable, unit_of_threshold as unit_of_threshold

# Events by the triggers that accept them
from .counting import checked as checked
from .counting.acceptance import (
    Acceptance as Acceptance,
    acceptances as acceptances,
    own_decisions as own_decisions,
    Pairs as Pairs,
    raw_decisions as raw_decisions,
)
from .counting.entries import distinct_entries as distinct_entries
from .counting.patterns import merge_tables as merge_tables, PatternTable as PatternTable
from .counting.quantities import COMPARED as COMPARED, members_by_level as members_by_level
from .counting.rate_sums import RateSums as RateSums
from .counting.score_table import ScoreTable as ScoreTable
from .counting.shared import SharedEvents as SharedEvents

# Running a menu over samples
from .emulation import scaling as scaling
from .emulation.budgets import threshold_for as threshold_for, solve_budgets as solve_budgets
from .emulation.counted import constant_in as constant_in
from .emulation.chunks import Chunk as Chunk, entries_of as entries_of
from .emulation.engine import (
    Job as Job,
    over_background as over_background,
    over_samples as over_samples,
    Progress as Progress,
)
from .emulation.fed import fed_menu as fed_menu
from .emulation.emulation_like import emulation_of as emulation_of
from .emulation.stored_results import check_events as check_events, check_result as check_result
from .emulation.loop import emulate as emulate, Emulation as Emulation
from .emulation.unlike import compare_with_training as compare_with_training
from .emulation.unreached import explain_idle as explain_idle
from .emulation.reweight import at_pileup as at_pileup
from .emulation.plan import (
    decide as decide,
    lacks as lacks,
    lacks_neighbours as lacks_neighbours,
    make_plan as make_plan,
    Plan as Plan,
    Slot as Slot,
)
from .emulation.score_files import read_scores as read_scores
from .emulation.score_pass import passes_to_score as passes_to_score, score_table as score_table
from .emulation.scores import (
    definition as definition,
    ThresholdRange as ThresholdRange,
    Scores as Scores,
    Stored as Stored,
)

# Rates
from .rates.menu_rates import rates_of as rates_of, run as run
from .rates.results import MenuRates as MenuRates, Rate as Rate, TriggerRates as TriggerRates

# Comparisons, scans, efficiencies, recorded decisions
from .studies.comparison import compare as compare, Comparison as Comparison
from .studies.efficiency import Efficiencies as Efficiencies, efficiencies as efficiencies, Turnon as Turnon
from .studies.efficiency_profiles import (
    Observable as Observable,
    ProfileSet as ProfileSet,
    read_profiles as read_profiles,
    Reference as Reference,
)
from .studies.exclusive import exclusive_rates as exclusive_rates, ExclusiveRates as ExclusiveRates
from .studies.intervals import Curve as Curve, Profile as Profile
from .studies.scan_steps import parse_values as parse_values, Steps as Steps
from .studies.threshold_scan import Scan as Scan, scan as scan
from .studies.turnon_bins import signal_bins as signal_bins, SignalBins as SignalBins

# What results look like: tables, figures, sections of reports
from .results import notes as notes, numbers as numbers
from .results.figures import style as style
from .results.figures.overlap import draw_combinations as draw_combinations, draw_overlap as draw_overlap
from .results.figures.threshold_scan import draw_scan as draw_scan
from .results.figures.turnon import draw_efficiency as draw_efficiency
from .results.histograms import Histograms as Histograms
from .results.kinds.comparison import changes_table as changes_table
from .results.kinds.menu_rates import provenance as provenance
from .results.rate_pictures import (
    of_groups as of_groups,
    of_triggers as of_triggers,
    write_pictures as write_pictures,
)
from .results.section import (
    Contents as Contents,
    Numbers as Numbers,
    Picture as Picture,
    Profiles as Profiles,
    Section as Section,
    slug as slug,
)
from .results.table import (
    Column as Column,
    Page as Page,
    RowStyle as RowStyle,
    stacked as stacked,
    Table as Table,
)
from .results.view import name as name, View as View
from .results.writers.cells import text_of as text_of
from .results.writers.documents import (
    csv_of as csv_of,
    in_csv as in_csv,
    in_json as in_json,
    left_out as left_out,
    records as records,
)
from .results.writers.html import table_css as table_css, table_html as table_html
from .support.shown import (
    Named as Named,
    Shown as Shown,
    UnknownNameError as UnknownNameError,
    view_of as view_of,
    WithHistogram as WithHistogram,
)

# Commands
from .cli import options as options
from .cli.conditions import fed as fed
from .cli.console import console as console, say as say
from .cli.outputs import (
    check_inputs as check_inputs,
    DocumentFile as DocumentFile,
    on_disk as on_disk,
    present as present,
    present_result as present_result,
)
from .cli.processing import Processing as Processing, processing as processing
from .cli.progress import bar as bar, events_bar as events_bar, menus_bar as menus_bar, steps_bar as steps_bar

__version__: str
