"""Filling schemes, trigger rules and fills."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fuzzing.edits import byte_edits, table_edits, word_edits
from fuzzing.formats.base import Files, Format
from fuzzing.tables import as_toml

SCHEME = '[filling]\nname = "s"\ntrains = [[81, 128], [136, 183]]\n'
PATTERN = '[filling]\npattern = "3(72b 8e) 10(2(8b 4e) 30e)"\n'
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
places = 8
latency = 160
[[rule]]
gap = [3490, 3564]
every = 100
[[rule]]
first_bunches = 1
[[rule]]
prefire = 0.01
triggers = ["T0"]
"""
FILL = """
[fill]
hours = 10
pileup = 20.0
half_life_hours = 6.6
signals = ["a"]
[[column]]
name = "c"
below = 12.0
[[control]]
trigger = "T0"
of = "menu"
"""


def _edited(text: str, name: str) -> st.SearchStrategy[Files]:
    further = (0, -1, 10**30, 3565, [1, 2, 3], "1b", 1e308, {})
    spoilt = st.one_of(
        table_edits(tomllib.loads(text), further).map(as_toml),
        table_edits(tomllib.loads(text), further, most=1).map(as_toml),
        word_edits(text),
    ).map(lambda made: made.encode("utf-8", "surrogatepass"))
    return st.one_of(spoilt, spoilt, byte_edits(text.encode())).map(lambda content: {name: content})


def _schemes() -> st.SearchStrategy[Files]:
    words = ("(", ")", "b", "e", ",", "1", "99999", "-", "FOR B1", "\n")
    tables = st.one_of(_edited(SCHEME, "s.toml"), _edited(PATTERN, "s.toml"))
    texts = st.sampled_from([CSV, BEAMS]).flatmap(
        lambda text: st.one_of(
            word_edits(text, words).map(lambda made: made.encode("utf-8", "surrogatepass")),
            byte_edits(text.encode()),
        )
    )
    return st.one_of(tables, texts.map(lambda content: {"s.csv": content}))


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


def _use_fill(folder: Path) -> Any:
    from trigemu_live import read_fill

    return read_fill(folder / "f.toml").fill.hours_and_pileup()


def _fill_twin(folder: Path, steps: Any) -> str:
    hours, pileup = steps
    return "" if len(hours) == len(pileup) > 0 and (pileup >= 0).all() else f"pile-up {pileup[:5]}"


FORMATS = (
    Format("filling schemes", 15, _schemes, _use_scheme, _scheme_twin),
    Format("trigger rules", 15, lambda: _edited(RULES, "r.toml"), _use_rules, _rules_twin),
    Format("fills", 10, lambda: _edited(FILL, "f.toml"), _use_fill, _fill_twin),
)
