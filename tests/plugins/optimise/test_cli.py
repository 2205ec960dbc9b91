"""`trigemu optimise`: what it prints and writes, and the section of the report."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import Place
from optimise_toys import write_goals, write_menu, write_samples
from printing import text_of
from trigemu_optimise import Effort, optimise
from trigemu_optimise.write_menu import read_summary
from trigemu_pages import collect_contents
from trigemu_pages.report.sections import of_plugins

from trigemu import TrigemuError, open_catalogue, read_menu, run

Run = Callable[..., tuple[int, str]]
FAST = ("--starts", "2", "--hops", "1", "--replicas", "3", "--caps", "4", "--seed", "5")
LIMITS = """
[[limit]]
group = "jets"
max_hz = 25e3

[[tie]]
triggers = ["J15", "J30"]
at_least = 5
"""


@pytest.fixture
def files(place: Place) -> Place:
    write_samples(place.folder)
    write_menu(place.folder)
    write_goals(place.folder, 3e4, LIMITS)
    return place


def optimised(trigemu: Run, *more: str) -> tuple[int, str]:
    arguments = ("optimise", "toy.toml", "goals.toml", "-o", "new.toml", "--samples", "catalogue.toml")
    return trigemu(*arguments, *FAST, *more)


def test_the_new_menu_keeps_its_comments_and_can_be_run(files: Place, trigemu: Run) -> None:
    status, text = optimised(trigemu, "--json", "all.json", "--figures", "drawn")
    assert status == 0, text
    for part in ("as written", "scaled", "optimised", "rate of group jets", "new.toml", "J30"):
        assert part in text
    new = (files.folder / "new.toml").read_text()
    assert new.startswith("# Made by trigemu optimise from toy.toml (sha256 ")
    assert "# The jets." in new
    assert "# GeV" in new
    numbers = json.loads((files.folder / "new.optimise.json").read_text())
    menu = read_menu("new.toml")
    for variable in numbers["variables"]:
        if variable["what"] == "above":
            assert menu.trigger(variable["triggers"][0]).description.threshold == variable["value"]
        if variable["what"] == "prescale":
            assert menu.trigger("MET40").prescale == variable["value"]
    triggers = tomllib.loads(new)["trigger"]
    assert [t["name"] for t in triggers] == ["J30", "J15", "MET40", "MU"]
    assert triggers[0]["above"] >= triggers[1]["above"] + 5
    best = next(c for c in numbers["contenders"] if c["name"] == "optimised")
    assert best["fitted"]["rate_hz"] <= 3e4
    assert abs(best["unseen"]["rate_hz"] - 3e4) < 4 * best["unseen"]["rate_error_hz"] + 1e3
    assert numbers["limits"][0]["fitted_hz"] <= 25e3
    check_front(numbers)
    assert numbers | {"new_sha256": ""} == json.loads((files.folder / "all.json").read_text())
    assert {file for file in files.files() if file.startswith("drawn")} == {
        f"drawn/optimise_{name}.png" for name in ("channels", "thresholds", "front")
    }


def check_front(numbers: Any) -> None:
    """One ε_max for all caps: the loss falls from each cap to the next, also above that of the goals."""
    front = numbers["front"]
    assert [entry["cap_hz"] for entry in front] == sorted([3e4, 1.5e4, 2.38e4, 3.78e4, 6e4])
    losses = [entry["loss"] for entry in front]
    assert losses == sorted(losses, reverse=True)
    assert losses[-2] > losses[-1] >= 0.0
    assert all(channel["front_ceiling"] >= channel["ceiling"] for channel in numbers["channels"])


def test_the_prescale_of_a_column_is_written_into_it(files: Place, trigemu: Run) -> None:
    menu = (files.folder / "toy.toml").read_text()
    menu = menu.replace("[menu]", '[menu]\nprescale_columns = ["a", "b"]\ncolumn = "b"', 1)
    menu = menu.replace('name = "MET40"', 'name = "MET40"\nprescales = [9, 1]')
    files.write("toy.toml", menu)
    status, text = optimised(trigemu, "--caps", "1")
    assert status == 0, text
    numbers = json.loads((files.folder / "new.optimise.json").read_text())
    assert [entry["cap_hz"] for entry in numbers["front"]] == [1.5e4, 3e4]
    prescale = next(v["value"] for v in numbers["variables"] if v["what"] == "prescale")
    assert read_menu("new.toml").trigger("MET40").prescales == (9.0, prescale)


def test_the_same_bytes_for_any_workers_and_from_a_checkpoint(files: Place, trigemu: Run) -> None:
    assert optimised(trigemu)[0] == 0
    first = {name: (files.folder / name).read_bytes() for name in ("new.toml", "new.optimise.json")}
    for more in (("--workers", "2", "--checkpoint", "kept"), ("--checkpoint", "kept")):
        status, text = optimised(trigemu, *more)
        assert status == 0, text
        assert {name: (files.folder / name).read_bytes() for name in first} == first
    # `trigemu run` judges fitted thresholds on the same half.
    numbers = json.loads(first["new.optimise.json"])
    unseen = next(c for c in numbers["contenders"] if c["name"] == "optimised")["unseen"]
    rates = run("new.toml", "catalogue.toml")
    assert rates.rate.hz == pytest.approx(unseen["rate_hz"], abs=3 * unseen["rate_error_hz"])
    assert rates.rate.unseen_hz >= 0


def test_from_a_score_table(files: Place, trigemu: Run) -> None:
    """The same as from the events; a table that lacks some is refused."""
    table = ("scores", "toy.toml", "--samples", "catalogue.toml", "-o", "t.parquet", "--vary", "J15=10:80")
    ranges = (*table, "--vary", "MET40=20:90", "--vary")
    assert optimised(trigemu)[0] == trigemu(*ranges, "J30=10:80", "--signal", "s")[0] == 0
    expected = (files.folder / "new.toml").read_bytes()
    status, text = optimised(trigemu, "--scores", "t.parquet")
    assert status == 0, text
    assert (files.folder / "new.toml").read_bytes() == expected
    assert trigemu(*ranges, "J30=10:80")[0] == 0
    status, text = optimised(trigemu, "--scores", "t.parquet")
    assert (status, "made without --signal s" in text) == (2, True)
    assert trigemu(*ranges, "J30=20:80", "--signal", "s")[0] == 0
    status, text = optimised(trigemu, "--scores", "t.parquet")
    assert (status, "threshold 10 is below 20" in text) == (2, True)


def test_a_mistake_leaves_nothing(files: Place, trigemu: Run) -> None:
    before = files.files()
    for arguments, message in (
        (("-o", "new.json"), "new.json should end in .toml"),
        (("-o", "toy.toml"), "toy.toml"),
        (("-o", "goals.toml"), "goals.toml"),
        (("-o", "new.toml", "--starts", "0"), "--starts"),
    ):
        status, text = trigemu(
            "optimise", "toy.toml", "goals.toml", "--samples", "catalogue.toml", *arguments
        )
        assert (status, message in text) == (2, True), text
    assert files.files() == before


def test_files_of_other_kinds_say_what_they_are(files: Place, trigemu: Run) -> None:
    """Menu and goals swapped, and where other commands take a file that only a plugin knows."""
    (files.folder / "rules.toml").write_text("[[rule]]\ndeadtime_crossings = 2\n")
    (files.folder / "fill.toml").write_text("[fill]\npileup = [50, 20]\nhalf_life_hours = 5\n")
    (files.folder / "tolerances.toml").write_text("[default]\npercent = 1\n")
    goals, menu = "this is a file of goals, not a ", "this is a menu, not a "
    for arguments, message in (
        (("optimise", "goals.toml", "toy.toml", "-o", "new.toml"), f"{menu}file of goals: "),
        (
            ("optimise", "goals.toml", "goals.toml", "-o", "new.toml"),
            f"{goals}menu: trigemu optimise takes it",
        ),
        (("run", "goals.toml"), f"{goals}menu: "),
        (("compare", "toy.toml", "goals.toml"), f"{goals}menu: "),
        (("run", "toy.toml", "--samples", "goals.toml"), f"{goals}catalogue of samples: "),
        (("fill", "fill.toml", "toy.toml"), "this is a fill, not a menu: trigemu fill takes it as FILL"),
        (("fill", "toy.toml", "toy.toml"), f"{menu}fill: "),
        (("fill", "toy.toml", "rules.toml"), "this is a set of trigger rules, not a fill: "),
        (("live", "toy.toml", "--rules", "fill.toml"), "this is a fill, not a set of trigger rules: "),
        (("live", "toy.toml", "--filling", "toy.toml"), f"{menu}filling scheme: "),
        (("gate", "toy.toml", "toy.toml", "--tolerances", "toy.toml"), f"{menu}set of tolerances: "),
        (("run", "tolerances.toml"), "this is a set of tolerances, not a menu: "),
    ):
        status, text = trigemu(*arguments)
        assert (status, message in " ".join(text.split())) == (2, True), (arguments, text)


def test_numbers_beside_a_menu_are_read_only_if_they_are_its_own(files: Place, trigemu: Run) -> None:
    """A report shows them in a section."""
    assert optimised(trigemu)[0] == 0
    menu, numbers = read_menu("new.toml"), files.folder / "new.optimise.json"
    (section,) = of_plugins(collect_contents([menu], open_catalogue("catalogue.toml")))
    assert section.title == "How the menu was optimised"
    assert any("as written" in text_of(table) for table in section.tables)
    assert any("The least loss at each cap" in picture.caption for picture in section.pictures)
    summary = read_summary(menu)
    assert summary is not None
    assert summary.new_sha256 == menu.sha256
    for damaged, message in (
        (numbers.read_text().replace('"new_sha256": "', '"new_sha256": "0'), "new.toml has changed since"),
        ('{"menu": 3}', "it is no result of trigemu optimise"),
        ("{", "it is no result of trigemu optimise"),
    ):
        numbers.write_text(damaged)
        with pytest.raises(TrigemuError, match=message):
            read_summary(menu)
    numbers.unlink()
    assert read_summary(menu) is None


def test_from_python(files: Place) -> None:
    found: list[str] = []
    effort = Effort(seed=5, starts=2, hops=1, replicas=3, caps=4)
    result: Any = optimise(
        "toy.toml", "goals.toml", open_catalogue("catalogue.toml"), effort, report=found.append
    )
    assert found[0] == "channels alone: 1"
    assert result.menu.name == "toy-optimised"
    assert "loss" in repr(result)
    assert [change.what for change in result.comparison.changes]
    assert set(result.to_pandas().reset_index()["name"]) >= {"J30", "J15", "MET40", "MET40 prescale"}
    assert "<table" in result._repr_html_()
    assert Path("new.toml").exists() is False
