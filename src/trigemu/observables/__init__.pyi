from . import expressions as expressions, momenta as momenta, vectors as vectors, windows as windows
from .expressions import (
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
from .hardware_scales import (
    Digits as Digits,
    Integers as Integers,
    LinearScale as LinearScale,
    Scale as Scale,
    needed as needed,
    read_integers as read_integers,
)
from .input_kernels import (
    DONE as DONE,
    FULL as FULL,
    INFINITE as INFINITE,
    Features as Features,
    inputs_function as inputs_function,
)
from .language import (
    MAX_LEVELS as MAX_LEVELS,
    compared_numbers as compared_numbers,
    parse_condition as parse_condition,
    parse_observable as parse_observable,
    parse_tree as parse_tree,
    quoting as quoting,
)
from .model_inputs import Inputs as Inputs
from .momenta import (
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
from .pruning import (
    Use as Use,
    all_uses as all_uses,
    ceiling as ceiling,
    cheap as cheap,
    harder_than as harder_than,
    lowest_pt as lowest_pt,
)
from .selections import (
    STANDARD as STANDARD,
    ObjectSelection as ObjectSelection,
    ObjectTable as ObjectTable,
    Scope as Scope,
    SumTable as SumTable,
    make_scope as make_scope,
    read_scope as read_scope,
)
from .signed import Requirement as Requirement, one_sided as one_sided
from .units import unit_of as unit_of
from .vectors import (
    MissingEt as MissingEt,
    MissingMomentum as MissingMomentum,
    ObjectVector as ObjectVector,
    OfVectors as OfVectors,
    Vector as Vector,
    VectorSum as VectorSum,
)
from .windows import (
    AnyOf as AnyOf,
    Column as Column,
    Range as Range,
    Scaled as Scaled,
    Window as Window,
    Windows as Windows,
    any_of as any_of,
    closed as closed,
    column_needs as column_needs,
    window_mistakes as window_mistakes,
)
from .workspace import Workspace as Workspace
