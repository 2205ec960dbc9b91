"""Menus as users write them, right and wrong."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from toys import combination, logic, menu_from, threshold

from trigemu import Menu, TrigemuError, read_menu
from trigemu.base.errors import MAX_PROBLEMS
from trigemu.base.toml import TableError
from trigemu.menus.menu import Budget, Solution
from trigemu.observables.selections import ObjectSelection, Window
from trigemu.triggers.combination import Combination
from trigemu.triggers.logic import Logic, Random, parse_expression
from trigemu.triggers.threshold import Threshold

FULL = (
    '[menu]\nname = "full"\ncrossing_rate_hz = 30e6\n[objects.jet]\nfrom = "jet"\npt = { min = 20.0 }\n'
    + threshold("SEEDED", "met", 60, """seed = "J100 and 'MIXED'"\ngroup = "met"\ncoherent = "counter\"""")
    + logic("MIXED", "J100 or not MUMU", "prescale = 4")
    + threshold("J100", "jet[0].pt", 100.0, "prescale = 2.5")
    + combination("MUMU", '{ object = "muon" }, { object = "muon" }', "enabled = false")
    + '[[trigger]]\nname = "ANY"\nkind = "random"\nrate_hz = 1000\nprescale = 2\n'
)


def read(tmp_path: Path, text: str, plugins: dict[str, str] | None = None) -> Menu:
    folder = tmp_path / "plugins"
    folder.mkdir(exist_ok=True)
    for name, source in (plugins or {}).items():
        (folder / f"{name}.py").write_text(source)
    file = tmp_path / "menu.toml"
    file.write_text(text)
    return read_menu(file, [folder])


def mistakes(tmp_path: Path, text: str, plugins: dict[str, str] | None = None) -> list[tuple[int, str]]:
    with pytest.raises(TableError) as error:
        read(tmp_path, text, plugins)
    assert all(problem.file == str(tmp_path / "menu.toml") for problem in error.value.problems)
    return [(p.line, f"{p.where}: {p.message}" if p.where else p.message) for p in error.value.problems]


def test_what_a_menu_says(tmp_path: Path) -> None:
    menu = read(tmp_path, FULL)
    assert (menu.name, menu.crossing_rate_hz, menu.plugins) == ("full", 30e6, ())
    assert [t.name for t in menu.triggers] == ["SEEDED", "MIXED", "J100", "MUMU", "ANY"]
    assert [t.name for t in menu.enabled] == ["SEEDED", "MIXED", "J100", "ANY"]
    assert [t.kind for t in menu.triggers] == ["threshold", "logic", "threshold", "combination", "random"]
    assert [t.prescale for t in menu.triggers] == [1.0, 4.0, 2.5, 1.0, 60_000.0]
    seeded = menu.trigger("SEEDED")
    assert (seeded.group, seeded.coherent) == ("met", "counter")
    assert seeded.seed == parse_expression("J100 and MIXED")
    assert seeded.description == Threshold(observable="met", above=60.0)
    assert seeded.inputs() == ("J100", "MIXED")
    assert menu.trigger("MIXED").description == Logic(expression="J100 or not MUMU")
    assert isinstance(menu.trigger("MUMU").description, Combination)
    line = FULL.splitlines().index('name = "J100"')  # counted from 0: that of its [[trigger]] from 1
    assert menu.trigger("ANY").description == Random(rate_hz=1000.0)
    assert menu.trigger("J100").place == f"{tmp_path / 'menu.toml'}:{line}"
    assert menu.scope.object("jet") == ObjectSelection("jet", None, (("pt", Window(min=20.0)),))
    assert sorted(menu.order) == sorted(t.name for t in menu.triggers)
    for trigger in menu.triggers:
        for name in trigger.inputs():
            assert menu.order.index(name) < menu.order.index(trigger.name)


def test_without_a_name_it_is_called_as_its_file(tmp_path: Path) -> None:
    menu = read(tmp_path, '[[trigger]]\nname = "A"\nkind = "random"\nrate_hz = 1\n')
    assert (menu.name, menu.crossing_rate_hz) == ("menu", 40e6)


