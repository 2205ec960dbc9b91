"""Progress on a terminal, and in a log."""

from __future__ import annotations

import time

import pytest

from trigemu.base.mapping import Engine
from trigemu.cli import console
from trigemu.cli.console import bar, steps_bar


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
        engine.counts.skipped = 1
        advance(500)
        line = "trigemu: 1000 of 1000 events, 0 s left, 10 events/s, 2 retried, 1 files left out\n"
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


def test_a_log_names_the_step_that_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "LINE_S", 0.2)
    with steps_bar(2) as begin:
        begin("short")
        begin("synthesis")
        time.sleep(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert 1 <= len(lines) <= 3
    assert set(lines) <= {f"trigemu: {n} s, step 2 of 2: synthesis" for n in (0, 1)}
