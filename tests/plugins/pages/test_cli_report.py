"""`trigemu report` as users give it, and its page in a browser."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest
from toys import CATALOGUE

import trigemu as package

Run = Callable[..., tuple[int, str]]

#: The same events once more, as a signal.
SIGNAL = """
[[sample]]
name = "signal"
role = "signal"
files = ["all.root"]
require = "n_jet >= 1"
"""
MENU = """
[menu]
name = "{}"

[[trigger]]
name = "J30"
kind = "threshold"
observable = "jet[0].pt"
above = {}
group = "jets"

[[trigger]]
name = "MU"
kind = "combination"
legs = [{{ object = "muon", pt = {{ min = 10.0 }} }}]
prescale = 2

[[trigger]]
name = "MET"
kind = "threshold"
observable = "met"
{}
"""
PROFILE = """
[profile]
menus = ["one.toml", "two.toml"]
samples = ["signal"]

[[observable]]
expression = "jet[0].pt"
label = "leading jet pT"
unit = "GeV"
bins = "0:100:20"

[[category]]
condition = "n_muon == 0"
label = "no muon"

[[reference]]
menu = "two"
trigger = "J30"
quantity = "total_hz"
value = 5e6
source = "another place"
"""
ON_TOYS = ("--samples", "catalogue.toml")


@pytest.fixture
def menus(place: Any) -> Any:
    place.write("catalogue.toml", CATALOGUE + SIGNAL)
    place.write("one.toml", MENU.format("one", 30.0, "above = 40"))
    place.write("two.toml", MENU.format("two", 35.0, "total_rate_hz = 2e6"))
    place.write("profile.toml", PROFILE)
    return place


def test_two_menus(menus: Any, trigemu: Run) -> None:
    scan = ("--scan", "J30=20:40:10", "--efficiency", "profile.toml", "--checkpoint", "kept")
    files = ("-o", "r.html", "--figures", "new/figures")
    status, text = trigemu("report", "one.toml", "two.toml", *ON_TOYS, *scan, *files)
    assert status == 0, text
    assert text.splitlines()[-1] == "r.html"
    page = (menus.folder / "r.html").read_text()
    for word in (
        "Trigger menus: one, two",
        "Differences",
        "no muon",
        "another place",
        "above: 30 → 35",
        "Provenance",
    ):
        assert word in page
    result = package.run(package.read_menu("one.toml"), package.open_catalogue("catalogue.toml"))
    assert result.menu.sha256 in page
    assert result.catalogue.sha256 in page
    with (menus.folder / "new/figures/scan_one_J30.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["threshold"]) for row in rows] == [20.0, 30.0, 40.0]
    names = {file.name for file in (menus.folder / "new/figures").iterdir()}
    for name in ("overlap_one", "combinations_two", "groups", "turnon_jet_0_pt_n_muon_eq_0", "scan_two_J30"):
        assert {f"{name}.png", f"{name}.pdf", f"{name}.csv"} <= names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("one.toml", "absent.toml"), "absent.toml: cannot read"),
        (("one.toml", "--scan", "J3=1:2:1"), "did you mean 'J30'"),
        (("one.toml", "--scan", "J30"), "expected TRIGGER=FIRST:LAST:STEP"),
        (("one.toml", "--scan", "MU=1:2:1"), "has no threshold to scan"),
        (("one.toml", "--efficiency", "menu.toml"), "menu.toml:"),
        (("one.toml", "--signal", "signals"), "unknown sample 'signals'; did you mean 'signal'"),
        (("one.toml", "--figures", "all.root/figures"), "cannot make"),
        (("one.toml", "-o", "absent/r.html"), "there is no folder absent"),
    ],
)
def test_mistakes_end_with_a_message_and_no_page(
    menus: Any, trigemu: Run, arguments: tuple[str, ...], message: str
) -> None:
    before = menus.files()
    status, text = trigemu("report", "-o", "r.html", *ON_TOYS, *arguments)
    assert status == 2
    assert message in text
    assert "Traceback" not in text
    assert menus.files() == before


PLUGIN = """
from trigemu.api import Plugin

PLUGIN = Plugin(sections={"mine": ".report:sections"})
"""
SECTION = """
from trigemu.api import Section

def sections(contents):
    yield Section("A section of my own", (contents.variants[0].menu.name, contents.catalogue.table.name))
