"""Options of commands that pass over events: engines, failures, checkpoints, and progress shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toys import toy_events, write_root

from trigemu.base.mapping import Engine
from trigemu.cli import console
from trigemu.cli.console import bar, steps_bar

Run = Callable[..., tuple[int, str]]
SAMPLES = ("--samples", "catalogue.toml")
#: A command for each task.
COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("run", "menu.toml"),
    "efficiency": (
        *("efficiency", "menu.toml", "--sample", "all", "--observable", "met", "--bins", "0:100:20"),
    ),
}


def document(file: str | Path) -> Any:
    result = json.loads(Path(file).read_text())
    result.pop("provenance")
    return result


@pytest.mark.parametrize("name", COMMANDS)
def test_the_same_from_two_processes_and_from_a_checkpoint(place: Any, trigemu: Run, name: str) -> None:
    result, kept = [], ("--checkpoint", "kept")
    for number, how in enumerate(((), ("--workers", "2", *kept), kept)):
        status, messages = trigemu(*COMMANDS[name], *SAMPLES, *how, "--json", f"{number}.json")
        assert status == 0, messages
        result.append(document(f"{number}.json"))
    assert result[0] == result[1] == result[2]
    assert [*Path("kept").glob("*.task")]


def test_a_failure_names_the_file_and_the_entries(place: Any, trigemu: Run) -> None:
    events = [e | {"met": float("nan") if n == 170 else e["met"]} for n, e in enumerate(toy_events(3, 400))]
    write_root(place.folder / "all.root", events, basket=150)
    menu = place.write(
        "met.toml", '[[trigger]]\nname = "M"\nkind = "threshold"\nobservable = "met"\nabove = 1\n'
    )
    status, messages = trigemu("run", menu.name, *SAMPLES, "--workers", "2")
    assert status == 2
    lines = messages.splitlines()
    assert "NaN" in lines[0]
    assert re.fullmatch(r"trigemu: failed: entries 0 to 399 of .*all\.root", lines[1])
    assert len(lines) == 2


def test_files_that_cannot_be_read(place: Any, trigemu: Run) -> None:
    for name in ("a.root", "b.root"):
        (place.folder / name).write_bytes((place.folder / "all.root").read_bytes())
    (place.folder / "b.root").write_bytes((place.folder / "b.root").read_bytes()[:-300])
    text = (place.folder / "catalogue.toml").read_text().replace('"all.root"', '"a.root", "b.root", "c.root"')
    place.write("catalogue.toml", text)
    status, messages = trigemu("run", "menu.toml", *SAMPLES)
    assert status == 2
    assert [re.findall(r"\w\.root", line)[0] for line in messages.splitlines()] == ["b.root", "c.root"]
    status, messages = trigemu("run", "menu.toml", *SAMPLES, "--skip-bad-files", "--json", "out.json")
    assert status == 0
    assert (
        "Warning: 2 of 3 files cannot be opened and are left out, about 67 % of the background's"
        in " ".join(messages.split())
    )
    assert len(document("out.json")["left_out"]["files"]) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--engine", "slurm"), "'slurm': expected local, dask:tcp://HOST:PORT or dask:FILE"),
        (("--engine", "dask:"), "'dask:': expected"),
        (("--engine", "dask:none.json"), "cannot read none.json"),
        (("--engine", "dask:menu.toml"), "cannot read menu.toml (it has another content)"),
        (("--engine", "dask:tcp://127.0.0.1:9", "--workers", "2"), "a cluster has its own workers"),
        (("--retries", "-1"), "-1 is not in the range"),
        (("--checkpoint", "menu.toml"), "is a file"),
    ],
)
def test_options_that_cannot_be(place: Any, trigemu: Run, options: tuple[str, ...], message: str) -> None:
    status, messages = trigemu("run", "menu.toml", *SAMPLES, *options)
    assert status == 2
    assert message in " ".join(messages.replace("│", " ").split())


def test_retries_and_chunks_reach_the_engine(
    place: Any, trigemu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    result: list[Engine] = []
    plain = Engine.__post_init__
    monkeypatch.setattr(Engine, "__post_init__", lambda self: [plain(self), result.append(self)][0])
    assert trigemu("run", "menu.toml", *SAMPLES, "--retries", "7")[0] == 0
    assert result[0].retries == 7


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    result = Clock()
    monkeypatch.setattr(console, "time", result)
    return result


def test_a_log_gets_a_line_now_and_then(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """The number of events is that of the passes that began."""
    engine = Engine()
    with bar("events", engine):
        advance = engine.progress
        engine.counts.planned = 1000
        clock.now += 10
        advance(100)
        assert capsys.readouterr().err == ""
        clock.now += 30
        engine.counts.retried = 2
        advance(300)
        assert capsys.readouterr().err == "trigemu: 400 of 1000 events, 60 s left, 10 events/s, 2 retried\n"
        clock.now += 10
        advance(100)
        assert capsys.readouterr().err == ""
        clock.now += 50
        advance(500)
        line = "trigemu: 1000 of 1000 events, 0 s left, 10 events/s, 2 retried\n"
        assert capsys.readouterr().err == line
        engine.counts.planned += 500
        clock.now += 100
        advance(0)
        assert capsys.readouterr().err.startswith("trigemu: 1000 of 1500 events, 100 s left, 5 events/s, ")


def test_no_more_time_is_left_than_the_limit(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with bar("timing", 473, limit=60.0) as advance:
        for seconds, left in ((40, 20), (40, 0)):
            clock.now += seconds
            advance(2)
            assert f" of 473 timing, {left} s left, " in capsys.readouterr().err


def test_short_work_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with bar("events", 10) as advance, steps_bar(1) as begin:
        advance(10)
        begin("simulation")
    assert capsys.readouterr() == ("", "")


def test_workers_are_reported_if_there_are_any(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    class Pool:
        number = 12

        def submit(self, *arguments: object) -> None: ...

    engine = Engine(Pool())
    with bar("events", engine):
        engine.counts.planned = 100
        clock.now += 40
        engine.progress(40)
    assert capsys.readouterr().err == "trigemu: 40 of 100 events, 60 s left, 1 events/s, 12 workers\n"


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    engine = Engine()
    with bar("events", engine):
        assert capsys.readouterr().err == ""  # nothing to do
        for planned in (50, 80):
            engine.counts.planned = planned
            engine.progress(20)
            engine.progress(20)
    shown = capsys.readouterr().err
    assert ("80/80" in shown, "events/s" in shown) == (True, True)
    with bar("events", Engine()):
        pass
    assert capsys.readouterr().err == ""
    with steps_bar(2) as begin:
        begin("simulation")
        begin("synthesis")
    shown = capsys.readouterr().err
    assert ("2/2" in shown, "synthesis" in shown) == (True, True)


def test_a_log_names_a_step_now_and_then(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with steps_bar(3) as begin:
        for step in ("short", "synthesis", "routing"):
            begin(step)
            clock.now += 25
    assert capsys.readouterr().err == "trigemu: 50 s, step 3 of 3: routing\n"
