"""A whole trigger in logic: an integer network beside trees, their difference and the cut; words of hardware
objects in, one bit out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from trigemu_anomaly.fixed_point import SATURATING, ApFixed
from trigemu_anomaly.inputs import Features
from trigemu_anomaly.integer_file import Input, Scale
from trigemu_anomaly.integer_network import IntegerNetwork, input_words
from trigemu_anomaly.precision import Difference, difference_of
from trigemu_anomaly.trees import FixedEnsemble

from trigemu import __version__
from trigemu.base.arrays import BoolArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.emulation.engine import Job
from trigemu.emulation.per_event import Columns, per_event, take_rows
from trigemu.emulation.plan import Plan, make_plan
from trigemu.menus.menu import Menu
from trigemu.observables.workspace import Workspace
from trigemu.results.table import Page, in_json
from trigemu.samples.catalogue import Catalogue

from .circuit import Circuit, row, simulate
from .estimate import Estimate, estimate, notes, parts, tables
from .network import network_circuit
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
    shared: dict[int, int]
    gate: tuple[int, int] | None

    @property
    def trees(self) -> FixedEnsemble:
        """The trees in fixed point."""
        assert self.models.trees.fixed
        return self.models.trees.fixed

    def _words(self, features: Features) -> IntArray:
        """Return the words of the network's inputs, int64[n, d]."""
        return input_words(_input_of(self.models), features)

    def inputs(self, features: Features, x: Features) -> IntArray:
        """Return the words of the block, int64[n, D], for the inputs of the network and of the trees."""
        words = np.delete(self._words(features), [*self.shared], axis=1)
        return np.column_stack([self.trees.inputs(x), words])

    def accepts(self, features: Features, x: Features) -> BoolArray:
        """Return the decisions of the integer model, bool[n]."""
        score = self.models.model.score(features) - self.trees.to_float(self.trees.predict(x))
        accepted: BoolArray = score > self.models.threshold
        if self.gate:
            accepted &= self._words(features)[:, self.gate[0]] >= self.gate[1]
        return accepted


def _input_of(models: Difference) -> Input:
    """Return the first layer of the network; TrigemuError unless it has integers, and words for inputs."""
    network = models.model
    if not isinstance(network, IntegerNetwork) or not isinstance(network.file.layers[0], Input):
        raise TrigemuError("its network has no integers: train it with trigemu decade train --quantise")
    if any(network.scales):
        raise TrigemuError("its card has [integer]: expected the words of inputs in the file of the network")
    return network.file.layers[0]


def block_of(models: Difference, requires: str | None, clocks: tuple[int, int]) -> Block:
    """Return a trigger as one circuit, with so many clocks of the network and of the trees. requires: its
    preselection. TrigemuError if it has no circuit."""
    words, trees = _input_of(models), models.trees.fixed
    assert isinstance(models.model, IntegerNetwork)
    if trees is None:
        raise TrigemuError(
            "its trees have no types: give it a precision, which trigemu firmware scan --bits prints"
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
    texts = models.trees.inputs.texts
    shared = {
        i: texts.index(text)
        for i, (text, scale) in enumerate(zip(models.inputs.texts, words.scales, strict=False))
        if text in texts and _is_upper(scale, trees.precision.input, trees.scales[texts.index(text)])
    }
    circuit = _joined(network, of_trees, shared, gate, models.threshold)
    return Block(circuit, of_trees, models, shared, gate)


def _is_upper(scale: Scale, kind: ApFixed, exponent: int) -> bool:
    """Return whether the word of an input of the network is the upper bits of its word in the trees, where it
    is multiplied by 2^exponent."""
    end = 2.0 ** (kind.integer - exponent)
    truncates = not kind.signed and kind.rounding == "AP_TRN" and kind.overflow in SATURATING
    same_end = not scale.period and not scale.lowest and scale.step * (scale.highest + 1) == end
    is_power = math.frexp(scale.step)[0] == 0.5
    return truncates and same_end and is_power and end / scale.step <= 2**kind.width


def _joined(
    network: Circuit, trees: Circuit, shared: dict[int, int], gate: tuple[int, int] | None, threshold: float
) -> Circuit:
    """Return the circuit of both, of score > Y + threshold, and of the preselection."""
    own = [i for i in range(len(network.inputs)) if i not in shared]
    inputs = (*trees.inputs, *(network.inputs[i] for i in own))
    ends = np.cumsum([kind.width for kind in inputs]).tolist()
    port = shared | {i: len(trees.inputs) + number for number, i in enumerate(own)}
    # The word of each input of the network: the upper bits of its port.
    words = [f"x[{ends[port[i]] - 1}:{ends[port[i]] - kind.width}]" for i, kind in enumerate(network.inputs)]
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
    late_score, score_lines = _delayed("score", score.width, latency - network.latency)
    late_bound, bound_lines = _delayed("bound", width, latency - trees.latency)
    late_pass, pass_lines = _delayed("pass", 1, latency)
    passes, sign = f"{words[gate[0]]} >= {gate[1]}" if gate else "1'b1", "-" if cut < 0 else ""
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
        f"        .x({row(words)}));",
        f"    {trees.name} of_trees(.clk(clk), .y(less), .x(x[{ends[len(trees.inputs) - 1] - 1}:0]));",
        f"    wire signed [{width - 1}:0] bound = {number('less', less)} + {sign}{width}'sd{abs(cut)};",
        *score_lines,
        *bound_lines,
        f"    wire pass = {passes};",
        *pass_lines,
        f"    wire signed [{width - 1}:0] number = {number(late_score, score)};",
        f"    always @(posedge clk) y <= {late_pass} & (number > {late_bound});",
        "endmodule\n",
    ]
    verilog = "\n".join([network.verilog, trees.verilog, *lines])
    return Circuit(NAME, verilog, inputs, ApFixed(1, 1, False), latency + 1)


