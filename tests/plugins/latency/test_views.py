"""What the times of a menu show of themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from result_toys import menus, samples
from view_checks import (
    check_frame,
    check_hepdata,
    check_histogram_file,
    check_html,
    check_plot,
    check_texts,
    same,
)

import trigemu
from trigemu_latency import Bench, bench
from trigemu_latency.timing import clock


@pytest.fixture(scope="module")
def times(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    menu, _ = menus(tmp_path_factory.mktemp("views"))
    with pytest.MonkeyPatch.context() as patch, mpl.rc_context({"backend": "agg"}):
        patch.setattr(clock, "SECONDS", 0.001)
        yield bench(trigemu.emulate([menu], samples()), batches=(1, 8), events=100)


def rows_of(cost: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"batch": int(size)} | of for size, of in cost["batch"].items()]


def test_a_bench(times: Bench, tmp_path: Path) -> None:
    check_texts(times)
    check_html(times)
    check_hepdata(times, tmp_path)
    check_plot(times, "^latency of a single event$")
    document = times.to_dict()
    parts = [*document["triggers"], document["menu"]]
    check_frame(times, [{"name": part["name"]} | row for part in parts for row in rows_of(part)])
    assert times["NEVER"] is times.triggers[3]
    with pytest.raises(KeyError, match=r"unknown trigger 'NEVR'; did you mean 'NEVER'\?"):
        times["NEVR"]


def test_a_trigger(times: Bench, tmp_path: Path) -> None:
    cost = times["MET"]
    check_texts(cost)
    check_html(cost)
    check_hepdata(cost, tmp_path)
    check_plot(cost, "^time per event$")  # the units are at the ticks
    check_frame(cost, rows_of(cost.to_dict()))


def test_a_timing(times: Bench, tmp_path: Path) -> None:
    timing = times.menu[1]
    check_texts(timing)
    check_html(timing)
    check_hepdata(timing, tmp_path)
    check_plot(timing, "^time per event$")
    check_frame(timing, [timing.to_dict()])


def test_a_histogram(times: Bench, tmp_path: Path) -> None:
    calls = times.menu[1].histogram
    check_texts(calls)
    check_html(calls)
    check_hepdata(calls, tmp_path)
    check_plot(calls, "^time per event$")
    document = calls.to_dict()
    edges, numbers = document["edges_ns"], document["calls"]
    check_frame(calls, [{"low_ns": low, "calls": n} for low, n in zip(edges, numbers, strict=False)])
    result = calls.to_hist()
    same(result, edges, numbers, numbers)
    assert result.sum().value == calls.calls.sum()
    check_histogram_file(result)
