"""What commands print and write of rates, in columns of prescales and in bins, and of samples."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from pileup_toys import crossing_catalogue, crossings
from printing import text_of
from toys import memory_catalogue, menu_from, threshold, toy_events

from trigemu import binned_rates, column_rates, compare, emulate, rates_of
from trigemu.api import MenuRates, Page, Rate, Table
from trigemu.base.shown import Shown, view_of
from trigemu.results import rates as view
from trigemu.results.bins import BinnedRatesView
from trigemu.results.numbers import format_rate
from trigemu.results.rates import ColumnRatesView, MenuRatesView, overlap_page
from trigemu.studies.scan import Steps, scan

GROUP = 'group = "jets :smile:"'
MENU = (
    '[menu]\nname = "toy [bold]menu"\n'
    + threshold("J30 [/x]", "jet[0].pt", 30.0, f"{GROUP}\nprescale = 3")
    + '[[trigger]]\nname = "MU"\nkind = "combination"\nlegs = [{ object = "muon" }]\n'
    + threshold("NEVER", "met", 1e9, GROUP)
    + '[[trigger]]\nname = "ANY"\nkind = "random"\nrate_hz = 1000.0\n'
)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> MenuRates:
    menu = menu_from(tmp_path_factory.mktemp("output"), MENU)
    catalogue = memory_catalogue({"soft": toy_events(1, 150), "hard": toy_events(2, 100)})
    return rates_of(emulate([menu], catalogue))


def rendered(page: Page) -> str:
    return text_of(page, 140)


def narrow(rate: Rate) -> str:
    return format_rate(rate).replace(" ± ", "±")


def test_an_upper_limit_is_null_where_there_are_events(result: MenuRates) -> None:
    document = result.to_dict()
    for row in (*document["triggers"], *document["groups"]):
        for quantity in ("total", "unique", "share"):
            assert (row[f"{quantity}_upper_limit_hz"] is None) == (row[f"{quantity}_events"] > 0)
    assert document["triggers"][2]["total_upper_limit_hz"] > 0


def test_the_table_shows_the_numbers(result: MenuRates) -> None:
    lines = {line.split("  ")[0]: line for line in rendered(MenuRatesView().page(result)).splitlines()}
    for trigger in result.triggers:
        line = lines[trigger.name]
        for quantity in ("total", "unique", "share"):
            assert narrow(getattr(trigger, quantity)) in line
        assert f"{trigger.total.events} (" in line
    assert "3" in lines["J30 [/x]"].split()
    assert "40000" in lines["ANY"].split()
    notes = " ".join(rendered(MenuRatesView().page(result)).split())
    assert "Sample 'toy' (crossing weights): soft + hard." in notes
    assert "<: no event; upper limit at 68 %." in notes


def test_an_error_that_is_too_small_is_marked(result: MenuRates) -> None:
    first, *others = result.triggers
    marked = replace(
        first, rates={**first.rates, "total": replace(first.total, unseen=("soft",), unseen_hz=7.0)}
    )
    table = rendered(MenuRatesView().page(replace(result, triggers=(marked, *others))))
    assert f"{narrow(first.total)}*" in table
    assert "J30 [/x] (up to 7 Hz of soft)" in " ".join(table.split())
    document = replace(result, triggers=(marked, *others)).to_dict()
    assert document["triggers"][0]["total_unseen"] == ["soft"]


def test_a_unique_rate_that_is_0_by_construction_is_no_limit(result: MenuRates) -> None:
    first, *others = result.triggers
    within = Rate(0.0, 0.0, 0, 0.0, None, contained_in=("MU", "ANY"))
    shown = replace(result, triggers=(replace(first, rates={**first.rates, "unique": within}), *others))
    (line,) = (li for li in rendered(MenuRatesView().page(shown)).splitlines() if li.startswith("J30"))
    assert line.split()[5] == "0"
    assert "0: by construction" in rendered(MenuRatesView().page(shown))
    assert "J30 [/x] (MU or ANY)" in rendered(MenuRatesView().page(shown))
    document = shown.to_dict()
    assert document["triggers"][0]["unique_contained_in"] == ["MU", "ANY"]
    rows = list(csv.DictReader(io.StringIO(MenuRatesView().csv(shown))))
    assert [rows[0][key] for key in ("unique_contained_in", "unique_upper_limit_hz")] == ["MU;ANY", ""]


def test_overlaps_are_listed_the_largest_first(result: MenuRates, monkeypatch: pytest.MonkeyPatch) -> None:
    (table,) = overlap_page(result).parts
    assert isinstance(table, Table)
    names = [trigger.name for trigger in result.triggers]
    pairs = [(i, j) for i in range(len(names)) for j in range(i) if result.overlap[i, j]]
    assert len(table.rows) == len(pairs)
    rates = [row.values["both"][0] for row in table.rows]
    assert rates == sorted((result.overlap[i, j] for i, j in pairs), reverse=True)
    for row in table.rows:
        i, j = names.index(row.values["a"]), names.index(row.values["b"])
        assert row.values["both"] == (result.overlap[i, j], result.overlap_error[i, j])
        assert row.values["of a"] == pytest.approx(100 * result.overlap[i, j] / result.overlap[i, i])
        assert row.values["of b"] == pytest.approx(100 * result.overlap[i, j] / result.overlap[j, j])
    monkeypatch.setattr(view, "LARGEST", 1)
    page = overlap_page(result)
    assert page.parts[0].rows == table.rows[:1]  # type: ignore[union-attr]
    assert page.notes == [f"{len(pairs) - 1} smaller pairs not shown: --overlap all."]
    assert overlap_page(result, every=True).parts[0].rows == table.rows  # type: ignore[union-attr]


COLUMNS = (
    '[menu]\nname = "toy"\nprescale_columns = ["a", "b"]\n'
    + threshold("MET", "met", None, 'total_rate_hz = 20\nprescales = [1.5, 0]\ngroup = "g"')
    + threshold("JET", "jet[0].pt", 10)
    + threshold("NEVER", "met", 10, "prescales = [-1, 0]")
)


def test_each_trigger_has_a_row_with_all_columns(tmp_path: Path) -> None:
    """Also one that is off in all of them, and a group with nothing on."""
    events = [event | {"weight": 1.0} for event in toy_events(3, 200)]
    result = column_rates(menu_from(tmp_path, COLUMNS), "all", memory_catalogue({"a": events}))
    text = text_of(ColumnRatesView().page(result))
    words = [line.split() for line in text.splitlines()]
    rate = {name: narrow(column.rate).split() for name, column in result.items()}
    assert words[0] == ["trigger", "a", "b"]
    assert words[1] == ["MET", "/1.5", *narrow(result["a"]["MET"].total).split(), "off"]
    assert words[2] == [
        "JET",
        *narrow(result["a"]["JET"].total).split(),
        *narrow(result["b"]["JET"].total).split(),
    ]
    assert words[3] == ["NEVER", "off", "off"]
    assert words[4][:2] + words[4][-1:] == ["group", "g", "off"]
    assert words[6] == ["menu", "toy", *rate["a"], *rate["b"]]
    assert "Prescales: those" not in text
    assert text.rstrip().endswith("/2: accepted with a prescale of 2.")
    for picture in ColumnRatesView().pictures(result):
        assert {"a_total_hz", "b_total_hz"} <= {*picture.numbers}


def test_one_column_is_printed_as_a_run(tmp_path: Path) -> None:
    events = [event | {"weight": 1.0} for event in toy_events(3, 200)]
    result = column_rates(menu_from(tmp_path, COLUMNS), "a", memory_catalogue({"a": events}))
    assert text_of(ColumnRatesView().page(result)) == text_of(MenuRatesView().page(result["a"]))


MET = threshold("MET", "met", 20)


def outcome(tmp_path: Path) -> Any:
    """With an empty bin, one in which nothing fires, and events outside."""
    events = [e | {"met": 5.0} if e["n_interaction"] == 0 else e for e in crossings(1, 200)]
    catalogue = crossing_catalogue({"a": events})
    return binned_rates(menu_from(tmp_path, MET), "n_interaction", (-2.0, 0.0, 1.0, 4.0), catalogue)


def test_the_table_has_all_bins_of_the_menu_and_of_each_trigger(tmp_path: Path) -> None:
    text = text_of(BinnedRatesView().page(outcome(tmp_path)))
    lines = text.splitlines()
    assert [" ".join(line.split()[:3]) for line in lines[1:7]] == [
        "menu menu -2", "0 to 1", "1 to 4", "MET -2 to", "0 to 1", "1 to 4"
    ]  # fmt: skip
    assert [line.split().count("–") for line in lines[1:7]] == [1, 0, 0, 1, 0, 0]
    assert lines[2].count("<") == 2  # nothing fires: limits
    assert "have no value in the bins" in text


def test_a_sample_without_a_rate_has_none() -> None:
    catalogue = memory_catalogue({"a": toy_events(1, 20)}, signals={"s": toy_events(2, 5)})
    rows = catalogue.to_dict()["samples"]
    assert [(r["name"], r["role"], r["events"]) for r in rows] == [
        ("a", "background", 20),
        ("s", "signal", 5),
    ]
    assert rows[0]["rate_hz"] == catalogue["a"].rate_hz
    assert rows[1]["rate_hz"] is None
    assert [line.split()[:5] for line in str(catalogue).splitlines()[2:]] == [
        ["a", "background", "nanoaod", "1", "20"], ["s", "signal", "nanoaod", "1", "5"]
    ]  # fmt: skip


# ---- marks of errors that may be too small, in JSON and CSV as in the tables

LEVELS = (
    '[menu]\nlevels = ["L1", "HLT"]\n'
    + threshold("L1_J", "jet[0].pt", 20.0, 'level = "L1"')
    + threshold("J30", "jet[0].pt", 30.0, 'level = "HLT"\nseed = "L1_J"')
)
CATALOGUE = memory_catalogue({"soft": toy_events(1, 150), "hard": toy_events(2, 100)})


def marked(result: MenuRates) -> MenuRates:
    """Return rates of which those of the menu and of the first level lack a sample."""
    first, *others = result.levels
    lacking: dict[str, Any] = {"unseen": ("soft", "hard")}
    level = replace(first, rate=replace(first.rate, **lacking))
    return replace(result, rate=replace(result.rate, **lacking), levels=(level, *others))


def rows(result: Shown) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(view_of(result).csv(result)))]


@pytest.fixture(scope="module")
def levels(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return menu_from(tmp_path_factory.mktemp("marks"), LEVELS)


def test_marks_of_levels(levels: Any) -> None:
    document = marked(rates_of(emulate([levels], CATALOGUE))).to_dict()
    assert [level["unseen"] for level in document["menu"]["levels"]] == [["soft", "hard"], []]
    assert document["menu"]["unseen"] == ["soft", "hard"]


def test_marks_of_a_comparison(levels: Any) -> None:
    other = replace(levels, name="other")
    result = compare(emulate([levels, other], CATALOGUE))
    first, second = result.variants
    made = rows(replace(result, variants=(marked(first), second)))
    found = {(row["a"], row["what"]): row["unseen"] for row in made if row["kind"] == "rate"}
    assert {key for key, unseen in found.items() if unseen == "soft;hard"} == {
        (levels.name, "menu"),
        (levels.name, "level L1"),
    }
    assert {row["unseen"] for row in made if row["kind"] != "rate"} == {""}


def test_the_level_that_changes_leads(levels: Any, tmp_path: Path) -> None:
    """Where the last level stays as it is; and the rejections say of which menu they are."""
    looser = LEVELS.replace("[menu]", '[menu]\nname = "looser"').replace("above = 20.0", "above = 25.0")
    other = menu_from(tmp_path, looser)
    result = compare(emulate([levels, other], CATALOGUE))
    page = view_of(result).page(result)
    changes = page.parts[0]
    assert isinstance(changes, Table)
    assert [row.values["what"] for row in changes.rows] == ["L1_J", "level L1", "level HLT"]
    assert [any(row.values["total"]) for row in changes.rows[1:]] == [True, False]
    said = [note for note in page.notes if "Rejection" in note]
    heads = [note.partition(" from ")[0] for note in said]
    assert heads == [f"{levels.name}: Rejection", "looser: Rejection"]


def test_marks_of_a_scan(levels: Any) -> None:
    result = scan(levels, [Steps("J30", (30.0, 40.0))], CATALOGUE)
    first, second = result.points
    made = rows(replace(result, points=(marked(first), second)))
    assert [row["menu rate_unseen"] for row in made] == ["soft;hard", ""]
    assert [row["L1 rate_unseen"] for row in made] == ["soft;hard", ""]


def test_legends_explain_the_marks_that_are_shown(tmp_path: Path) -> None:
    """A comparison explains each once for all menus, a scan only those of what it prints."""
    low, never = threshold("J20", "jet[0].pt", 20), threshold("NEVER", "met", 1e6)

    def two(first: str, rest: str = "") -> list[Any]:
        """Menus of this trigger and of a jet of 40 GeV, and 50 GeV."""
        made = []
        for high in (40, 50):
            made.append(
                menu_from(Path(mkdtemp(dir=tmp_path)), first + threshold("J40", "jet[0].pt", high) + rest)
            )
        return made

    menus = two(low, never)
    compared = view_of(compare(menus, CATALOGUE)).page(compare(menus, CATALOGUE))
    lines = [line for line in compared.notes if line.startswith(("0:", "<:"))]
    assert len(lines) == 1
    assert lines[0].startswith("0: ")
    assert lines[0].count("J40 (J20)") == 1
    solved = threshold("B", "met", None, "total_rate_hz = 25.0")
    both = two(solved)
    notes = view_of(compare(both, CATALOGUE)).page(compare(both, CATALOGUE)).notes
    assert sum(": threshold " in line for line in notes) == 1  # the same in both: without a name
    assert any(line.startswith("B: threshold ") for line in notes)
    scanned = scan(menus[0], Steps("J20", (20.0, 25.0)), CATALOGUE)
    assert not [line for line in view_of(scanned).page(scanned).notes if line.startswith(("0:", "<:"))]