def test_all_mistakes_at_once_each_at_its_line(tmp_path: Path) -> None:
    text = """\
[menu]
crossing_rate_hz = 0
nmae = "x"
[objects.lead]
form = "jet"
[sums.hht]
of = ["jet"]
[[trigger]]
name = "A"
kind = "treshold"
seed = "B and ("
[[trigger]]
name = "B"
kind = "threshold"
observable = "lead[0].pt + foo(jet[0])"
above = nan
[[trigger]]
name = "B"
kind = "combination"
prescale = 0
legs = [{ object = "muonn" },
    { object = "lead", pt = {} }]
pairs = [{ legs = [0, 1], mass = { min = 3, max = 1 } }]
[[trigger]]
name = "D"
kind = "logic"
expression = "B or nothing"
seed = "Bee"
[[trigger]]
kind = "random"
rate_hz = 50e6
[triger]
"""
    expected = [
        (2, "[menu]: menu.crossing_rate_hz = 0: "),
        (3, "[menu]: unknown key 'nmae'; did you mean 'name'?"),
        (4, "[objects.lead]: the key 'from' is missing"),
        (5, "[objects.lead]: unknown key 'form'; did you mean 'from'?"),
        (6, "[sums.hht]: unknown sum 'hht'; did you mean 'ht'?"),
        (10, "trigger 'A': unknown kind 'treshold'; did you mean 'threshold'?"),
        (11, "trigger 'A': seed: 'B and (': cannot be read at column 7"),
        (16, "trigger 'B': above = nan: "),
        (18, "trigger 'B': name = 'B': another trigger has this name (line 12)"),
        (20, "trigger 'B': prescale = 0: "),
        (22, "trigger 'B': legs[1].pt: an empty window"),
        (23, "trigger 'B': pairs[0].mass: min = 3.0 is above max = 1.0"),
        (27, "trigger 'D': expression: unknown trigger 'nothing' (known: A, B)"),
        (28, "trigger 'D': seed: unknown trigger 'Bee' (known: A, B)"),
        (29, "trigger 'number 5': the key 'name' is missing"),
        (31, "trigger 'number 5': its rate is above the crossing rate of 4e+07 Hz"),
        (32, "unknown table [triger]; did you mean [[trigger]]?"),
    ]
    found = mistakes(tmp_path, text)
    assert [line for line, _ in found] == [line for line, _ in expected]
    for (_, message), (_, beginning) in zip(found, expected, strict=True):
        assert message.startswith(beginning)


def trigger(text: str) -> str:
    return f'[[trigger]]\nname = "T"\n{text}\n'


RANDOM = 'kind = "random"\nrate_hz = 1'
LEG = '{ object = "jet" }'


def window(limits: str) -> str:
    return f'{{ object = "jet", eta = {{ {limits} }} }}'


def legs(*legs: str, pair: str = "") -> str:
    pairs = f"\npairs = [\n {{ legs = {pair} }}]" if pair else ""
    return trigger(f'kind = "combination"\nlegs = [{", ".join(legs)}]{pairs}')


def score(text: str, name: str = "T") -> str:
    return threshold(name, "met", None, text)


