"""Menus: those of toy triggers, whose rates are summed by brute force, and all kinds of spoilt ones."""

from __future__ import annotations

import json
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import toy_menus
from hypothesis import strategies as st

import trigemu
from fuzzing.edits import byte_edits, table_edits, word_edits
from fuzzing.formats import language_twin
from fuzzing.formats.base import EVENTS, Files, Format, close, command, toy_catalogue
from fuzzing.formats.expressions import CONDITIONS
from fuzzing.intervals import Interval, every, is_above, point
from fuzzing.tables import as_toml

RICH = """
[menu]
name = "toy"
crossing_rate_hz = 40e6

[objects.hard]
from = "jet"
pt = { min = 20.0 }
eta = { abs_max = 2.0 }
remove_overlap = { with = "photon", dr = 0.4 }

[objects.any]
from = "muon"
any_of = [{ pt = { min = 20.0 } }, { charge = { min = 1, max = 1 }, pt = { above = 8.0 } }]

[sums.ht]
of = ["hard", "photon"]

[[trigger]]
name = "J30"
kind = "threshold"
observable = "hard[0].pt"
above = 30.0
group = "jets"

[[trigger]]
name = "HT"
kind = "threshold"
observable = "ht + 2 * met"
above = 100.0
requires = "n_hard >= 2 and not (dr(hard[0], hard[1]) > 1)"
prescale = 2
group = "jets"

[[trigger]]
name = "MM"
kind = "combination"
legs = [{ object = "any", pt = { min = 5.0 } }, { object = "muon", eta = { abs_max = 2.0 } }]
pairs = [{ legs = [0, 1], mass = { min = 2.0, max = 60.0 }, charge = "opposite" }]
seed = "J30 or HT"
prescale = 5

[[trigger]]
name = "R"
kind = "random"
rate_hz = 1000.0
coherent = "c"

[[trigger]]
name = "L"
kind = "logic"
expression = "J30 and not (HT or MM)"
enabled = false

[[trigger]]
name = "B"
kind = "threshold"
observable = "muon[0].pt"
total_rate_hz = 20.0
"""
#: Three columns of prescales, and two levels.
_COLUMNS = RICH.replace(
    'name = "toy"', 'name = "toy"\nprescale_columns = ["a", "b", "c"]\ncolumn = "c"', 1
).replace("prescale = 5", "prescales = [1, 0, 2.5]")
_LEVELS = (
    RICH.replace('name = "toy"', 'name = "toy"\nlevels = ["L1", "HLT"]', 1)
    .replace('kind = "threshold"\nobservable = "hard', 'level = "L1"\nkind = "threshold"\nobservable = "hard')
    .replace("prescale = 5", 'level = "HLT"')
)
_RICH = (RICH, _COLUMNS, _LEVELS)
_RATES = (
    *("1e300", "1e-300", "1e308", "5e-324", "1e24", "1e25", "1e-12", "9e-13", "1", "inf", "nan", "-1.0"),
    "0",
)
PLAIN = """
[menu]
crossing_rate_hz = 40e6

[[trigger]]
name = "T0"
kind = "threshold"
observable = "jet[0].pt"
above = 30
prescale = 2.0
group = "x"

[[trigger]]
name = "T1"
kind = "threshold"
observable = "ht"
above = 70
coherent = "a"
group = "x"

[[trigger]]
name = "T2"
kind = "threshold"
observable = "met / 2 + dr(jet[0], muon[0])"
above = 20
requires = "n_muon == 1 or photon[0].pt > 12"
coherent = "a"
prescale = 3.5

[[trigger]]
name = "T3"
kind = "logic"
expression = "T0 and not T1"

[[trigger]]
name = "T4"
kind = "random"
rate_hz = 1000.0
"""


@st.composite
def _in_columns(draw: st.DrawFn) -> bytes:
    """PLAIN with prescales in columns, one of which is named; sometimes with a mistake."""
    n = draw(st.integers(1, 3))
    spoilt = draw(st.sampled_from(("", "", "", "names", "values", "column")))
    names = draw(st.lists(st.sampled_from(("a", "b", "all", " ", "a")), min_size=n, max_size=n))
    names = names if spoilt == "names" else ["a", "é", "2e34"][:n]
    further = (0.5, 1e16, "x") if spoilt == "values" else ()
    value = st.sampled_from((1, 2.5, 0, -1, 7, 1e15, *further))
    lists = [draw(st.lists(value, min_size=n - (spoilt == "values"), max_size=n)) for _ in range(2)]
    column = draw(st.sampled_from(("", "no such", None)) if spoilt == "column" else st.sampled_from(names))
    named = f"column = {json.dumps(column)}\n" if column is not None else ""
    head = f"[menu]\nprescale_columns = {json.dumps(names)}\n{named}"
    text = PLAIN.replace("[menu]\n", head, 1).replace("prescale = 2.0", f"prescales = {json.dumps(lists[0])}")
    return text.replace("prescale = 3.5", f"prescales = {json.dumps(lists[1])}").encode()


