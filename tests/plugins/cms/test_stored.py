"""Decisions in test vectors as triggers: a number from 0 to 511 for each algorithm."""

from __future__ import annotations

from pathlib import Path

import pytest
from l1_toys import jet, vector_line
from toys import menu_from

from trigemu import Catalogue, Menu, catalogue_of, decisions, run
from trigemu.api import SampleError

#: pT of the leading jet as the hardware has it, and the decision of algorithm 3.
CROSSINGS = [(30, False), (41, True), (44, False), (90, True), (0, False), (77, True)]


@pytest.fixture
def vector(tmp_path: Path) -> Catalogue:
    lines = [vector_line(i, jets=[jet(pt)], algorithms=on << 3) for i, (pt, on) in enumerate(CROSSINGS)]
    (tmp_path / "v.txt").write_text("\n".join(lines))
    return catalogue_of(tmp_path / "v.txt")


def stored(folder: Path, *names: str) -> Menu:
    triggers = [
        f"[[trigger]]\nname = 'stored{name}'\nkind = 'stored'\ndecision = '{name}'\n" for name in names
    ]
    return menu_from(folder, "".join(triggers))


def test_a_vector(tmp_path: Path, vector: Catalogue) -> None:
    menu = stored(tmp_path, "3", "511")
    fired = decisions(menu, vector)
    assert [column.tolist() for column in fired.values()] == [[on for _, on in CROSSINGS], [False] * 6]
    assert run(menu, vector)["stored3"].total.hz == pytest.approx(3 * 40e6 / 6)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("512", r"menu.*:1: trigger 'stored512': sample 'v' has no stored decision '512'; did you mean"),
        ("jet", r"has no stored decision 'jet' \(known: 0, 1, 10"),
    ],
)
def test_a_decision_that_is_not_stored(tmp_path: Path, vector: Catalogue, name: str, message: str) -> None:
    with pytest.raises(SampleError, match=message):
        run(stored(tmp_path, name), vector)
