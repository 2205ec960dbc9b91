"""Menus, rules, filling schemes and options of `trigemu live`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from toys import threshold, trigger

from fuzzing.edits import NUMBERS, any_digits, as_json, as_toml, encoded, spoilt, table_edits
from fuzzing.formats.base import Files, Format, command
from fuzzing.formats.live import RULES
from fuzzing.formats.menus import write_sample

MENU: dict[str, Any] = tomllib.loads(
    "[menu]\ncrossing_rate_hz = 4e7\n"
    + threshold("A", "n_jet", 1.0, 'prescale = 1.0000001\ncoherent = "x"')
    + threshold("T0", "n_jet", 0.0, 'prescale = 1e15\ncoherent = "x"')
    + threshold("B", "jet[0].pt", 30.0, "prescale = 7.25")
    + trigger("R", "random", "rate_hz = 1e5")
    + threshold("S", "met", 20.0, 'seed = "A or not B"\nprescale = 2.5')
)
OPTIONS = {
    "--seconds": ("0.004", "0.0285", "nan", "inf", "1e-300", "1e300", "0.0029"),
    "--counters": ("random", "zero", "one"),
    "--filling": ("²b", "٣b 1e", "45(72b 8e)", "99999(99999(1b))", "8b4e.csv", "3564b", "100b 3464e", "1b"),
    "--colliding": ("1", "0", "3564", "3565", "²"),
    "--input-rate": ("1e5", "1e-200", "nan", "4e7", "1e22"),
    "--pileup": ("nan", "3"),
    "--without": ("A", "T0", ""),
    "--seed": ("0", "²", "99999999999999999999"),
    "--workers": ("2", "5"),
}
_PRESCALES = (1e15, 1.0000001, 1e300, 2**61, 2**63, 1e22, 1e-9, "x", 0.0, 100.0)


def _cases() -> st.SearchStrategy[Files]:
    """A menu, rules or options that are spoilt."""
    with any_digits():
        numbers = [str(number) for number in NUMBERS[:20]]

    def further(name: str) -> list[str]:
        return [] if name == "--seconds" else numbers  # minutes of beam take as long as they should

    rules = tomllib.loads(RULES)
    menus = st.one_of(table_edits(MENU, _PRESCALES), table_edits(MENU, _PRESCALES, most=1)).map(as_toml)
    every = [{"simple": n} for n in range(1, 101)]
    several = st.sampled_from(
        ({**rules, "rule": every}, {**rules, "rule": rules["rule"] * 2}, {"rules": every})
    )
    texts = st.one_of(spoilt(RULES, words=("rules", "rule")), several.map(as_toml).map(encoded))
    pairs = st.sampled_from([*OPTIONS]).flatmap(
        lambda name: st.tuples(st.just(name), st.sampled_from((*OPTIONS[name], *further(name))))
    )
    words = st.lists(pairs, max_size=3).map(lambda given: [word for pair in given for word in pair])
    return st.one_of(
        menus.map(lambda menu: {"menu.toml": encoded(menu)}),
        texts.map(lambda text: {"r.toml": text}),
        words.map(lambda options: {"options.json": as_json(options)}),
    )


def _use(folder: Path) -> int:
    write_sample(folder)
    for name, text in (("menu.toml", as_toml(MENU)), ("r.toml", RULES), ("options.json", "[]")):
        if not (folder / name).exists():
            (folder / name).write_text(text)
    given = json.loads((folder / "options.json").read_text())
    own = [] if "--seconds" in given else ["--seconds", "0.004"]
    own += [] if "--filling" in given or "--colliding" in given else ["--filling", "40(72b 8e)"]
    files = ["--samples", "catalogue.toml", "--rules", "r.toml", "--json", "live.json"]
    return command("live", "menu.toml", *files, *own, *given)


FORMATS = (Format("live runs", _cases, _use),)
