"""The survey of files: what is learned of each, wherever it is opened."""

from __future__ import annotations

import hashlib
import pickle
from concurrent.futures import ThreadPoolExecutor
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from servers import Ranges
from toys import CATALOGUE, toy_events, write_root

from trigemu import open_catalogue, worker_pool
from trigemu.base.mapping import Engine
from trigemu.samples import files
from trigemu.samples.files import Facts, Problem, Survey, ToOpen, survey, surveyed


def to_open(path: object, **more: object) -> ToOpen:
    given = {"sha256": None, "weighted": True, "identified": False, "opening": "1"} | more
    return ToOpen(sample="a", path=str(path), format="nanoaod", **given)  # type: ignore[arg-type]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_root(tmp_path / "a.root", toy_events(1, 50), basket=20, sum_of_weights=123.0)
    return tmp_path / "a.root"


def test_what_is_learned_of_a_file(file: Path) -> None:
    found = survey(to_open(file))
    assert isinstance(found, Facts)
    assert (found.entries, found.boundaries, found.sum_of_weights) == (50, (0, 20, 40, 50), 123.0)
    assert found.sha256 == found.identity == hashlib.sha256(file.read_bytes()).hexdigest()
    assert found.schema.collections["jet"] >= {"pt", "eta", "phi"}
    assert survey(to_open(file, weighted=False)).sum_of_weights is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("content", "unreadable"), [(None, True), (b"root\n", True), (b"", True), (b"text", True)]
)
def test_a_problem_is_a_result(tmp_path: Path, content: bytes | None, unreadable: bool) -> None:
    if content is not None:
        (tmp_path / "bad.root").write_bytes(content)
    found = survey(to_open(tmp_path / "bad.root"))
    assert isinstance(found, Problem)
    assert found.unreadable == unreadable
    assert found.message.startswith(f"sample 'a': {tmp_path / 'bad.root'}")


def test_equal_schemas_are_held_once(file: Path, tmp_path: Path) -> None:
    write_root(tmp_path / "b.root", toy_events(2, 30))
    work = Survey()
    first, second, problem = surveyed(
        [to_open(file), to_open(tmp_path / "b.root"), to_open("/none")], Engine(retries=0)
    )
    assert isinstance(first, Facts)
    assert isinstance(second, Facts)
    assert isinstance(problem, Problem)
    assert first.schema is second.schema
    function, arguments = pickle.loads(work.content())
    assert isinstance(function(*arguments), Survey)


def test_every_engine_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "OPEN_FILES", 5)
    for n in range(7):
        write_root(tmp_path / f"{n}.root", toy_events(n, 20 + n), basket=8)
    path = tmp_path / "catalogue.toml"
    path.write_text(CATALOGUE.replace("all.root", "*.root"))
    with ThreadPoolExecutor(3) as threads, worker_pool(1) as process:
        opened = [open_catalogue(path, executor=e) for e in (None, Engine(threads), process)]
    samples = [c.samples[0] for c in opened]
    for sample in samples:
        assert sample.hz_per_weight == samples[0].hz_per_weight
        assert sample.sha256 == samples[0].sha256
        assert [f.boundaries for f in sample.sources] == [f.boundaries for f in samples[0].sources]  # type: ignore[attr-defined]
        assert sample.schema == samples[0].schema


class _Failing(Ranges):
    """Answers with an error a few times first; of `none` it says that there is none."""

    left = 0

    def do_HEAD(self) -> None:  # noqa: N802
        if type(self).left > 0 and "none" not in self.path:
            type(self).left -= 1
            self.send_error(503)
        else:
            super().do_HEAD()

    def do_GET(self) -> None:  # noqa: N802
        if type(self).left > 0 and "none" not in self.path:
            type(self).left -= 1
            self.send_error(503)
        else:
            super().do_GET()


def test_a_server_that_fails_is_asked_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PAUSE_S", 0.01)
    handler = type("Handler", (_Failing,), {})

    def made(*arguments: object) -> Ranges:
        return handler(*arguments, directory=str(file.parent))

    with ThreadingHTTPServer(("127.0.0.1", 0), made) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        path = file.parent / "catalogue.toml"
        path.write_text(CATALOGUE.replace("all.root", f"{url}/a.root"))
        handler.left = 2  # type: ignore[attr-defined]
        assert open_catalogue(path).samples[0].entries == 50
        handler.left = 2  # type: ignore[attr-defined]
        with pytest.raises(Exception, match="503"):
            open_catalogue(path, executor=Engine(retries=0))
        server.shutdown()


def test_the_identity_of_a_remote_file_changes_with_it(file: Path) -> None:
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *arguments: Ranges(*arguments, directory=str(file.parent))
    ) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/a.root"
        asked = [survey(to_open(url, identified=True, opening=str(n))) for n in range(2)]
        write_root(file, toy_events(3, 60))
        asked.append(survey(to_open(url, identified=True, opening="3")))
        server.shutdown()
    first, again, other = (found.identity for found in asked)  # type: ignore[union-attr]
    assert first == again != other
