"""What a user of `trigemu check` sees."""

from __future__ import annotations

import json
import lzma
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from l1_toys import jet, muon, vector_line, write_menu
from real_data import real_file
from trigemu_cms import CMSVector, import_cms_l1

Command = Callable[..., tuple[int, str]]

EXPRESSIONS = {
    "L1_Jet20": "JET20",
    "L1_Mu5": "MU5[MU-QLTY_SNGL]",
    "L1_Jet20_Mu5": "JET20 AND MU5[MU-QLTY_SNGL]",
    "L1_NotJet20": "NOT JET20",
}
#: The numbers of a trigger that agrees on 3 crossings.
EQUAL = {
    **{"agree": 3, "only_emulated": 0, "only_stored": 0},
    **{"skipped": None, "not_compared": 0, "equals": None},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """menu.xml; menu.toml, imported; and vector.txt, whose second crossing has one wrong bit."""
    folder = tmp_path_factory.mktemp("made")
    imported = import_cms_l1(write_menu(folder, EXPRESSIONS))
    (folder / "menu.toml").write_text(imported.toml)
    lines = [
        vector_line(0, jets=[jet(40)], muons=[muon(11)], algorithms=0b0111),
        vector_line(1, jets=[jet(39)], muons=[muon(11)], algorithms=0b1011),
        vector_line(2, jets=[jet(40)], algorithms=0b0001),
    ]
    (folder / "vector.txt").write_text("\n".join(lines))
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current one, with these files."""
    monkeypatch.chdir(tmp_path)
    for file in made.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def put(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))


def test_a_difference_is_shown_with_its_objects(folder: Path, trigemu: Command) -> None:
    status, text = trigemu("check", "menu.toml", "vector.txt", "--json", "c.json")
    assert status == 1
    assert "L1_Jet20, only stored: event 1 (vector.txt, entry 1)" in text
    assert "    jet[0]: pt 19.5, eta 0.02175, phi 0.0218166\n" in text
    assert "4 triggers, 3 crossings: 4 compared, 3 agree, 1 differ, 0 skipped." in text
    assert json.loads((folder / "c.json").read_text()) == {
        "crossings": 3,
        "left_out": None,
        "triggers": [
            {**EQUAL, "name": "L1_Jet20", "agree": 2, "only_stored": 1},
            *({**EQUAL, "name": name} for name in list(EXPRESSIONS)[1:]),
        ],
    }


def test_agreement_is_status_0(folder: Path, trigemu: Command) -> None:
    put(folder, "vector.txt", "b 0", "a 0")
    status, text = trigemu("check", "menu.toml", "vector.txt", "--strict")
    assert (status, "4 compared, 4 agree" in text) == (0, True)


def test_skipped_triggers_are_reported_and_a_failure_if_requested(folder: Path, trigemu: Command) -> None:
    put(folder, "vector.txt", "b 0", "a 0")
    put(folder, "menu.toml", 'stored = "1"', 'stored = "512"')
    status, text = trigemu("check", "menu.toml", "vector.txt", "--json", "c.json")
    reason = "sample 'vector' has no stored decision '512'"
    assert (status, f"Skipped: L1_Mu5: {reason}" in text) == (0, True)
    assert "4 triggers, 3 crossings: 3 compared, 3 agree, 0 differ, 1 skipped." in text
    expected = {**EQUAL, "name": "L1_Mu5", "agree": 0, "skipped": reason}
    assert json.loads((folder / "c.json").read_text())["triggers"][1] == expected
    assert trigemu("check", "menu.toml", "vector.txt", "--strict")[0] == 1


def test_crossings_that_are_no_neighbours(folder: Path, trigemu: Command) -> None:
    """Of three crossings in a row one has both neighbours; of unrelated ones none has any."""
    file = folder / "menu.toml"
    leg = '[{ object = "muon", crossing = -1 }]'
    trigger = f'[[trigger]]\nname = "before"\nstored = "9"\nkind = "combination"\nlegs = {leg}\n'
    file.write_text(f"{file.read_text()}\n{trigger}")
    _, text = trigemu("check", "menu.toml", "vector.txt")
    assert "Not compared: 2 crossings of each of before, at the ends of files" in text
    assert "5 triggers, 3 crossings: 5 compared," in text
    status, text = trigemu("check", "menu.toml", "vector.txt", "--not-consecutive", "--strict")
    reason = "it reads neighbouring crossings, but the events of sample 'vector'"
    assert f"Skipped: before: {reason}" in " ".join(text.split())
    assert (status, "5 triggers, 3 crossings: 4 compared, 3 agree, 1 differ, 1 skipped." in text) == (1, True)


def test_all_257_algorithms_of_2016_agree(tmp_path: Path, trigemu: Command) -> None:
    menu = str(tmp_path / "menu.toml")
    xml = real_file("cms_l1", "L1Menu_Collisions2016_v8_m2.xml.xz")
    vector = real_file("cms_l1", "TestVector_L1Menu_Collisions2016_v8.txt.xz")
    assert trigemu("import", "cms-l1", str(xml), "-o", menu, "--mass-limit")[0] == 0
    status, text = trigemu("check", menu, str(vector))
    assert "257 triggers, 3564 crossings: 257 compared, 257 agree, 0 differ, 0 skipped." in text
    assert status == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("menu", "vector", "as_emulated", "options", "numbers"),
    [
        ("2016_v9_m2", "2016_v9", [], [], "264 compared, 262 agree, 2 differ, 0 skipped"),
        ("2018_v2_1_0_rebuilt", "2018_v2_1_0", ["--any-overlap-vetoes"], [], "343 compared, 343 agree"),
        ("2025_v1_0_0_rebuilt", "2025_v1_0_0_data", [], ["--not-consecutive"], "437 compared, 437 agree"),
    ],
)
def test_further_menus_decide_as_recorded(
    tmp_path: Path,
    trigemu: Command,
    menu: str,
    vector: str,
    as_emulated: list[str],
    options: list[str],
    numbers: str,
) -> None:
    """With other options than the test of all menus: of 2016, masses above 1414 GeV differ; of 2018, an older
    overlap removal; of 2025, an algorithm that looks at the crossing before, which its recorded events do not
    have."""
    xml = str(real_file("cms_l1", f"L1Menu_Collisions{menu}.xml.xz"))
    toml = str(tmp_path / "menu.toml")
    assert trigemu("import", "cms-l1", xml, "-o", toml, *as_emulated)[0] == 0
    file = str(real_file("cms_l1", f"TestVector_L1Menu_Collisions{vector}.txt.xz"))
    status, text = trigemu("check", toml, file, *options)
    assert (status, f"crossings: {numbers}" in text) == (int("differ" in numbers), True)


def test_pairs_at_the_same_place_decide_as_recorded_in_2018(tmp_path: Path, trigemu: Command) -> None:
    """In crossing 288 two isolated τ are at the same (η, φ), and no other pair has a small mass."""
    vector = str(real_file("cms_l1", "TestVector_L1Menu_Collisions2018_v2_1_0.txt.xz"))
    with lzma.open(real_file("cms_l1", "L1Menu_Collisions2018_v2_1_0_rebuilt.xml.xz"), "rt") as file:
        algorithms = re.compile("<algorithm>.*?</algorithm>", re.DOTALL)
        text = algorithms.sub(lambda found: found[0] if "Mass_Max" in found[0] else "", file.read())
    xml, menu = tmp_path / "menu.xml", tmp_path / "menu.toml"
    xml.write_text(text)
    assert trigemu("import", "cms-l1", str(xml), "-o", str(menu))[0] == 0
    triggers = tomllib.loads(menu.read_text())["trigger"]
    bits = {trigger["name"]: trigger["stored"] for trigger in triggers if "stored" in trigger}
    bit = bits["L1_DoubleIsoTau28er2p1_Mass_Max90"]
    assert CMSVector(vector).read_stored(288, 289, [bit])[bit].all()
    status, message = trigemu("check", str(menu), vector)
    assert (status, f"{len(bits)} compared, {len(bits)} agree" in message) == (0, True)


def test_all_pairs_of_a_folder(folder: Path, trigemu: Command) -> None:
    (folder / "menu.txt").write_text((folder / "vector.txt").read_text())
    status, text = trigemu("check", "--all", ".", "--csv", "m.csv", "--json", "m.json")
    assert (status, "menu.xml on menu.txt: differs: L1_Jet20 on 1 of 3 crossings, " in text) == (1, True)
    assert "Without a counterpart of the same name: vector.txt." in text
    rows = (folder / "m.csv").read_text().splitlines()
    assert [row.split(",")[:8] for row in rows[1:]] == [
        [name, "menu.txt", "4", "0", "4", "3", "1", "0"] for name in ("menu.toml", "menu.xml")
    ]
    pairs = json.loads((folder / "m.json").read_text())["pairs"]
    assert [(pair["menu"], len(pair["triggers"])) for pair in pairs] == [("menu.toml", 4), ("menu.xml", 4)]


def test_algorithms_that_are_left_out_fail_if_requested(folder: Path, trigemu: Command) -> None:
    (folder / "menu.toml").unlink()
    write_menu(folder, EXPRESSIONS | {"L1_AXO": "AXO"})
    (folder / "menu.txt").write_text((folder / "vector.txt").read_text().replace("b 0", "a 0"))
    assert trigemu("check", "--all", ".")[0] == 0
    status, text = trigemu("check", "--all", ".", "--strict")
    assert (status, "menu.xml on menu.txt: left out of the import: " in text) == (1, True)


@pytest.fixture
def moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With menu.toml of eight thresholds of jets, bits 0 to 7, and menu.txt, which lacks bit 3 and numbers
    the later ones from 3 on."""
    monkeypatch.chdir(tmp_path)
    xml = write_menu(tmp_path, {f"L1_Jet{pt}": f"JET{pt}" for pt in range(20, 36, 2)})
    (tmp_path / "menu.toml").write_text(import_cms_l1(xml).toml)
    lines = []
    for number, pt in enumerate([*range(36, 74)] * 2):
        bits = (1 << max(0, min(8, (pt - 36) // 4))) - 1
        bits = bits & 0b111 | bits >> 1 & 0b11111000
        lines.append(vector_line(number, jets=[jet(pt)], algorithms=bits))
    (tmp_path / "menu.txt").write_text("\n".join(lines))
    xml.unlink()
    return tmp_path


def test_a_vector_that_numbers_its_bits_otherwise(moved: Path, trigemu: Command) -> None:
    """The algorithm of bit 3 is lost; that of bit n + 1 has bit n."""
    status, text = trigemu("check", "menu.toml", "menu.txt")
    text = " ".join(text.split())
    assert (status, "their own -1: L1_Jet28 (4: 3)," in text) == (1, True)
    assert "8 triggers, 76 crossings: 8 compared, 3 agree, 5 differ, 0 skipped." in text
    files = ("--csv", "m.csv", "--json", "m.json")
    status, text = trigemu("check", "--all", ".", "--match-bits", *files)
    assert (status, "menu.toml on menu.txt: differs: L1_Jet26 on" in " ".join(text.split())) == (1, True)
    row = (moved / "m.csv").read_text().splitlines()[1]
    assert row.startswith("menu.toml,menu.txt,8,0,8,7,1,0,")
    assert row.endswith("L1_Jet28 4: 3; L1_Jet30 5: 4; L1_Jet32 6: 5; L1_Jet34 7: 6")
    assert "Compared with another stored bit" in text
    (pair,) = json.loads((moved / "m.json").read_text())["pairs"]
    assert [trigger["equals"] for trigger in pair["triggers"]] == [None] * 4 + ["3", "4", "5", "6"]


@pytest.mark.parametrize("is_empty", [True, False])
@pytest.mark.parametrize(("algorithm", "word"), [("MUS1", "shower_0"), ("MU0[MU-INDEX_NEG]", "muon.index")])
def test_a_word_that_a_vector_lacks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trigemu: Command,
    algorithm: str,
    word: str,
    is_empty: bool,
) -> None:
    """It is 0 in all crossings; or in another crossing it is not, and the algorithm is wrong."""
    monkeypatch.chdir(tmp_path)
    xml = write_menu(tmp_path, {"L1_Word": algorithm, "L1_Mu": "MU0", "L1_None": "MUS0"})
    (tmp_path / "menu.toml").write_text(import_cms_l1(xml).toml)
    other = muon(11) if is_empty else muon(11, index=40) | 1 << 61
    lines = [
        vector_line(0, muons=[muon(9)], algorithms=0b011, columns=60),
        vector_line(1, muons=[0, 0, 0, 0, other], algorithms=0b010, columns=60),
    ]
    (tmp_path / "vector.txt").write_text("\n".join(lines))
    status, text = trigemu("check", "menu.toml", "vector.txt")
    message = f"Skipped: L1_Word: its {word} is 0 in every event, but its stored decision is not"
    assert (message in " ".join(text.split()), status) == (is_empty, 0 if is_empty else 1)


ALL = ["--all", "."]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["menu.toml"], "expected MENU and SAMPLE, or --all FOLDER"),
        (["menu.toml", *ALL], "--all takes no MENU and SAMPLE"),
        (["menu.toml", "vector.txt", "--mass-limit"], "are for --all FOLDER"),
        (["--all", "nowhere"], "nowhere: cannot be read"),
        (["--all", "empty"], "no pairs of menu and vector"),
        (["menu.toml", "damaged.txt"], "damaged.txt: line 2: 49 columns"),
        ([*ALL, "--csv", "m.csv", "--json", "m.json"], "line 1: 3 columns, expected 48 or 60"),
        ([*ALL, "--csv", "m.csv"], "other.toml"),  # all problems are named
        *(([*ALL, option, "menu.txt"], "menu.txt") for option in ("--csv", "--json")),
        ([*ALL, "--csv", "m", "--json", "m"], "m"),
    ],
)
def test_what_ends_with_a_message_and_writes_nothing(
    folder: Path, trigemu: Command, arguments: list[str], message: str
) -> None:
    (folder / "empty").mkdir()
    text = (folder / "vector.txt").read_text()
    (folder / "damaged.txt").write_text(text.replace("\n0001 ", "\n0001 0 "))
    (folder / "menu.txt").write_text("1 2 3\n")
    (folder / "other.txt").write_text(text)
    (folder / "other.toml").write_text("x = ")
    before = {file: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    status, text = trigemu("check", *arguments)
    assert (status, message in " ".join(text.split())) == (2, True)
    assert text.count("line 1: 3 columns") <= 1  # of two menus, told once
    assert {file: file.read_bytes() for file in folder.iterdir() if file.is_file()} == before


@pytest.mark.slow
def test_the_menus_of_cms(tmp_path: Path, trigemu: Command) -> None:
    table = tmp_path / "m.csv"
    folder = real_file("cms_l1")
    assert trigemu("check", "--all", str(folder), "--mass-limit", "--csv", str(table))[0] == 1
    rows = [row.split(",")[2:8] for row in table.read_text().splitlines()[1:]]
    assert rows == [
        ["257", "0", "257", "257", "0", "0"],
        ["264", "0", "264", "264", "0", "0"],
        ["343", "0", "343", "341", "2", "0"],
        ["465", "0", "450", "449", "1", "15"],
    ]
