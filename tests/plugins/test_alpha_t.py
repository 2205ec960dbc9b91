from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from project import ROOT
from toys import columns, memory_catalogue, toy_events

from trigemu import TrigemuError, decide, make_events, make_plan, read_menu, run
from trigemu.api import Context, Workspace

MENU = """
[menu]
plugins = ["alpha_t"]
[objects.hard]
from = "jet"
pt = { min = 8.0 }
[[trigger]]
name = "AT"
kind = "alpha_t"
object = "hard"
above = ABOVE
"""


def alpha_t(jets: list[dict[str, float]]) -> float:
    """The definition of the paper: ET of the second jet over the transverse mass of both."""
    if len(jets) < 2:
        return -math.inf
    first, second = jets[:2]
    et = first["pt"] + second["pt"]
    px = first["pt"] * math.cos(first["phi"]) + second["pt"] * math.cos(second["phi"])
    py = first["pt"] * math.sin(first["phi"]) + second["pt"] * math.sin(second["phi"])
    return second["pt"] / math.sqrt(et**2 - px**2 - py**2)


def scores(
    tmp_path: Path, events: list[dict[str, object]], above: float = 0.55
) -> tuple[list[float], list[int]]:
    file = tmp_path / "menu.toml"
    file.write_text(MENU.replace("ABOVE", str(above)))
    menu = read_menu(file, [ROOT / "plugins"])
    c = columns(events)
    result = make_events("toy", c.weight, c.collections, c.scalars)
    compiled = menu.triggers[0].description.compile(Context(menu.scope))
    fired = decide(result, make_plan([menu]))[:, 0]
    return compiled.evaluate(Workspace(result)).tolist(), fired.tolist()


def test_against_the_definition(tmp_path: Path) -> None:
    events = toy_events(11, 400)
    expected = [alpha_t([jet for jet in event["jet"] if jet["pt"] >= 8.0]) for event in events]
    result, fired = scores(tmp_path, events)
    assert sum(e > -math.inf for e in expected) > 100
    np.testing.assert_allclose(result, expected, rtol=1e-9)
    assert fired == [int(e > 0.55) for e in expected]
    assert 10 < sum(fired) < 390


@pytest.mark.parametrize(
    ("pt1", "pt2", "dphi", "expected"),
    [
        (50.0, 50.0, math.pi, 0.5),
        (80.0, 20.0, math.pi, 0.25),
        (50.0, 50.0, math.pi / 2, math.sqrt(0.5)),
        (50.0, 50.0, 0.0, math.inf),
    ],
)
def test_closed_forms(tmp_path: Path, pt1: float, pt2: float, dphi: float, expected: float) -> None:
    event = toy_events(1, 1)[0]
    jets = [{"pt": pt1, "eta": 0.3, "phi": 0.0}, {"pt": pt2, "eta": -1.0, "phi": dphi}]
    event["jet"] = [jet | {"charge": 0} for jet in jets]
    assert scores(tmp_path, [event])[0] == [pytest.approx(expected, rel=1e-6)]


def test_an_unknown_object_is_a_mistake_of_the_menu(tmp_path: Path) -> None:
    file = tmp_path / "menu.toml"
    file.write_text(MENU.replace("ABOVE", "0.5").replace('object = "hard"', 'object = "had"'))
    menu, catalogue = read_menu(file, [ROOT / "plugins"]), memory_catalogue({"toy": toy_events(1, 9)})
    with pytest.raises(TrigemuError, match=r"trigger 'AT': .* no collection 'had'; did you mean 'hard'"):
        run(menu, catalogue)
