from . import cache as cache, children as children, machine as machine, toml_text as toml_text
from .archives import read_arrays as read_arrays
from .arguments import (
    described as described,
    names_of as names_of,
    number_of as number_of,
    numbers_of as numbers_of,
    wrong_type as wrong_type,
)
from .arrays import (
    Array as Array,
    BoolArray as BoolArray,
    FloatArray as FloatArray,
    IntArray as IntArray,
    Words as Words,
)
from .cache import (
    NoCacheError as NoCacheError,
    cache_folders as cache_folders,
    folder_from_environment as folder_from_environment,
    folder_of_cache as folder_of_cache,
    is_trusted as is_trusted,
)
from .children import (
    Finished as Finished,
    Limits as Limits,
    StoppedError as StoppedError,
    run_limited as run_limited,
)
from .errors import (
    MAX_EXCERPT as MAX_EXCERPT,
    MAX_PROBLEMS as MAX_PROBLEMS,
    MissingExtraError as MissingExtraError,
    PluginError as PluginError,
    RetryableError as RetryableError,
    TrigemuError as TrigemuError,
    WrongTypeError as WrongTypeError,
    chain as chain,
    excerpt as excerpt,
    listed as listed,
    module_of_extra as module_of_extra,
    nearest as nearest,
    own_cause as own_cause,
    without_unit as without_unit,
)
from .execution.checkpoint import Checkpoint as Checkpoint, listed_tasks as listed_tasks, prune as prune
from .execution.contracts import Work as Work
from .execution.dask import dask_client as dask_client
from .execution.engine import CHUNK_EVENTS as CHUNK_EVENTS, Engine as Engine, engine_of as engine_of
from .execution.fingerprint import digest_of_code as digest_of_code, fingerprint as fingerprint
from .execution.processes import (
    WorkerLostError as WorkerLostError,
    WorkerPool as WorkerPool,
    worker_pool as worker_pool,
)
from .files import (
    check_outputs as check_outputs,
    check_writable as check_writable,
    new_file as new_file,
    new_folder as new_folder,
    temporary_folder as temporary_folder,
    write_bytes as write_bytes,
    write_text as write_text,
)
from .internals import (
    insert_after as insert_after,
    replace_key as replace_key,
    without_clock as without_clock,
)
from .interruption import end_on_signals as end_on_signals, undone as undone
from .kernels import (
    address_of as address_of,
    c_function as c_function,
    call_function as call_function,
    inlined as inlined,
    inner as inner,
    kernel as kernel,
    numbers_at as numbers_at,
    pointer as pointer,
)
from .machine import (
    Environment as Environment,
    cores as cores,
    environment as environment,
    load_average as load_average,
    undisturbed as undisturbed,
)
from .plugins.declaration import PARTS as PARTS, Plugin as Plugin, declared as declared
from .plugins.found import Candidate as Candidate, FoundPlugin as FoundPlugin
from .plugins.messages import place_of as place_of, place_of_method as place_of_method, reason_of as reason_of
from .plugins.own import missing_package as missing_package, remedy as remedy
from .plugins.search import (
    CORE as CORE,
    Folders as Folders,
    available as available,
    find as find,
    folders_of as folders_of,
    plugin_path_of as plugin_path_of,
    providers as providers,
    search_path as search_path,
    summary as summary,
)
from .plugins.sources import load_from as load_from, plugins_in as plugins_in, sources_of as sources_of
from .reading import (
    check_regular as check_regular,
    contents_of as contents_of,
    is_file as is_file,
    is_folder as is_folder,
    is_there as is_there,
    read_bounded as read_bounded,
)
from .shown import (
    Named as Named,
    Shown as Shown,
    UnknownNameError as UnknownNameError,
    WithCorrection as WithCorrection,
    WithHistogram as WithHistogram,
    WithHistograms as WithHistograms,
    histogram_of as histogram_of,
    part_of as part_of,
    view_of as view_of,
)
from .splitmix import splitmix64 as splitmix64
from .text import (
    bounded_stem as bounded_stem,
    file_stem as file_stem,
    in_brackets as in_brackets,
    printable as printable,
    quoted as quoted,
)
from .toml import (
    Document as Document,
    Problem as Problem,
    S as S,
    TableError as TableError,
    TomlTable as TomlTable,
    dotted as dotted,
    load_toml as load_toml,
    read_table as read_table,
)
from .toml_keys import schemas as schemas
from .toml_kinds import KINDS as KINDS, kind_of as kind_of, refuse_other_kinds as refuse_other_kinds
from .toml_lines import Key as Key
from .toml_paths import number_key as number_key, shown_path as shown_path, with_numbers as with_numbers
