"""The trees of the DECADE trigger in fixed point, as in firmware, compared with the compiled floating-point
trees, on their inputs in the embedded sample."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from trigemu_anomaly.inputs import Features
from trigemu_firmware import PAPER_PRECISION, Change, choose, read_rows, tree_model

import trigemu

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def menu() -> trigemu.Menu:
    return trigemu.read_menu(ROOT / "menus" / "decade.toml")


@pytest.fixture(scope="module")
def rows(menu: trigemu.Menu) -> Features:
    rows = read_rows(menu, trigemu.open_catalogue(), "AD").x
    return rows[np.random.default_rng(1).permutation(len(rows))[:131_072]]


@pytest.fixture(scope="module")
def predict(menu: trigemu.Menu, rows: Features) -> dict[str, Callable[[Features], object]]:
    plan = trigemu.make_plan([menu])
    model = tree_model(menu, "AD")
    result = {"floating": plan.slots[plan.bits[0]["AD"]].compiled.quantile.model.score}  # type: ignore[attr-defined]
    for name, types in (
        ("fixed", PAPER_PRECISION),
        ("fixed, rounding, saturating", Change(rounding="AP_RND", overflow="AP_SAT").of(PAPER_PRECISION)),
    ):
        fixed = choose(model.ensemble, rows, model.inputs.texts, types)
        result[name] = lambda x, fixed=fixed: fixed.to_float(fixed.predict(x))
    return result


@pytest.mark.parametrize("batch", [256, 4096, 131_072])
@pytest.mark.parametrize("how", ["floating", "fixed", "fixed, rounding, saturating"])
def test_trees(
    benchmark: BenchmarkFixture,
    record: Callable[[BenchmarkFixture, int], None],
    predict: dict[str, Callable[[Features], object]],
    rows: Features,
    how: str,
    batch: int,
) -> None:
    benchmark.group = f"trees, {batch} rows"
    some = rows[:batch]
    benchmark.pedantic(predict[how], (some,), rounds=max(20, 400_000 // batch), warmup_rounds=3)
    record(benchmark, batch)
