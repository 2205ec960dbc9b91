"""Whatever is in a file, the program refuses it with a message or gives the right numbers, in time.

pytest tests/fuzz                                    what was once a fault
pytest tests/fuzz -m slow                            300 cases of all formats
pytest tests/fuzz -m slow --cases 100000 --outcomes FILE -n 2    a long run; python tests/fuzz/table.py FILE
"""

from __future__ import annotations

import json
import os
import resource
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from corpus import corpus
from fuzzing.formats import FORMATS
from fuzzing.sandbox import ACCEPTABLE, MEMORY, Outcome, Sandbox, outcome_of, write_files
from hypothesis import HealthCheck, Phase, given, seed, settings


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    return Sandbox(tmp_path_factory.mktemp("sandbox"))


@pytest.mark.parametrize(("name", "form", "files"), [pytest.param(*case, id=case[0]) for case in corpus()])
def test_what_was_once_a_fault(
    name: str,
    form: str,
    files: Callable[[], dict[str, bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In this process: none of them ends it any more."""
    write_files(tmp_path / "case", files())
    monkeypatch.chdir(tmp_path / "case")
    monkeypatch.setattr(sys, "argv", [])
    with little_memory(), into_file(tmp_path / "output"), warnings.catch_warnings(action="ignore"):
        kind, text = outcome_of(FORMATS[form], tmp_path / "case")
    assert kind in ACCEPTABLE, f"{kind}: {text}"


@contextmanager
def little_memory() -> Iterator[None]:
    """What a sandbox allows beyond what this process has."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (own + MEMORY, before[1]))
    try:
        yield
    finally:
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


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_no_case_is_a_fault(name: str, sandbox: Sandbox, request: pytest.FixtureRequest) -> None:
    """A few cases stop at the first fault, made as small as possible; a long run counts all of them."""
    chosen = request.config.getoption("--formats")
    if chosen and name not in chosen.split(";"):
        pytest.skip("not chosen")
    total = sum(FORMATS[n].share for n in (chosen.split(";") if chosen else FORMATS))
    cases = max(1, round(request.config.getoption("--cases") * FORMATS[name].share / total))
    log = request.config.getoption("--outcomes")
    faults: list[str] = []

    @seed(request.config.getoption("--fuzz-seed"))
    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        phases=[Phase.generate] if log else [Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(FORMATS[name].cases())
    def case(files: dict[str, bytes]) -> None:
        outcome = sandbox.run(name, files)
        if outcome.is_fault:
            faults.append(f"{outcome.kind}{', left a process' * outcome.left}: {outcome.text}")
        if log:
            _write(Path(log), name, files, outcome)
        assert log or not outcome.is_fault, faults[-1]

    case()
    assert not faults, f"{len(faults)} faults, the first: {faults[0]}"


def _write(log: Path, name: str, files: dict[str, bytes], outcome: Outcome) -> None:
    told = {"format": name, "kind": outcome.kind, "seconds": outcome.seconds, "memory": outcome.memory}
    if outcome.is_fault:
        told |= {"text": outcome.text, "left": outcome.left}
        told["files"] = {
            n: content.decode("latin-1") for n, content in files.items() if len(content) < 200_000
        }
    with log.open("a") as file:
        file.write(json.dumps(told) + "\n")
