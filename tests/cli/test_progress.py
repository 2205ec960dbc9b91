"""Progress on a terminal, and in a log."""

from __future__ import annotations

import pytest

from trigemu.cli import progress
from trigemu.cli.progress import bar
from trigemu.support import Engine


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def test_a_log_gets_a_line_now_and_then(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    engine = Engine()
    with bar("events", 1000, engine) as advance:
        clock.now += 10
        advance(100)
        assert capsys.readouterr().err == ""
        clock.now += 30
        engine.retried = 2
        advance(300)
        assert capsys.readouterr().err == "trigemu: 400 of 1000 events, 60 s left, 10 events/s, 2 retried\n"
        clock.now += 10
        advance(100)
        assert capsys.readouterr().err == ""
        clock.now += 50
        engine.skipped = 1
        advance(500)
        line = "trigemu: 1000 of 1000 events, 0 s left, 10 events/s, 2 retried, 1 files left out\n"
        assert capsys.readouterr().err == line


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with bar("events", 10) as advance:
        advance(10)
    assert capsys.readouterr() == ("", "")


def test_workers_are_told_where_there_are_any(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    class Pool:
        number = 12

        def submit(self, *arguments: object) -> None: ...

    with bar("events", 100, Engine(Pool())) as advance:
        clock.now += 40
        advance(40)
    assert capsys.readouterr().err == "trigemu: 40 of 100 events, 60 s left, 1 events/s, 12 workers\n"


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with bar("events", 50, Engine()) as advance:
        advance(20)
        advance(30)
    shown = capsys.readouterr().err
    assert "50/50" in shown
    assert "events/s" in shown
