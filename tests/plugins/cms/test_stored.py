"""Decisions in test vectors as triggers: a number from 0 to 511 for each algorithm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from l1_toys import jet, vector_line
from real_data import real_file
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


def test_a_recorded_file(tmp_path: Path) -> None:
    catalogue = catalogue_of(real_file("cms_l1", "TestVector_L1Menu_Collisions2025_v1_0_0_data.txt.xz"))
    (sample,) = catalogue.samples
    names = tuple(sorted(sample.stored)[::8])
    read = sample.sources[0].read_stored(0, sample.entries, names)
    fired = decisions(stored(tmp_path, *names), catalogue)
    for name, column in zip(names, fired.values(), strict=True):
        np.testing.assert_array_equal(column, read[name])
    assert sum(column.any() for column in fired.values()) >= 20


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