"""


def with_plugin(menus: Any, source: str) -> None:
    """Let one.toml name a plugin with a section."""
    menus.write("plugins/mine/__init__.py", PLUGIN)
    menus.write("plugins/mine/report.py", source)
    menu = (menus.folder / "one.toml").read_text()
    menus.write("one.toml", menu.replace("[menu]", '[menu]\nplugins = ["mine"]'))


def test_a_plugin_adds_a_section(menus: Any, trigemu: Run) -> None:
    """A profile and a signal that are asked for are shown."""
    with_plugin(menus, SECTION)
    (menus.folder / "out").mkdir()
    arguments = (
        "report", "one.toml", *ON_TOYS, "--efficiency", "profile.toml", "--signal", "signal",
        "-o", "out/report.html",
    )  # fmt: skip
    status, text = trigemu(*arguments)
    assert status == 0, text
    page = (menus.folder / "out/report.html").read_text()
    for word in ("A section of my own", "no muon", "Efficiencies for signal"):
        assert word in page
    assert "Differences" not in page


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def sections(contents): return 1 / 0", "its section 'mine' fails: ZeroDivisionError"),
        ("def sections(contents): return ['a']", "its section 'mine' gave str, expected Sections"),
        ("sections = 3", "its section 'mine' fails: TypeError"),
        ("1 / 0", "its section 'mine' cannot be loaded: ZeroDivisionError"),
        ("", "PLUGIN places 'mine' at '.report:sections', but there is none"),
    ],
)
def test_a_section_that_fails_leaves_no_page(menus: Any, trigemu: Run, source: str, message: str) -> None:
    with_plugin(menus, source)
    status, text = trigemu("report", "one.toml", *ON_TOYS, "-o", "r.html")
    assert (status, message in text) == (2, True), text
    assert not (menus.folder / "r.html").exists()


# ---- in a browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    if not chromium.PROGRAM:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with chromium.browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


#: What sticks out of the page, or of a box that neither scrolls nor is inside one that does.
OVERFLOWING = """(() => {
    const edge = document.documentElement.clientWidth, found = [];
    if (document.documentElement.scrollWidth > edge) found.push("the page");
    for (const element of document.querySelectorAll("body *")) {
        if (element.closest(".scroll, figure > div")) continue;
        if (element.getBoundingClientRect().right > edge + 0.5) found.push(element.outerHTML.slice(0, 80));
    }
    return found;
})()"""
#: What is wider than the cell, paragraph or card that it stands in.
CUT = """[...document.querySelectorAll("td, th, p, li, h1, h2, h3, figure, figcaption")]
    .filter(element => element.scrollWidth > element.clientWidth + 1).map(element => element.textContent)"""
#: What the first columns of tables that are scrolled to their end leave uncovered.
FIRST_COLUMN = """[...document.querySelectorAll(".scroll")].map(box => {
    box.scrollLeft = 1e4;
    return box.querySelector("td").getBoundingClientRect().left - box.getBoundingClientRect().left;
}).filter(space => Math.abs(space) > 2)"""
UNSEEN = "[...document.images].filter(image => !(image.complete && image.naturalWidth)).length"
#: The brightness of the ground under pictures, and of that of the page and its text.
BRIGHTNESS = r"""["figure > div", "body"].map(name => getComputedStyle(document.querySelector(name)))
    .flatMap(style => [style.backgroundColor, style.color])
    .map(colour => colour.match(/\d+/g).slice(0, 3).reduce((sum, value) => sum + value * 1, 0) / 765)"""


def long_names(folder: Path) -> None:
    """Of triggers and menus that have no place to break."""
    name = "A_VERY_LONG_TRIGGER_NAME_THAT_GOES_ON_" * 2
    text = (folder / "two.toml").read_text().replace("J30", name).replace('"two"', f'"{name.lower()}"')
    (folder / "two.toml").write_text(text)


@pytest.mark.slow
def test_in_a_browser(menus: Any, trigemu: Run, page: chromium.Page) -> None:
    """At both widths, light and dark: nothing overflows, nothing is missing, nothing complains."""
    long_names(menus.folder)
    assert trigemu("report", "one.toml", "two.toml", *ON_TOYS, "-o", "r.html")[0] == 0
    for width in (1280, 400):
        for dark in (False, True):
            page.open(menus.folder / "r.html", width, dark)
            messages = f"{width} px, {'dark' if dark else 'light'}"
            assert page.value(OVERFLOWING) == [], messages
            assert page.value(CUT) == [], messages
            assert page.value(UNSEEN) == 0, messages
            if width == 400:
                assert page.value(FIRST_COLUMN) == [], messages
            under_pictures, _, ground, ink = page.value(BRIGHTNESS)
            assert under_pictures == 1.0, messages
            assert (ink - ground > 0.6) if dark else (ground - ink > 0.6), messages
    assert page.complaints == [], json.dumps(page.complaints)[:2000]
    assert page.printed().startswith(b"%PDF")
