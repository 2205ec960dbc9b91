"""Goals of an optimisation, and what a menu for valid ones may contain."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from optimise_toys import GOALS, MENU, toy_rate, toy_samples, write_menu

from fuzzing.edits import byte_edits, table_edits, word_edits
from fuzzing.formats.base import Files, Format
from fuzzing.tables import as_toml
from trigemu import read_menu

ALL = (
    GOALS.format(cap="3e4")
    + """
[[tie]]
triggers = ["J15", "J30"]
at_least = 5.0
[[limit]]
trigger = "J30"
quantity = "unique"
max_hz = 1e4
[[vary]]
triggers = ["MU"]
prescale = [10]
[live]
min = 0.5
rules = "cms"
"""
)
#: Values in place of others: none, all and too many, of other types, of other triggers, with a unit.
FURTHER = (
    *(0, -1, 1e308, 10**30, 1e300, 1e-300, math.inf, math.nan, "100kHz", "free", "J30"),
    *(["J30", "J15"], {"min": 1, "max": 2}, {"min": 30, "max": 30}, {"min": 1, "max": 2, "step": math.inf}),
    {},
)


def _goals() -> st.SearchStrategy[Files]:
    spoilt = st.one_of(
        table_edits(tomllib.loads(ALL), FURTHER).map(as_toml),
        table_edits(tomllib.loads(ALL), FURTHER, most=1).map(as_toml),
        word_edits(ALL),
    ).map(lambda made: made.encode("utf-8", "surrogatepass"))
    return st.one_of(spoilt, spoilt, byte_edits(ALL.encode())).map(lambda content: {"goals.toml": content})


def _use_goals(folder: Path) -> Any:
    from trigemu_optimise.goals import read_goals
    from trigemu_optimise.setup import make_setup

    menu = read_menu(write_menu(folder))
    return make_setup(menu, read_goals(folder / "goals.toml"), toy_samples(200)).problem


def _goals_twin(folder: Path, problem: Any) -> str:
    from trigemu_optimise.problem import Evaluation

    rates, efficiencies = Evaluation(problem).at(problem.sizes - 1)
    fine = (rates >= 0).all() and ((efficiencies >= -1e-9) & (efficiencies <= 1 + 1e-9)).all()
    return "" if fine else f"rates {rates}, efficiencies {efficiencies}"


@st.composite
def _valid(draw: st.DrawFn) -> Files:
    """Goals without a mistake: ranges, steps and lists of one value and of many, ties, limits, caps."""
    goals: dict[str, Any] = {
        "goals": {"rate_hz": draw(st.sampled_from([1e3, 1e4, 2e4, 4e4, 1e5, 1e9]))},
        "channel": [{"sample": "s"}],
    }
    thresholds = draw(st.lists(st.sampled_from(["J30", "J15", "MET40"]), min_size=1, unique=True))
    vary = [{"triggers": [name], "above": draw(_spans())} for name in thresholds]
    lists = st.lists(st.sampled_from([1, 2, 2.5, 7, 100]), min_size=1, max_size=3)
    for name in draw(st.lists(st.sampled_from(["MET40", "MU"]), unique=True)):
        vary.append({"triggers": [name], "prescale": draw(lists)})
    if draw(st.booleans()):
        vary.append({"triggers": ["MU"], "switch": True})
    goals["vary"] = vary
    pairs = st.lists(st.sampled_from(thresholds), min_size=2, max_size=3, unique=True)
    if len(thresholds) > 1 and draw(st.booleans()):
        at_least = draw(st.sampled_from([None, 0.0, 5.0, 12.5, -10.0]))
        goals["tie"] = [{"triggers": draw(pairs)} | ({} if at_least is None else {"at_least": at_least})]
    if draw(st.booleans()):
        goals["limit"] = [{"trigger": draw(st.sampled_from(["J30", "MET40"])), "max_hz": 5e3}]
    return {"goals.toml": as_toml(goals).encode()}


def _spans() -> st.SearchStrategy[Any]:
    low, width = st.sampled_from([10.0, 12.5, 30.0, 41.3]), st.sampled_from([0.0, 4.0, 20.0, 40.1])
    step = st.sampled_from([None, 0.3, 2.0, 5.0, 20.0, 1e6])
    spans = st.tuples(low, width, step).map(
        lambda of: {"min": of[0], "max": of[0] + of[1]} | ({"step": of[2]} if of[2] else {})
    )
    return st.one_of(spans, spans, spans, st.just("free"))


def _use_valid(folder: Path) -> Any:
    """The menu that an optimisation writes."""
    from trigemu_optimise import Effort, optimise
    from trigemu_optimise.write_menu import write_menu as write_best

    menu = read_menu(write_menu(folder))
    found = optimise(
        menu, folder / "goals.toml", toy_samples(200), Effort(starts=1, hops=0, replicas=0, caps=0)
    )
    write_best(found.written, found.menu, found.summary, folder / "best.toml")
    read_menu(folder / "best.toml")
    return tomllib.loads((folder / "best.toml").read_text())


def _valid_twin(folder: Path, best: dict[str, Any]) -> str:
    goals = tomllib.loads((folder / "goals.toml").read_text())
    now, before = (
        {trigger["name"]: trigger for trigger in menu["trigger"]} for menu in (best, tomllib.loads(MENU))
    )
    return next(_wrong(goals, now, before), "")


def _wrong(goals: dict[str, Any], now: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[str]:
    """Yield what goals do not allow of the triggers of a menu."""
    allowed = {(name, key): of[key] for of in goals["vary"] for name in of["triggers"] for key in of}
    for name in now:
        for key in ("above", "prescale", "enabled", "kind", "observable", "legs"):
            value, written = (
                of[name].get(key, {"prescale": 1, "enabled": True}.get(key)) for of in (now, before)
            )
            if (name, key) in allowed:
                fine = _is_allowed(allowed[name, key], value)
            else:
                fine = value == written or (key == "enabled" and (name, "switch") in allowed)
            if not fine:
                yield f"{name} {key} = {value}, of {allowed.get((name, key), written)}"
    for tie in goals.get("tie", ()):
        values = [now[name]["above"] for name in tie["triggers"]]
        for low, high in pairwise(values):
            if high < low + tie["at_least"] if "at_least" in tie else high != low:
                yield f"tie {tie}: {values}"
    caps = [(None, goals["goals"]["rate_hz"])]
    caps += [(limit["trigger"], limit["max_hz"]) for limit in goals.get("limit", ())]
    for name, cap in caps:
        if (rate := toy_rate(now, 200, name)) > cap * (1 + 1e-9):
            yield f"{rate} Hz of {name or 'the menu'} with a cap of {cap} Hz"


def _is_allowed(allowed: Any, value: Any) -> bool:
    if isinstance(allowed, list):
        return value in allowed
    if allowed == "free":
        return math.isfinite(value)
    steps = (value - allowed["min"]) / allowed.get("step", 1e-9)
    return allowed["min"] <= value <= allowed["max"] and abs(steps - round(steps)) < 1e-6


FORMATS = (
    Format("goals", 30, _goals, _use_goals, _goals_twin),
    Format("valid goals", 10, _valid, _use_valid, _valid_twin),
)
