"""Menus: those of toy triggers, in columns, with levels, and all kinds of spoilt ones."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import toy_menus
from hypothesis import strategies as st
from toys import combination, logic, threshold, trigger

import trigemu
from fuzzing.edits import as_toml, encoded, spoilt, table_edits
from fuzzing.formats.base import EVENTS, Files, Format, command, toy_catalogue
from fuzzing.formats.expressions import CONDITIONS

NEAR = "n_hard >= 2 and not (dr(hard[0], hard[1]) > 1)"
REQUIRED = 'requires = "n_muon == 1 or photon[0].pt > 12"'
LEGS = '{ object = "any", pt = { min = 5.0 } }, { object = "muon", eta = { abs_max = 2.0 } }'
PAIR = '{ legs = [0, 1], mass = { min = 2.0, max = 60.0 }, charge = "opposite" }'
RICH = (
    """
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

"""
    + threshold("J30", "hard[0].pt", 30.0, 'group = "jets"')
    + threshold("HT", "ht + 2 * met", 100.0, f'requires = "{NEAR}"\nprescale = 2\ngroup = "jets"')
    + combination("MM", LEGS, f'pairs = [{PAIR}]\nseed = "J30 or HT"\nprescale = 5')
    + trigger("R", "random", 'rate_hz = 1000.0\ncoherent = "c"')
    + logic("L", "J30 and not (HT or MM)", "enabled = false")
    + threshold("B", "muon[0].pt", None, "total_rate_hz = 20.0")
)
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
PLAIN = (
    "\n[menu]\ncrossing_rate_hz = 40e6\n"
    + threshold("T0", "jet[0].pt", 30, 'prescale = 2.0\ngroup = "x"')
    + threshold("T1", "ht", 70, 'coherent = "a"\ngroup = "x"')
    + threshold("T2", "met / 2 + dr(jet[0], muon[0])", 20, f'{REQUIRED}\ncoherent = "a"\nprescale = 3.5')
    + logic("T3", "T0 and not T1")
    + trigger("T4", "random", "rate_hz = 1000.0")
)


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
    drawn = toy_menus.menus().map(lambda triggers: toy_menus.as_toml(triggers, 40e6).encode())
    nudged = table_edits(tomllib.loads(PLAIN), most=2, whats=("nudge", "nudge", "repeat", "remove"))
    odd = (*(spoilt(text, ("J30", "hard", "threshold")) for text in _RICH), spoilt(PLAIN, ("T0 or T1", 25.0)))
    rates = st.builds(
        lambda text, rate: text.replace("crossing_rate_hz = 40e6", f"crossing_rate_hz = {rate}").encode(),
        st.sampled_from((*_RICH, PLAIN)),
        st.sampled_from(_RATES),
    )
    asked = CONDITIONS.map(lambda text: PLAIN.replace("n_muon == 1 or photon[0].pt > 12", text).encode())
    whole = st.one_of(drawn, nudged.map(as_toml).map(encoded), *odd, rates, _in_columns(), asked)
    ways = st.sampled_from((*["api"] * 24, "run", "check-menu", "report", "calibrate")).map(str.encode)
    return st.builds(lambda menu, way: {"menu.toml": menu, "way": way}, whole, ways)


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
    """Hold what is true of the rates of any menu."""
    for t in made.triggers if isinstance(made, trigemu.api.MenuRates) else ():
        total, unique = t.rates["total"].hz, t.rates["unique"].hz
        if not (-1e-9 * total <= unique <= total * (1 + 1e-9) and total <= made.rate.hz * (1 + 1e-9)):
            return f"{t.name}: unique {unique!r}, total {total!r}, menu {made.rate.hz!r}"
    return None


FORMATS = (Format("menus", _cases, _use, _twin),)