def _cases() -> st.SearchStrategy[Files]:
    drawn = toy_menus.menus().map(
        lambda triggers: _files(toy_menus.as_toml(triggers, 40e6), b"api", triggers)
    )
    plain = tomllib.loads(PLAIN)
    nudged = table_edits(plain, most=2, whats=("nudge", "nudge", "repeat", "remove")).map(as_toml)
    spoilt = st.one_of(
        *(table_edits(tomllib.loads(text), ("J30", "hard", "threshold")).map(as_toml) for text in _RICH),
        table_edits(plain, ("T0", "T1", "T0 or T1", "ht", "met", 25.0, 3, 1.5)).map(as_toml),
        st.sampled_from(_RICH).flatmap(word_edits),
    ).map(lambda text: text.encode("utf-8", "surrogatepass"))
    rates = st.builds(
        lambda text, rate: text.replace("crossing_rate_hz = 40e6", f"crossing_rate_hz = {rate}").encode(),
        st.sampled_from((*_RICH, PLAIN)),
        st.sampled_from(_RATES),
    )
    whole = st.one_of(nudged.map(str.encode), spoilt, spoilt, byte_edits(RICH.encode()), rates, _in_columns())
    ways = st.sampled_from((*["api"] * 24, "run", "check-menu", "report", "calibrate")).map(str.encode)
    asked = CONDITIONS.map(lambda text: PLAIN.replace("n_muon == 1 or photon[0].pt > 12", text).encode())
    return st.one_of(drawn, asked.map(lambda c: _files(c, b"api")), *[st.builds(_files, whole, ways)] * 3)


def _files(menu: str | bytes, way: bytes, triggers: Any = None) -> Files:
    content = menu if isinstance(menu, bytes) else menu.encode()
    return {"menu.toml": content, "way": way, "toy.json": json.dumps(triggers).encode()}


def _use(folder: Path) -> Any:
    way = (folder / "way").read_text()
    if way == "api":
        return trigemu.rates_of(trigemu.emulate([trigemu.read_menu(folder / "menu.toml")], toy_catalogue()))
    write_sample(folder)
    catalogue = ("--samples", "catalogue.toml")
    if way == "run":
        command("run", "menu.toml", *catalogue, "--json", "out.json", "--csv", "out.csv", "--overlap")
        return json.loads((folder / "out.json").read_text(), parse_constant=_no_constant)
    if way == "check-menu":
        return command("check-menu", "menu.toml", *catalogue)
    if way == "calibrate":
        command("calibrate", "menu.toml", *catalogue, "-o", "new.toml")
        return trigemu.read_menu(folder / "new.toml")
    command("report", "menu.toml", *catalogue, "-o", "page.html")
    return (folder / "page.html").read_text()


def _no_constant(name: str) -> None:
    raise AssertionError(f"the JSON has the token {name}")


_SAMPLE: dict[str, bytes] = {}


def write_sample(folder: Path) -> None:
    """Write catalogue.toml and the file that it names."""
    for name, content in sample_files().items():
        (folder / name).write_bytes(content)


def sample_files() -> dict[str, bytes]:
    if not _SAMPLE:
        import tempfile

        from toys import CATALOGUE, write_root

        with tempfile.TemporaryDirectory() as made:
            write_root(Path(made) / "all.root", EVENTS, basket=50)
            _SAMPLE["all.root"] = (Path(made) / "all.root").read_bytes()
        _SAMPLE["catalogue.toml"] = CATALOGUE.encode()
    return _SAMPLE


