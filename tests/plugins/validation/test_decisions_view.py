"""A check as it is printed and written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from printing import text_of
from result_toys import HOSTILE, menus, samples
from toys import memory_catalogue, menu_from
from trigemu_validation import Checked, DecisionCheck, Disagreement
from trigemu_validation.decisions_view import DecisionCheckView
from view_checks import check_frame, check_hepdata, check_html, check_texts

from trigemu import Collection, Events


@pytest.fixture
def result(tmp_path: Path) -> DecisionCheck:
    """One trigger that agrees, one that differs, one that is skipped."""
    collections = {
        "jet": Collection(
            np.array([3, 5]), {"quality": np.arange(5), "pt": np.array([0, 0, 0, 9.5, 7], "f4")}
        ),
        "muon": Collection(np.array([0, 0]), {"pt": np.empty(0)}),
    }
    scalars = {"met": np.array([1.25]), "n": np.array([7], np.int32), "external_0": np.array([-(2**63)])}
    number = np.array([4], np.uint64)
    events = Events("all", np.ones(1), number, number, collections, scalars)
    difference = Disagreement("all", "folder/a.root", 12, True, events)
    triggers = (
        Checked("A", agree=10),
        Checked("B", agree=8, only_emulated=1, only_stored=1, first=(difference,)),
        Checked("C", skipped="it is random"),
    )
    menu = menu_from(tmp_path, '[[trigger]]\nname = "A"\nkind = "random"\nrate_hz = 1.0\n')
    return DecisionCheck(menu, memory_catalogue({"all": []}), 10, triggers)


def printed(result: DecisionCheck) -> list[str]:
    return [line.rstrip() for line in text_of(DecisionCheckView().page(result)).splitlines()]


def test_what_is_printed(result: DecisionCheck) -> None:
    assert printed(result) == [
        "trigger  agree  only emulated  only stored",
        "B            8              1            1",
        "",
        "B, only emulated: event 4 (a.root, entry 12)",
        "    jet[0]: pt 9.5, quality 3",
        "    jet[1]: pt 7, quality 4",
        "    no muon",
        "    met: 1.25",
        "    n: 7",
        "    external_0: 0x8000000000000000",
        "",
        "Skipped: C: it is random.",
        "3 triggers, 10 crossings: 2 compared, 1 agree, 1 differ, 1 skipped.",
    ]


def test_neighbouring_crossings_are_distinguished(result: DecisionCheck) -> None:
    jets = Collection(np.array([0, 1, 1, 2]), {"pt": np.array([8, 9], "f4")})
    number = np.array([3, 4, 5], np.uint64)
    events = Events("all", np.ones(3), number, number, {"jet": jets}, {"n": np.arange(3)}, slice(1, 2))
    checked = Checked("B", only_stored=1, first=(Disagreement("all", "v.txt", 4, False, events),))
    assert printed(replace(result, triggers=(checked,)))[3:-2] == [
        "B, only stored: event 4 (v.txt, entry 4)",
        "    crossing -1, jet[0]: pt 8",
        "    crossing -1, n: 0",
        "    no jet",
        "    n: 1",
        "    crossing +1, jet[0]: pt 9",
        "    crossing +1, n: 2",
    ]


def test_skipped_and_left_out_crossings_are_reported(result: DecisionCheck) -> None:
    """Rows that agree are counted, and triggers with one reason are named together."""
    triggers = (
        Checked("A", agree=8, margin=1, not_compared=2),
        Checked("B", agree=6, margin=2, not_compared=4),
        Checked("C", agree=6, margin=2, not_compared=4),
        Checked("D", agree=9, only_stored=1, margin=1),
        Checked("E", skipped="it is random"),
        Checked("F", skipped="it is random"),
    )
    text = " ".join(printed(replace(result, triggers=triggers)))
    for part in (
        "D            9              0            1",
        "--not-consecutive",
        "Skipped: E, F: it is random.",
        "2 crossings of each of A,",
        "4 crossings of each of B, C,",
        "6 triggers, 10 crossings: 4 compared, 3 agree, 1 differ, 2 skipped.",
    ):
        assert part in text


def test_decisions_of_another_bit(result: DecisionCheck) -> None:
    """Every one is in the table; ten are named; their differences are not shown."""
    names = [f"T{number}" for number in range(12)]
    moved = tuple(
        Checked(name, agree=8, only_stored=2, margin=1, stored=str(bit), equals=str(bit + 1))
        for bit, name in enumerate(names)
    )
    lines = printed(replace(result, triggers=(*result.triggers, *moved)))
    assert lines[0].split() == ["trigger", "other", "bit", "agree", "only", "emulated", "only", "stored"]
    assert lines[2].split() == ["T0", "1", "8", "0", "2"]
    text = " ".join(lines)
    for part in ("12 triggers have", "their own +1: T0 (0: 1),", "T9 (9: 10) and 2 more."):
        assert part in text
    assert "neighbouring" not in text
    agreeing = tuple(replace(trigger, agree=10, only_stored=0) for trigger in moved)
    text = " ".join(printed(replace(result, triggers=agreeing, match_bits=True)))
    assert text.startswith("Compared with another stored bit, their own +1: 12 triggers: T0 (0: 1),")


def test_what_it_shows_of_itself(tmp_path: Path) -> None:
    """Made by hand."""
    checked = Checked(HOSTILE, 7, 2, 1), Checked("MET", skipped="it is <random>")
    result = DecisionCheck(menus(tmp_path)[0], samples(), 10, checked)
    check_texts(result)
    check_html(result)
    check_hepdata(result, tmp_path)
    check_frame(result, result.to_dict()["triggers"])
    assert result["MET"].skipped
    with pytest.raises(KeyError, match=r"unknown trigger 'MEET'; did you mean 'MET'\?"):
        result["MEET"]
