"""trigemu checkpoint: what a folder holds, and its removal."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

Run = Callable[..., tuple[int, str]]


def test_it_lists_and_prunes(place: Any, trigemu: Run) -> None:
    assert trigemu("run", "menu.toml", "--samples", "catalogue.toml", "--checkpoint", "kept")[0] == 0
    (task,) = (place.folder / "kept").iterdir()
    damaged = task.with_name("0" * 32 + "-" + "1" * 32 + ".task")
    damaged.write_bytes(task.read_bytes()[:-1])
    other = place.write("kept/notes.txt", "mine")
    status, messages = trigemu("checkpoint", "kept")
    assert status == 0
    assert "CountPatterns of menu" in messages
    assert f"kept/{damaged.name} is damaged or of another program" in messages
    status, messages = trigemu("checkpoint", "kept", "--prune", "1")
    assert "removed 1 files" in messages
    assert sorted(place.folder.joinpath("kept").iterdir()) == sorted([task, other])
    os.utime(task, (1, 1))
    assert "removed 1 files" in trigemu("checkpoint", "kept", "--prune", "1")[1]
    assert [*place.folder.joinpath("kept").iterdir()] == [other]
    assert "kept holds no finished task." in trigemu("checkpoint", "kept")[1]


def test_folders_that_are_none(place: Any, trigemu: Run) -> None:
    for name in ("none", "menu.toml"):
        status, messages = trigemu("checkpoint", name)
        assert (status, messages) == (
            2,
            f"trigemu: no folder {name}: expected one that was given as --checkpoint\n",
        )
    assert trigemu("checkpoint", "none", "--prune", "-1")[0] == 2
