"""`trigemu bench` as users give it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from command_checks import check_documents_and_help
from trigemu_latency.timing import clock

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("bench", "menu.toml", "--samples", "catalogue.toml")


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "SECONDS", 0.001)


def test_a_menu(place: Any, trigemu: Run) -> None:
    status, text = trigemu(*ON_TOYS, "--events", "60", "--json", "out.json", "--figure", "out.png")
    assert status == 0, text
    assert text.startswith("40 MHz need ")
    document = json.loads((place.folder / "out.json").read_text(), parse_constant=pytest.fail)
    assert (place.folder / "out.png").read_bytes().startswith(b"\x89PNG")
    assert list(document["menu"]["batch"]) == ["1", "16"]
    trigemu("run", *ON_TOYS[1:], "--json", "run.json")
    run = json.loads((place.folder / "run.json").read_text())
    for mine, other in zip(document["triggers"], run["triggers"], strict=True):
        assert other.items() <= mine.items()


def test_missing_collections_and_little_time(place: Any, trigemu: Run) -> None:
    text = (place.folder / "menu.toml").read_text()
    tau = '[[trigger]]\nname = "TAU"\nkind = "threshold"\nobservable = "tau[0].pt"\nabove = 9\n'
    jet = "[[trigger]]" + text.split("[[trigger]]")[1]
    more = [jet.replace('"J30"', f'"J{n}"').replace("30.0", f"{n}.0") for n in range(31, 45)]
    place.write("menu.toml", text + tau + "".join(more))
    command = (*ON_TOYS, "--events", "60", "--seconds", "1e-6", "--json", "-")
    status, text = trigemu(*command)
    assert (status, text.splitlines()[-1]) == (2, "trigemu: --skip-missing leaves these triggers out")
    status, text = trigemu(*command, "--skip-missing")
    document = json.loads(text)  # alone on the standard output
    assert document["menu"]["left_out"] == [{"name": "TAU", "missing": "tau"}]
    assert document["untimed"] == [f"J{n}" for n in range(37, 45)]
    assert list(document["menu"]["batch"]) == ["1", "16"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--events", "0"), "0 is not in the range 1<=x<=100000000"),
        (("--figure", "out.gifx"), ".png, .pdf, .svg"),
    ],
)
def test_mistakes_end_with_a_message_and_no_file(
    place: Any, trigemu: Run, arguments: tuple[str, ...], message: str
) -> None:
    before = place.files()
    status, text = trigemu(*ON_TOYS, *arguments)
    assert status == 2
    assert message in text
    assert place.files() == before


def test_its_documents_and_its_help() -> None:
    assert check_documents_and_help({"bench"}) == {"bench"}
