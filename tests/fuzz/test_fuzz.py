"""Whatever is in a file, the program refuses it with a message or gives the right numbers, in time.

pytest tests/fuzz                    what was once a fault
pytest tests/fuzz -m slow            30 new cases of each format; 300 with --hypothesis-profile=thorough
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from corpus import corpus
from fuzzing.formats import FORMATS
from fuzzing.formats.base import Files, Format, ShownError
from hypothesis import given, settings

from trigemu import TrigemuError

#: What a case may take, in seconds and in bytes beyond those that this process has.
SECONDS, MEMORY = 60, 4 << 30


@pytest.mark.parametrize(("form", "files"), [pytest.param(*case[1:], id=case[0]) for case in corpus()])
def test_what_was_once_a_fault(
    form: str, files: Files | Callable[[], Files], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [])
    judge(FORMATS[form], files() if callable(files) else files, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_no_case_is_a_fault(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [])

    @settings(database=None)
    @given(FORMATS[name].cases())
    def case(files: Files) -> None:
        judge(FORMATS[name], files, tmp_path)

    case()


def judge(form: Format, files: Files, tmp_path: Path) -> None:
    """Use the files of a case as a user would: a message is short enough to be read, and printable where a
    terminal shows it; what is accepted agrees with its twin."""
    folder = tmp_path / "case"
    shutil.rmtree(folder, ignore_errors=True)
    for file, content in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)
    with limits(), into_file(tmp_path / "output"), warnings.catch_warnings(action="ignore"):
        here = Path.cwd()
        os.chdir(folder)
        refusal = None
        try:
            made = form.use(folder)
        except TrigemuError as error:
            refusal = error
        finally:
            os.chdir(here)
        if refusal is None:
            assert not form.twin(folder, made)
            return
    message = str(refusal)
    assert message.strip()
    assert len(message) <= 40_000, message[:200]
    assert not isinstance(refusal, ShownError) or message.replace("\n", "").isprintable(), message[:300]


@contextmanager
def limits() -> Iterator[None]:
    """Allow a case some time and memory."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()

    def end(*_: object) -> None:
        raise AssertionError(f"it ran for {SECONDS} s")

    resource.setrlimit(resource.RLIMIT_AS, (own + MEMORY, before[1]))
    handler = signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def into_file(path: Path) -> Iterator[None]:
    """Commands say what they say into a file, which a case can read again."""
    kept = [os.dup(1), os.dup(2)]
    with path.open("w") as file, redirect_stdout(file), redirect_stderr(file):
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            for number, descriptor in enumerate(kept, 1):
                os.dup2(descriptor, number)
                os.close(descriptor)
