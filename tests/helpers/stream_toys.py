"""Events with edges, and texts of the observable language, drawn at random; what a stream says of events."""

from __future__ import annotations

import math
import random

import numpy as np
from hypothesis import strategies as st

from trigemu import Collection, Events, make_events
from trigemu.api import Plan

COLUMNS = ("pt", "eta", "phi", "z0", "charge", "quality")
#: What is compared with other things meets them often: these values repeat.
PT = [5.0, 8.0, 12.5, 20.0, 33.3, 60.0]
ETA = [-2.5, -1.0, -0.4, 0.0, 0.1, 1.0, 2.2]
PHI = [-math.pi, -3.1, -1.0, -0.2, 0.0, 0.3, 1.5, 3.1, math.pi]
#: `clean` begins with a selection and is cleared of another one, `around` wraps, `few` has no object often.
OBJECTS = """
[objects.hard]
from = "muon"
pt = { min = 8.0 }
phi = { min = 1.0, max = -1.0 }

[objects.clean]
from = "jet"
pt = { max = 60.0 }
remove_overlap = { with = "hard", dr = 0.5 }

[objects.cleaner]
from = "clean"
eta = { abs_min = 0.1, abs_max = 2.4 }
remove_overlap = { with = "photon", dr = 1.0 }

[objects.few]
from = "hard"
charge = { any_of = [-1, 1] }
quality = { any_of = [2, 5000000000] }

[objects.some]
from = "jet"
pt = { min = 12 }
any_of = [{ pt = { min = 40 } }, { eta = { abs_max = 1 }, quality = { bits = 1 } }, { charge = { min = 1 } }]
[objects.some.scaled]
other_pt = [{ eta = { abs_max = 1 }, slope = 1.1, offset = 2 }, { pt = { min = 20 }, slope = 0.3 }]

[sums.ht]
of = ["cleaner", "muon"]

[sums.mht]
of = ["jet", "hard"]
"""
NAMES = ["jet", "muon", "photon", "hard", "clean", "cleaner", "few", "some"]


def events_of(seed: int, n: int) -> Events:
    """A view that begins at the third of n + 3 events; integers of both sizes, floats of both."""
    rng = random.Random(seed)
    collections = {}
    for name in ("jet", "muon", "photon"):
        counts = [rng.choice((0, 0, 1, 2, 2, 3, 5)) for _ in range(n + 3)]
        columns: dict[str, list[float]] = {column: [] for column in COLUMNS}
        for count in counts:
            columns["pt"] += sorted((rng.choice(PT) for _ in range(count)), reverse=True)
            columns["eta"] += [rng.choice(ETA) for _ in range(count)]
            columns["phi"] += [rng.choice((rng.choice(PHI), rng.uniform(-3.1, 3.1))) for _ in range(count)]
            columns["z0"] += [rng.gauss(0, 2) for _ in range(count)]
            columns["charge"] += [rng.choice((-1, 0, 1)) for _ in range(count)]
            columns["quality"] += [rng.choice((0, 1, 2, 5_000_000_000)) for _ in range(count)]
        types = dict(zip(COLUMNS, ("f4", "f4", "f4", "f8", "i4", "i8"), strict=True))
        arrays = {column: np.array(values, types[column]) for column, values in columns.items()}
        collections[name] = Collection(np.cumsum([0, *counts]), arrays)
    scalars = {
        "met": np.array([0.5 + rng.expovariate(1 / 20) for _ in range(n + 3)], "f4"),
        "met_phi": np.array([rng.choice(PHI) for _ in range(n + 3)], "f8"),
        "pileup": np.array([rng.randrange(80) for _ in range(n + 3)], "i4"),
        "flags_0": np.array([rng.getrandbits(64) for _ in range(n + 3)], "u8").view("i8"),
    }
    return make_events("toy", np.ones(n + 3), collections, scalars)[3:]


def streamed(plan: Plan, events: Events, *, shuffled: bool = True) -> np.ndarray:
    """uint64[n, words], one event after the other."""
    from trigemu_latency import Stream

    stream = Stream(plan, events)
    words = np.empty((len(events), plan.words), np.uint64)
    numbers = np.arange(len(events))
    if shuffled:
        np.random.default_rng(1).shuffle(numbers)
    for event in numbers.tolist():
        stream.decide(event)
        words[event] = stream.words
    np.testing.assert_array_equal(stream.decide_many(0, len(events)), words)
    return words


def _joined(
    parts: st.SearchStrategy[str], between: list[str], least: int, most: int
) -> st.SearchStrategy[str]:
    return st.tuples(st.sampled_from(between), st.lists(parts, min_size=least, max_size=most)).map(
        lambda drawn: drawn[0].join(drawn[1])
    )


OBJECT = st.builds("{}[{}]".format, st.sampled_from(NAMES), st.integers(0, 2))
# Of different objects, and never with missing ET of 0: the φ or η of `a + a` is that of `a` but for the last
# bit, in which NumPy's arctan2 of many events and libm's of one may differ.
SEVERAL = st.lists(OBJECT, min_size=2, max_size=3, unique=True).map(" + ".join)
MASSIVE = st.one_of(OBJECT, SEVERAL)
VECTOR = st.one_of(MASSIVE, st.sampled_from(["mht", "met", "met + jet[0]", "muon[0] + mht"]))
NUMBER = st.recursive(
    st.one_of(
        st.sampled_from(["ht", "mht", "met", "met_phi", "pileup", "0", "1", "12.5", "-20"]),
        st.sampled_from(NAMES).map("n_{}".format),
        st.builds("{}.{}".format, OBJECT, st.sampled_from(COLUMNS)),
        st.builds("{}({})".format, st.sampled_from(["pt", "phi"]), VECTOR),
        st.builds("{}({})".format, st.sampled_from(["eta", "m"]), MASSIVE),
        st.builds("m({}, {})".format, OBJECT, MASSIVE),
        st.builds("dphi({}, {})".format, VECTOR, VECTOR),
        st.builds("{}({}, {})".format, st.sampled_from(["dr", "deta"]), MASSIVE, MASSIVE),
    ),
    lambda inner: st.one_of(
        _joined(inner, [" + ", " - ", " * ", " / "], 2, 2).map("({})".format),
        inner.map("abs({})".format),
        inner.map("-({})".format),
        st.builds("{}({})".format, st.sampled_from(["max", "min"]), _joined(inner, [", "], 2, 3)),
    ),
    max_leaves=3,
)
CONDITION = st.recursive(
    _joined(NUMBER, [" > ", " >= ", " < ", " <= ", " == ", " != "], 2, 3),
    lambda inner: st.one_of(
        _joined(inner.map("({})".format), [" and ", " or "], 2, 3), inner.map("not ({})".format)
    ),
    max_leaves=3,
)
