"""`trigemu bench` as users give it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from trigemu_latency import FirstDecision, cli
from trigemu_latency.timing import clock as timing

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")
SHORT = ("--events", "60", "--batch", "16,1,1")
OUT = ("--json", "out.json", "--figure", "out.png")


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "SECONDS", 0.001)


@pytest.fixture
def _known_first_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its measurement compiles all kernels anew: once is enough for this file (`test_a_menu`)."""
    monkeypatch.setattr(cli, "first_decision", lambda *_: FirstDecision(12.3, 1.8, 43))


@pytest.mark.slow
def test_a_menu(place: Any, trigemu: Run) -> None:
    status, text = trigemu("bench", "menu.toml", *ON_TOYS, *SHORT, "--threads", "2", "--details", *OUT)
    assert status == 0, text
    document = json.loads((place.folder / "out.json").read_text(), parse_constant=pytest.fail)
    assert list(document["menu"]["batch"]) == ["1", "16"]
    assert [trigger["name"] for trigger in document["triggers"]] == ["J30", "MU"]
    assert document["environment"]["threads"] == 2
    first = document["first_decision"]
    assert first["compiled"] > first["kept"] > 0.1
    assert first["kernels"] > 20
    assert f"{first['compiled']:.1f} s after its start" in " ".join(text.split())
    trigemu("run", "menu.toml", *ON_TOYS, "--json", "run.json")
    run = json.loads((place.folder / "run.json").read_text())
    for mine, other in zip(document["triggers"], run["triggers"], strict=True):
        assert other.items() <= mine.items()
    assert document["provenance"] == run["provenance"]
    assert (place.folder / "out.png").read_bytes().startswith(b"\x89PNG")
    assert "60 crossings" in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.usefixtures("_known_first_decision")
def test_without_details(place: Any, trigemu: Run) -> None:
    """The same document, and a line that says how to see more."""
    command = ("bench", "menu.toml", *ON_TOYS, *SHORT, "--json", "out.json")
    keys = []
    for details in (False, True):
        status, text = trigemu(*command, *["--details"] * details)
        assert status == 0, text
        assert ("\n--details: " in text) != details
        assert ("12.3 s after its start" in " ".join(text.split())) == details
        assert text.startswith("40 MHz need ")
        keys.append(list(json.loads((place.folder / "out.json").read_text())))
    assert keys[0] == keys[1]
    status, text = trigemu(*command[:-1], "-")
    assert list(json.loads(text)) == keys[0]  # alone on the standard output


@pytest.mark.usefixtures("_known_first_decision")
def test_few_events_and_little_time(place: Any, trigemu: Run) -> None:
    text = (place.folder / "menu.toml").read_text()
    jet = "[[trigger]]" + text.split("[[trigger]]")[1]
    more = [jet.replace('"J30"', f'"J{n}"').replace("30.0", f"{n}.0") for n in range(31, 45)]
    place.write("long.toml", text + "".join(more))
    short = ("--events", "60", "--seconds", "1e-6", "--json", "out.json")
    status, message = trigemu("bench", "long.toml", *ON_TOYS, *short)
    assert status == 0, message
    document = json.loads((place.folder / "out.json").read_text())
    assert list(document["menu"]["batch"]) == ["1", "16"]
    assert document["untimed"] == [f"J{n}" for n in range(37, 45)]
    rows = [line.split()[0] for line in message.splitlines() if line.startswith("J")]
    assert sorted(set(rows)) == ["J30", *(f"J{n}" for n in range(31, 37))]
    assert "Not timed, since the time was up: 8 of 16 triggers, from J37 to J44" in " ".join(message.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--batch", "0,x"), "--batch 0,x: expected numbers of events from 1, as in 1,16,256"),
        (("--batch", "0"), "--batch 0: expected"),
        (("--batch", ""), "--batch : expected"),
        (("--batch", "1,,2"), "--batch 1,,2: expected"),
        (("--batch", "1e3"), "--batch 1e3: expected"),
        (("--events", "0"), "0 is not in the range 1<=x<=100000000"),
        (("--threads", "0"), "0 is not in the range"),
        (("--batch", "64", "--events", "63"), "a batch of 64 events cannot be made from 63"),
        (
            ("--batch", "40", "--events", "60", "--threads", "2"),
            "for each of 2 threads cannot be made from 60",
        ),
        (("--figure", "out.gifx"), "should end in .png, .pdf, .svg"),
        (("--json", "no/out.json"), "there is no folder no"),
    ],
)
def test_mistakes_end_with_a_message_and_no_file(
    place: Any, trigemu: Run, arguments: tuple[str, ...], message: str
) -> None:
    before = place.files()
    status, text = trigemu("bench", "menu.toml", *ON_TOYS, *arguments)
    assert status == 2
    assert message in text
    assert "Traceback" not in text
    assert place.files() == before


@pytest.mark.parametrize("option", ["--events", "--threads"])
def test_numbers_are_bounded(trigemu: Any, option: str) -> None:
    status, text = trigemu("bench", "menu.toml", option, "9" * 30)
    assert status == 2
    assert f"Invalid value for '{option}'" in text
