"""The integer arithmetic that is written is that of the file."""

from __future__ import annotations

import dataclasses
import math

import pytest
from l1_toys import write_menu
from trigemu_cms.l1_objects import edge_of, scale_warnings
from trigemu_cms.l1_xml import XMLMenu, read_xml


@pytest.fixture(scope="module")
def menu(tmp_path_factory: pytest.TempPathFactory) -> XMLMenu:
    return read_xml(write_menu(tmp_path_factory.mktemp("menu"), ["MU0"]))


def test_edges_are_the_doubles_of_the_xml(menu: XMLMenu) -> None:
    for (object_, kind), scale in menu.scales.items():
        if kind != "UPT":
            for i, (lower, upper, _) in enumerate(scale.edges):
                assert (edge_of(menu, object_, kind, i, 0), edge_of(menu, object_, kind, i, 1)) == (
                    lower,
                    upper,
                )
    assert list(scale_warnings(menu, ["MU", "EG", "JET", "ETM"])) == []


@pytest.mark.parametrize(
    ("key", "shift", "of_bin_3"),
    [
        (("MU", "ET"), 0.5, -0.5 + 3 * 0.5),  # as in 2015
        (("MU", "ETA"), 0.0054375, 2.5 * 0.010875),
        (("JET", "ETA"), -0.0435, 3 * 0.0435),
        (("ETM", "PHI"), 0.1, 3 * math.tau / 144),
        (("MBT0HFP", "COUNT"), 1.0, 3.0),
    ],
)
def test_a_scale_that_begins_elsewhere_is_reported_and_its_integers_remain(
    menu: XMLMenu, key: tuple[str, str], shift: float, of_bin_3: float
) -> None:
    scale = menu.scales[key]
    edges = tuple((lower + shift, upper + shift, number) for lower, upper, number in scale.edges)
    moved = dataclasses.replace(menu, scales={**menu.scales, key: dataclasses.replace(scale, edges=edges)})
    place = next(i for i, (_, _, number) in enumerate(edges) if number == 3)
    assert edge_of(moved, *key, place, 0) == pytest.approx(of_bin_3)
    (message,) = scale_warnings(moved, [key[0]])
    assert message.startswith(f"the scale {key[0]} {key[1]} (line {scale.line}) has its bin 0 at ")
    assert list(scale_warnings(moved, ["EG"])) == []