BOTH = (5, "trigger 'T': unique_rate_hz and total_rate_hz: ")
NO_CROSSING_RATE = "expected 1e-12 to 1.20893e+24 Hz, such as 40e6"
MISTAKES: list[Any] = [
    ("", (1, "a menu needs at least one [[trigger]]")),
    ("trigger = []\n", (1, "a menu needs at least one [[trigger]]")),
    ("\ntrigger = 3\n", (2, "a menu needs at least one [[trigger]]")),
    ("\ntrigger = [\n 3 ]\n", (3, "expected a table [[trigger]]")),
    ("menu = 3\n" + trigger(RANDOM), (1, "[menu]: menu = 3: expected a table")),
    ("[menu]\nformat = 0\n" + trigger(RANDOM), (2, "[menu]: menu.format = 0: expected an integer >= 1")),
    ("objects = 3\n" + trigger(RANDOM), (1, "expected tables [objects.NAME]")),
    ("sums = [1]\n" + trigger(RANDOM), (1, "expected tables [sums.NAME]")),
    *(
        (FULL.replace("30e6", rate), (3, f"[menu]: crossing_rate_hz = {float(rate):g}: {NO_CROSSING_RATE}"))
        for rate in ("1e300", "1e-300", "1.3e24")
    ),
    (trigger(""), (1, "trigger 'T': the key 'kind' is missing (known: anomaly, combination, ")),
    (trigger('kind = "threshold"\nobservable = "met"\nthreshold = 1'), (5, "did you mean 'above'?")),
    (trigger(RANDOM).replace('"T"', "[]"), (2, "trigger []: name = []: expected a string, got a list")),
    (trigger("kind = []"), (3, "trigger 'T': kind = []: expected a string, got a list")),
    (trigger('kind = "logic"'), (1, "trigger 'T': the key 'expression' is missing")),
    (trigger(RANDOM + "\nprescal = 3"), (5, "T': unknown key 'prescal'; did you mean 'prescale'?")),
    (trigger(RANDOM + "\nprescale = inf"), (5, "prescale = inf: expected a finite number")),
    (trigger(RANDOM + '\nenabled = "no"'), (5, "enabled = 'no': expected true or false")),
    (trigger('kind = "random"\nrate_hz = 0'), (4, "rate_hz = 0: expected a number > 0.0")),
    (trigger('kind = "random"\nrate_hz = 4.1e7'), (4, "its rate is above the crossing rate of 4e+07 Hz")),
    (trigger(RANDOM + '\nseed = "1 + 1"'), (5, "seed: '1 + 1': '1 + 1' is not a trigger")),
    (trigger('kind = "logic"\nexpression = "T"'), (1, "depends on itself: T → T")),
    (
        logic("OUT", "A") + logic("A", "not T") + logic("C", "A") + trigger(f'{RANDOM}\nseed = "C"'),
        (6, "trigger 'A': depends on itself: A → T → C → A"),
    ),
    (trigger(RANDOM + "\nenabled = false"), (1, "no trigger is enabled")),
    (trigger('kind = "logic"\nexpression = "not (a < b)"'), (4, "'a < b' is not a trigger name")),
    (trigger('kind = "threshold"\nabove = 1\nobservable = ""'), (5, "observable: '': is empty")),
    (legs(), (4, "0 legs: expected 1 to 12")),
    (legs(*[LEG] * 13), (4, "13 legs: expected 1 to 12")),
    (legs(LEG, LEG, pair="[1, 1]"), (6, "pairs[0].legs = [1, 1]: expected two different ones of 0 … 1")),
    (legs(LEG, LEG, pair="[0, 2]"), (6, "pairs[0].legs = [0, 2]: expected two different ones of 0 … 1")),
    (legs(LEG, LEG, pair="[0, 1, 2]"), (6, "pairs[0].legs = [0, 1, 2]: expected a list of length 2")),
    (legs(LEG, LEG, pair="[0, 1], dr = {}"), (6, "pairs[0].dr: an empty range")),
    (legs(window("min = 2, max = 1")), (4, "legs[0]: eta: min = 2.0 is above max = 1.0")),
    (legs(window("abs_min = 2, abs_max = 1")), (4, "legs[0].eta: abs_min = 2.0 is above abs_max = 1.0")),
    ("[objects.a]\nfrom = 'b'\n[objects.b]\nfrom = 'a'\n" + trigger(RANDOM), (1, ": a → b → a")),
    # Budgets.
    (score(""), (3, "trigger 'T': the key 'above' is missing, or ")),
    (score("total_rate_hz = 3\nunique_rate_hz = 5"), BOTH),
    (score("above = 1\nunique_rate_hz = 5"), (5, "trigger 'T': above and unique_rate_hz: ")),
    (score("total_rate_hz = 5\nabove = 1"), (6, "trigger 'T': above and total_rate_hz: ")),
    (score("total_rate_hz = 3\nunique_rate_hz = 5\nabove = 1"), BOTH, (7, "above and unique_rate_hz: ")),
    (score("unique_rate_hz = 0"), (5, "trigger 'T': unique_rate_hz = 0: ")),
    (score("total_rate_hz = -2.5\nprescale = 0"), (5, "T': total_rate_hz = -2.5: "), (6, "prescale = 0: ")),
    (score("unique_rate_hz = inf"), (5, "trigger 'T': unique_rate_hz = inf: ")),
    (score("unique_rate_hz = '5'"), (5, "trigger 'T': unique_rate_hz = '5': ")),
    (score("unique_rate = 5"), (5, "trigger 'T': unknown key 'unique_rate'; did you mean 'unique_")),
    (trigger(RANDOM + "\nunique_rate_hz = 5"), (5, "trigger 'T': unique_rate_hz: the kind 'random'")),
    (
        trigger(f'kind = "combination"\nlegs = [{LEG}]\ntotal_rate_hz = 5'),
        (5, "trigger 'T': total_rate_hz: the kind 'combination'"),
    ),
    (
        score("above = 1", "U") + trigger('kind = "logic"\nexpression = "U"\nunique_rate_hz = 1'),
        (10, "trigger 'T': unique_rate_hz: the kind 'logic'"),
    ),
    # No mistake hides another.
    (
        trigger('kind = "threshold"\nobservable = "jet[0].pt >"\nabov = 3'),
        (4, "observable: 'jet[0].pt >': cannot be read"),
        (5, "unknown key 'abov'"),
    ),
    (
        trigger(
            'kind = "threshold"\nobservable = "bar(jet[0])"\nprescale = 0\nabove = 1\nrequires = "n_jet"'
        ),
        *((4, "unknown function 'bar'"), (5, "prescale = 0: "), (7, "'n_jet' is not a condition")),
    ),
    (
        trigger('kind = "logic"\nexpression = "X or Y"\nseed = "X"'),
        *((4, "expression: unknown trigger 'X'"), (4, "unknown"), (5, "seed: unknown trigger")),
    ),
]


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(tmp_path: Path, case: Any) -> None:
    text, *expected = case
    found = mistakes(tmp_path, text)
    assert [line for line, _ in found] == [line for line, _ in expected]
    assert all(part in message for (_, message), (_, part) in zip(found, expected, strict=True))


