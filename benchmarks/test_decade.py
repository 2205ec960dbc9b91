"""DECADE in batches: its parts and the complete score compared with the bare engines, on events that pass the
preselection."""

from __future__ import annotations

from collections.abc import Callable
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
from trigemu_anomaly.anomaly import CompiledAnomaly

import trigemu
from trigemu.observables.workspace import Workspace

ROOT = Path(__file__).parent.parent
QUANTILE = ROOT / "plugins" / "trigemu_decade" / "models" / "primary" / "quantile.json"
EVENTS = 131_072
BATCHES = (1, 16, 256, 1024, 4096, EVENTS)
#: A DMatrix is made each time, since XGBoost caches its predictions.
XGBOOST = ("xgboost_inplace_predict", "xgboost_predict")
CONTENDERS = ("trigemu", "tl2cgen", "gtil", *XGBOOST)
Record = Callable[[BenchmarkFixture, int], None]


@cache
def asked() -> tuple[Any, trigemu.Events]:
    """The compiled trigger of `decade.toml`, and events with a photon."""
    menu = trigemu.read_menu(ROOT / "menus" / "decade.toml")
    plan = trigemu.make_plan([menu])
    compiled: Any = plan.slots[plan.bits[0]["AD"]].compiled
    events = repeated(trigemu.open_catalogue(), plan.needs, 3 * EVENTS)
    rows = np.flatnonzero(compiled.requires.evaluate(Workspace(events)))
    return compiled, events.take(np.resize(rows, EVENTS))


def run(benchmark: BenchmarkFixture, record: Record, call: Callable[[], object], n: int) -> None:
    rounds = min(2000, max(20, 2**22 // n))
    benchmark.pedantic(call, rounds=rounds, iterations=1, warmup_rounds=5)
    record(benchmark, n)


@pytest.mark.parametrize("n", BATCHES[1:])
@pytest.mark.parametrize("part", ["features", "autoencoder", "bare_onnxruntime", "bdt", "bare_bdt"])
def test_part(benchmark: BenchmarkFixture, record: Record, part: str, n: int) -> None:
    benchmark.group = f"parts of decade.toml, {n} events"
    compiled, events = asked()
    run(benchmark, record, compiled.stages(events[:n])[part], n)


@pytest.mark.parametrize("n", BATCHES[1:])
@pytest.mark.parametrize("how", ["decade", "parallel", "sequential", "anomaly"])
def test_score(benchmark: BenchmarkFixture, record: Record, how: str, n: int) -> None:
    """Time the trigger, ONNX Runtime and compiled trees on two threads, and the autoencoder as a trigger."""
    benchmark.group = f"the score of decade.toml, {n} events"
    compiled, events = asked()
    events = events[:n]
    stages = compiled.stages(events)
    anomaly = CompiledAnomaly(compiled.scorer, compiled.requires, 0.0)
    calls = {
        "decade": lambda: compiled.evaluate(Workspace(events)),
        "anomaly": lambda: anomaly.evaluate(Workspace(events)),
        "parallel": stages["parallel"],
        "sequential": stages["sequential"],
    }
    if how != "anomaly":
        assert calls[how]() == pytest.approx(compiled.evaluate(Workspace(events)), abs=1e-4)
    run(benchmark, record, calls[how], n)


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
        "trigemu": lambda: compiled.quantile.model.predict(x),
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
    assert np.ravel(call()) == pytest.approx(compiled.quantile.predict(x), abs=1e-5)
    run(benchmark, record, call, n)
