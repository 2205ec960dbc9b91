"""Integer networks against the arithmetic of exact fractions: random networks, every kind of layer."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from ap_fixed import score_of
from hypothesis import given, settings, strategies as st
from trigemu_anomaly.fixed_point import OVERFLOWS, ROUNDINGS, ApFixed
from trigemu_anomaly.integer_file import (
    FORMAT,
    Add,
    Concatenate,
    Constant,
    Convolution,
    Dense,
    Dot,
    Input,
    IntegerFile,
    Layer,
    Linear,
    Maximum,
    Minimum,
    Multiply,
    Normalise,
    Numbers,
    ReLU,
    Shift,
    Subtract,
    written,
)
from trigemu_anomaly.models import open_model
from trigemu_anomaly.single_row import ScoreModel

from trigemu import TrigemuError


def types(widest: int) -> st.SearchStrategy[str]:
    return st.builds(
        lambda *of: str(ApFixed(*of)),
        st.integers(2, widest),
        st.integers(-3, 12),
        st.booleans(),
        st.sampled_from(ROUNDINGS),
        st.sampled_from(OVERFLOWS),
    )


@st.composite
def networks(draw: st.DrawFn, widest: int) -> IntegerFile:
    kinds = types(widest)

    def kind() -> str:
        return draw(kinds)

    def numbers(n: int) -> Numbers:
        of = kind()
        low, high = ApFixed.parse(of, 64).words
        words = draw(st.lists(st.integers(max(low, -60), min(high, 60)), min_size=n, max_size=n))
        return Numbers(of, words)

    layers: list[Layer] = [Input("x", kind(), 4)]
    sizes = {"x": 4}

    def add(layer: Layer, size: int) -> None:
        layers.append(layer)
        sizes[layer.name] = size

    for number in range(draw(st.integers(1, 5))):
        name, of = f"layer{number}", draw(st.sampled_from([*sizes]))
        n = sizes[of]
        other = draw(st.sampled_from([name for name in sizes if sizes[name] == n]))
        choice = draw(st.integers(0, 8))
        if choice == 0:
            outputs = draw(st.integers(1, 5))
            add(Dense(name, kind(), of, kind(), numbers(n * outputs), numbers(outputs)), outputs)
        elif choice == 1:
            add(draw(st.sampled_from([ReLU, Linear]))(name, kind(), of), n)
        elif choice == 2:
            merge = draw(st.sampled_from([Add, Subtract, Multiply, Maximum, Minimum]))
            add(merge(name, kind(), (of, other)), n)
        elif choice == 3:
            add(Normalise(name, kind(), of, numbers(n), numbers(n)), n)
        elif choice == 4 and n < 8:
            add(Concatenate(name, kind(), (of, other)), 2 * n)
        elif choice == 5 and n == 4:
            padding = draw(st.tuples(*[st.integers(0, 1)] * 4))
            layer = Convolution(
                name, kind(), of, (2, 2, 1), (2, 1), (1, 1), padding, kind(), numbers(4), numbers(2)
            )
            pixels = (1 + padding[0] + padding[1]) * (2 + padding[2] + padding[3])
            add(layer, 2 * pixels)
        elif choice == 6:
            before = next(layer.type for layer in layers if layer.name == of)
            width = ApFixed.parse(before, 64).width
            by = draw(st.lists(st.integers(1 - width, width - 1), min_size=n, max_size=n))
            add(Shift(name, before, of, by), n)
        else:
            add(Dot(name, kind(), (of, other), kind()), 1)
    last = layers[-1].name
    score = draw(types(20))
    if sizes[last] > 1:
        layers.append(Dense("score", score, last, kind(), numbers(sizes[last]), numbers(1)))
    else:
        layers.append(Linear("score", score, last))
    return IntegerFile(FORMAT, "random", layers)


def opened(network: IntegerFile, features: int) -> ScoreModel | None:
    """None if it needs more than 64 bits."""
    try:
        return open_model(written(network), features)
    except TrigemuError as error:
        if "bits" in str(error):
            return None
        raise


def checked(network: IntegerFile, events: np.ndarray) -> None:
    model = opened(network, events.shape[1])
    if model is None:
        return
    expected = [score_of(network, [Fraction(float(value)) for value in event]) for event in events]
    assert model.score(events).tolist() == [float(value) for value in expected]
    row = model.row()
    for event, score in zip(events, expected, strict=True):
        row.features[:] = event
        assert row.evaluate() == float(score)


EVENTS = st.lists(
    st.lists(st.integers(-4000, 4000).map(lambda n: n / 16), min_size=4, max_size=4), min_size=1, max_size=20
)


@pytest.mark.parametrize("widest", [10, 24, 40])
@settings(max_examples=25)
@given(data=st.data())
def test_random_networks_agree_with_exact_fractions(widest: int, data: st.DataObject) -> None:
    network = data.draw(networks(widest))
    checked(network, np.array(data.draw(EVENTS), np.float32))


def test_products_are_cut_before_they_are_added() -> None:
    one = "ap_fixed<8,6>"
    whole = "ap_fixed<8,8>"
    layer = Dense("y", whole, "x", whole, Numbers(one, [1, 1]), Numbers(one, [0]))
    network = IntegerFile(FORMAT, "cut", [Input("x", one, 2), layer])
    model = open_model(written(network), 2)
    assert model.score(np.array([[3.0, 3.0], [4.0, 4.0], [-1.0, 0.0]], np.float32)).tolist() == [0, 2, -1]


KIND = "ap_fixed<8,8>"


def padded(by: int) -> list[Layer]:
    sizes, one = ((1, 2, 1), (1, 1), (4096, 4096), (by, by, by, by)), Numbers(KIND, [1])
    return [Input("x", KIND, 2), Convolution("y", KIND, "x", *sizes, KIND, one, one)]


def dense(weight: list[int]) -> Dense:
    kind, small = "ap_fixed<8,8>", "ap_fixed<3,3>"
    return Dense("y", kind, "x", kind, Numbers(small, weight), Numbers(small, [0]))


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([], 'expected one layer of the kind "input"'),
        ([Linear("y", KIND, "x")], 'expected one layer of the kind "input"'),
        ([Input("x", KIND, 3)], "layer 'x': the network has 3 inputs, the card 2"),
        ([Input("x", KIND, 2)], "layer 'x': the score has 2 numbers, not 1"),
        ([Input("x", "ap_fixed<99,8>", 2)], "layer 'x': ap_fixed<99,8>"),
        ([Input("x", KIND, 2), Linear("y", KIND, "z")], "layer 'y': reads 'z'"),
        ([Input("x", KIND, 2), Linear("x", KIND, "x")], "layer 'x': a layer before it has the same name"),
        ([Input("x", KIND, 2), Constant("c", KIND, [])], "layer 'c': nothing is no word"),
        (padded(4096), "layer 'y': more than 4194304 operations an event"),
        ([Input("x", KIND, 2), dense([9, 1])], "layer 'y': 9 is no word of ap_fixed<3,3>"),
        ([Input("x", KIND, 2), dense([1])], "layer 'y': has 1 × 1 weights, and its input has 2 numbers"),
        (
            [Input("x", "ap_fixed<60,60>", 2), Dot("y", "ap_fixed<20,20>", ("x", "x"), "ap_fixed<60,60>")],
            "layer 'y': a sum or a product in a word of more than 64 bits",
        ),
        (
            [Input("x", "ap_fixed<30,30>", 2), Dot("y", "ap_fixed<30,30>", ("x", "x"), "ap_fixed<60,60>")],
            "a score of 30 bits, which is no float32: expected at most 24",
        ),
    ],
)  # fmt: skip
def test_what_is_no_network(layers: list[Layer], message: str) -> None:
    with pytest.raises(TrigemuError) as error:
        open_model(written(IntegerFile(FORMAT, "wrong", layers)), 2)
    assert message in str(error.value)
