"""The triggers of a menu in patterns: their decisions before prescales; and, of those that seeds connect, the
outcomes of their prescale counters.

In one event each trigger without a seed accepts according to its prescale counter (a coherent set shares
one). Given which of them accepted, a trigger with a seed accepts with probability d / p if its expression is
true. Once the counters of all triggers that others read are fixed, everything else is independent: the
probabilities in `acceptance.py` are sums over the outcomes of these counters.

Only the triggers that fired matter in an event. Those that read each other, or share a counter, form a part;
parts are independent. Within a part, a counter with k distinct prescales above 1 has k + 1 outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import PluginError, TrigemuError, own_cause
from trigemu.base.kernels import kernel
from trigemu.base.plugins import place_of_method, reason_of
from trigemu.menus.menu import Menu, Trigger
from trigemu.triggers.base import BitKind
from trigemu.triggers.logic import Expression

AND, OR, NOT = -1, -2, -3
#: The largest number of outcomes of the counters of one part of an event: sixteen prescaled seeds.
MAX_OUTCOMES = 2**16
#: What the kernel returns in place of a number of rows.
_NO_ROOM, _TOO_MANY = -1, -2


def counter_of(trigger: Trigger) -> Hashable:
    """Return a key that is equal for triggers that share their prescale counter."""
    return ("set", trigger.coherent) if trigger.coherent else ("alone", trigger.name)


def own_decisions(words: Words, menu: Menu, bits: Mapping[str, int]) -> dict[str, BoolArray]:
    """Return the decisions of the triggers of a menu without their seeds. words: uint64[m, w], the patterns;
    bits: the bit of each trigger in them; returns dict of str to bool[m]."""
    decisions = Decisions(words, menu, bits)
    return {trigger.name: decisions.own(trigger.name) for trigger in menu.used}


def raw_decisions(words: Words, menu: Menu, bits: Mapping[str, int]) -> dict[str, BoolArray]:
    """Return the same with their seeds."""
    decisions = Decisions(words, menu, bits)
    return {trigger.name: decisions[trigger.name] for trigger in menu.used}


class Decisions(dict[str, BoolArray]):
    """The decisions of triggers, bool[m], by name, each made when it is first asked for."""

    def __init__(self, words: Words, menu: Menu, bits: Mapping[str, int]) -> None:
        self.words, self.bits, self._menu = words, bits, menu

    def __missing__(self, name: str) -> BoolArray:
        seed = self._menu.trigger(name).seed
        own = self.own(name)
        self[name] = own & seed.evaluate(self) if seed else own
        return self[name]

    def own(self, name: str) -> BoolArray:
        """Return the decisions of a trigger without its seed."""
        if name in self.bits:
            word, bit = divmod(self.bits[name], 64)
            return np.asarray((self.words[:, word] >> np.uint64(bit)) & np.uint64(1) != 0)
        trigger, n = self._menu.trigger(name), len(self.words)
        kind = trigger.description
        assert isinstance(kind, BitKind)
        where = f"{trigger.place}: trigger {trigger.name!r} (kind {trigger.kind!r})"
        try:
            # a plugin may return any type
            fired: object = kind.decide({other: self[other] for other in kind.inputs()}, n)
        except Exception as error:
            if cause := own_cause(error):
                raise cause from error
            raise PluginError(f"{where} failed: {reason_of(error)}") from error
        if not isinstance(fired, np.ndarray) or fired.dtype != np.bool_ or fired.shape != (n,):
            location = place_of_method(kind, "decide")
            raise PluginError(f"{where} gave {type(fired).__name__}, expected an array bool[{n}]{location}")
        return fired


def switched_off(menu: Menu, names: Collection[str]) -> Menu:
    """Return a menu with some of its triggers switched off as by a column of prescales, which also affects
    triggers that read them."""
    triggers = (replace(t, prescale=math.inf) if t.name in names else t for t in menu.triggers)
    return replace(menu, triggers=tuple(triggers))


class Node(NamedTuple):
    """A trigger that has a seed or is one."""

    name: str
    column: int  # its position among the triggers of all menus, −1 if it is only a seed
    counter: Hashable  # the key of its prescale counter, common to its coherent set
    prescale: float  # ≥ 1
    program: list[int]  # its seed in postfix notation: positions of nodes, AND, OR, NOT; empty without a seed
    fired: BoolArray  # bool[m], its decision without the seed


class Graph(NamedTuple):
    """The nodes and their connections."""

    counter: IntArray  # int64[nodes]: the prescale counter of each
    prescale: FloatArray  # float64[nodes] ≥ 1
    column: IntArray  # int64[nodes]
    code: IntArray  # the programs of all nodes: that of a node is code[starts[node] : starts[node + 1]]
    starts: IntArray  # int64[nodes + 1]
    read: BoolArray  # bool[counters]: whether other nodes read a node with this counter
    order: IntArray  # int64[nodes]: the nodes by counter, and by rising prescale


class Seeded:
    """The nodes of menus in m patterns."""

    def __init__(self, menus: Sequence[Menu], decisions: Sequence[Decisions]) -> None:
        """Collect the triggers of menus that have seeds or are seeds, and those that share a counter with
        one. A disabled trigger counts with its raw decision; one that a column of prescales switches off
        never accepts."""
        connected = {
            counter_of(menu.trigger(name))
            for menu in menus
            for trigger in menu.enabled
            if trigger.seed
            for name in (trigger.name, *trigger.seeds)
        }
        nodes: list[Node] = []
        shift = 0
        for menu, decided in zip(menus, decisions, strict=True) if connected else ():
            enabled = {trigger.name: column for column, trigger in enumerate(menu.enabled, shift)}
            shift += len(enabled)
            read = {name for trigger in menu.enabled for name in trigger.seeds}
            depth: dict[str, int] = {}  # of seeds of seeds; the order must not depend on that in the menu
            for name in menu.order:
                depth[name] = 1 + max((depth[other] for other in menu.trigger(name).seeds), default=-1)
            position: dict[str, int] = {}
            for name in sorted(depth, key=lambda name: (depth[name], name)):
                trigger, own = menu.trigger(name), decided.own
                if name in enabled and counter_of(trigger) in connected:
                    program = postfix(trigger.seed, position) if trigger.seed else []
                    key, column = counter_of(trigger), enabled[name]
                    nodes.append(Node(name, column, key, trigger.prescale, program, own(name)))
                elif name not in enabled and name in read:
                    fired = decided[name] & (trigger.prescale < math.inf)
                    nodes.append(Node(name, -1, ("disabled", name), 1.0, [], fired))
                else:
                    continue
                position[name] = len(nodes) - 1
        self.nodes = nodes
        #: int64[t]: the node of each trigger, −1 if no seed connects it
        self.of_trigger = np.full(sum(len(menu.enabled) for menu in menus), -1, np.int64)
        columns = np.array([node.column for node in nodes], np.int64)
        self.of_trigger[columns[columns >= 0]] = np.flatnonzero(columns >= 0)
        if not nodes:
            return
        number_of = {key: i for i, key in enumerate(sorted({node.counter for node in nodes}, key=repr))}
        counter = np.array([number_of[node.counter] for node in nodes], np.int64)
        prescale = np.array([node.prescale for node in nodes])
        code = np.array([step for node in nodes for step in node.program], np.int64)
        starts = np.cumsum([0, *(len(node.program) for node in nodes)])
        read_counters = np.zeros(len(number_of), np.bool_)
        read_counters[counter[code[code >= 0]]] = True
        order = np.lexsort((prescale, counter))
        self._graph = Graph(counter, prescale, columns, code, starts, read_counters, order)
        self.fired = np.column_stack([node.fired for node in nodes])  # bool[m, nodes]

    def rows(self, patterns: IntArray, removed: int = -1) -> tuple[IntArray, FloatArray]:
        """Return what accepts in each outcome of the counters that other nodes read, in some patterns: a row
        for each part, outcome and trigger that may accept, in this order. An outcome in which none may has a
        row with probability 0. Returns the numbers of the pattern, part, outcome and trigger, int64[4, k];
        and the probabilities of the trigger in the outcome, and of the outcome, float64[2, k]. removed: a
        node that never accepts."""
        fired = np.ascontiguousarray(self.fired[patterns])
        room = 2**10 + 4 * int(np.count_nonzero(fired))
        while True:
            numbers, probabilities = np.empty((4, room), np.int64), np.empty((2, room))
            n, row = _outcomes(fired, self._graph, removed, MAX_OUTCOMES, numbers, probabilities)
            if n == _TOO_MANY:
                raise self._too_many_outcomes(fired[row])
            if n != _NO_ROOM:
                numbers[0, :n] = patterns[numbers[0, :n]]
                return numbers[:, :n], probabilities[:, :n]
            room *= 4

    def _too_many_outcomes(self, fired: BoolArray) -> TrigemuError:
        read = self._graph.read[self._graph.counter]
        some = zip(self.nodes, fired & read, strict=True)
        names = [repr(node.name) for node, inside in some if inside and node.prescale > 1]
        return TrigemuError(
            f"the seeds {', '.join(dict.fromkeys(names))} are prescaled, fire together and are connected "
            f"by the triggers that they seed: their counters have more than {MAX_OUTCOMES} outcomes, too "
            f"many for exact rates; put some into one `coherent` set, or use fewer seeds in a trigger"
        )


def postfix(expression: Expression, position: Mapping[str, int]) -> list[int]:
    """Return an expression as a program of AND, OR, NOT and the positions of triggers, by name."""
    if not expression.operation:
        return [position[expression.name]]
    steps = [postfix(operand, position) for operand in expression.operands]
    if expression.operation == "not":
        return [*steps[0], NOT]
    operation = AND if expression.operation == "and" else OR
    return [*steps[0], *(step for more in steps[1:] for step in (*more, operation))]


@kernel
def _outcomes(
    fired: BoolArray, graph: Graph, removed: int, limit: int, numbers: IntArray, probabilities: FloatArray
) -> tuple[int, int]:
    """Fill in `Seeded.rows`; return their number, or _NO_ROOM, or _TOO_MANY and the row of `fired` with a
    part of more than `limit` outcomes. (Plain loops: np.where, max and assignments of slices take seconds to
    compile.)"""
    counter, prescale, column, code, starts, read, order = graph
    nodes, counters = len(order), len(read)
    part, n, row = np.empty(nodes, np.int64), np.empty(counters, np.int64), 0
    value, lowest = np.empty((counters, nodes)), np.empty(counters)  # thresholds of read counters
    accept, stack = np.zeros(nodes), np.empty(len(code) + 1, np.bool_)
    parts_so_far, outcomes_so_far = 0, 0
    for pattern in range(len(fired)):
        parts = _parts(fired[pattern], graph, part)
        for number in range(parts):
            outcomes = 1
            for c in range(counters):
                n[c] = 0
            for node in order:
                c = counter[node]
                if part[node] == number and read[c] and prescale[node] > 1.0:
                    share = 1.0 / prescale[node]
                    if n[c] == 0 or value[c, n[c] - 1] != share:
                        value[c, n[c]] = share
                        n[c] += 1
            for c in range(counters):
                outcomes *= n[c] + 1
                if outcomes > limit:
                    return _TOO_MANY, pattern
            for outcome in range(outcomes):
                if row + nodes > numbers.shape[1]:
                    return _NO_ROOM, pattern
                rest, probability = outcome, 1.0
                for c in range(counters):
                    k = rest % (n[c] + 1)  # the counter is below the first k thresholds, not below the next
                    rest //= n[c] + 1
                    lowest[c] = value[c, k - 1] if k > 0 else 1.0
                    probability *= lowest[c] - (value[c, k] if k < n[c] else 0.0)
                for node in range(nodes):  # each after those that it reads
                    accept[node] = 0.0
                    if part[node] != number or node == removed:
                        continue
                    if starts[node] < starts[node + 1]:
                        top = -1
                        for k in range(starts[node], starts[node + 1]):
                            step = code[k]
                            if step >= 0:
                                top += 1
                                stack[top] = accept[step] == 1.0
                            elif step == NOT:
                                stack[top] = not stack[top]
                            else:
                                top -= 1
                                both, one = stack[top] and stack[top + 1], stack[top] or stack[top + 1]
                                stack[top] = both if step == AND else one
                        if not stack[0]:
                            continue
                    share = 1.0 / prescale[node]
                    if read[counter[node]]:
                        share = 1.0 if share >= lowest[counter[node]] else 0.0
                    accept[node] = share
                begin, some = row, -1
                for node in order:
                    if part[node] != number or column[node] < 0:
                        continue
                    some = column[node]
                    if accept[node] > 0.0:
                        numbers[3, row], probabilities[0, row] = some, accept[node]
                        row += 1
                if row == begin and some >= 0:
                    numbers[3, row], probabilities[0, row] = some, 0.0
                    row += 1
                for k in range(begin, row):
                    numbers[0, k], numbers[1, k], numbers[2, k] = pattern, parts_so_far, outcomes_so_far
                    probabilities[1, k] = probability
                outcomes_so_far += 1
            parts_so_far += 1
    return row, 0


@kernel
def _parts(fired: BoolArray, graph: Graph, part: IntArray) -> int:
    """Set the part of each node that fired, and −1 for others; return the number of parts."""
    nodes, n = len(fired), 0
    last = np.full(len(graph.read), -1)  # the last node so far with each counter
    for node in range(nodes):  # `part` is first another node of the part with a lower number
        part[node] = node if fired[node] else -1
        if not fired[node]:
            continue
        for k in range(graph.starts[node] - 1, graph.starts[node + 1]):
            other = last[graph.counter[node]] if k < graph.starts[node] else graph.code[k]
            if other < 0 or not fired[other]:
                continue
            a, b = node, other
            while part[a] != a:
                a = part[a]
            while part[b] != b:
                b = part[b]
            part[max(a, b)] = min(a, b)
        last[graph.counter[node]] = node
    for node in range(nodes):
        if part[node] == node:
            part[node] = n
            n += 1
        elif part[node] >= 0:
            part[node] = part[part[node]]
    return n
