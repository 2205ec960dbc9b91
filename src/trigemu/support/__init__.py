"""What every room needs, with no knowledge of triggers: errors, atomic file writing, kernels, array types,
TOML with line numbers, the machine, and engines that do work on it or elsewhere (`execution`).

in: files, numbers
out: messages, typed tables, compiled kernels
"""

from trigemu.support.archives import read_arrays
from trigemu.support.arrays import Array, BoolArray, FloatArray, IntArray, Words
from trigemu.support.cache import folder_of_cache, is_private
from trigemu.support.children import Finished, Limits, StoppedError, run_limited
from trigemu.support.errors import (
    MAX_EXCERPT,
    MAX_PROBLEMS,
    MissingExtraError,
    PluginError,
    SampleError,
    TrigemuError,
    UnreadableError,
    WrongTypeError,
    chain,
    excerpt,
    listed,
    nearest,
    own_cause,
)
from trigemu.support.execution.checkpoint import Checkpoint, listed_tasks, prune
from trigemu.support.execution.contracts import Work
from trigemu.support.execution.dask import dask_client
from trigemu.support.execution.engine import CHUNK_EVENTS, Engine, engine_of
from trigemu.support.execution.fingerprint import digest_of_code, fingerprint
from trigemu.support.execution.processes import WorkerLostError, WorkerPool, worker_pool
from trigemu.support.files import (
    check_outputs,
    check_writable,
    new_folder,
    temporary_folder,
    write_bytes,
    write_text,
)
from trigemu.support.given import described, names_of, number_of, numbers_of, wrong_type
from trigemu.support.internals import insert_after, replace_key, without_clock
from trigemu.support.interruption import end_on_signals, undone
from trigemu.support.kernels import (
    delta_phi,
    delta_r,
    energy,
    inlined,
    kernel,
    mass,
    momentum_x,
    momentum_y,
    momentum_z,
    pair_mass,
    pointer,
    pseudorapidity,
    unkept,
)
from trigemu.support.machine import Environment, cores, environment, load_average, undisturbed
from trigemu.support.reading import is_file, is_folder, is_there, read_bounded
from trigemu.support.shown import (
    Named,
    Shown,
    UnknownNameError,
    WithHistogram,
    WithHistograms,
    histogram_of,
    part_of,
    show_with,
)
from trigemu.support.splitmix import splitmix64
from trigemu.support.text import bounded_stem, file_stem, in_brackets, printable, quoted
from trigemu.support.toml import (
    Document,
    Problem,
    S,
    TableError,
    TomlTable,
    dotted,
    load_toml,
    read_table,
)
from trigemu.support.toml_kinds import kind_of, refuse_other_kinds
from trigemu.support.toml_lines import Key

__all__ = [
    "CHUNK_EVENTS",
    "MAX_EXCERPT",
    "MAX_PROBLEMS",
    "Array",
    "BoolArray",
    "Checkpoint",
    "Document",
    "Engine",
    "Environment",
    "Finished",
    "FloatArray",
    "IntArray",
    "Key",
    "Limits",
    "MissingExtraError",
    "Named",
    "PluginError",
    "Problem",
    "S",
    "SampleError",
    "Shown",
    "StoppedError",
    "TableError",
    "TomlTable",
    "TrigemuError",
    "UnknownNameError",
    "UnreadableError",
    "WithHistogram",
    "WithHistograms",
    "Words",
    "Work",
    "WorkerLostError",
    "WorkerPool",
    "WrongTypeError",
    "bounded_stem",
    "chain",
    "check_outputs",
    "check_writable",
    "cores",
    "dask_client",
    "delta_phi",
    "delta_r",
    "described",
    "digest_of_code",
    "dotted",
    "end_on_signals",
    "energy",
    "engine_of",
    "environment",
    "excerpt",
    "file_stem",
    "fingerprint",
    "folder_of_cache",
    "histogram_of",
    "in_brackets",
    "inlined",
    "insert_after",
    "is_file",
    "is_folder",
    "is_private",
    "is_there",
    "kernel",
    "kind_of",
    "listed",
    "listed_tasks",
    "load_average",
    "load_toml",
    "mass",
    "momentum_x",
    "momentum_y",
    "momentum_z",
    "names_of",
    "nearest",
    "new_folder",
    "number_of",
    "numbers_of",
    "own_cause",
    "pair_mass",
    "part_of",
    "pointer",
    "printable",
    "prune",
    "pseudorapidity",
    "quoted",
    "read_arrays",
    "read_bounded",
    "read_table",
    "refuse_other_kinds",
    "replace_key",
    "run_limited",
    "show_with",
    "splitmix64",
    "temporary_folder",
    "undisturbed",
    "undone",
    "unkept",
    "without_clock",
    "worker_pool",
    "write_bytes",
    "write_text",
    "wrong_type",
]