def _twin(folder: Path, made: Any) -> str | None:
    """Sum the rates of menus in a part of the language event by event."""
    if not isinstance(made, trigemu.api.MenuRates):
        return None
    toy = folder / "toy.json"
    drawn = json.loads(toy.read_text()) if toy.exists() else None
    document = tomllib.loads((folder / "menu.toml").read_text())
    triggers = drawn or _plain_triggers(document)
    if triggers is None:
        return _laws(made)
    rate = float(document.get("menu", {}).get("crossing_rate_hz", 40e6))
    expected: dict[str, float] = {}
    known: dict[Any, list[tuple[str, Fraction]]] = {}  # by the decisions: few patterns stand for all events
    for event in EVENTS:
        try:
            own, raw = toy_menus.decide(event, triggers) if drawn else _decided(event, triggers)
            key = (*own.values(), *raw.values())
            if key not in known:
                known[key] = _fractions(own, raw, triggers, rate)
        except language_twin.UnknownError:
            return _laws(made)
        for quantity, f in known[key]:
            expected[quantity] = expected.get(quantity, 0.0) + event["weight"] * float(f) * rate / 40e6
    found = {"menu": made.rate.hz}
    for t in made.triggers:
        found |= {f"total {t.name}": t.rates["total"].hz, f"unique {t.name}": t.rates["unique"].hz}
    for quantity, value in found.items():
        if (
            not close(value, expected[quantity], 1e-9)
            and abs(value - expected[quantity]) > 1e-12 * found["menu"]
        ):
            return f"{quantity}: {value!r}, expected {expected[quantity]!r}"
    return ""


_HEAD = {"name", "crossing_rate_hz", "prescale_columns", "column"}
_KEYS = {
    "name",
    "kind",
    "prescale",
    "group",
    "coherent",
    "enabled",
    "above",
    "observable",
    "requires",
    "expression",
    "rate_hz",
}


def _plain_triggers(document: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the triggers with all keys, or None if the twin does not know a part of the menu."""
    if set(document) - {"menu", "trigger"} or set(document.get("menu", {})) - _HEAD:
        return None
    head, triggers = document.get("menu", {}), []
    for t in document["trigger"]:
        if values := t.pop("prescales", None):
            value = values[head["prescale_columns"].index(head["column"])]
            t |= {"prescale": value} if value > 0 else {"prescale": 1.0, "enabled": False}
        if (
            set(t) - _KEYS
            or t["kind"] not in ("threshold", "logic", "random")
            or not t["name"].isidentifier()
        ):
            return None
        triggers.append({"prescale": 1.0, "group": None, "coherent": None, "enabled": True, "seed": None} | t)
    names = [t["name"] for t in triggers]
    if sorted(names) != names:
        return None  # the brute force goes by the order of names
    return triggers if len(triggers) <= 8 else None


def _fractions(
    own: dict[str, bool], raw: dict[str, bool], triggers: list[dict[str, Any]], rate: float
) -> list[tuple[str, Fraction]]:
    """Return the accepted fraction of every quantity, for events with these decisions."""
    for t in triggers:
        random = Fraction(rate) / Fraction(t.get("rate_hz", 1000)) if t["kind"] == "random" else 1
        t["share"] = 1 / (Fraction(t["prescale"]) * random)
        if t["share"] > 1:
            raise language_twin.UnknownError
    return list(toy_menus.of_pattern(toy_menus.from_decisions(own, raw, triggers), triggers))


def _decided(
    event: dict[str, Any], triggers: list[dict[str, Any]]
) -> tuple[dict[str, bool], dict[str, bool]]:
    raw: dict[str, bool] = {}
    for t in triggers:
        if t["kind"] == "random":
            raw[t["name"]] = True
        elif t["kind"] == "threshold":
            value = language_twin.evaluate(t["observable"], event)
            asked = language_twin.evaluate(t["requires"], event) if "requires" in t else True
            if not isinstance(value, Interval) or isinstance(asked, Interval):
                raise language_twin.UnknownError
            accepted = every([is_above(value, point(t["above"])), asked])
            if accepted is None:  # rounding decides
                raise language_twin.UnknownError
            raw[t["name"]] = accepted
    left = [t for t in triggers if t["kind"] == "logic"]
    while left:
        ready = [
            t
            for t in left
            if all(w in raw for w in toy_menus.words(t["expression"]) if w not in ("and", "or", "not"))
        ]
        if not ready:
            raise language_twin.UnknownError
        for t in ready:
            raw[t["name"]] = bool(eval(t["expression"], {}, raw))
            left.remove(t)
    return raw, raw


def _laws(made: trigemu.api.MenuRates) -> str | None:
    """Where there is no twin, hold what is true of any menu."""
    for t in made.triggers:
        total, unique = t.rates["total"].hz, t.rates["unique"].hz
        if not (-1e-9 * total <= unique <= total * (1 + 1e-9) and total <= made.rate.hz * (1 + 1e-9)):
            return f"{t.name}: unique {unique!r}, total {total!r}, menu {made.rate.hz!r}"
    return None


FORMATS = (Format("menus", 90, _cases, _use, _twin),)
