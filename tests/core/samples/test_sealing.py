"""Sealing catalogues: what is written, and when nothing is."""

from __future__ import annotations

import hashlib
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from servers import Ranges
from toys import CATALOGUE, toy_events, write_root

from trigemu import TrigemuError, open_catalogue
from trigemu.samples import seal_catalogue


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    for number in (1, 2):
        write_root(tmp_path / f"all{number}.root", toy_events(number, 20))
    (tmp_path / "c.toml").write_text(f"# first\n{CATALOGUE.replace('all.root', 'all?.root')}# last\n")
    return tmp_path / "c.toml"


def test_sealing_keeps_comments_and_is_done_once(catalogue: Path) -> None:
    before = catalogue.read_text().splitlines()
    assert not open_catalogue(catalogue).samples[0].sealed
    assert seal_catalogue(catalogue) == ("all",)
    text = catalogue.read_text()
    lines = text.splitlines()
    assert [line for line in before if line not in lines] == []
    assert lines[lines.index('files = ["all?.root"]') + 1] == "sha256 = ["
    (sample,) = open_catalogue(catalogue).samples
    digests = [hashlib.sha256((catalogue.parent / f"all{n}.root").read_bytes()).hexdigest() for n in (1, 2)]
    assert (sample.sealed, list(sample.sha256), len(sample.table.seal)) == (True, digests, 2)
    stamp = catalogue.stat().st_ino
    assert seal_catalogue(catalogue) == ()
    assert (catalogue.read_text(), catalogue.stat().st_ino) == (text, stamp)


def test_a_digest_that_is_there_is_compared_and_stays(catalogue: Path) -> None:
    text = catalogue.read_text()
    digests = [hashlib.sha256((catalogue.parent / f"all{n}.root").read_bytes()).hexdigest() for n in (1, 2)]
    catalogue.write_text(text.replace("rate_hz", f"sha256 = {[d.upper() for d in digests]}  # mine\nrate_hz"))
    seal_catalogue(catalogue)
    assert f"sha256 = {[d.upper() for d in digests]}  # mine\nseal = [" in catalogue.read_text()


def test_a_changed_file_is_not_sealed_again(catalogue: Path) -> None:
    seal_catalogue(catalogue)
    text = catalogue.read_text()
    file = catalogue.parent / "all2.root"
    content = bytearray(file.read_bytes())
    content[200] ^= 1
    file.write_bytes(content)
    for act in (seal_catalogue, open_catalogue):
        with pytest.raises(TrigemuError, match=r"^sample 'all': .*all2\.root: bytes 0 to .*chunk 1 of 1"):
            act(catalogue)
    assert catalogue.read_text() == text


def test_seals_of_another_number_of_files_are_refused(catalogue: Path) -> None:
    seal_catalogue(catalogue)
    (catalogue.parent / "all1.root").unlink()
    with pytest.raises(TrigemuError, match="2 sha256 for 1 files"):
        open_catalogue(catalogue)
    catalogue.write_text(
        "\n".join(
            line for line in catalogue.read_text().splitlines() if len(line) < 70 or "seal" in line
        ).replace("sha256 = [\n]\n", "")
    )
    with pytest.raises(TrigemuError):
        open_catalogue(catalogue)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('seal = ["AAAA"]', r"seal\[0\] is not what trigemu samples --seal writes"),
        ('sha256 = ["xyz"]', r"sha256\[0\] = 'xyz': expected 64 hexadecimal digits"),
    ],
)
def test_what_is_no_digest_is_named_with_its_line(catalogue: Path, entry: str, message: str) -> None:
    catalogue.write_text(catalogue.read_text() + entry)
    with pytest.raises(TrigemuError, match=rf"c\.toml:\d+: sample 'all': {message}"):
        open_catalogue(catalogue)


@pytest.mark.parametrize("name", ["all1.root", "http://127.0.0.1:9/c.toml"])
def test_only_a_catalogue_on_this_machine_is_sealed(catalogue: Path, name: str) -> None:
    with pytest.raises(TrigemuError, match="only a catalogue"):
        seal_catalogue(name if "://" in name else catalogue.parent / name)


def test_files_of_a_server_are_sealed_too(catalogue: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Ranges, directory=str(catalogue.parent))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/all1.root"
        catalogue.write_text(catalogue.read_text().replace("all?.root", url))
        try:
            seal_catalogue(catalogue)
            (sample,) = open_catalogue(catalogue).samples
            assert len(sample.read(0, 0, 20, [("jet", "pt")])) == 20
        finally:
            server.shutdown()
