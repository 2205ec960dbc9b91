"""What names of objects mean: [objects.NAME], [sums.NAME], and [integer] with mistakes at their lines."""

from __future__ import annotations

import pickle
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from toys import menu_from

from trigemu.base.toml import TableError, load_toml, read_table
from trigemu.observables.hardware_scales import Digits, EtaScale, HardwareScale, LinearScale, PhiScale
from trigemu.observables.selections import (
    MAX_DERIVED,
    ObjectSelection,
    ObjectTable,
    Scope,
    SumTable,
    Window,
    Windowed,
    make_scope,
)

HARD = (("pt", Window(min=20.0)),)
CENTRAL = (("eta", Window(abs_max=2.4)),)


def scope_of(tmp_path: Path, text: str) -> tuple[Scope, list[tuple[tuple[str, ...], str]]]:
    file = tmp_path / "objects.toml"
    file.write_text(text)
    document = load_toml(file)
    mistakes: list[tuple[tuple[str, ...], str]] = []

    def tables(section: str, struct: Any) -> dict[str, Any]:
        entries = document.data.get(section, {})
        return {name: read_table(document, t, struct, (section, name), "") for name, t in entries.items()}

    objects, sums = tables("objects", ObjectTable), tables("sums", SumTable)
    scope = make_scope(objects, sums, lambda key, message: mistakes.append((key, message)))
    return scope, [*mistakes, *(((), p.message) for p in document.problems)]


def test_without_tables_names_mean_the_collections_of_the_sample(tmp_path: Path) -> None:
    scope, mistakes = scope_of(tmp_path, "")
    assert not mistakes
    for name in ("jet", "photon", "electron", "muon", "tau"):
        assert scope.object(name) == ObjectSelection(name)
    assert scope.ht == scope.mht == (ObjectSelection("jet"),)


def test_a_renamed_collection_is_known_by_its_content(tmp_path: Path) -> None:
    text = (
        '[objects.mine]\nfrom = "jet"\n[objects.other]\nfrom = "mine"\n[objects.tower]\nfrom = "calotower"\n'
    )
    scope, mistakes = scope_of(tmp_path, text)
    assert not mistakes
    assert scope.object("mine") == ObjectSelection("jet")
    assert scope.object("tower") == ObjectSelection("calotower")
    assert scope.object("other").base == "jet"


def test_from_its_own_name_is_the_collection_of_the_sample(tmp_path: Path) -> None:
    scope, mistakes = scope_of(tmp_path, '[objects.jet]\nfrom = "jet"\npt = { min = 20.0 }\n')
    assert not mistakes
    assert scope.object("jet") == ObjectSelection("jet", None, HARD)
    assert scope.ht == (ObjectSelection("jet", None, HARD),)


def test_order_of_tables_and_of_windows_does_not_matter(tmp_path: Path) -> None:
    first = (
        '[objects.b]\nfrom = "a"\nremove_overlap = {with = "photon", dr = 0.4}\n'
        '[objects.a]\nfrom = "jet"\npt = {min = 20}\neta = {abs_max = 2.4}\n'
    )
    second = (
        '[objects.a]\neta = {abs_max = 2.4}\npt = {min = 20}\nfrom = "jet"\n'
        '[objects.b]\nremove_overlap = {dr = 0.4, with = "photon"}\nfrom = "a"\n'
    )
    scopes = [scope_of(tmp_path, text)[0] for text in (first, second)]
    assert scopes[0] == scopes[1]
    a = ObjectSelection("jet", None, (*CENTRAL, *HARD))
    assert scopes[0].object("b") == ObjectSelection("jet", a, (), (ObjectSelection("photon"), 0.4))


def test_what_a_derivation_needs(tmp_path: Path) -> None:
    text = (
        '[objects.a]\nfrom = "jet"\nquality = {any_of = [1]}\n'
        '[objects.b]\nfrom = "a"\nremove_overlap = {with = "muon", dr = 0.4}\n'
    )
    scope, _ = scope_of(tmp_path, text)
    jet = {("jet", c) for c in ("pt", "eta", "phi", "quality")}
    assert set(scope.object("b").needs()) == jet | {("muon", c) for c in ("pt", "eta", "phi")}
    assert set(scope.object("jet").needs()) == {("jet", "pt")}


