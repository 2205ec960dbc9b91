"""Options of commands that pass over events: engines, failures, checkpoints."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toys import toy_events, write_root

from trigemu.base.mapping import Engine

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
        "Warning: 2 of 3 files cannot be read and are left out, about 67 % of the background's"
        in " ".join(messages.split())
    )
    assert len(document("out.json")["left_out"]["files"]) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--engine", "slurm"), "'slurm': expected local, dask, dask:tcp://HOST:PORT or dask:FILE"),
        (("--engine", "dask:"), "'dask:': expected"),
        (("--engine", "dask:none.json"), "cannot read none.json"),
        (("--engine", "dask:menu.toml"), "menu.toml is not what dask scheduler --scheduler-file writes"),
        (("--engine", "dask:tcp://127.0.0.1:9", "--workers", "2"), "a cluster has its own workers"),
        (("--retries", "-1"), "-1 is not in the range"),
        (("--checkpoint", "menu.toml"), "is a file"),
        (("--checkpoint", "menu.toml/below"), "cannot make the checkpoint folder"),
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
