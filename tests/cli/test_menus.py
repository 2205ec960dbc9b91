"""`trigemu check-menu` on several files, of several kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")
PROFILES = """
[profile]
menus = ["menu.toml"]
samples = ["all"]
[[observable]]
expression = "met"
bins = "0:100:10"
"""


def test_menus_and_profiles_are_checked_together(place: Any, trigemu: Run) -> None:
    place.write("paper.toml", PROFILES)
    status, text = trigemu("check-menu", "menu.toml", "paper.toml", *ON_TOYS)
    assert (status, text.splitlines()) == (
        0,
        [
            "menu.toml: 2 triggers, 2 enabled, no mistakes",
            "paper.toml: efficiency profiles (observables: 1, categories: 0, menus: 1), no mistakes",
        ],
    )


def test_mistakes_of_all_files_are_told(place: Any, trigemu: Run) -> None:
    """Those of profiles, what each other file is, and what every sample lacks."""
    place.write("paper.toml", PROFILES.replace("met", "mett[0]"))
    place.write("lacks.toml", (place.folder / "menu.toml").read_text().replace("jet[0].pt", "jet[0].ptt"))
    catalogue = (place.folder / "catalogue.toml").read_text()
    entry = catalogue[catalogue.index("[[sample]]") :].replace('"all"', '"too"')
    place.write("catalogue.toml", catalogue + entry)
    files = ("paper.toml", "lacks.toml", "catalogue.toml", "menu.toml")
    status, text = trigemu("check-menu", *files, *ON_TOYS)
    assert status == 2
    lines = text.splitlines()
    for start in (
        "trigemu: paper.toml:6: 'mett[0]':",
        "trigemu: lacks.toml:2: trigger 'J30': sample 'all' has no column 'jet.ptt'",
        "trigemu: lacks.toml:2: trigger 'J30': sample 'too' has no column 'jet.ptt'",
        "trigemu: catalogue.toml:2: this is a catalogue of samples, not a menu: give it as --samples",
        "menu.toml: 2 triggers, 2 enabled, no mistakes",
    ):
        assert sum(line.startswith(start) for line in lines) == 1, start
    assert len(lines) == 5


def test_samples_that_cannot_be_opened_hide_no_mistake(place: Any, trigemu: Run) -> None:
    place.write("wrong.toml", (place.folder / "menu.toml").read_text().replace("threshold", "thresold"))
    status, text = trigemu("check-menu", "wrong.toml", "menu.toml", "--samples", "absent.toml")
    assert status == 2
    assert [line.split(":")[1] for line in text.splitlines()] == [" absent.toml", " wrong.toml"]