@pytest.mark.parametrize(
    ("text", "ht", "mht"),
    [
        ('[sums.ht]\nof = ["muon", "jet"]\n', ("muon", "jet"), ("muon", "jet")),
        ('[sums.mht]\nof = ["muon"]\n', ("muon",), ("muon",)),
        ('[sums.mht]\nof = ["muon"]\n[sums.ht]\nof = ["jet"]\n', ("jet",), ("muon",)),
    ],
)
def test_a_sum_follows_the_other_where_it_has_no_definition(
    tmp_path: Path, text: str, ht: tuple[str, ...], mht: tuple[str, ...]
) -> None:
    scope, mistakes = scope_of(tmp_path, text)
    assert not mistakes
    assert [d.base for d in scope.ht] == list(ht)
    assert [d.base for d in scope.mht] == list(mht)


A = '[objects.a]\nfrom = "{}"\n'
NAME = "expected a name of letters, digits and _, not beginning with a digit"
CHAIN = A.format("b") + '[objects.b]\nfrom = "c"\n[objects.c]\nfrom = "a"\n'
NEAR = A.format("jet") + "remove_overlap = {{with = '{}', dr = {}}}\n"


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        (CHAIN, "objects.a", "depends on itself: a → b → c → a"),
        (NEAR.format("a", 0.4), "objects.a", "depends on itself: a → a"),
        (A.replace(".a", ".1jet").format("jet"), "objects.1jet", NAME),
        (A.replace(".a", ".my-jet").format("jet"), "objects.my-jet", NAME),
        ('[sums.hht]\nof = ["jet"]\n', "sums.hht", "unknown sum 'hht'; did you mean 'ht'? (known: ht, mht)"),
        ("[sums.ht]\nof = []\n", "", "sums.ht.of = []: expected a list of length >= 1"),
        (NEAR.format("muon", 0.0), "", "objects.a.remove_overlap.dr = 0.0: expected a number > 0.0"),
        (
            NEAR.replace("lap", "lp").format("muon", 0.2),
            "",
            "unknown key 'remove_overlp'; did you mean 'remove_overlap'?",
        ),
    ],
)
def test_mistakes(tmp_path: Path, text: str, key: str, message: str) -> None:
    _, mistakes = scope_of(tmp_path, text)
    assert [(".".join(place), said) for place, said in mistakes] == [(key, message)]


def test_the_longest_chain_is_derived_hashed_and_pickled(tmp_path: Path) -> None:
    """In either order of the file."""
    lines = [f'[objects.a{i}]\nfrom = "a{i - 1}"\npt = {{ min = {i} }}\n' for i in range(MAX_DERIVED)]
    for text in ("".join(lines), "".join(reversed(lines))):
        scope, mistakes = scope_of(tmp_path, text)
        assert not mistakes
        last = scope.object(f"a{MAX_DERIVED - 1}")
        digest, again = hash(last), pickle.loads(pickle.dumps(last))
        assert vars(again).keys() == {field.name for field in fields(last)}  # hashes differ
        assert (again, hash(again), set(again.needs())) == (last, digest, {("a-1", "pt")})


def test_objects_that_are_used_again_and_again_are_bounded(tmp_path: Path) -> None:
    """Each is made of the one before twice: the last one of 2⁴⁰ selections."""
    lines = (
        f'[objects.a{i}]\nfrom = "a{i - 1}"\nremove_overlap = {{ with = "a{i - 1}", dr = 0.4 }}\n'
        for i in range(1, 40)
    )
    _, mistakes = scope_of(tmp_path, '[objects.a0]\nfrom = "jet"\n' + "".join(lines))
    assert "'a6' is derived from 126 objects by from and with" in mistakes[0][1]


