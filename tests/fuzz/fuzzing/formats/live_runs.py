"""Menus, rules, filling schemes and options of `trigemu live`, up to its numbers."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import trigemu
from fuzzing.edits import NUMBERS, table_edits, word_edits
from fuzzing.formats.base import Files, Format, command
from fuzzing.formats.live import RULES
from fuzzing.formats.menus import write_sample
from fuzzing.tables import any_digits, as_json, as_toml

MENU: dict[str, Any] = {
    "menu": {"crossing_rate_hz": 4e7},
    "trigger": [
        {"name": "A", "kind": "threshold", "observable": "n_jet", "above": 1.0, "prescale": 1.0000001}
        | {"coherent": "x"},
        {"name": "T0", "kind": "threshold", "observable": "n_jet", "above": 0.0, "prescale": 1e15}
        | {"coherent": "x"},
        {"name": "B", "kind": "threshold", "observable": "jet[0].pt", "above": 30.0, "prescale": 7.25},
        {"name": "R", "kind": "random", "rate_hz": 1e5},
        {"name": "S", "kind": "threshold", "observable": "met", "above": 20.0, "seed": "A or not B"}
        | {"prescale": 2.5},
    ],
}
OPTIONS = {
    "--seconds": ("0.004", "0.0285", "nan", "inf", "1e-300", "1e300", "0.0029"),
    "--counters": ("random", "zero", "section", "one"),
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
    every = [{"simple": n} for n in range(1, 5001)]
    several = st.sampled_from(
        ({**rules, "rule": every}, {**rules, "rule": rules["rule"] * 2}, {"rules": every})
    )
    texts = st.one_of(
        st.one_of(table_edits(rules), table_edits(rules, most=1), several).map(as_toml),
        word_edits(RULES, ("rules", "rule")),
    )
    pairs = st.sampled_from([*OPTIONS]).flatmap(
        lambda name: st.tuples(st.just(name), st.sampled_from((*OPTIONS[name], *further(name))))
    )
    words = st.lists(pairs, max_size=3).map(lambda given: [word for pair in given for word in pair])
    return st.one_of(
        menus.map(lambda menu: {"menu.toml": menu.encode("utf-8", "surrogatepass")}),
        texts.map(lambda text: {"r.toml": text.encode("utf-8", "surrogatepass")}),
        words.map(lambda options: {"options.json": as_json(options)}),
    )


def _use(folder: Path) -> Any:
    write_sample(folder)
    for name, text in (("menu.toml", as_toml(MENU)), ("r.toml", RULES), ("options.json", "[]")):
        if not (folder / name).exists():
            (folder / name).write_text(text)
    given = json.loads((folder / "options.json").read_text())
    own = [] if "--seconds" in given else ["--seconds", "0.004"]
    own += [] if "--filling" in given or "--colliding" in given else ["--filling", "40(72b 8e)"]
    files = ["--samples", "catalogue.toml", "--rules", "r.toml", "--json", "live.json"]
    status = command("live", "menu.toml", *files, *own, *given)
    return json.loads((folder / "live.json").read_text()) if status == 0 else None


def _twin(folder: Path, made: Any) -> str | None:
    """Add up what is counted; of rules, what the file says; of triggers by themselves, that n / p accept."""
    if made is None:
        return "no numbers"
    tables = tomllib.loads((folder / "r.toml").read_text()).get("rule", [])
    vetoes = [table for table in tables if "prefire" not in table]
    if len(vetoes) != len(made["rules"]["rules"]) or len(tables) - len(vetoes) > 1 or len(tables) > 100:
        return f"rules {made['rules']['rules']} of {len(tables)} tables"
    for row, losses in zip(made["rows"], made["losses"], strict=True):
        lost = row["before_events"] - row["after_events"]
        if lost != sum(losses["lost"].values()) or not 0 <= row["live"] <= 1:
            return f"{row['name']}: {row}, lost {losses['lost']}"
        if row["before_hz"] > made["menu"]["crossing_rate_hz"] * (1 + 1e-9):
            return f"{row['name']}: {row['before_hz']} Hz"
    if json.loads((folder / "options.json").read_text()):
        return ""
    menu = trigemu.read_menu(folder / "menu.toml")
    ratio = made["menu"]["crossing_rate_hz"] / menu.crossing_rate_hz
    rows = {row["name"]: row for row in made["rows"] if row["kind"] == "trigger"}
    for rates in trigemu.run(menu, folder / "catalogue.toml").triggers:
        if menu.trigger(rates.name).seed is None:
            hz = rates.total.hz * (1.0 if rates.kind == "random" else ratio)
            found, seconds = rows[rates.name]["before_hz"], made["seconds"]
            if abs(found - hz) > 8 * math.sqrt(hz / seconds) + 32 / seconds:
                return f"{rates.name}: {found} Hz, {hz} of run"
    return ""


FORMATS = (Format("live runs", 10, _cases, _use, _twin),)
