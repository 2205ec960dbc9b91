"""What the times of a menu show of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from bench_toys import BATCHES, CLOCK
from command_checks import lines_of
from printing import text_of
from result_toys import menus, samples
from trigemu_latency import Bench, bench, views
from trigemu_latency.views import BenchView, digits
from view_checks import (
    check_frame,
    check_hepdata,
    check_html,
    check_plot,
    check_texts,
)

import trigemu
from trigemu.api import numbers

KEYS = {"p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns", "events_per_s", "calls"}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Of a menu with names that are hostile to terminals and pages."""
    menu, _ = menus(tmp_path_factory.mktemp("views"))
    return bench(trigemu.emulate([menu], samples()), events=100, clock=CLOCK)


def rows_of(cost: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"batch": int(size)} | of for size, of in cost["batch"].items()]


def test_the_result_shows_itself(hostile: Bench, tmp_path: Path) -> None:
    document = hostile.to_dict()
    parts = [*document["triggers"], document["menu"]]
    rows = [{"name": part["name"]} | row for part in parts for row in rows_of(part)]
    with mpl.rc_context({"backend": "agg"}):
        check_texts(hostile)
        check_html(hostile)
        check_hepdata(hostile, tmp_path)
        check_plot(hostile, "^latency of a single event$")
        check_frame(hostile, rows)
    with pytest.raises(KeyError, match=r"unknown trigger 'NEVR'; did you mean 'NEVER'\?"):
        hostile["NEVR"]


def rendered(result: Bench) -> list[str]:
    return text_of(BenchView().page(result), 120).splitlines()


def test_the_answer_comes_first(measured: Bench) -> None:
    """Cores for the crossing rate, and the time of a single event."""
    timing = measured.menu[1]
    first, *others = rendered(measured)
    assert first.split()[:4] == ["30", "MHz", "need", numbers.short(30e6 / timing.events_per_s)]
    assert f"p50 {digits(timing.p50_ns / 1000)} µs, p99 {digits(timing.p99_ns / 1000)} µs" in first
    lines = [line for line in others if line.split()[:1] in (["1"], ["16"], ["256"])]
    assert ["a trigger" in line for line in lines] == [True, False, False]
    assert ["offline" in line for line in lines] == [False, True, True]


def test_only_the_slowest_triggers_are_shown(measured: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the menu; each trigger without times has a sentence."""
    timed = {cost.trigger.name: cost.batch[1].p50_ns for cost in measured.triggers if cost.batch}
    monkeypatch.setattr(views, "MOST", 2)
    lines = rendered(measured)
    shown = [line.split()[0] for line in lines if line.split() and line.split()[0] in timed]
    assert sorted(timed[name] for name in shown) == sorted(timed.values())[-2:]
    assert shown == [name for name in timed if name in shown]
    assert f"The 2 slowest of {len(timed)} timed triggers; --json has all." in lines
    assert "No times are given for kinds" in " ".join(lines)


def test_the_document(measured: Bench) -> None:
    document = measured.to_dict()
    assert list(document["menu"]["batch"]) == ["1", "16", "256"]
    timings = [document["menu"]["batch"]]
    for trigger in document["triggers"]:
        timings += [trigger["batch"], *trigger["parts"].values()]
        timings += [trigger["asking"]["batch"]] if trigger["asking"] else []
    assert all(set(numbers) == KEYS for batch in timings for numbers in batch.values())
    for size in BATCHES:
        of = document["menu"]
        assert of["batch"][str(size)]["p99_ns"] == measured.menu[size].p99_ns
        assert of["real_time"][str(size)] == {
            "cores": pytest.approx(30e6 / of["batch"][str(size)]["events_per_s"])
        }
    for trigger, cost in zip(document["triggers"], measured.triggers, strict=True):
        if cost.rates:
            assert cost.rates.to_dict().items() <= trigger.items()
        if cost.batch:
            assert sum(trigger["histogram"]["calls"]) == cost.batch[1].calls
    assert document["provenance"] == measured.rates.to_dict()["provenance"]


def test_the_tables_of_latencies_and_engines(measured: Bench) -> None:
    lines = rendered(measured)
    assert "too few calls for such a percentile" in " ".join(lines)
    start = lines.index(next(line for line in lines if line.startswith("Latency of single events")))
    latencies = lines[start : lines.index("", start)]
    assert [line.split()[0] for line in latencies[2:]].count("preselected:") == 2
    ad = measured["AD"]
    assert digits(ad.batch[1].p50_ns / 1000) in next(x for x in latencies if x.startswith("AD"))
    start = lines.index(next(line for line in lines if line.startswith("AD: µs per preselected event")))
    parts = {line.split("  ")[0]: line.split()[-6:] for line in lines[start + 2 : lines.index("", start)]}
    for part, label in (("kernels", "kernels"), ("bare_bdt", "compiled trees alone")):
        timing = ad.parts[part][256]
        assert parts[label][4] == digits(timing.p50_ns / 1000)
    for width, encoding in ((80, "utf-8"), (80, "ascii"), (120, "utf-8")):
        lines_of([BenchView().page(measured)], width, encoding)


def test_digits() -> None:
    shown = {0.1234: "0.123", 12.34: "12.3", 999.6: "1000", 12345.6: "12346", -5.4321: "-5.43"}
    assert {value: digits(value) for value in shown} == shown


def test_the_figure_has_a_row_for_each_histogram(measured: Bench) -> None:
    axes = next(BenchView().figures(measured)).axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    parts = ["parallel", "kernels", "compiled trees alone"]
    triggers = [
        "J30",
        "J30_TOO",
        "MU",
        "preselected",
        "NEVER",
        "AD",
        "preselected",
        *parts,
        "ALL",
        *parts,
        "OFF",
    ]
    assert labels == ["menu toy", *triggers]
