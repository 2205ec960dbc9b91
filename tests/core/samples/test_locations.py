"""What is opened, and that nothing else gets as far as a library, wherever a path or URL may be given."""

from __future__ import annotations

import os
import socket
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace

import pytest
from places import (
    Place,
    check_nothing_else_is_opened,
    check_others_get_to_the_libraries,
    from_catalogue,
    libraries as libraries,
    of_format,
)
from servers import Elsewhere, check_a_server_that_falls_silent, serving
from toys import toy_events, write_root

from trigemu import Catalogue, TrigemuError, open_catalogue
from trigemu.base.plugins import CORE
from trigemu.samples import opening
from trigemu.samples.locations import located, matching_files, opened, parts
from trigemu.samples.opening import catalogue_of, format_of
from trigemu.samples.source import format_named


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a/b.root", Path("/here/a/b.root")),
        ("/a//b.root", Path("/a/b.root")),
        (Path("a.root"), Path("/here/a.root")),
        ("./s3:a.root", Path("/here/s3:a.root")),
        ("d/memory:/a://b", Path("/here/d/memory:/a:/b")),
        ("/reference://x", Path("/reference:/x")),
        ("~/a", Path("/here/~/a")),
        ("~root/a", Path("/here/~root/a")),
        ("$HOME/${HOME}/%41.root", Path("/here/$HOME/${HOME}/%41.root")),
        ("file:///a/b%20c%25.root", Path("/a/b c%.root")),
        ("FILE://LocalHost/a.root", Path("/a.root")),
        ("file:///~/a", Path("/~/a")),
        ("HTTP://User:x@Host:80/A%20b.root?c=d://e", "http://User:x@Host:80/A%20b.root?c=d://e"),
        ("https://host/~a/$b/*.root", "https://host/~a/$b/*.root"),
        ("root://proxy:1094//root://host//a.root", "root://proxy:1094//root://host//a.root"),
    ],
)
def test_what_is_opened(value: Path | str, expected: Path | str) -> None:
    where = located(value, Path("/here"))
    assert (where, type(where)) == (expected, type(expected))
    assert located(where) == where


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("file://host/a.root", "'host' would be a host: .*; write file:/// before an absolute path"),
        ("file://~/a.root", "'~' would be a host"),
        ("file://a.root", r"'a\.root' would be a host"),
        ("file:a.root", "'file:' has no // after it"),
        ("http:/host/a.root", "'http:' has no // after it"),
        ("run:1/a.root", "'run:' is not a supported scheme: .* write ./ before a name with a colon"),
        ("a\0b", "no path has the character 0"),
        ("file:///a%00b", "no path has the character 0"),
        ("a::b.root", "'a::b.root' is not opened, :: would chain URLs: .*; rename the file"),
        ("http://[::1]/a.root", "write %3A%3A in a URL"),
        ("x" * 300 + "::", "'x{100}…' is not opened"),
        ("x" * 300 + ":", "'x{100}…' is not opened, 'x{100}…' is not a supported scheme"),
    ],
)
def test_the_message_says_what_to_do(value: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        located(value)


def test_a_folder_whose_name_libraries_would_split(tmp_path: Path) -> None:
    with pytest.raises(TrigemuError, match=r"a::b/c\.root' is not opened, .*rename the file or its folder"):
        located("c.root", tmp_path / "a::b")


# ------------------------------------------------------------------------------------- every place


def of_a_dataset(folder: Path, value: str) -> Catalogue:
    """What atlasopenmagic answers."""
    answers = SimpleNamespace(
        get_metadata=lambda key: {"cross_section_pb": 1.0, "genFiltEff": 1.0, "kFactor": 1.0},
        get_urls=lambda key, **options: [value],
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "atlasopenmagic", answers)
        return from_catalogue(folder, value, 'dataset = 301204\nformat = "nanoaod"')


PLACES: dict[str, Place] = {
    "catalogue": from_catalogue,
    "sha256": partial(from_catalogue, entry=f'sha256 = ["{"0" * 64}"]'),
    "dataset": of_a_dataset,
    "open_catalogue": lambda folder, value: open_catalogue(value),
    "open_catalogue, Path": lambda folder, value: open_catalogue(Path(value)),
    "catalogue_of": lambda folder, value: catalogue_of(value),
    "catalogue_of, Path": lambda folder, value: catalogue_of(Path(value)),
    "format_of": lambda folder, value: format_of(value),
    "opened": lambda folder, value: opened(value),
    "matching_files": lambda folder, value: matching_files(value, folder),
    "parts": lambda folder, value: parts(value),
}
for _name in CORE.declared().formats:
    PLACES |= of_format(_name)


@pytest.mark.parametrize("place", PLACES)
def test_nothing_else_is_opened_anywhere(tmp_path: Path, libraries: list[object], place: str) -> None:
    in_catalogue = place.startswith("catalogue, ") or place in ("catalogue", "sha256")
    check_nothing_else_is_opened(tmp_path, libraries, PLACES[place], in_catalogue)


@pytest.mark.parametrize("place", [name for name in PLACES if name not in ("matching_files", "parts")])
def test_what_is_not_refused_gets_to_the_libraries(
    tmp_path: Path, libraries: list[object], place: str
) -> None:
    check_others_get_to_the_libraries(tmp_path, libraries, PLACES[place], local="Path" in place)


# ------------------------------------------------------------------------------------ real files


def test_neither_we_nor_a_library_look_for_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    for folder in (home, here):
        folder.mkdir()
    write_root(home / "a.root", toy_events(1, 20))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)
    for value in ("~/a.root", "$HOME/a.root", "${HOME}/a.root"):
        message = r"sample 'a': no file .*/here/.*a\.root; ~ and \$ are taken literally, write the whole path"
        with pytest.raises(TrigemuError, match=message):
            from_catalogue(here, value)
        with pytest.raises(TrigemuError, match="cannot be read"):
            catalogue_of(value)
        with pytest.raises((TrigemuError, OSError)):
            open_catalogue(value)
        for make in map(format_named, CORE.declared().formats):
            with pytest.raises(FileNotFoundError):
                assert make(value).entries
    (here / "~").mkdir()
    write_root(here / "~" / "a.root", toy_events(1, 30))
    assert from_catalogue(here, "~/a.root").samples[0].entries == 30
    assert catalogue_of("~/a.root").samples[0].entries == 30


