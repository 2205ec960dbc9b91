"""DECADE as its trigger runs it, by each engine, beside bare ONNX Runtime and compiled trees, for single
events and in batches, as `trigemu bench menus/decade.toml` has it; and the BDT by several libraries."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tl2cgen
import treelite
import xgboost
from pytest_benchmark.fixture import BenchmarkFixture
from repeat import repeated
from trigemu_latency.timing.clock import Batches

import trigemu
from trigemu.api import Plan, Workspace

ROOT = Path(__file__).parent.parent
QUANTILE = ROOT / "plugins" / "trigemu_decade" / "models" / "primary" / "quantile.json"
MENUS = {"parallel": "decade.toml", "kernels": "decade-kernels.toml"}
EVENTS = 16_384
BATCHES = (1, 16, 256, 4096)
#: A DMatrix is made each time, since XGBoost caches its predictions.
XGBOOST = ("xgboost_inplace_predict", "xgboost_predict")
CONTENDERS = ("trigemu", "tl2cgen", "gtil", *XGBOOST)
Record = Callable[[BenchmarkFixture, int], None]


@cache
def alone(engine: str) -> Plan:
    """The trigger AD of the shipped menu with an engine."""
    plan = trigemu.make_plan(ROOT / "menus" / MENUS[engine])
    return replace(plan, slots=(plan.slots[plan.bits[0]["AD"]],))


@cache
def asked() -> tuple[Any, trigemu.Events]:
    """The trigger with kernels, and events with a photon."""
    plan = alone("kernels")
    compiled: Any = plan.slots[0].compiled
    events = repeated(trigemu.open_catalogue(), plan.needs, 3 * EVENTS)
    rows = np.flatnonzero(compiled.requires.evaluate(Workspace(events)))
    return compiled, events.take(np.resize(rows, EVENTS))


@pytest.mark.parametrize("n", BATCHES)
@pytest.mark.parametrize("what", [*MENUS, "bare_onnxruntime", "bare_bdt"])
def test_decade(benchmark: BenchmarkFixture, record: Record, what: str, n: int) -> None:
    """Decide batch after batch, each in memory of its own."""
    benchmark.group = f"decade.toml, preselected events, {n} at a time"
    batches = Batches(asked()[1], n)
    timed = batches.decisions(alone(what)) if what in MENUS else batches.bare(alone("kernels"))[what]
    numbers = itertools.cycle(range(timed.calls))
    rounds = min(20_000, max(100, 2**20 // n))
    benchmark.pedantic(timed.call, setup=lambda: ((next(numbers),), {}), rounds=rounds, warmup_rounds=20)
    record(benchmark, n)


def run(benchmark: BenchmarkFixture, record: Record, call: Callable[[], object], n: int) -> None:
    rounds = min(2000, max(20, 2**22 // n))
    benchmark.pedantic(call, rounds=rounds, iterations=1, warmup_rounds=5)
    record(benchmark, n)


@cache
def predictor(folder: Path) -> tl2cgen.Predictor:
    model = treelite.frontend.load_xgboost_model(str(QUANTILE))
    path = folder / "decade.so"
    tl2cgen.export_lib(model, toolchain="gcc", libpath=path)
    return tl2cgen.Predictor(path, nthread=1)


def evaluators(x: np.ndarray, folder: Path) -> dict[str, Callable[[], Any]]:
    """Return contender → its Y(x) of all rows, on one thread."""
    compiled, _ = asked()
    booster = xgboost.Booster(model_file=str(QUANTILE))
    booster.set_param({"nthread": 1})
    model = treelite.frontend.load_xgboost_model(str(QUANTILE))
    return {
        "trigemu": lambda: compiled.quantile.model.score(x),
        "tl2cgen": lambda: predictor(folder).predict(tl2cgen.DMatrix(x)),
        "gtil": lambda: treelite.gtil.predict(model, x, nthread=1),
        "xgboost_inplace_predict": lambda: booster.inplace_predict(x),
        "xgboost_predict": lambda: booster.predict(xgboost.DMatrix(x)),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", BATCHES)
@pytest.mark.parametrize("name", CONTENDERS)
def test_bdt(
    benchmark: BenchmarkFixture,
    record: Record,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    n: int,
) -> None:
    benchmark.group = f"the BDT, {n} events"
    compiled, events = asked()
    x, _ = compiled.quantile.inputs.evaluate(Workspace(events[:n]))
    call = evaluators(x, tmp_path_factory.getbasetemp())[name]
    assert np.ravel(call()) == pytest.approx(compiled.quantile.model.score(x), abs=1e-5)
    run(benchmark, record, call, n)
