"""One event at a time, a different one in each call: menus, the parts of a DECADE trigger, and its BDT
compared with other evaluations."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tl2cgen
import treelite
import trigemu_latency
import xgboost
from pytest_benchmark.fixture import BenchmarkFixture
from trigemu_anomaly.models import load_trees
from trigemu_anomaly.xgboost_file import QUANTILE
from trigemu_latency import draw_events

import trigemu
from trigemu.observables.workspace import Workspace

ROOT = Path(__file__).parent.parent
MODELS = ROOT / "plugins" / "trigemu_decade" / "models" / "primary"
EVENTS, ROUNDS = 5000, 20_000
Record = Callable[[BenchmarkFixture, int], None]


@dataclass(frozen=True)
class Case:
    """Return a menu with its budgets solved, and events as they occur or, if it has a model, that all pass
    the preselection."""

    plan: trigemu.api.Plan
    events: trigemu.Events

    @property
    def model(self) -> int:
        """The slot with a model."""
        return next(i for i, slot in enumerate(self.plan.slots) if hasattr(slot.compiled, "scorer"))


@cache
def case(name: str) -> Case:
    menu = trigemu.read_menu(ROOT / "menus" / f"{name}.toml")
    catalogue = trigemu.open_catalogue()
    plan = trigemu.make_plan(trigemu.solve_budgets([menu], catalogue))
    requested = [slot.compiled.requires for slot in plan.slots if hasattr(slot.compiled, "scorer")]
    (drawn,) = draw_events(plan, catalogue, EVENTS, requested or [None], 1)
    assert drawn
    return Case(plan, drawn.events)


@cache
def features() -> np.ndarray:
    """float32[n, 34]: the inputs of the network of `decade.toml`."""
    of = case("decade")
    scorer = of.plan.slots[of.model].compiled.scorer  # type: ignore[attr-defined]
    return scorer.inputs.evaluate(Workspace(of.events))[0]  # type: ignore[no-any-return]


@cache
def primaries() -> np.ndarray:
    """float32[n, 2]: the inputs of its BDT, leading pT of jets and photons."""
    of = case("decade")
    quantile = of.plan.slots[of.model].compiled.quantile  # type: ignore[attr-defined]
    return quantile.inputs.evaluate(Workspace(of.events))[0]  # type: ignore[no-any-return]


def run(
    benchmark: BenchmarkFixture, record: Record, call: Callable[[int], object], rounds: int = ROUNDS
) -> None:
    """Use a different event in each round, chosen before the clock starts."""
    numbers = itertools.cycle(range(EVENTS))
    benchmark.pedantic(call, setup=lambda: ((next(numbers),), {}), rounds=rounds, warmup_rounds=200)
    record(benchmark, 1)


@pytest.mark.parametrize("name", ["primary", "baseline", "decade", "full"])
@pytest.mark.parametrize("how", ["stream", "decide"])
def test_menu(benchmark: BenchmarkFixture, record: Record, name: str, how: str) -> None:
    """A `Stream`, and the batch loop on a range of one."""
    benchmark.group = f"single events: {name}.toml"
    of = case(name)
    stream = trigemu_latency.Stream(of.plan, of.events)
    expected = trigemu.decide(of.events, of.plan)
    for i in range(EVENTS):
        stream.decide(i)
        assert (stream.words == expected[i]).all()
    if how == "stream":
        return run(benchmark, record, stream.decide)
    single = [of.events[i : i + 1] for i in range(EVENTS)]
    return run(benchmark, record, lambda i: trigemu.decide(single[i], of.plan), ROUNDS // 20)


@pytest.mark.benchmark(group="single events: parts of decade.toml")
def test_own_onnxruntime(benchmark: BenchmarkFixture, record: Record) -> None:
    """Return a session independent of trigemu, with IO binding, one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    file = str(MODELS / "autoencoder.onnx")
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    row, score = np.zeros((1, features().shape[1]), np.float32), np.zeros(1, np.float32)
    binding = session.io_binding()
    name, output = session.get_inputs()[0].name, session.get_outputs()[0]
    binding.bind_input(name, "cpu", 0, np.float32, row.shape, row.ctypes.data)
    binding.bind_output(output.name, "cpu", 0, np.float32, score.shape, score.ctypes.data)
    row[:] = features()[:1]
    run(benchmark, record, lambda i: session.run_with_iobinding(binding))
    assert score == pytest.approx(session.run(None, {name: row})[0].ravel(), rel=1e-5)


class _Entry(ctypes.Union):
    """The declaration of tl2cgen."""

    _fields_ = (("missing", ctypes.c_int), ("fvalue", ctypes.c_float), ("qvalue", ctypes.c_int))


@cache
def compiled(folder: Path) -> Path:
    """The BDT as a library of tl2cgen."""
    model = treelite.frontend.load_xgboost_model(str(MODELS / "quantile.json"))
    path = folder / "trees.so"
    tl2cgen.export_lib(model, toolchain="gcc", libpath=path)
    return path


def evaluators(folder: Path) -> dict[str, Callable[[int], object]]:
    """Return contender → its Y(x) of an event, all of them on one thread and on existing buffers."""
    rows = primaries()
    row = [rows[i : i + 1] for i in range(EVENTS)]
    library = ctypes.CDLL(str(compiled(folder)))
    library.predict.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    library.predict.restype = None
    result = np.zeros(1, np.float32)
    addresses, target = [one.ctypes.data for one in row], result.ctypes.data

    def by_ctypes(i: int) -> float:
        result[0] = 0.0
        library.predict(addresses[i], 0, target)
        return float(result[0])

    predictor = tl2cgen.Predictor(compiled(folder), nthread=1)
    booster = xgboost.Booster(model_file=str(MODELS / "quantile.json"))
    booster.set_param({"nthread": 1})
    model = treelite.frontend.load_xgboost_model(str(MODELS / "quantile.json"))
    of = case("decade")
    trees = of.plan.slots[of.model].compiled.quantile.model  # type: ignore[attr-defined]
    cells = load_trees((MODELS / "quantile.json").read_bytes(), 2, QUANTILE).row()

    def by_row(i: int) -> float:
        cells.features[:] = rows[i]
        return cells.evaluate()

    return {
        "trigemu": by_row,
        "trigemu_batch_of_one": lambda i: trees.predict(row[i]),
        "ctypes": by_ctypes,
        "tl2cgen": lambda i: predictor.predict(tl2cgen.DMatrix(row[i])),
        "gtil": lambda i: treelite.gtil.predict(model, row[i], nthread=1),
        "xgboost_inplace_predict": lambda i: booster.inplace_predict(row[i]),
    }


@pytest.mark.benchmark(group="single events: the BDT")
@pytest.mark.parametrize(
    "name", ["trigemu", "trigemu_batch_of_one", "ctypes", "tl2cgen", "gtil", "xgboost_inplace_predict"]
)
@pytest.mark.filterwarnings("ignore")
def test_bdt(
    benchmark: BenchmarkFixture, record: Record, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    call = evaluators(tmp_path_factory.getbasetemp())[name]
    run(benchmark, record, call)
    of = case("decade")
    trees = of.plan.slots[of.model].compiled.quantile.model  # type: ignore[attr-defined]
    values = [float(np.ravel(call(i))[0]) for i in range(200)]
    assert values == pytest.approx(trees.predict(primaries()[:200]).tolist(), abs=1e-5)
