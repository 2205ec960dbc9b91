"""Logic against Python's own `and`, `or`, `not`; the rate of `random`, which is exact, and what it adds
to other rates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from toys import memory_catalogue, threshold, toy_events

from trigemu import Catalogue, Menu, TrigemuError, binned_rates, read_menu, run
from trigemu.base.errors import excerpt
from trigemu.triggers.logic import Logic, Random, parse_expression

NAMES = ("A", "B", "C")
#: Every combination of three decisions.
ROWS = list(itertools.product([False, True], repeat=3))
RAW = {name: np.array([row[i] for row in ROWS]) for i, name in enumerate(NAMES)}


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> str:
    kind = draw(st.sampled_from(["name", "not", "and", "or"])) if depth else "name"
    if kind == "name":
        return draw(st.sampled_from(NAMES))
    if kind == "not":
        inner = draw(expressions(depth - 1))
        return f"not ({inner})" if draw(st.booleans()) else f"not {inner}"
    parts = [draw(expressions(depth - 1)) for _ in range(draw(st.integers(2, 3)))]
    return f" {kind} ".join(f"({part})" if draw(st.booleans()) else part for part in parts)


@given(expressions())
def test_expressions_mean_what_they_mean_in_python(text: str) -> None:
    kind = Logic(expression=text)
    assert not list(kind.mistakes())
    expected = [eval(text, {}, dict(zip(NAMES, row, strict=True))) for row in ROWS]
    found = kind.decide(RAW, 8)
    assert found.dtype == np.bool_
    assert found.tolist() == expected
    assert sorted(kind.inputs()) == sorted({letter for letter in text if letter in NAMES})


def test_names_with_other_signs_are_quoted() -> None:
    expression = parse_expression("""'HLT-mu 4' and not "L1/J100#2" or plain_1""")
    assert expression.names() == ("HLT-mu 4", "L1/J100#2", "plain_1")


def test_it_may_go_over_several_lines() -> None:
    assert parse_expression("\nA  # first\n  or B\n  and C\n") == parse_expression("A or B and C")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("A B", "cannot be read"),
        ("A and", "cannot be read"),
        ("A-B", "'A - B' is not a trigger name joined by and, or, not; quote names with other characters"),
        ("A & B", "'A & B' is not a trigger name"),
        ("A > 1", "'A > 1' is not a trigger name"),
        ("A and 1", "'1' is not a trigger name"),
        ("True", "'True' is not a trigger name"),
        ("f(A)", "'f(A)' is not a trigger name"),
        ("A if B else C", "is not a trigger name"),
        ("not " * 101 + "A", "nests more than 100 levels"),
        ("A or " * 20_000 + "A", "has 100001 characters, at most 100000 are allowed"),
    ],
)
def test_what_is_no_expression(text: str, message: str) -> None:
    ((key, mistake),) = Logic(expression=text).mistakes()
    assert key == "expression"
    assert mistake.startswith(f"{excerpt(text)!r}: ")
    assert message in mistake
    with pytest.raises(TrigemuError):
        parse_expression(text)


@given(st.floats(1.0, 40e6), st.floats(40e6, 1e9))
def test_its_prescale_leaves_its_rate_of_all_crossings(rate: float, crossing: float) -> None:
    kind = Random(rate_hz=rate)
    assert crossing / kind.own_prescale(crossing) == pytest.approx(rate, rel=1e-12)
    assert kind.inputs() == ()
    assert kind.decide({}, 4).tolist() == [True] * 4


def crossings(seed: int = 3) -> list[dict[str, Any]]:
    """Events of few interactions, which add up to 30 MHz."""
    events = [event | {"parent": i // 3} for i, event in enumerate(toy_events(seed, 300))]
    total = sum(event["weight"] for event in events)
    return [event | {"weight": event["weight"] * 30e6 / total} for event in events]


OTHERS = threshold("J", "jet[0].pt", 30.0, 'group = "g"') + threshold("M", "met", 25.0, "prescale = 3")
RANDOM = """
[[trigger]]
name = "R"
kind = "random"
rate_hz = {rate}
group = "g"
"""
#: The acceptance of R and of another random trigger.
A, B = 0.2, 0.05


def write(folder: Path, name: str, *triggers: str) -> Menu:
    file = folder / f"{name}.toml"
    file.write_text(f'[menu]\nname = "{name}"\ncrossing_rate_hz = 30e6\n' + "".join(triggers))
    return read_menu(file)


def error_of(fraction: Callable[[float, float], float]) -> float:
    """√Σ over parents of (Σ w f)², f of the acceptances of J and M."""
    sums: dict[int, float] = {}
    for event in crossings():
        j = float(bool(event["jet"]) and event["jet"][0]["pt"] > 30)
        m = (event["met"] > 25) / 3
        sums[event["parent"]] = sums.get(event["parent"], 0.0) + event["weight"] * fraction(j, m)
    return math.sqrt(math.fsum(value**2 for value in sums.values()))


def test_a_random_trigger_alone_has_no_error(tmp_path: Path) -> None:
    """Its total, unique rate and share, its group, two of them, and what reads nothing else."""
    second = RANDOM.format(rate=B * 30e6).replace('"R"', '"S"').replace('group = "g"', 'coherent = "c"')
    logic = '[[trigger]]\nname = "L"\nkind = "logic"\nexpression = "R and not S"\n'
    seeded = RANDOM.format(rate=15e6).replace('"R"', '"T"') + 'seed = "R"\n'
    for more in ((), (second,), (second, logic), (seeded,)):
        result = run(write(tmp_path, "alone", RANDOM.format(rate=A * 30e6), *more), samples())
        rates = [result.rate, *(r for t in (*result.triggers, *result.groups) for r in t.rates.values())]
        assert [rate.error_hz for rate in rates] == [0.0] * len(rates)
        assert result["R"].total.hz == pytest.approx(A * 30e6, rel=1e-12)
        assert (result.overlap_error == 0.0).all()
    assert result.rate.hz == pytest.approx(A * 30e6, rel=1e-12)
    assert result["T"].total.hz == pytest.approx(A / 2 * 30e6, rel=1e-12)
    assert result["R"].total.effective_events == pytest.approx((30e6 / error_of(lambda j, m: 1.0)) ** 2)


def test_it_adds_no_error_to_a_menu(tmp_path: Path) -> None:
    """or(M) = a + (1 − a) or(others): its error is 1 − a times that of the others, and so on."""
    result = run(write(tmp_path, "all", RANDOM.format(rate=A * 30e6), OTHERS), samples())

    def others(j: float, m: float) -> float:
        return j + m - j * m

    def share(j: float, m: float) -> float:
        return (A + (1 - A) * others(j, m)) * A / (A + j + m)

    found = [result.rate, *(result["R"].rates[of] for of in ("total", "unique", "share"))]
    found += [*(result["J"].rates[of] for of in ("total", "unique")), result["g"].total]
    expected = [
        (1 - A) * error_of(others),
        0.0,
        A * error_of(others),
        error_of(lambda j, m: share(j, m) - A),
        error_of(lambda j, m: j),
        error_of(lambda j, m: (1 - A) * j * (1 - m)),
        (1 - A) * error_of(lambda j, m: j),
    ]
    assert [rate.error_hz for rate in found] == pytest.approx(expected, rel=1e-9)
    without = run(write(tmp_path, "others", OTHERS), samples())
    assert result.rate.hz == pytest.approx(A * 30e6 + (1 - A) * without.rate.hz, rel=1e-12)
    assert result.rate.error_hz == pytest.approx((1 - A) * without.rate.error_hz, rel=1e-12)
    both = [0.0, A * error_of(lambda j, m: j), A * error_of(lambda j, m: m)]
    assert result.overlap_error[0].tolist() == pytest.approx(both, rel=1e-9)


def test_the_rates_of_levels_too(tmp_path: Path) -> None:
    """Of both levels by themselves, and of the rejection between them."""
    levels = 'levels = ["L1", "HLT"]\n'
    first = RANDOM.format(rate=A * 30e6) + 'level = "L1"\n'
    last = (
        RANDOM.format(rate=15e6).replace('"R"', '"H"').replace('"g"', '"h"') + 'level = "HLT"\nseed = "R"\n'
    )
    result = run(write(tmp_path, "levels", levels, first, last), samples())
    assert [level.rate.error_hz for level in result.levels] == [0.0, 0.0]
    assert (result.levels[1].rejection, result.levels[1].rejection_error) == (pytest.approx(2.0), 0.0)


def test_within_a_bin_it_has_the_error_of_the_bin(tmp_path: Path) -> None:
    """The weight of all crossings is known, that of those in a bin is not; the shares of a bin are."""
    menu = write(tmp_path, "all", RANDOM.format(rate=A * 30e6), OTHERS)
    result = binned_rates(menu, "met", (0.0, 25.0, 1e9), samples())
    part = result.bins[0]
    assert part.rates
    assert part.rates["R"].total.error_hz == pytest.approx(A * part.crossings.error_hz, rel=1e-9)
    assert part.rates["R"].total.error_hz > 0.0
    assert part.if_all[0].error_hz == pytest.approx(0.0, abs=1e-6)
    assert part.menu_if_all
    assert part.menu_if_all.error_hz > 0.0


def samples() -> Catalogue:
    return memory_catalogue({"all": crossings()}, rate=30e6)
