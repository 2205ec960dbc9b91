"""What is learned of files, wherever they are opened."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from servers import Ranges
from toys import CATALOGUE, toy_events, write_root

from trigemu import Checkpoint, open_catalogue, worker_pool
from trigemu.base.errors import UnreadableError
from trigemu.base.mapping import Engine
from trigemu.samples import locations, opening, sample
from trigemu.samples.source import File


def file_of(path: object, folder: Path, engine: Engine | None = None) -> File:
    (folder / "one.toml").write_text(CATALOGUE.replace("all.root", str(path)))
    (file,) = open_catalogue(folder / "one.toml", executor=engine).samples[0].sources
    assert isinstance(file, File)
    return file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_root(tmp_path / "a.root", toy_events(1, 50), basket=20, sum_of_weights=123.0)
    return tmp_path / "a.root"


def test_what_is_learned_of_a_file(file: Path) -> None:
    found = file_of(file, file.parent)
    assert (found.entries, found.boundaries, found.sum_of_weights) == (50, (0, 20, 40, 50), 123.0)
    assert found.schema.collections["jet"] >= {"pt", "eta", "phi"}
    (one,) = open_catalogue(file).samples[0].sources
    assert isinstance(one, File)
    assert one.sum_of_weights is None


def test_a_file_is_identified_without_reading_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until somebody asks for its digest, which is computed once."""
    (file.parent / "catalogue.toml").write_text(CATALOGUE.replace("all.root", "a.root"))
    read: list[str] = []
    monkeypatch.setattr(sample, "digest_of", lambda path: read.append(path) or locations.digest_of(path))
    before = open_catalogue(file.parent / "catalogue.toml").samples[0]
    assert (before.sources[0].sha256, read) == (None, [])
    for _ in range(2):
        assert replace(before).digests == (hashlib.sha256(file.read_bytes()).hexdigest(),)
    assert read == [str(file)]
    write_root(file, toy_events(2, 50), basket=20, sum_of_weights=123.0)
    after = open_catalogue(file.parent / "catalogue.toml").samples[0]
    assert after.sources[0].identity != before.sources[0].identity
    assert after.digests == (hashlib.sha256(file.read_bytes()).hexdigest(),) != before.digests


@pytest.mark.parametrize("content", [None, b"root\n", b"", b"text"])
def test_files_that_cannot_be_read_may_be_left_out(file: Path, content: bytes | None) -> None:
    if content is not None:
        (file.parent / "bad.root").write_bytes(content)
    path = file.parent / "catalogue.toml"
    path.write_text(CATALOGUE.replace("all.root", 'a.root", "bad.root'))
    with pytest.raises(UnreadableError, match=r"sample 'all': .*bad\.root"):
        open_catalogue(path)
    (left_out,) = open_catalogue(path, skip_bad_files=True).left_out
    assert left_out.path == str(file.parent / "bad.root")


def test_equal_schemas_are_kept_once(file: Path, tmp_path: Path) -> None:
    write_root(tmp_path / "b.root", toy_events(2, 30))
    first, second = open_catalogue(str(tmp_path / "*.root")).samples[0].sources
    assert first.schema is second.schema


class _Lost:
    """Workers that are lost before they answer."""

    def submit(self, function: object, /, *arguments: object) -> Future[object]:
        future: Future[object] = Future()
        future.set_exception(OSError("lost"))
        return future


def test_files_of_lost_workers_are_opened_here(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "OPEN_FILES", 0)
    assert file_of(file, file.parent, Engine(_Lost())).entries == 50


def test_every_engine_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "OPEN_FILES", 5)
    for n in range(7):
        write_root(tmp_path / f"{n}.root", toy_events(n, 20 + n), basket=8)
    path = tmp_path / "catalogue.toml"
    path.write_text(CATALOGUE.replace("all.root", "*.root"))
    with ThreadPoolExecutor(3) as threads, worker_pool(1) as process:
        opened = [open_catalogue(path, executor=e) for e in (None, Engine(threads), process)]
    samples = [c.samples[0] for c in opened]
    for found in samples:
        assert found.hz_per_weight == samples[0].hz_per_weight
        assert found.sources == samples[0].sources
        assert found.schema == samples[0].schema


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
    monkeypatch.setattr(opening, "PAUSE_S", 0.01)
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
    """A checkpoint needs it."""
    engine = Engine(checkpoint=Checkpoint(file.parent / "kept"))
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *arguments: Ranges(*arguments, directory=str(file.parent))
    ) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/a.root"
        asked = [file_of(url, file.parent, engine) for _ in range(2)]
        write_root(file, toy_events(3, 60))
        asked.append(file_of(url, file.parent, engine))
        server.shutdown()
    first, again, other = (found.identity for found in asked)
    assert first == again != other