@pytest.mark.parametrize("kind", ['kind = "logic"\nexpression = "T{}"', RANDOM + '\nseed = "T{}"'])
@pytest.mark.parametrize("step", [1, -1])
def test_chains_of_logic_and_seeds_are_followed(tmp_path: Path, kind: str, step: int) -> None:
    """In either order of the file, without recursion."""
    tables = [trigger(RANDOM).replace('"T"', '"T0"')]
    tables += [trigger(kind.format(i - 1)).replace('"T"', f'"T{i}"') for i in range(1, 1500)]
    assert read(tmp_path, "".join(tables[::step])).order == tuple(f"T{i}" for i in range(1500))


def test_a_file_with_very_many_mistakes_is_not_read_to_its_end(tmp_path: Path) -> None:
    text = "".join(trigger('kind = "x"').replace('"T"', f'"T{i}"') for i in range(MAX_PROBLEMS + 50))
    with pytest.raises(TableError, match=r"\n… and perhaps more: correct these first$") as error:
        read(tmp_path, text)
    assert len(error.value.problems) == MAX_PROBLEMS


def test_a_kind_of_a_plugin_that_the_menu_does_not_list(tmp_path: Path) -> None:
    """It is named, and not loaded."""
    found = mistakes(tmp_path, trigger('kind = "mine"'), {"p": "KINDS = {'mine': 3}\nraise SystemExit"})
    remedy = "the plugin 'p' provides it: list it as plugins = ['p'] under [menu]"
    assert found == [(3, f"trigger 'T': unknown kind 'mine'; {remedy}")]


PLUGIN = """
from trigemu.triggers.base import BitKind, Compiled, Kind
class Mine(Kind, frozen=True):
    above: float
    def mistakes(self):
        MISTAKES
    def compile(self, context):
        COMPILE
class Bits(BitKind, frozen=True):
    def inputs(self):
        INPUTS
KINDS = {"mine": Mine, "bits": Bits}
"""


@pytest.mark.parametrize(
    ("part", "code", "kind", "message"),
    [
        ("COMPILE", "1 / 0", "mine", "its kind failed to compile it: ZeroDivisionError: division by zero"),
        (
            "COMPILE",
            "return 3",
            "mine",
            "failed to compile it: TypeError: expected an object with threshold and evaluate",
        ),
        ("COMPILE", "context.condition('mun')", "mine", "'mun' is not a condition, such as n_photon >= 1"),
        (
            "COMPILE",
            "from dataclasses import make_dataclass\n"
            "        methods = {'evaluate': lambda self, work: None}\n"
            "        of = dict(bases=(Compiled,), namespace=methods, frozen=True)\n"
            "        made = make_dataclass('C', ['threshold'], **of)\n"
            "        return made(None) if self.above > 1 else made([])",
            "mine",
            "its kind failed to compile it: TypeError: unhashable type: 'list'",
        ),
        ("MISTAKES", "raise KeyError('x')", "mine", "its kind failed to read it: KeyError: 'x'"),
        ("INPUTS", "raise KeyError('x')", "bits", "its kind failed to read it: KeyError: 'x'"),
        ("MISTAKES", "yield 'above', 'is odd'", "mine", "is odd"),
    ],
)
def test_a_plugin_that_fails(tmp_path: Path, part: str, code: str, kind: str, message: str) -> None:
    source = PLUGIN.replace(part, code)
    for other, harmless in (("MISTAKES", "return ()"), ("COMPILE", "return None"), ("INPUTS", "return ()")):
        source = source.replace(other, harmless)
    keys = "above = 1" if kind == "mine" else ""
    text = '[menu]\nplugins = ["p"]\n' + trigger(f'kind = "{kind}"\n{keys}')
    ((line, found),) = mistakes(tmp_path, text, {"p": source})
    assert found.startswith("trigger 'T': ")
    assert message in found
    assert line == (6 if message == "is odd" else 3)


