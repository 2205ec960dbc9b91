"""Files whose facts are known: opened again where they are read."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from toys import toy_events, write_root

from trigemu import open_catalogue
from trigemu.api import SampleError
from trigemu.base.errors import UnreadableError
from trigemu.emulation.engine import ranges_of
from trigemu.samples.source import OPEN_FILES, opened_source


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files, and the same with other bytes after their end: more than are kept open."""
    for n in range(2):
        write_root(tmp_path / f"{n:02d}.root", toy_events(n, 10), basket=4)
    for n in range(2, OPEN_FILES + 5):
        content = (tmp_path / f"{n % 2:02d}.root").read_bytes()
        (tmp_path / f"{n:02d}.root").write_bytes(content + bytes([n]))
    (tmp_path / "catalogue.toml").write_text(
        '[catalogue]\nname = "toy"\nconvention = "crossing"\n'
        '[[sample]]\nname = "a"\nrole = "background"\nrate_hz = 4e7\nfiles = ["*.root"]\n'
    )
    return tmp_path


def test_a_process_keeps_few_files_open(folder: Path) -> None:
    opened_source.cache_clear()
    sample = open_catalogue(folder / "catalogue.toml").samples[0]
    for number in range(len(sample.sources)):
        assert len(sample.read(number, 0, 10, [("jet", "pt")])) == 10
    assert opened_source.cache_info().currsize == OPEN_FILES


def test_files_are_opened_once_to_find_their_events_and_to_read_them() -> None:
    opened_source.cache_clear()
    catalogue = open_catalogue()
    for sample in catalogue.samples:
        sample.read(0, 0, 1, [("jet", "pt")])
    assert opened_source.cache_info().misses == sum(len(sample.sources) for sample in catalogue.samples) > 16


def test_what_is_sent_to_workers_is_small_and_reads_the_same(folder: Path) -> None:
    sample = open_catalogue(folder / "catalogue.toml").samples[0]
    file = next(ranges_of(sample, 10)).file
    content = pickle.dumps(file)
    assert len(content) < 1000
    ours, theirs = (
        sample.read_file(one, 2, 9, [("jet", "pt")]) for one in (sample.sources[0], pickle.loads(content))
    )
    assert (ours.weight == theirs.weight).all()
    assert (ours.collections["jet"].columns["pt"] == theirs.collections["jet"].columns["pt"]).all()


def test_a_file_that_became_another_one_is_noticed(folder: Path) -> None:
    sample = open_catalogue(folder / "catalogue.toml").samples[0]
    opened_source.cache_clear()
    write_root(folder / "00.root", toy_events(0, 12))
    with pytest.raises(UnreadableError, match=r"00\.root: has 12 events, and had 10 when"):
        sample.read(0, 0, 10, [])


def test_a_catalogue_that_is_opened_anew_sees_the_new_file(folder: Path) -> None:
    before = open_catalogue(folder / "catalogue.toml").samples[0]
    write_root(folder / "00.root", toy_events(0, 12))
    after = open_catalogue(folder / "catalogue.toml").samples[0]
    assert (before.sources[0].entries, after.sources[0].entries) == (10, 12)
    assert len(after.read(0, 0, 12, [])) == 12
    with pytest.raises(SampleError):
        before.read(0, 11, 12, [])


def test_events_that_do_not_exist(folder: Path) -> None:
    sample = open_catalogue(folder / "catalogue.toml").samples[0]
    assert len(sample.read(0, 10, 10, [])) == 0
    wrong: list[tuple[Any, Any, Any, str]] = [
        (0, 0, 11, r"sample 'a': .*00\.root has entries from 0 to 10, not 0 to 11"),
        (0, 10, 12, "has entries from 0 to 10, not 10 to 12"),
        (0, -3, 2, "has entries from 0 to 10, not -3 to 2"),
        (0, 5, 2, "has entries from 0 to 10, not 5 to 2"),
        (0, 0, 1.5, r"has entries from 0 to 10, not 0 to 1\.5"),
        (99, 0, 1, r"sample 'a' has files 0 to \d+, not 99"),
        ("x", 0, 1, r"sample 'a' has files 0 to \d+, not 'x'"),
    ]
    for file, start, stop, message in wrong:
        with pytest.raises(SampleError, match=message):
            sample.read(file, start, stop, [])
