"""The schema against the reader of menus: what one takes, the other takes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import jsonschema
import pytest
from plugin_toys import write
from project import CORE_MENUS, ROOT

from trigemu import TrigemuError, make_plan, read_menu
from trigemu.base.plugins import CORE
from trigemu.base.toml import TomlTable
from trigemu.menus.read import FORMAT, MenuTable, TriggerTable
from trigemu.menus.schema import menu_schema, schemas
from trigemu.observables.hardware_scales import Digits, HardwareScale

#: A kind with a score, of a plugin.
PLUGIN = """
from trigemu.api import CompiledFunction, ScoreKind
def same(pt):
    return pt
class Mine(ScoreKind, frozen=True):
    \"\"\"A score.\"\"\"
    object: str = "jet"  #: Its objects.
    def compile(self, context):
        return CompiledFunction(same, (context.observable(f"{self.object}[0].pt"),), self.threshold)
KINDS = {"mine": Mine}
"""


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plugin."""
    return write(tmp_path_factory.mktemp("plugins") / "mine.py", PLUGIN).parent


@pytest.fixture(scope="module")
def validator(plugins: Path) -> jsonschema.Draft202012Validator:
    schema = json.loads(json.dumps(menu_schema(["mine"], plugins)))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("file", CORE_MENUS, ids=lambda file: file.stem)
def test_the_menus_that_come_with_the_program(validator: jsonschema.Draft202012Validator, file: Path) -> None:
    """They are valid, and nothing in them is easily misread."""
    validator.validate(tomllib.loads(file.read_text()))
    menu = read_menu(file)
    assert menu.enabled
    assert tomllib.loads(file.read_text()).get("menu", {}).get("format", FORMAT) == FORMAT
    assert make_plan(menu).warnings == ((),)


GOOD = """
[menu]
name = "good"
format = 1
crossing_rate_hz = 40e6
plugins = ["mine"]
prescale_columns = ["low", "high"]
column_pileup = [40.5, 0]
column_luminosity_cm2s = [0, 1e34]
column = "high"
levels = ["L1", "HLT"]
[integer.jet]
pt = { first = 0.0, step = 0.5, bins = 2046 }
upt = { first = 0.0, step = 1.0, bins = 255 }
eta = { step = 0.0435, centred = true }
phi = { bins = 144 }
[integer.muon]
pt = { first = 0.0, step = 0.5, bins = 511 }
eta = { step = 0.010875 }
phi = { bins = 576 }
[integer.digits.muon-muon]
delta = 3
mass = 1
pt = 1
trigonometry = 3
inverse_dr = 5
two_body_pt = 1
two_body_trigonometry = 8
[objects.jet]
from = "jet"
pt = { min = 20 }
phi = { min = 2.0, max = -2.0 }
quality = { any_of = [1, 3] }
remove_overlap = { with = "photon", dr = 0.4 }
[sums.ht]
of = ["jet", "photon"]
[[trigger]]
name = "A"
kind = "threshold"
observable = "ht"
above = 100
unit = "GeV"
requires = "n_jet > 1"
group = "g"
level = "HLT"
prescale = 2.5
prescales = [1, 10]
coherent = "c"
enabled = false
seed = "C"
stored = "HLT_A"
[[trigger]]
name = "B"
level = "L1"
kind = "combination"
legs = [{ object = "muon", eta = { abs_max = 2 } }, { object = "muon" }]
pairs = [{ legs = [0, 1], mass = { min = 7.0, max = 18.0 }, charge = "opposite" }]
[[trigger]]
name = "C"
level = "L1"
kind = "logic"
expression = "B"
[[trigger]]
name = "D"
level = "L1"
kind = "random"
rate_hz = 100
[[trigger]]
name = "E"
level = "HLT"
kind = "mine"
above = 0.5
"""
WAYS_TO_CUT = (
    ("above = 100", "unique_rate_hz = 5"),
    ("above = 100", "total_rate_hz = 0.5"),
    ("above = 100", "above = 100\nfitted_on = 'toy'"),
    ("above = 0.5", "unique_rate_hz = 5"),
)
Both = Callable[[str], tuple[bool, bool]]


@pytest.fixture
def both(validator: jsonschema.Draft202012Validator, plugins: Path, tmp_path: Path) -> Both:
    """Whether the schema, and whether the reader takes a menu."""

    def taken(text: str) -> tuple[bool, bool]:
        file = write(tmp_path / "menu.toml", text)
        try:
            read_menu(file, plugins)
        except TrigemuError:
            return validator.is_valid(tomllib.loads(text)), False
        return validator.is_valid(tomllib.loads(text)), True

    return taken


