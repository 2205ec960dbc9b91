"""Five variants of a menu compared with one: the same objects and models, other thresholds, on the embedded
sample."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import trigemu
from trigemu.studies.comparison import compare

MENUS = Path(__file__).parent.parent / "menus"
VARIANTS = 5
#: What varies → the thresholds of a trigger, and their factor between variants. "legs": also the thresholds
#: of the objects of combinations: variants then share nothing of a trigger.
CUTS = {
    "thresholds": r"(?m)^(above|unique_rate_hz) = ()([\d.]+)",
    "legs": r"(?m)(^above|^unique_rate_hz|pt) = (\{ min = )?([\d.]+)",
}
STEP = 0.03
CASES = [("full", "thresholds"), ("full", "legs"), ("decade", "thresholds")]
#: Seconds of one menu, for the ratio.
_one: dict[tuple[str, str], float] = {}


def variants(folder: Path, name: str, cuts: str) -> list[trigemu.Menu]:
    text = (MENUS / f"{name}.toml").read_text().replace('"../', f'"{MENUS.parent}/')
    head, *triggers = re.split(r"(?m)^(?=\[\[trigger\]\])", text)
    menus = []
    for number in range(VARIANTS):
        factor = 1 + number * STEP
        varied = [
            re.sub(CUTS[cuts], lambda m, f=factor: f"{m[1]} = {m[2] or ''}{float(m[3]) * f:.6g}", trigger)
            for trigger in triggers
        ]
        file = folder / f"{name}{number}.toml"
        file.write_text(head.replace(f'name = "{name}"', f'name = "{name}{number}"') + "".join(varied))
        menus.append(trigemu.read_menu(file, [MENUS.parent / "plugins"]))
    return menus


@pytest.mark.benchmark(group="five variants", min_rounds=3)
@pytest.mark.parametrize(("name", "cuts"), CASES)
def test_one_menu(benchmark: BenchmarkFixture, tmp_path: Path, name: str, cuts: str) -> None:
    menu = variants(tmp_path, name, cuts)[0]
    catalogue = trigemu.open_catalogue()
    result = benchmark(lambda: trigemu.rates_of(trigemu.emulate([menu], catalogue)))
    assert result.rate.events > 0
    _one[name, cuts] = benchmark.stats["min"]


@pytest.mark.benchmark(group="five variants", min_rounds=3)
@pytest.mark.parametrize(("name", "cuts"), CASES)
def test_five_variants(benchmark: BenchmarkFixture, tmp_path: Path, name: str, cuts: str) -> None:
    menus = variants(tmp_path, name, cuts)
    catalogue = trigemu.open_catalogue()
    result = benchmark(lambda: compare(trigemu.emulate(menus, catalogue)))
    assert len(result.changes) >= VARIANTS * (VARIANTS - 1) // 2
    if (name, cuts) in _one:
        benchmark.extra_info["times_one_menu"] = benchmark.stats["min"] / _one[name, cuts]
