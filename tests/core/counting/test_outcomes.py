"""Outcomes of counters, and what follows from them, against every outcome of every counter in fractions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import counting_twins as twins
import numpy as np
import pytest
from hypothesis import given, strategies as st

from trigemu.counting import counters
from trigemu.counting.outcomes import AND, NOT, OR, Graph, all_components, outcomes_of

PRESCALES = [1.0, 1.0, 2.0, 3.0, 1.5, 7.25]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """One to five nodes; most read others, and some share their counter."""
    nodes = draw(st.integers(1, 5))
    programs: list[list[int]] = []
    for node in range(nodes):
        read = [] if node == 0 else draw(st.lists(st.integers(0, node - 1), max_size=3))
        program: list[int] = []
        for number, other in enumerate(read):
            program += [other, *([NOT] if draw(st.booleans()) else [])]
            program += [draw(st.sampled_from([AND, OR]))] if number else []
        programs.append(program)
    code = np.array([step for program in programs for step in program], np.int64)
    counter = np.array(draw(st.lists(st.integers(0, nodes - 1), min_size=nodes, max_size=nodes)), np.int64)
    prescale = np.array(draw(st.lists(st.sampled_from(PRESCALES), min_size=nodes, max_size=nodes)))
    read_counters = np.zeros(nodes, np.bool_)
    read_counters[counter[code[code >= 0]]] = True
    return Graph(counter, prescale, code, np.cumsum([0, *map(len, programs)]), read_counters)


@st.composite
def combinations(draw: st.DrawFn) -> tuple[Graph, np.ndarray]:
    """A graph, and some combinations of nodes that fire, bool[c, nodes]."""
    graph = draw(graphs())
    fired = np.array(list(itertools.product([False, True], repeat=len(graph.counter))))
    return graph, fired[draw(st.lists(st.integers(0, len(fired) - 1), min_size=1, max_size=3))]


def masks(data: st.DataObject, graph: Graph) -> np.ndarray:
    n = len(graph.counter)
    return np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.bool_)


def probability(
    graph: Graph, fired: np.ndarray, of: Callable[[frozenset[int]], bool], removed: int = -1
) -> float:
    return float(sum(p for p, accepted in twins.accepting(graph, fired, removed) if of(accepted)))


close = {"rel": 1e-12, "abs": 1e-15}


@given(combinations())
def test_components_are_what_is_connected(drawn: tuple[Graph, np.ndarray]) -> None:
    graph, fired = drawn
    component, too_many = all_components(fired, graph, 2**16)
    assert component.tolist() == [twins.components(graph, row) for row in fired]
    assert too_many == -1


@given(combinations(), st.integers(1, 6))
def test_outcomes_are_counted_before_they_are_listed(drawn: tuple[Graph, np.ndarray], limit: int) -> None:
    graph, fired = drawn
    component, _ = all_components(fired, graph, 2**16)
    most = []
    for row in component:
        listed = [outcomes_of(row, number, graph, -1) for number in range(row.max() + 1)]
        for of in listed:
            assert of.probability.sum() == pytest.approx(1.0, rel=1e-14)
            assert (of.probability > 0).all()
        for number, of in enumerate(listed):
            assert (of.accept[:, row != number] == 0).all()
        most.append(max((len(of.probability) for of in listed), default=1))
        for number, of in enumerate(listed):
            inside = np.flatnonzero(row == number).tolist()
            read = [c for c in np.flatnonzero(graph.read) if c in graph.counter[inside]]
            assert len(of.probability) == math.prod(len(twins.thresholds(graph, inside, c)) - 1 for c in read)
    first = next((number for number, n in enumerate(most) if n > limit), -1)
    assert all_components(fired, graph, limit)[1] == first


@given(combinations())
def test_totals_and_pairs(drawn: tuple[Graph, np.ndarray]) -> None:
    graph, fired = drawn
    component, _ = all_components(fired, graph, 2**16)
    total, both = counters.total(component, graph), counters.both(component, graph)
    for row, of in enumerate(fired):
        for a, b in itertools.product(range(len(of)), repeat=2):
            expected = probability(graph, of, lambda accepted, a=a, b=b: {a, b} <= accepted)
            assert both[row, a, b] == pytest.approx(expected, **close)
        assert total[row] == pytest.approx(both[row].diagonal(), **close)
    assert (both == both.transpose(0, 2, 1)).all()  # to the last bit


@given(combinations(), st.data())
def test_any_of_some_nodes_and_none(drawn: tuple[Graph, np.ndarray], data: st.DataObject) -> None:
    graph, fired = drawn
    component, _ = all_components(fired, graph, 2**16)
    members = masks(data, graph)
    some = set(np.flatnonzero(members).tolist())
    found = counters.either_and_none(component, graph, members)
    unique = counters.unique(component, graph, members)
    for row, of in enumerate(fired):
        none = probability(graph, of, lambda accepted: not accepted & some)
        assert found[row] == pytest.approx([1.0 - none, none], **close)
        if none in (0.0, 1.0):  # to the last bit
            assert found[row, 0] == 1.0 - none
        if none == 1.0:
            assert found[row, 1] == 1.0
        for node in range(len(of)):
            expected = probability(graph, of, lambda accepted, node=node: accepted & some == {node})
            assert unique[row, node] == pytest.approx(expected, **close)
    assert (unique <= counters.total(component, graph) * (1 + 1e-12)).all()


@given(combinations(), st.data())
def test_what_is_lost_without_a_node(drawn: tuple[Graph, np.ndarray], data: st.DataObject) -> None:
    graph, fired = drawn
    component, _ = all_components(fired, graph, 2**16)
    every = masks(data, graph)
    for removed in range(len(every)):
        members = every.copy()
        members[removed] = False
        some = set(np.flatnonzero(members).tolist())
        found = counters.lost(component, graph, members, removed)
        for row, of in enumerate(fired):
            before, after = (probability(graph, of, lambda a, s=some: bool(a & s), r) for r in (-1, removed))
            assert found[row] == pytest.approx(before - after, **close)


def test_what_another_component_accepts_is_not_lost() -> None:
    """B reads A, and C has nothing to do with them."""
    graph = Graph(
        np.array([0, 1, 2]),
        np.array([2.0, 3.0, 5.0]),
        np.array([0]),
        np.array([0, 0, 1, 1]),
        np.arange(3) == 0,
    )
    component, _ = all_components(np.ones((1, 3), np.bool_), graph, 4)
    assert component.tolist() == [[0, 0, 1]]
    found = counters.lost(component, graph, np.array([False, True, True]), 0)
    assert found[0] == pytest.approx(1 / 2 * 1 / 3 * 4 / 5, rel=1e-15)


def test_where_no_member_fires_the_probabilities_are_0_and_1() -> None:
    """To the last bit, though the probabilities of these outcomes do not add up to 1."""
    code, starts, read = np.array([0]), np.array([0, 0, 0, 1]), np.array([True, False])
    graph = Graph(np.array([0, 0, 1]), np.array([7.25, 33.3, 1.0]), code, starts, read)
    component, _ = all_components(np.ones((1, 3), np.bool_), graph, 4)
    first, *others = outcomes_of(component[0], 0, graph, -1).probability.tolist()
    assert first + others[0] + others[1] != 1.0
    assert counters.either_and_none(component, graph, np.zeros(3, np.bool_)).tolist() == [[0.0, 1.0]]


@given(combinations(), st.data())
def test_exactly_some_nodes(drawn: tuple[Graph, np.ndarray], data: st.DataObject) -> None:
    """Summed over all sets of them, it is 1."""
    graph, fired = drawn
    component, _ = all_components(fired, graph, 2**16)
    members = masks(data, graph)
    others = masks(data, graph) & ~members
    some, none = (set(np.flatnonzero(of).tolist()) for of in (members, others))
    found = counters.exactly(component, graph, members, others)
    for row, of in enumerate(fired):
        expected = probability(graph, of, lambda accepted: some <= accepted and not accepted & none)
        assert found[row] == pytest.approx(expected, **close)
    every = np.array(list(itertools.product([False, True], repeat=len(members))))
    whole = sum(counters.exactly(component, graph, of, ~of) for of in every)
    assert whole == pytest.approx(np.ones(len(fired)), rel=1e-12)
