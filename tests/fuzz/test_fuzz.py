"""Whatever is in a file, the program refuses it with a message or gives the right numbers, in time.

pytest tests/fuzz                                    300 cases of all formats
pytest tests/fuzz --cases 100000 --outcomes FILE -n 2    a long run; python tests/fuzz/table.py FILE
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from corpus import corpus
from fuzzing.formats import FORMATS
from fuzzing.sandbox import Outcome, Sandbox
from hypothesis import HealthCheck, Phase, given, seed, settings

#: How many cases of a long run share a process.
TOGETHER = 20


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    made = Sandbox(tmp_path_factory.mktemp("sandbox"))
    yield made
    made.close()


@pytest.mark.parametrize(("name", "form", "files"), [pytest.param(*case, id=case[0]) for case in corpus()])
def test_what_was_once_a_fault(
    name: str, form: str, files: Callable[[], dict[str, bytes]], sandbox: Sandbox
) -> None:
    (outcome,) = sandbox.run("fuzzing.formats", form, files())
    assert not outcome.is_fault, f"{outcome.kind}: {outcome.text}"


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
    waiting: list[dict[str, bytes]] = []

    def run_waiting() -> None:
        for files, outcome in zip(waiting, sandbox.run("fuzzing.formats", name, *waiting), strict=True):
            if outcome.is_fault:
                faults.append(f"{outcome.kind}{', left a process' * outcome.left}: {outcome.text}")
            if log:
                _write(Path(log), name, files, outcome)
        waiting.clear()

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
        waiting.append(files)
        if len(waiting) == (TOGETHER if log else 1):
            run_waiting()
        assert log or not faults, faults[-1]

    case()
    if waiting:
        run_waiting()
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
