"""Quantities computed per event: selections of objects, expressions, conditions, the inputs of models.

in: texts of menus and cards, `Events`
out: `Number`, `Condition`, `Derivation`, evaluated in a `Workspace`
"""

from trigemu.observables.expressions import (
    Arithmetic,
    Condition,
    Constant,
    Count,
    Element,
    Junction,
    Number,
    Relation,
    Scalar,
    ScalarSum,
)
from trigemu.observables.hardware_scales import Digits, Integers, LinearScale, Scale, needed, read_integers
from trigemu.observables.language import (
    MAX_LEVELS,
    compared_numbers,
    parse_condition,
    parse_observable,
    parse_tree,
    quoting,
)
from trigemu.observables.model_inputs import Elements, Features, Inputs
from trigemu.observables.pruning import Use, all_uses, ceiling, cheap, lowest_pt, without_soft_objects
from trigemu.observables.selections import (
    STANDARD,
    Derivation,
    ObjectTable,
    Scope,
    SumTable,
    make_scope,
    read_scope,
)
from trigemu.observables.signed import Cut, one_sided
from trigemu.observables.units import unit_of
from trigemu.observables.vectors import MissingEt, MissingMomentum, ObjectVector, OfVectors, Vector, VectorSum
from trigemu.observables.windows import (
    AnyOf,
    Column,
    Range,
    Scaled,
    Window,
    Windows,
    any_of,
    closed,
    column_needs,
    window_mistakes,
)
from trigemu.observables.workspace import Workspace

__all__ = [
    "MAX_LEVELS",
    "STANDARD",
    "AnyOf",
    "Arithmetic",
    "Column",
    "Condition",
    "Constant",
    "Count",
    "Cut",
    "Derivation",
    "Digits",
    "Element",
    "Elements",
    "Features",
    "Inputs",
    "Integers",
    "Junction",
    "LinearScale",
    "MissingEt",
    "MissingMomentum",
    "Number",
    "ObjectTable",
    "ObjectVector",
    "OfVectors",
    "Range",
    "Relation",
    "Scalar",
    "ScalarSum",
    "Scale",
    "Scaled",
    "Scope",
    "SumTable",
    "Use",
    "Vector",
    "VectorSum",
    "Window",
    "Windows",
    "Workspace",
    "all_uses",
    "any_of",
    "ceiling",
    "cheap",
    "closed",
    "column_needs",
    "compared_numbers",
    "lowest_pt",
    "make_scope",
    "needed",
    "one_sided",
    "parse_condition",
    "parse_observable",
    "parse_tree",
    "quoting",
    "read_integers",
    "read_scope",
    "unit_of",
    "window_mistakes",
    "without_soft_objects",
]