def test_a_menu_with_every_key(both: Both) -> None:
    """Budgets and what they were fitted on are in the ways to cut."""
    assert both(GOOD) == (True, True)
    tables = (MenuTable, TriggerTable, HardwareScale, Digits)
    names = {name for table in tables for name in table.__struct_fields__}
    keys = re.findall(r"(\w+) = ", GOOD)
    assert names.difference(keys) == {"unique_rate_hz", "total_rate_hz", "fitted_on"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *WAYS_TO_CUT,
        ("[menu]", "[manu]"),
        ("above = 100\n", "above = 100\nunique_rate_hz = 5\n"),
        ("rate_hz = 1", "unit = 'Hz'\nrate_hz = 1"),
        ("above = 100\n", "unique_rate_hz = 5\ntotal_rate_hz = 5\n"),
        ("above = 100\n", "unique_rate_hz = 0\n"),
        ("above = 100\n", 'total_rate_hz = "5"\n'),
        ("above = 100\n", "above = 100\nfitted_on = 3\n"),
        ("above = 0.5", ""),
        ('kind = "combination"\n', 'kind = "combination"\nunique_rate_hz = 5\n'),
        ("rate_hz = 100", "rate_hz = 100\nunique_rate_hz = 5"),
        ('name = "good"', "name = 3"),
        *(("format = 1", f"format = {value}") for value in ("0", "2", '"1"', "true", "[1]")),
        ("crossing_rate_hz = 40e6", "crossing_rate_hz = 0"),
        ('from = "jet"', 'form = "jet"'),
        ('from = "jet"', ""),
        ("pt = { min = 20 }", "pt = { mni = 20 }"),
        ("pt = { min = 20 }", 'pt = { min = "20" }'),
        ("any_of = [1, 3]", "any_of = [1.5]"),
        ("dr = 0.4", "dr = 0.4, dz = 1"),
        ("[[trigger]]", "[[triggers]]"),
        ('kind = "threshold"', 'kind = "treshold"'),
        ('kind = "threshold"', ""),
        ("above = 100\n", ""),
        ("above = 100\n", "above = 100\nabve = 3\n"),
        ("prescale = 2.5", "prescale = 0.5"),
        ("enabled = false", "enabled = 0"),
        ('name = "A"\n', ""),
        ('name = "A"', 'name = ""'),
        ("abs_max = 2 ", "absmax = 2 "),
        ("legs = [0, 1]", "legs = [0, 1, 2]"),
        ('charge = "opposite"', 'charge = "oposite"'),
        ("max = 18.0 }", "max = 18.0, abs_max = 2 }"),
        ('expression = "B"', ""),
        ("[integer.jet]", "[integre.jet]"),
        ("pt = { first = 0.0, step = 0.5, bins = 2046 }", ""),
        ("phi = { bins = 144 }", "phi = { bins = 1.5 }"),
        ("digits.muon-muon]", "digits.muonmuon]"),
        ("delta = 3", "delta = 10"),
        ('levels = ["L1", "HLT"]', 'levels = "L1"'),
        ('stored = "HLT_A"', "stored = 1"),
        ("above = 0.5", "abve = 0.5"),
    ],
)
def test_other_menus(both: Both, old: str, new: str) -> None:
    """All but the first four are broken."""
    assert old in GOOD
    assert both(GOOD.replace(old, new, 1)) == (((old, new) in WAYS_TO_CUT,) * 2)


def test_a_kind_that_began_as_a_copy(tmp_path: Path) -> None:
    """A plugin may well call its class Threshold, and its tables Leg."""
    source = (ROOT / "src" / "trigemu" / "triggers" / "combination.py").read_text()
    (tmp_path / "copied.py").write_text(source + '\n\nKINDS = {"copied": Combination}\n')
    schema = menu_schema(["copied"], [tmp_path])
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    leg: dict[str, Any] = {"object": "jet", "eta": {"abs_max": 2}}
    for kind in ("copied", "combination"):
        trigger = {"name": "A", "kind": kind, "legs": [leg]}
        check.validate({"trigger": [trigger]})
        assert not check.is_valid({"trigger": [trigger | {"legs": [leg | {"eta": 2}]}]})
        assert not check.is_valid({"trigger": [trigger | {"legs": [{"eta": {"abs_max": 2}}]}]})


def test_it_describes_kinds_for_an_editor() -> None:
    schema = menu_schema()
    variants = schema["properties"]["trigger"]["items"]["oneOf"]
    assert {v["title"] for v in variants} >= set(CORE.declared().kinds)
    assert all(v["description"] for v in variants)
    assert '"null"' not in json.dumps(schema)
    references = {word for word in json.dumps(schema).split('"') if word.startswith("#/$defs/")}
    assert references == {f"#/$defs/{name}" for name in schema["$defs"]}


def test_a_kind_without_descriptions(tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text(
        "from trigemu import ScoreKind\n\nclass Bare(ScoreKind, frozen=True):\n    size: int = 2\n\n"
        'KINDS = {"bare": Bare}\n'
    )
    variants = menu_schema(["bare"], [tmp_path])["properties"]["trigger"]["items"]["oneOf"]
    assert variants[-1]["properties"]["size"] == {"type": "integer", "default": 2}
    assert variants[-1]["properties"]["above"]["description"].startswith("The threshold on the score")


class Inner(TomlTable, frozen=True, rename={"from_": "from"}):
    """A table of
    two lines.

    And a paragraph.
    """

    #: The first key,
    #: on two lines.
    from_: str
    low: float  #: A low key.
    plain: int  # This describes nothing.


class Open(Inner, frozen=True):
    """A table with keys of any name."""

    further: ClassVar[str | None] = "others"

    low: float  #: Said anew.
    inner: Inner
    others: dict[str, int]  #: A key of any name.


def test_comments_describe_keys() -> None:
    names, definitions = schemas([Open], "#/{name}")
    assert set(names) == {Open, Inner}
    inner, made = definitions[names[Inner]], definitions[names[Open]]
    assert inner["description"] == "A table of two lines.\n\nAnd a paragraph."
    assert inner["properties"]["low"] == {"description": "A low key.", "type": "number"}
    assert made["additionalProperties"] == {"description": "A key of any name.", "type": "integer"}
    assert made["properties"] == inner["properties"] | {
        "low": {"description": "Said anew.", "type": "number"},
        "inner": {"$ref": f"#/{names[Inner]}"},
    }
    texts = {key: value.get("description") for key, value in inner["properties"].items()}
    assert texts == {"from": "The first key, on two lines.", "low": "A low key.", "plain": None}