def _delayed(name: str, width: int, clocks: int) -> tuple[str, list[str]]:
    """Return the name of a word after so many clocks, and the lines that delay it."""
    names = [name, *(f"{name}_{n}" for n in range(1, clocks + 1))]
    if not clocks:
        return name, []
    moves = " ".join(f"{b} <= {a};" for a, b in pairwise(names))
    return names[-1], [
        f"    reg signed [{width - 1}:0] {', '.join(names[1:])};",
        f"    always @(posedge clk) begin {moves} end",
    ]


def _read(name: str, plan: Plan, work: Workspace) -> Columns:
    """Return the inputs of both models and the decisions of a trigger, for all events with all inputs."""
    compiled = plan.slots[plan.bits[0][name]].compiled
    models = difference_of(compiled)
    assert models
    features, complete = models.inputs.evaluate(work)
    x, also = models.trees.inputs.evaluate(work)
    columns = {"features": features, "x": x, "accepted": compiled.evaluate(work) > models.threshold}
    return {"keep": complete & also, **take_rows(columns, complete & also)}


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
    columns = per_event(Job((menu,), plan, catalogue), (), partial(_read, name), executor=executor)
    features, x, accepted = columns.values()
    random, texts = np.random.default_rng(1), block.models.inputs.texts
    mixed, of_trees = (
        np.column_stack([random.choice(column, _MIXED) for column in part.T]) for part in (features, x)
    )
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
    """What was found of a block."""

    block: Block
    check: BlockCheck
    estimates: tuple[Estimate, Estimate]  # Of the whole, and of its trees


def report(
    menu: Menu,
    name: str,
    catalogue: Catalogue,
    clocks: tuple[int, int],
    seeds: int,
    executor: Any = None,
    begun: Callable[[str], None] = lambda step: None,
) -> BlockReport:
    """Make a block with so many clocks of the network and of the trees, and simulate, map and route it.
    begun: called with the name of each step, of which there are four, and one for each seed."""
    trigger, plan = menu.trigger(name), make_plan([menu])
    models = difference_of(plan.slots[plan.bits[0][name]].compiled)
    try:
        if models is None:
            raise TrigemuError(f"the kind {trigger.kind!r} has no network beside trees")
        begun("circuit")
        block = block_of(models, getattr(trigger.description, "requires", None), clocks)
    except TrigemuError as error:
        raise TrigemuError(f"{trigger.place}: trigger {name!r}: {error}") from None
    begun("simulation")
    check = check_block(block, menu, name, catalogue, executor)
    estimates = estimate(block.circuit, seeds, begun), estimate(block.of_trees, begun=begun)
    return BlockReport(block, check, estimates)


def block_page(report: BlockReport) -> Page:
    """Return what `trigemu firmware block` prints."""
    check = report.check
    lines = (
        f"Simulated by Verilator: {check.differences} differences from the integer model in {check.events} "
        f"events and {check.mixed} with inputs of different events, of which {check.accepted} are accepted.",
        f"The integer model and the trigger of the menu differ in {check.of_menu} events.",
        *notes(report.estimates[0]),
    )
    return Page([*tables(report.estimates), *lines])


def block_json(report: BlockReport) -> str:
    """Return the JSON document of `trigemu firmware block`."""
    document = {
        "parts": parts(report.estimates),
        "check": asdict(report.check),
        "routes": [asdict(route) for route in report.estimates[0].routes],
        "provenance": {"trigemu": __version__},
    }
    return in_json(document)
