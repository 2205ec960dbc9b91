"""A whole trigger in logic: an integer network beside trees, their difference and the cut; words of hardware
objects in, one bit out."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from trigemu_anomaly.fixed_point import SATURATING, ApFixed
from trigemu_anomaly.input_kernels import Features
from trigemu_anomaly.integer_file import Input, Scale
from trigemu_anomaly.integer_network import IntegerNetwork, input_words
from trigemu_anomaly.precision import Difference, difference_of
from trigemu_anomaly.trees import FixedEnsemble

from trigemu.base.arrays import BoolArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.emulation.engine import Chunk, Job, Task, over_background
from trigemu.emulation.plan import Plan, make_plan
from trigemu.menus.menu import Menu
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events

from .circuit import Circuit
from .network import network_circuit
from .rtl import Resources, Routed, mapped, routed, simulate
from .verilog_trees import trees_circuit

#: Name of the module, and of its parts.
NAME, NETWORK, TREES = "trigger", "network", "trees"
#: The only preselection with logic.
_REQUIRES = re.compile(r"(n_\w+) *>= *(\d{1,4})")
#: Events whose inputs are drawn independently, each from the events of the sample.
_MIXED = 50_000


@dataclass(frozen=True, eq=False)
class Block:
    """A trigger in logic. circuit: the whole; of_trees: its trees. shared: for inputs of the network that are
    upper bits of an input of the trees, the number of that. gate: the input of the network whose word must
    reach a number."""

    circuit: Circuit
    of_trees: Circuit
    models: Difference
    trees: FixedEnsemble
    words: Input
    shared: dict[int, int]
    gate: tuple[int, int] | None

    def inputs(self, features: Features, x: Features) -> IntArray:
        """Return the words of the block, int64[n, D], for the inputs of the network and of the trees."""
        words, of_trees = input_words(self.words, features), self.trees.inputs(x)
        own = [i for i in range(words.shape[1]) if i not in self.shared]
        return np.column_stack([of_trees, words[:, own]])

    def accepts(self, features: Features, x: Features) -> BoolArray:
        """Return the decisions of the integer model, bool[n]."""
        score = self.models.model.score(features) - self.trees.to_float(self.trees.predict(x))
        accepted: BoolArray = score > self.models.threshold
        if self.gate:
            accepted &= input_words(self.words, features)[:, self.gate[0]] >= self.gate[1]
        return accepted


def block_of(models: Difference, requires: str | None, clocks: tuple[int, int]) -> Block:
    """Return a trigger as one circuit, with so many clocks of the network and of the trees. requires: its
    preselection. TrigemuError if it has no circuit."""
    if not isinstance(models.model, IntegerNetwork) or not isinstance(models.model.file.layers[0], Input):
        raise TrigemuError("its network has no integers: train it with trigemu decade train --quantise")
    if any(models.model.scales):
        raise TrigemuError("its card has [integer]: expected the words of inputs in the file of the network")
    trees, words = models.trees.fixed, models.model.file.layers[0]
    if trees is None:
        raise TrigemuError(
            "its trees have no types: give it a precision, which trigemu firmware precision --auto prints"
        )
    gate = None
    if requires is not None:
        match = _REQUIRES.fullmatch(requires.strip())
        if not match or match[1] not in models.inputs.texts:
            raise TrigemuError(
                f"requires = {requires!r}: logic has n_OBJECT >= NUMBER, of an input of the network"
            )
        gate = models.inputs.texts.index(match[1]), int(match[2])
    network = network_circuit(models.model.file, NETWORK, clocks[0])
    of_trees = trees_circuit(trees, clocks[1], name=TREES)
    shared = dict(_shared(models, trees, words))
    circuit = _joined(network, of_trees, shared, gate, models.threshold)
    return Block(circuit, of_trees, models, trees, words, shared, gate)


def _shared(models: Difference, trees: FixedEnsemble, words: Input) -> Iterator[tuple[int, int]]:
    """Yield the inputs of the network whose words are upper bits of an input of the trees."""
    kind, texts = trees.precision.input, list(models.trees.inputs.texts)
    if kind.signed or kind.rounding != "AP_TRN" or kind.overflow not in SATURATING:
        return
    for i, (text, scale) in enumerate(zip(models.inputs.texts, words.scales, strict=False)):
        if text in texts and not scale.period and not scale.lowest:
            j = texts.index(text)
            end = 2.0 ** (kind.integer - trees.scales[j])
            if (
                scale.step * (scale.highest + 1) == end
                and end / scale.step <= 2**kind.width
                and _is_power(scale)
            ):
                yield i, j


def _is_power(scale: Scale) -> bool:
    return math.frexp(scale.step)[0] == 0.5


def _joined(
    network: Circuit, trees: Circuit, shared: dict[int, int], gate: tuple[int, int] | None, threshold: float
) -> Circuit:
    """Return the circuit of both, of score > Y + threshold, and of the preselection."""
    own = [i for i in range(len(network.inputs)) if i not in shared]
    inputs = (*trees.inputs, *(network.inputs[i] for i in own))
    ends = np.cumsum([kind.width for kind in inputs]).tolist()
    place = {i: len(trees.inputs) + number for number, i in enumerate(own)}

    def bits(i: int) -> str:
        """Return the word of an input of the network: the upper bits of its port."""
        end = ends[shared.get(i, place.get(i, 0))]
        return f"x[{end - 1}:{end - network.inputs[i].width}]"

    score, less = network.output, trees.output
    fraction = max(score.fraction, less.fraction)
    cut = math.floor(math.ldexp(threshold, fraction))
    sides = [kind.width + fraction - kind.fraction + (not kind.signed) for kind in (score, less)]
    width = max(*sides, abs(cut).bit_length() + 1) + 1

    def number(name: str, kind: ApFixed) -> str:
        """Return a word with so many bits after the point, as a signed number."""
        zeros = fraction - kind.fraction
        sign, end = "" if kind.signed else "1'b0, ", f", {zeros}'b0" if zeros else ""
        return f"$signed({{{sign}{name}{end}}})"

    latency = max(network.latency, trees.latency + 1)
    late_score = _late("score", latency - network.latency)
    late_bound = _late("bound", latency - trees.latency)
    of_gate = f"{bits(gate[0])} >= {gate[1]}" if gate else "1'b1"
    sign = "-" if cut < 0 else ""
    lines = [
        f"// {NAME}: 1 if the word of the score > the word of the trees + {cut}, in steps of 2^{-fraction}",
        f"module {NAME}(",
        "    input  wire clk,",
        f"    input  wire [{ends[-1] - 1}:0] x,",
        "    output reg  y",
        ");",
        f"    wire [{score.width - 1}:0] score;",
        f"    wire [{less.width - 1}:0] less;",
        f"    {network.name} of_network(.clk(clk), .y(score),",
        f"        .x({{{', '.join(bits(i) for i in reversed(range(len(network.inputs))))}}}));",
        f"    {trees.name} of_trees(.clk(clk), .y(less), .x(x[{ends[len(trees.inputs) - 1] - 1}:0]));",
        f"    wire signed [{width - 1}:0] bound = {number('less', less)} + {sign}{width}'sd{abs(cut)};",
        *_delayed("score", score.width, latency - network.latency),
        *_delayed("bound", width, latency - trees.latency),
        f"    wire pass = {of_gate};",
        *_delayed("pass", 1, latency),
        f"    wire signed [{width - 1}:0] number = {number(late_score, score)};",
        f"    always @(posedge clk) y <= {_late('pass', latency)} & (number > {late_bound});",
        "endmodule\n",
    ]
    verilog = "\n".join([network.verilog, trees.verilog, *lines])
    return Circuit(NAME, verilog, inputs, ApFixed(1, 1, False), latency + 1, trees.data)


def _late(name: str, clocks: int) -> str:
    return f"{name}_{clocks}" if clocks else name


def _delayed(name: str, width: int, clocks: int) -> list[str]:
    """Return lines that delay a word."""
    names = [_late(name, n) for n in range(clocks + 1)]
    if not clocks:
        return []
    moves = " ".join(f"{b} <= {a};" for a, b in pairwise(names))
    return [
        f"    reg signed [{width - 1}:0] {', '.join(names[1:])};",
        f"    always @(posedge clk) begin {moves} end",
    ]


@dataclass(frozen=True)
class _Read(Task[tuple[Features, Features, BoolArray]]):
    """Reads the inputs of both models and the decisions of a trigger, for all events with all inputs."""

    name: str

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> tuple[Features, Features, BoolArray]:
        compiled = plan.slots[plan.bits[0][self.name]].compiled
        models = difference_of(compiled)
        assert models
        work = Workspace(events)
        features, complete = models.inputs.evaluate(work)
        x, also = models.trees.inputs.evaluate(work)
        complete &= also
        accepted = compiled.evaluate(work) > models.threshold
        return features[complete], x[complete], accepted[complete]


@dataclass(frozen=True)
class BlockCheck:
    """A comparison of the simulated circuit with the integer model, and of that with the menu."""

    events: int  # Of the sample
    mixed: int  # With inputs of different events
    accepted: int  # Of both
    differences: int  # Of the circuit from the integer model
    of_menu: int  # Of the integer model from the trigger of the menu, in events of the sample


def check_block(
    block: Block, menu: Menu, name: str, catalogue: Catalogue, executor: Any = None
) -> BlockCheck:
    """Simulate a block with all background events, and with mixed ones, whose inputs are each of another
    event: these reach combinations that are rare."""
    plan = make_plan([menu])
    plan.check_background(catalogue)
    task = _Read(name)
    parts = [*over_background(Job((menu,), plan, catalogue), task, executor)]
    features, x, accepted = task.merge(parts)
    random = np.random.default_rng(1)
    mixed = np.column_stack([random.choice(column, _MIXED) for column in features.T])
    of_trees = np.column_stack([random.choice(column, _MIXED) for column in x.T])
    texts = block.models.inputs.texts
    for j, text in enumerate(block.models.trees.inputs.texts):
        if text in texts:  # one number, one word
            of_trees[:, j] = mixed[:, texts.index(text)]
    features, x = np.concatenate([features, mixed]), np.concatenate([x, of_trees])
    expected = block.accepts(features, x)
    found = simulate(block.circuit, block.inputs(features, x)) != 0
    return BlockCheck(
        events=len(accepted),
        mixed=_MIXED,
        accepted=int(expected.sum()),
        differences=int((found != expected).sum()),
        of_menu=int((expected[: len(accepted)] != accepted).sum()),
    )


@dataclass(frozen=True)
class BlockReport:
    """What was found of a block. resources: of the whole, and of its trees."""

    block: Block
    check: BlockCheck
    resources: tuple[Resources, ...]
    routes: tuple[Routed, ...]  # One for each seed
    seconds: dict[str, float]  # Time of each step


#: The steps of a report.
STEPS = ("circuit", "simulation", "mapping", "routing")


def report(
    menu: Menu,
    name: str,
    catalogue: Catalogue,
    clocks: tuple[int, int],
    seeds: int,
    executor: Any = None,
    begun: Callable[[str], None] = lambda step: None,
) -> BlockReport:
    """Make a block with so many clocks of the network and of the trees, and simulate, map and route it."""
    seconds: dict[str, float] = {}

    @contextmanager
    def timed(step: str) -> Iterator[None]:
        begun(step)
        start = time.perf_counter()
        yield
        seconds[step] = time.perf_counter() - start

    circuit, simulation, mapping, routing = STEPS
    trigger, plan = menu.trigger(name), make_plan([menu])
    models = difference_of(plan.slots[plan.bits[0][name]].compiled)
    try:
        if models is None:
            raise TrigemuError(f"the kind {trigger.kind!r} has no network beside trees")
        with timed(circuit):
            block = block_of(models, getattr(trigger.description, "requires", None), clocks)
    except TrigemuError as error:
        raise TrigemuError(f"{trigger.place}: trigger {name!r}: {error}") from None
    with timed(simulation):
        check = check_block(block, menu, name, catalogue, executor)
    with timed(mapping):
        resources = tuple(mapped(part) for part in (block.circuit, block.of_trees))
    with timed(routing):
        routes = tuple(routed(block.circuit, range(1, seeds + 1))) if seeds else ()
    return BlockReport(block, check, resources, routes, seconds)