@pytest.mark.parametrize("name", ["a b%.root", "s3:a.root", "a.root:Events", "x]~$HOME.root", " data:x "])
def test_odd_names_of_files_are_only_names(tmp_path: Path, name: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    write_root(data / name, toy_events(1, 20))
    for value in ("data/*", f"file://{data}/*", f"file://localhost{data}/%{ord(name[0]):02x}*"):
        (sample,) = from_catalogue(tmp_path, value).samples
        assert (sample.entries, sample.sources[0].path) == (20, str(data / name))
    assert catalogue_of(data / name).samples[0].entries == 20


def test_a_file_that_is_not_there_is_named_as_it_was_written() -> None:
    for value, shown in (("b*.root", "here/b*.root"), ("file:///no/b%20.root", "/no/b .root")):
        with pytest.raises(TrigemuError) as caught:
            matching_files(value, Path("here"))
        assert str(caught.value) == f"no file {shown}"


def test_a_wildcard_finds_no_chain(tmp_path: Path, libraries: list[object]) -> None:
    """Files may come in an archive with their catalogue."""
    (tmp_path / "a::memory:.root").touch()
    with pytest.raises(
        TrigemuError, match=r"sample 'a': .*a::memory:\.root' is not opened, .*rename the file"
    ):
        from_catalogue(tmp_path, "*.root")
    assert libraries == []


class Redirect(SimpleHTTPRequestHandler):
    """To a folder where there is a.root, and to where it lies on this machine."""

    def do_GET(self) -> None:
        target, _, rest = self.path.lstrip("/").partition("/")
        if target == "files":
            self.path = f"/{rest}"
            super().do_GET()
            return
        self.send_response(302)
        self.send_header(
            "Location", f"file://{self.directory}/{rest}" if target == "here" else f"/files/{rest}"
        )
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def test_redirects_lead_to_no_other_scheme(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("here")
    with serving(partial(Redirect, directory=str(tmp_path))) as url:
        with opened(f"{url}/elsewhere/a.txt") as stream:
            assert stream.read() == b"here"
        with pytest.raises(FileNotFoundError), opened(f"{url}/here/a.txt"):
            pass


def test_a_catalogue_is_not_fetched(libraries: list[object]) -> None:
    with pytest.raises(TrigemuError, match=r"https://h/c\.toml: catalogues are read from this machine only"):
        open_catalogue("https://h/c.toml")
    assert libraries == []


# ------------------------------------------------------------------------------------ strange files


def strange(folder: Path) -> dict[str, Path]:
    """What may never end, or never begin, in the current folder, since names of sockets are short."""
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    return {"pipe": folder / "pipe", "socket": folder / "socket", "device": Path("/dev/zero")}


@pytest.mark.parametrize("place", [name for name in PLACES if name not in ("matching_files", "parts")])
def test_devices_pipes_and_sockets_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, path in strange(tmp_path).items():
        with pytest.raises(TrigemuError, match=rf"is a {kind}, not a file"):
            PLACES[place](tmp_path, str(path))


@pytest.mark.parametrize(
    "pattern",
    ["*.root", "**/*.root", "a/*/x.root", "a/**", "loop/*.root", "a/../[xyz].root", "dead*", "a/?.*"],
)
def test_wildcards_match_as_in_python(tmp_path: Path, pattern: str) -> None:
    for name in ("a/b/x.root", "a/y.root", "a/.h.root", "z.root"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "dead.root").symlink_to("nothing")
    expected = sorted(set(map(str, tmp_path.glob(pattern))))
    assert matching_files(pattern, tmp_path) == expected != []


def test_a_server_that_falls_silent() -> None:
    check_a_server_that_falls_silent("a.root", "nanoaod")


@pytest.mark.parametrize("told", ["bytes {0}-{1}/10000", "bytes */10000", "lines 0-1/2", ""])
def test_another_part_than_was_asked_for_is_refused(monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    monkeypatch.setattr(opening, "PAUSE_S", 0.0)
    handler = type("Handler", (Elsewhere,), {"told": told})
    with serving(handler) as url, pytest.raises(TrigemuError, match=r"a\.root cannot be read"):
        catalogue_of(f"{url}/a.root", "nanoaod")
