"""All rates of a menu from its pattern table: with two levels and with one, by interactions and by events."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import trigemu

MENUS = Path(__file__).parents[1] / "menus"


def alone(menu: trigemu.Menu) -> trigemu.Menu:
    """Return the same triggers in one level, without seeds."""
    triggers = tuple(replace(trigger, seed=None, level=None) for trigger in menu.triggers)
    return replace(menu, triggers=triggers, levels=())


@pytest.mark.benchmark(group="rates of two-level.toml")
@pytest.mark.parametrize("levels", ["two", "one"])
def test_levels(benchmark: BenchmarkFixture, levels: str) -> None:
    menu = trigemu.read_menu(MENUS / "two-level.toml")
    menu = menu if levels == "two" else alone(menu)
    emulation = trigemu.emulate([menu], trigemu.open_catalogue().with_errors("events"))
    assert len(benchmark(trigemu.rates_of, emulation).triggers) == 32


@pytest.mark.benchmark(group="rates of full.toml")
@pytest.mark.parametrize("errors", ["interactions", "events"])
def test_errors(benchmark: BenchmarkFixture, errors: str) -> None:
    menu = trigemu.read_menu(MENUS / "full.toml")
    emulation = trigemu.emulate([menu], trigemu.open_catalogue().with_errors(errors))  # type: ignore[arg-type]
    assert len(benchmark(trigemu.rates_of, emulation).triggers) == 30
