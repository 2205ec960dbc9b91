from .cli import options as options
from .cli.console import console as console, say as say
from .cli.outputs import (
    DocumentFile as DocumentFile,
    check_inputs as check_inputs,
    on_disk as on_disk,
    present as present,
)
from .cli.processing import Processing as Processing, processing as processing
from .cli.progress import bar as bar, events_bar as events_bar, menus_bar as menus_bar, steps_bar as steps_bar
from .counting.acceptance import Acceptance as Acceptance, acceptances as acceptances
from .counting.checked import (
    check_array as check_array,
    check_samples as check_samples,
    check_table as check_table,
    check_weights as check_weights,
    check_within as check_within,
)
from .counting.patterns import (
    PatternTable as PatternTable,
    distinct_entries as distinct_entries,
    merge_tables as merge_tables,
)
from .counting.quantities import COMPARED as COMPARED, LISTED as LISTED, members_by_level as members_by_level
from .counting.rate_sums import RateSums as RateSums
from .counting.score_table import ScoreTable as ScoreTable
from .counting.shared import SharedEvents as SharedEvents
from .emulation.budgets import cut_for as cut_for, solve_budgets as solve_budgets
from .emulation.chunks import Chunk as Chunk, entries_of as entries_of
from .emulation.engine import Job as Job, Progress as Progress, over_background as over_background
from .emulation.given import emulation_of as emulation_of
from .emulation.kept import check_events as check_events, check_kept as check_kept
from .emulation.loop import Axis as Axis, Emulation as Emulation, emulate as emulate
from .emulation.per_event import EventTable as EventTable
from .emulation.plan import (
    Plan as Plan,
    Slot as Slot,
    decide as decide,
    lacks as lacks,
    make_plan as make_plan,
)
from .emulation.scaling import (
    crossing_scale as crossing_scale,
    half_scales as half_scales,
    refuse_negative as refuse_negative,
    unseen_half as unseen_half,
    weights_by_half as weights_by_half,
)
from .emulation.score_pass import passes_to_score as passes_to_score, score_table as score_table
from .emulation.scores import Offer as Offer, Scores as Scores, Stored as Stored, definition as definition
from .menus.format import FORMAT as FORMAT
from .menus.given import MenuLike as MenuLike, MenusLike as MenusLike, menus_of as menus_of
from .menus.menu import (
    Budget as Budget,
    Menu as Menu,
    PrescaleColumns as PrescaleColumns,
    Solution as Solution,
    Trigger as Trigger,
    named_apart as named_apart,
    own_prescale as own_prescale,
)
from .menus.read import read_menu as read_menu
from .menus.units import unit_of_observable as unit_of_observable, unit_of_threshold as unit_of_threshold
from .observables.expressions import (
    Arithmetic as Arithmetic,
    Condition as Condition,
    Constant as Constant,
    Count as Count,
    Element as Element,
    Junction as Junction,
    Number as Number,
    Relation as Relation,
    Scalar as Scalar,
    ScalarSum as ScalarSum,
)
from .observables.language import parse_tree as parse_tree, quoting as quoting
from .observables.model_inputs import Elements as Elements, Features as Features, Inputs as Inputs
from .observables.momenta import (
    delta_phi as delta_phi,
    delta_r as delta_r,
    energy as energy,
    mass as mass,
    momentum_x as momentum_x,
    momentum_y as momentum_y,
    momentum_z as momentum_z,
    pair_mass as pair_mass,
    pseudorapidity as pseudorapidity,
)
from .observables.selections import (
    STANDARD as STANDARD,
    Derivation as Derivation,
    Scope as Scope,
    read_scope as read_scope,
)
from .observables.vectors import (
    MissingEt as MissingEt,
    MissingMomentum as MissingMomentum,
    ObjectVector as ObjectVector,
    OfVectors as OfVectors,
    Vector as Vector,
    VectorSum as VectorSum,
)
from .observables.windows import (
    AnyOf as AnyOf,
    Column as Column,
    Scaled as Scaled,
    Window as Window,
    Windows as Windows,
    any_of as any_of,
)
from .observables.workspace import Workspace as Workspace
from .rates.menu_rates import rates_of as rates_of, run as run
from .rates.results import (
    ColumnRates as ColumnRates,
    Half as Half,
    LevelRates as LevelRates,
    MenuRates as MenuRates,
    Rate as Rate,
    TriggerRates as TriggerRates,
)
from .results.documents import in_csv as in_csv, in_json as in_json
from .results.figures.groups import draw_rates as draw_rates
from .results.figures.overlap import draw_combinations as draw_combinations, draw_overlap as draw_overlap
from .results.figures.style import (
    COLOURS as COLOURS,
    axis_label as axis_label,
    drawn as drawn,
    figure as figure,
    literal as literal,
    log_axis as log_axis,
    save as save,
    shown as shown,
)
from .results.figures.threshold_scan import draw_scan as draw_scan
from .results.figures.turnon import draw_efficiency as draw_efficiency
from .results.notes import (
    half_used as half_used,
    notes as notes,
    notes_of_menus as notes_of_menus,
    solutions as solutions,
    texts as texts,
)
from .results.numbers import (
    EVENTS as EVENTS,
    NS as NS,
    count as count,
    events_text as events_text,
    format_rate as format_rate,
    in_unit as in_unit,
    mark as mark,
    marked as marked,
    short as short,
    threshold_label as threshold_label,
    unit_of as unit_of,
    with_error as with_error,
)
from .results.rate_pictures import of_groups as of_groups, of_triggers as of_triggers
from .results.section import (
    Contents as Contents,
    Numbers as Numbers,
    Picture as Picture,
    Profiles as Profiles,
    ReportTable as ReportTable,
    Section as Section,
    slug as slug,
)
from .results.text import validate as validate
from .results.text.compare import signed as signed
from .results.text.rates import as_dict as as_dict, row as row
from .results.text.terminal import Page as Page, Table as Table, plain as plain
from .results.text.validate import as_json as as_json, doubts as doubts
from .results.views.table_html import table_css as table_css
from .results.views.view import Histograms as Histograms, View as View, name as name, of_json as of_json
from .samples.catalogue import (
    BadFilesError as BadFilesError,
    Catalogue as Catalogue,
    Errors as Errors,
    LeftOut as LeftOut,
    without_bad_files as without_bad_files,
)
from .samples.errors import SampleError as SampleError, UnreadableError as UnreadableError
from .samples.events import Collection as Collection, Events as Events, Need as Need
from .samples.formats.source import (
    Beginning as Beginning,
    ReadEvents as ReadEvents,
    Schema as Schema,
    Source as Source,
)
from .samples.given import SamplesLike as SamplesLike
from .samples.locations import opened as opened
from .samples.margins import join_events as join_events
from .samples.normalise import (
    CatalogueTable as CatalogueTable,
    Pileup as Pileup,
    Rounding as Rounding,
    SampleTable as SampleTable,
)
from .samples.opening import open_catalogue as open_catalogue
from .samples.recorded import with_decisions as with_decisions
from .samples.sample import Sample as Sample
from .samples.split import (
    EVALUATION as EVALUATION,
    HALF_NAMES as HALF_NAMES,
    TRAINING as TRAINING,
    half_of as half_of,
    is_quarter as is_quarter,
    other_half as other_half,
)
from .studies.comparison import (
    Change as Change,
    Common as Common,
    Comparison as Comparison,
    Difference as Difference,
    Gain as Gain,
    compare as compare,
)
from .studies.drifts import Drift as Drift, Gate as Gate
from .studies.efficiency import Efficiencies as Efficiencies, Turnon as Turnon, efficiencies as efficiencies
from .studies.efficiency_profiles import (
    Observable as Observable,
    ProfileSet as ProfileSet,
    Reference as Reference,
    read_profiles as read_profiles,
)
from .studies.exclusive import (
    ExclusiveRate as ExclusiveRate,
    ExclusiveRates as ExclusiveRates,
    exclusive_rates as exclusive_rates,
)
from .studies.intervals import Curve as Curve, Overall as Overall, Profile as Profile
from .studies.rates_in_bins import Bin as Bin, BinnedRates as BinnedRates
from .studies.scan_steps import Steps as Steps, parse_values as parse_values
from .studies.spectra import Quantity as Quantity, Spectrum as Spectrum
from .studies.threshold_scan import Met as Met, Scan as Scan, scan as scan
from .studies.tolerances import (
    Tolerance as Tolerance,
    Tolerances as Tolerances,
    TriggerTolerance as TriggerTolerance,
)
from .studies.turnon_bins import SignalBins as SignalBins, signal_bins as signal_bins
from .studies.validate import (
    Checked as Checked,
    DecisionCheck as DecisionCheck,
    Disagreement as Disagreement,
    check_decisions as check_decisions,
)
from .support import (
    Plugin as Plugin,
    reason_of as reason_of,
    search_path as search_path,
    toml_text as toml_text,
)
from .support.archives import read_arrays as read_arrays
from .support.arrays import (
    Array as Array,
    BoolArray as BoolArray,
    FloatArray as FloatArray,
    IntArray as IntArray,
    Words as Words,
)
from .support.cache import (
    NoCacheError as NoCacheError,
    cache_folders as cache_folders,
    folder_of_cache as folder_of_cache,
    is_trusted as is_trusted,
)
from .support.children import (
    Finished as Finished,
    Limits as Limits,
    StoppedError as StoppedError,
    run_limited as run_limited,
)
from .support.errors import (
    MAX_EXCERPT as MAX_EXCERPT,
    MissingExtraError as MissingExtraError,
    PluginError as PluginError,
    TrigemuError as TrigemuError,
    WrongTypeError as WrongTypeError,
    excerpt as excerpt,
    listed as listed,
    nearest as nearest,
    own_cause as own_cause,
)
from .support.execution.engine import Engine as Engine
from .support.execution.fingerprint import digest_of_code as digest_of_code, fingerprint as fingerprint
from .support.execution.processes import WorkerPool as WorkerPool, worker_pool as worker_pool
from .support.files import (
    check_outputs as check_outputs,
    check_writable as check_writable,
    new_folder as new_folder,
    temporary_folder as temporary_folder,
    write_bytes as write_bytes,
    write_text as write_text,
)
from .support.given import wrong_type as wrong_type
from .support.internals import address_of as address_of, without_clock as without_clock
from .support.kept import KEPT as KEPT
from .support.kernel_cache import levels as levels
from .support.kernels import (
    c_function as c_function,
    call_function as call_function,
    inlined as inlined,
    kernel as kernel,
    pointer as pointer,
)
from .support.machine import (
    Environment as Environment,
    cores as cores,
    environment as environment,
    load_average as load_average,
    undisturbed as undisturbed,
)
from .support.plugins import FoundPlugin as FoundPlugin, find as find
from .support.reading import (
    contents_of as contents_of,
    is_file as is_file,
    is_folder as is_folder,
    read_bounded as read_bounded,
)
from .support.shown import (
    Named as Named,
    Shown as Shown,
    UnknownNameError as UnknownNameError,
    WithHistogram as WithHistogram,
)
from .support.splitmix import splitmix64 as splitmix64
from .support.text import file_stem as file_stem, printable as printable, quoted as quoted
from .support.toml import (
    Document as Document,
    Problem as Problem,
    TableError as TableError,
    TomlTable as TomlTable,
    load_toml as load_toml,
    read_table as read_table,
)
from .support.toml_kinds import refuse_other_kinds as refuse_other_kinds
from .support.toml_lines import Key as Key
from .triggers.base import (
    BitKind as BitKind,
    Compiled as Compiled,
    Context as Context,
    Kind as Kind,
    ScoreKind as ScoreKind,
    TrainedOn as TrainedOn,
)
from .triggers.combination.kind import (
    CUT as CUT,
    LEG as LEG,
    MATCH_AFTER as MATCH_AFTER,
    MAX_LEGS as MAX_LEGS,
    MAX_STEPS as MAX_STEPS,
    CompiledCombination as CompiledCombination,
    search as search,
)
from .triggers.combination.leg_threshold import CompiledLegThreshold as CompiledLegThreshold
from .triggers.combination.pairs import COLUMNS as COLUMNS
from .triggers.extent import Extent as Extent, extent_of as extent_of
from .triggers.external import CompiledExternal as CompiledExternal
from .triggers.function import CompiledFunction as CompiledFunction
from .triggers.logic import Expression as Expression, Logic as Logic, parse_expression as parse_expression
from .triggers.questions import (
    Question as Question,
    answers as answers,
    cuts_on as cuts_on,
    kind_extent as kind_extent,
    objects_used as objects_used,
    preselection as preselection,
    score_above as score_above,
    warnings_of as warnings_of,
    without_soft_objects as without_soft_objects,
)
from .triggers.stored import CompiledStored as CompiledStored
from .triggers.threshold import CompiledThreshold as CompiledThreshold

__version__: str
from .emulation.score_files import read_scores as read_scores
