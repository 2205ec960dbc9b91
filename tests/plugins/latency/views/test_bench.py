from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench_toys import BATCHES, emulation
from printing import text_of

from trigemu import __version__
from trigemu.api import numbers
from trigemu_latency import Bench, bench
from trigemu_latency.timing import clock as timing
from trigemu_latency.views import bench_tables
from trigemu_latency.views.bench import VIEW, figure_of
from trigemu_latency.views.timing import digits

KEYS = ["p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns", "events_per_s", "calls"]


@pytest.fixture(autouse=True, scope="module")
def _short() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "SECONDS", 0.001)
        yield


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return bench(emulation(tmp_path_factory.mktemp("output")), batches=BATCHES, events=230, threads=2)


@pytest.fixture(scope="module")
def document(result: Bench) -> dict[str, Any]:
    return result.to_dict()


def rendered(result: Bench, width: int = 120, details: bool = True) -> list[str]:
    return text_of(VIEW.page(result, details), width).splitlines()


def test_the_answer_comes_first(result: Bench) -> None:
    """With and without details: cores for the crossing rate, and the time of a single event."""
    timing = result.menu[1]
    seconds = 1 / timing.events_per_s
    first, *others = rendered(result, details=False)
    assert first == rendered(result)[0]
    words = first.split()
    assert words[:4] == ["30", "MHz", "need", numbers.short(30e6 * seconds)]
    assert f"one event at a time: p50 {digits(timing.p50_ns / 1000)} µs" in first
    assert (f"p99 {digits(timing.p99_ns / 1000)} µs" in first) == timing.reaches(100)
    text = " ".join(others)
    assert "as a trigger has to decide" in text
    assert "as offline" in text
    for fine in ("Rates, and mean ns", "p99.9", "garbage collection", "on preselected events: p50"):
        assert fine not in text
        assert fine in " ".join(rendered(result))
    lines = [line for line in others if line.split()[:1] in (["1"], ["8"], ["100"])]
    assert ["a trigger" in line for line in lines] == [True, False, False]
    assert ["offline" in line for line in lines] == [False, True, True]