def test_a_table_with_mistakes_makes_no_others(tmp_path: Path) -> None:
    text = (
        '[objects.a]\nform = "jet"\n[objects.b]\nfrom = "a"\n[sums.ht]\nof = ["a"]\n[sums.mht]\nat = ["a"]\n'
    )
    scope, mistakes = scope_of(tmp_path, text)
    assert sorted(message.split(";")[0] for _, message in mistakes) == [
        "the key 'from' is missing",
        "the key 'of' is missing",
        "unknown key 'at' (known: of)",
        "unknown key 'form'",
    ]
    assert scope.has_object("a")


def test_windows_that_let_nothing_pass() -> None:
    assert [key for key, _ in Window().mistakes()] == [""]
    assert [key for key, _ in Window(abs_min=2.0, abs_max=1.0).mistakes()] == ["abs_min"]
    assert not list(Window(abs_min=1.0, abs_max=1.0).mistakes())
    windows = {name: Window(min=2.0, max=1.0) for name in ("phi", "eta")}
    assert [key for key, _ in Windowed(windows=windows).mistakes()] == ["eta"]


TABLES = """[objects.hard]
from = "L1Jet"
pt = { min = 30.0 }
[objects.l1jet]
from = "L1Jet"
[integer.l1jet]
pt = { first = 0.0, step = 0.5, bins = 2046 }
eta = { step = 0.0435 }
phi = { bins = 144 }
[integer.muon]
pt = { first = -0.5, step = 0.5, bins = 511 }
eta = { step = 0.010875, centred = true }
[integer.digits]
l1jet-muon = { delta = 3 }
muon-muon = { pt = 1, mass = 1, trigonometry = 4 }
[[trigger]]
name = "T"
kind = "random"
rate_hz = 1
"""


def test_what_it_says(tmp_path: Path) -> None:
    """By collections of the sample: whatever is selected from them has the same scales."""
    integers = menu_from(tmp_path, TABLES).scope.integers
    assert integers is not None
    jet = HardwareScale(
        pt=LinearScale(first=0.0, step=0.5, bins=2046), eta=EtaScale(step=0.0435), phi=PhiScale(bins=144)
    )
    assert integers.scale("L1Jet") == jet
    assert integers.scale("l1jet") is None
    assert integers.of_pair("L1Jet", "muon") == integers.of_pair("muon", "L1Jet") == Digits(delta=3)
    assert integers.of_pair("muon", "muon") == Digits(pt=1, mass=1, trigonometry=4)
    assert integers.of_pair("L1Jet", "L1Jet") == Digits()


def test_a_menu_without(tmp_path: Path) -> None:
    assert menu_from(tmp_path, TABLES[TABLES.index("[[trigger]]") :]).scope.integers is None


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("[integer.muon]", "[integer.moun]", 10, "unknown object 'moun'; did you mean 'muon'?"),
        ("step = 0.5, bins = 511", "step = 0, bins = 511", 11, "expected a number > 0.0"),
        ("bins = 144", "bins = 0", 9, "expected an integer >= 1"),
        ("centred", "centered", 12, "unknown key 'centered'; did you mean 'centred'?"),
        ("delta = 3", "dalta = 3", 14, "unknown key 'dalta'; did you mean 'delta'?"),
        ("l1jet-muon", "jet-muon", 14, "jet-muon: no [integer.jet]; did you mean 'l1jet'?"),
        ("l1jet-muon", "l1jet", 14, "'l1jet': expected two objects, as in jet-muon"),
        ("[integer.muon]", "[integer.hard]", 10, "'L1Jet' already has a different scale above"),
    ],
)
def test_mistakes_of_scales(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    with pytest.raises(TableError) as error:
        menu_from(tmp_path, TABLES.replace(old, new, 1))
    first = error.value.problems[0]
    assert first.line == line
    assert message in first.message


@pytest.mark.parametrize("text", ["integer = 3\n", "[integer]\ndigits = 3\n"])
def test_no_tables(tmp_path: Path, text: str) -> None:
    with pytest.raises(TableError, match="expected"):
        menu_from(tmp_path, text + TABLES[TABLES.index("[[trigger]]") :])