@pytest.mark.parametrize(
    ("plugin", "message"), [("q", "no plugin 'q' is installed or in"), ("p", "provides no kinds")]
)
def test_a_plugin_that_cannot_be_used(tmp_path: Path, plugin: str, message: str) -> None:
    """Its line; what else can be wrong with a plugin is in triggers/test_kinds.py."""
    text = f'[menu]\n\nplugins = ["{plugin}"]\n{trigger(RANDOM)}'
    ((line, found),) = mistakes(tmp_path, text, {"p": "KINDS = {}"})
    assert (line, found.startswith("[menu]: "), message in found) == (3, True, True)


@pytest.mark.parametrize("key", ["unique_rate_hz", "total_rate_hz"])
def test_a_budget_in_place_of_a_cut(tmp_path: Path, key: str) -> None:
    menu = read(tmp_path, score(f"{key} = 5") + score("above = 3\nfitted_on = 'toy'", "U"))
    t, u = menu.triggers
    assert t.budget == Budget("unique" if key == "unique_rate_hz" else "total", 5.0)
    assert t.budget.key == key
    assert t.solution is None
    assert isinstance(t.description, Threshold)
    assert t.description.threshold == math.inf
    assert (u.budget, u.fitted_on) == (None, "toy")
    assert menu.budgeted == (t,)
    solved = menu.solved({"T": Solution(2.5, 0.1, 0.0, 1.0)})
    assert solved.trigger("T").description == Threshold(observable="met", above=2.5)
    assert solved.budgeted == ()
    assert solved.trigger("U") == u


@pytest.mark.parametrize(
    ("reader", "key"),
    [
        ('kind = "logic"\nexpression = "U or T"', "expression"),
        ('kind = "threshold"\nobservable = "ht"\nabove = 3\nseed = "T"', "seed"),
        ('kind = "logic"\nexpression = "U"\nseed = "T and U"', "seed"),
    ],
)
@pytest.mark.parametrize("enabled", ["true", "false"])
def test_a_trigger_with_a_budget_cannot_be_read(tmp_path: Path, reader: str, key: str, enabled: str) -> None:
    budget = score(f"unique_rate_hz = 5\nenabled = {enabled}")
    text = f'{score("above = 1", "U")}{budget}[[trigger]]\nname = "R"\n{reader}\n'
    ((line, message),) = mistakes(tmp_path, text)
    assert text.splitlines()[line - 1].startswith(f"{key} = ")
    assert message.startswith(f"trigger 'R': {key}: 'T' has unique_rate_hz, and other triggers cannot read")
    assert message.endswith("give it above")


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("[[triggers]]", r"1: unknown table \[\[triggers\]\]; did you mean \[\[trigger\]\]\? \(a menu has"),
        ("[[Trigger]]", r"1: unknown table \[\[Trigger\]\]; did you mean \[\[trigger\]\]\?"),
        ("[trigger]", r"1: \[trigger\]: expected \[\[trigger\]\] in two brackets"),
        ("[trigger.J]", r"1: \[trigger\]: expected \[\[trigger\]\] in two brackets"),
        ("[[rule]]", "1: this is a set of trigger rules, not a menu: trigemu live takes it as --rules"),
        ("[goals]", "1: this is a file of goals, not a menu: trigemu optimise takes it as GOALS"),
        ("[[rules]]\n[[trigger]]", r"1: unknown table \[\[rules\]\]; a set of trigger rules is a file"),
        ("[[menu]]\n[[trigger]]", r"1: .*expected one table \[menu\], in single brackets"),
        ("[[objects.jet]]\n[[trigger]]", r"1: .*expected one table \[objects.jet\], in single brackets"),
        ("[object.jet]\n[[trigger]]", r"1: unknown table \[object\]; did you mean \[objects.NAME\]\?"),
    ],
)
def test_tables_of_another_form_or_file(tmp_path: Path, head: str, message: str) -> None:
    """One message, which says how the table is written, or which command takes the file."""
    with pytest.raises(TrigemuError, match=message) as error:
        menu_from(tmp_path, f'{head}\nname = "J"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = 1\n')
    assert "\n" not in str(error.value)