def test_only_the_slowest_triggers_are_shown(result: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the menu; each trigger without times has a sentence."""
    timed = [cost for cost in result.triggers if cost.batch]
    latencies = [cost.batch[1].p50_ns for cost in timed]
    monkeypatch.setattr(bench_tables, "MOST", 2)
    lines = rendered(result, details=False)
    expected = [c.trigger.name for c in timed if c.batch[1].p50_ns >= sorted(latencies)[-2]]
    names = {cost.trigger.name for cost in result.triggers}
    assert [line.split()[0] for line in lines if line.split()[:1] and line.split()[0] in names] == expected
    assert f"The 2 slowest of {len(timed)} timed triggers." in lines
    assert "No times are given for kinds" in " ".join(lines)


def test_json_has_the_keys_it_promises(document: dict[str, Any]) -> None:
    assert {"environment", "menu", "triggers"} <= set(document)
    assert {"cpu", "cores", "threads", "versions", "seed", "load_before", "load_after"} <= set(
        document["environment"]
    )
    assert document["environment"]["versions"]["trigemu"] == __version__
    assert document["environment"]["garbage_collection"] == "off while timing"
    timings = [document["menu"]["batch"]]
    for trigger in document["triggers"]:
        assert {"name", "kind", "batch", "parts"} <= set(trigger)
        timings += [trigger["batch"], *trigger["parts"].values()]
        timings += [trigger["asking"]["batch"]] if trigger["asking"] else []
    assert all(list(numbers) == KEYS for batch in timings for numbers in batch.values())
    assert list(document["menu"]["batch"]) == ["1", "8", "100"]
    acts_on_decisions = [t["name"] for t in document["triggers"] if not t["batch"]]
    assert acts_on_decisions == ["NOT", "ANY"]


def test_json_numbers_are_those_of_the_result(document: dict[str, Any], result: Bench) -> None:
    for size, values in document["menu"]["batch"].items():
        assert values == {key: getattr(result.menu[int(size)], key) for key in KEYS}
        assert document["menu"]["threads_events_per_s"][size] == result.events_per_s[int(size)]
        assert document["menu"]["real_time"][size]["cores"] == result.real_time(int(size)).cores
    for trigger, cost in zip(document["triggers"], result.triggers, strict=True):
        assert (trigger["name"], trigger["kind"]) == (cost.trigger.name, cost.trigger.kind)
        for size, values in trigger["batch"].items():
            assert values == {key: getattr(cost.batch[int(size)], key) for key in KEYS}
        if cost.rates:
            assert cost.rates.to_dict().items() <= trigger.items()
        if cost.preselected:
            assert trigger["asking"]["share"] == cost.preselected.share
        if cost.batch:
            assert sum(trigger["histogram"]["calls"]) == cost.batch[1].calls
            assert len(trigger["histogram"]["edges_ns"]) == len(trigger["histogram"]["calls"]) + 1
        for size, added in trigger["added"].items():
            for name, values in added.items():
                assert values["ns"] == cost.added(int(size))[name].ns
    run = result.rates.to_dict()
    assert document["provenance"] == run["provenance"]
    assert run["menu"].items() <= document["menu"].items()
    assert document["events"] == {"drawn": 230, "distinct": result.distinct}


def test_the_table_shows_rates_and_costs(result: Bench) -> None:
    lines = rendered(result)
    for cost in result.triggers:
        line = next(line for line in lines if line.split()[0:1] == [cost.trigger.name])
        cells = line.split()
        means = [digits(1e9 / timing.events_per_s) for timing in cost.batch.values()]
        assert cells[-3:] == (means or ["–"] * 3)
        if cost.rates:
            assert numbers.marked(cost.rates.total).strip() in line
            assert numbers.marked(cost.rates.unique).strip() in line
        else:
            assert cells[1] == "disabled"
    text = " ".join(" ".join(lines).split())
    assert "230 crossings" in text
    assert "kinds that act on the decisions of a whole sample" in text
    few = any(cost.batch and not cost.batch[1].reaches(1000) for cost in result.triggers)
    assert few == ("too few calls for such a percentile" in text)
    assert "garbage collection off while timing" in text
    assert "Decisions are the same at every batch size" in text
    assert "cores for 30 MHz" in text
    assert "by 2 threads" in text


def test_the_table_shows_latencies_and_parts(result: Bench) -> None:
    lines = rendered(result)
    start = lines.index(next(line for line in lines if line.startswith("Latency of single events")))
    latencies = lines[start : lines.index("", start)]
    assert [line.split()[0] for line in latencies[2:]].count("preselected:") == 2
    (ad,) = (cost for cost in result.triggers if cost.trigger.name == "AD")
    assert digits(ad.batch[1].p50_ns / 1000) in next(x for x in latencies if x.startswith("AD"))
    start = lines.index(next(line for line in lines if line.startswith("AD on preselected events")))
    parts = {line.split("  ")[0]: line.split()[-3:] for line in lines[start + 2 : lines.index("", start)]}
    assert ad.preselected
    assert parts["the whole trigger"] == [digits(ad.preselected.batch[size].p50_ns) for size in BATCHES]
    assert parts["BDT"] == ["–", *(digits(ad.parts["bdt"][size].p50_ns) for size in (8, 100))]
    assert any(name.startswith("sequential adds") for name in parts)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("details", [False, True])
def test_tables_fit(result: Bench, width: int, details: bool) -> None:
    assert max(map(len, rendered(result, width, details))) <= width


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1234, "0.123"), (12.34, "12.3"), (999.6, "1000"), (12345.6, "12346"), (-5.4321, "-5.43")],
)
def test_digits(value: float, text: str) -> None:
    assert digits(value) == text


def test_larger_batches_alone(tmp_path: Path) -> None:
    """Without single events nothing is called a latency, and percentiles may be missing."""
    result = bench(emulation(tmp_path), batches=(100,), events=230)
    text = "\n".join(rendered(result))
    assert "need " in text.splitlines()[0]
    assert "cores, in batches of 100: p50 " in text.splitlines()[0]
    assert "as a trigger has to decide" not in "\n".join(rendered(result, details=False))
    assert "µs per event in batches of 100" in text
    assert "–: too few calls for such a percentile." in text
    assert "Latency" not in text
    assert "by 1 threads" not in text
    assert figure_of(result).axes[0].get_xlabel() == "time per event in batches of 100"


def test_the_figure_has_a_row_for_each_histogram(result: Bench) -> None:
    axes = figure_of(result).axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == [
        "menu toy",
        "J30",
        "J30_TOO",
        "MU",
        "preselected",
        "NEVER",
        "AD",
        "preselected",
        "ALL",
        "OFF",
    ]
    assert axes.get_xscale() == "log"
