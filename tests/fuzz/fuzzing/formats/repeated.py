"""Catalogues with files and events that are there twice, or only seem to be."""

from __future__ import annotations

import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import uproot
from hypothesis import strategies as st

from fuzzing.formats.base import Files, Format
from fuzzing.tables import as_json

HEAD = '[catalogue]\nname = "c"\nconvention = "crossing"\n'
#: Ranges of events of the files that are made: the first number, how many, the run, the seed of their values.
MADE = {
    **{"a": (0, 30, 7, 1), "b": (30, 20, 7, 2), "c": (25, 10, 7, 3), "d": (29, 1, 8, 4)},
    **{"e": (0, 30, 1, 5), "f": (0, 30, 1, 6), "g": (0, 20, 1, 5)},
}
ROLES = ("background", "background", "background", "signal")


@cache
def made(name: str) -> bytes:
    first, n, run, seed = MADE[name]
    numbers = np.arange(first, first + n)
    columns = {
        "run": np.full(n, run, np.uint32),
        "luminosityBlock": np.ones(n, np.uint32),
        "event": numbers.astype(np.uint64),
        "MET_pt": np.random.default_rng(seed).exponential(20, n).astype("f4"),
    }
    with tempfile.TemporaryDirectory() as folder:
        with uproot.recreate(Path(folder) / "x.root") as file:
            file.mktree("Events", {of: column.dtype for of, column in columns.items()})
            file["Events"].extend(columns)
        return (Path(folder) / "x.root").read_bytes()


def _cases() -> st.SearchStrategy[Files]:
    names = st.sampled_from(tuple(MADE))
    ways = st.sampled_from(("plain", "plain", "plain", "plain", "link", "hard", "copy", "dots", "pattern"))
    files = st.lists(st.tuples(names, ways), min_size=1, max_size=3)
    samples = st.lists(st.tuples(st.sampled_from(ROLES), files), min_size=1, max_size=3)
    return samples.map(lambda of: {"samples.json": as_json(of), **{f"{n}.root": made(n) for n in MADE}})


def _use(folder: Path) -> list[int]:
    """Open the catalogue; return how many events are there twice, of each sentence. A refusal is [-1]."""
    import trigemu
    from trigemu.base.errors import SampleError

    text = HEAD
    for number, (role, files) in enumerate(json.loads((folder / "samples.json").read_text())):
        listed = [_listed(folder, number, *file) for file in files]
        rate = "rate_hz = 1e7" if role == "background" else ""
        text += f'[[sample]]\nname = "{number}"\nrole = "{role}"\nfiles = {listed}\n{rate}\n'
    (folder / "catalogue.toml").write_text(text)
    try:
        catalogue = trigemu.open_catalogue(folder / "catalogue.toml")
    except SampleError as error:
        return [-1 if "would count twice" in str(error) else -2]
    return sorted(int(sentence.split()[0]) for sentence in catalogue.repeated)


def _listed(folder: Path, number: int, name: str, way: str) -> str:
    path, other = folder / f"{name}.root", folder / f"{number}{name}{way}.root"
    if way in ("link", "hard", "copy") and not other.exists():
        if way == "copy":
            other.write_bytes(path.read_bytes())
        else:
            (os.symlink if way == "link" else os.link)(path, other)
    dots = f"../{folder.name}/{name}.root"
    return {"plain": path.name, "dots": dots, "pattern": f"[{name}].root"}.get(way, other.name)


def _twin(folder: Path, found: list[int]) -> str:
    """Compare all events with all others."""
    groups: dict[Any, list[str]] = {}
    recorded: list[str] = []
    simulated: dict[int, list[str]] = {}
    for number, (role, files) in enumerate(json.loads((folder / "samples.json").read_text())):
        groups.setdefault("" if role == "background" else number, []).extend(name for name, _ in files)
        for name, _ in files:
            is_recorded = role == "background" and MADE[name][2] > 1
            (recorded if is_recorded else simulated.setdefault(number, [])).append(name)
    if any(len({*names}) < len(names) for names in groups.values()):
        return "" if found == [-1] else f"a file is there twice, and {found} was found"
    most = sum(_again(names) for names in (recorded, *simulated.values()))
    least = _again(recorded) + sum(_again(names, True) for names in simulated.values() if len(names) < 3)
    return "" if least <= sum(found) <= most else f"{least} to {most} events are there twice, not {found}"


def _again(names: list[str], alike: bool = False) -> int:
    """How many events have the numbers of an earlier one; alike: and of two files, the same values."""
    if alike and not (len(names) == 2 and (MADE[names[0]][3] == MADE[names[1]][3] or MADE[names[0]][2] > 1)):
        return 0
    seen: set[tuple[int, int]] = set()
    again = 0
    for first, n, run, _ in (MADE[name] for name in names):
        events = {(run, number) for number in range(first, first + n)}
        again += len(events & seen)
        seen |= events
    return again


FORMATS = (Format("repeated events", 15, _cases, _use, _twin),)
