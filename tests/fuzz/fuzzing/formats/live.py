"""Filling schemes, trigger rules and fills."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from pileup_toys import crossing_catalogue, crossings
from toys import threshold

from fuzzing.edits import spoilt, spoilt_words
from fuzzing.formats.base import Files, Format, close
from trigemu import Catalogue, at_pileup, read_menu, run

SCHEME = '[filling]\nname = "s"\ntrains = [[81, 128], [136, 183]]\n'
CSV = (
    "INJECTION SCHEME : test\nHEAD ON COLLISIONS FOR B1\nB1 bucket number,IP1,IP2,IP5,IP8\n1,1,-,1,-\n"
    "11,-,8921,-,-\n35631,35631,-,35631,-\nHEAD ON COLLISIONS FOR B2\n"
)
BEAMS = "Scheme name,s\nB1 filled buckets,1,11,21\nB2 filled buckets,11,21,31\n"
RULES = """
[rules]
name = "r"
[[rule]]
simple = 4
[[rule]]
at_most = 2
in = 25
[[rule]]
size = 7
rate = 415
[[rule]]
gap = [3490, 3564]
every = 100
"""
FILL = """
[fill]
hours = 10
step_seconds = 1800
pileup = 3.0
half_life_hours = 30.0
target_hz = 2e7
signals = ["a"]
[[column]]
name = "c"
below = 4.0
[[column]]
name = "d"
below = 2.5
[[control]]
trigger = "T0"
of = "menu"
[[control]]
trigger = "T1"
target_hz = 5e6
seconds = 20.0
prescale = 100.0
"""
MENU = (
    '\n[menu]\nname = "m"\ncrossing_rate_hz = 4e7\nprescale_columns = ["c", "d"]\n'
    + threshold("T0", "n_jet", 1.0, "prescales = [2, 1]")
    + threshold("T1", "jet[0].pt", 30.0)
    + threshold("T2", "met", None, "total_rate_hz = 1e7\nprescales = [1, 3]")
)


def _edited(text: str, name: str) -> st.SearchStrategy[Files]:
    return spoilt(text, (0, -1, 10**30, 3565, [1, 2, 3], "1b", 1e308, {})).map(lambda made: {name: made})


def _schemes() -> st.SearchStrategy[Files]:
    words = ("(", ")", "b", "e", ",", "1", "99999", "-", "FOR B1", "\n", "²", "٣")
    texts = st.sampled_from([CSV, BEAMS]).flatmap(lambda text: spoilt_words(text, words))
    return st.one_of(_edited(SCHEME, "s.toml"), texts.map(lambda content: {"s.csv": content}))


def _use_scheme(folder: Path) -> list[int]:
    from trigemu_live import read_filling

    (file,) = folder.glob("s.*")
    filling = read_filling(file)
    assert filling.description
    slots: list[int] = filling.slots.tolist()
    return slots


def _scheme_twin(folder: Path, slots: list[int]) -> str:
    ordered = slots == sorted(set(slots)) and slots[0] >= 0 and slots[-1] < 3564
    return "" if ordered else f"slots {slots[:5]} … {slots[-5:]}"


def _use_rules(folder: Path) -> Any:
    from trigemu_live import live_fraction, read_rules, spread

    return live_fraction(read_rules(folder / "r.toml"), spread(2544), 1e5, attempts=1000)


def _rules_twin(folder: Path, live: Any) -> str:
    return "" if 0 <= live.value <= 1 else f"live fraction {live.value}"


def _fills() -> st.SearchStrategy[Files]:
    """A fill and its menu, one of them spoilt."""
    return st.one_of(
        _edited(FILL, "f.toml").map(lambda made: {"m.toml": MENU.encode(), **made}),
        _edited(MENU, "m.toml").map(lambda made: {"f.toml": FILL.encode(), **made}),
    )


@cache
def _crossings() -> Catalogue:
    events = crossings(5, 400, most=9)
    hz = 40e6 / sum(event["weight"] for event in events)
    return crossing_catalogue({"a": [event | {"weight": event["weight"] * hz} for event in events]})


def _use_fill(folder: Path) -> Any:
    from trigemu_live import read_fill, through_fill

    return through_fill(read_menu(folder / "m.toml"), read_fill(folder / "f.toml"), _crossings())


def _fill_twin(folder: Path, fill: Any) -> str:
    """The first step has the rates of `run`; all others are rates."""
    for trace in fill.traces:
        for values in (trace.recorded, trace.rates, trace.thresholds, trace.efficiencies):
            if not np.isfinite(values).all():
                return f"{trace.name}: {values}"
        if not ((trace.rates >= 0).all() and (trace.before <= fill.menu.crossing_rate_hz * (1 + 1e-9)).all()):
            return f"{trace.name}: rates {trace.rates}, before {trace.before}"
    triggers = {t.name: t for t in fill.menu.triggers}
    for name, thresholds in zip(fill.controlled, fill.traces[0].thresholds, strict=True):
        trigger = triggers[name]
        triggers[name] = replace(trigger, description=trigger.description.at(float(thresholds[0])))  # type: ignore[union-attr]
    rates = run(
        replace(fill.menu, triggers=tuple(triggers.values())), at_pileup(_crossings(), fill.pileup[0])
    )
    first = fill.traces[0].recorded[0]
    return "" if close(first, rates.rate.hz) else f"recorded {first}, of run {rates.rate.hz}"


FORMATS = (
    Format("filling schemes", _schemes, _use_scheme, _scheme_twin),
    Format("trigger rules", lambda: _edited(RULES, "r.toml"), _use_rules, _rules_twin),
    Format("fills", _fills, _use_fill, _fill_twin),
)
