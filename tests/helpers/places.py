"""Wherever a path or URL of samples may be given, and what no library may be asked to open."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import fsspec
import fsspec.core
import pytest
import uproot
from fsspec.registry import known_implementations

from trigemu import Catalogue, TrigemuError, open_catalogue
from trigemu.samples import opening
from trigemu.samples.opening import catalogue_of
from trigemu.samples.source import format_named

ALLOWED = {"http", "https", "root"}
#: All that fsspec or a package beside it may open, and some that nothing should.
SCHEMES = sorted(
    {
        *known_implementations,
        *fsspec.available_protocols(),
        *("", "+", "1x", "a.b", "git+ssh", "röt"),
        *("http ", " http", "http\n", "https+reference", "~", "$HOME"),
    }
    - ALLOWED
)
#: A call that opens what a value says, in a folder.
Place = Callable[[Path, str], object]


def from_catalogue(folder: Path, value: str, entry: str = "") -> Catalogue:
    text = '[catalogue]\nname = "toy"\nconvention = "crossing"\n[[sample]]\nname = "a"\nrole = "background"\n'
    text += f"rate_hz = 1.0\n{entry}\n" + ("" if "dataset" in entry else f"files = [{json.dumps(value)}]\n")
    (folder / "catalogue.toml").write_text(text)
    return open_catalogue(folder / "catalogue.toml")


def of_format(name: str) -> dict[str, Place]:
    """The places where a file of a format may be given."""
    return {
        f"catalogue, {name}": partial(from_catalogue, entry=f'format = "{name}"'),
        f"catalogue_of, {name}": lambda folder, value: catalogue_of(value, name),
        f"source, {name}": lambda folder, value: format_named(name)(value).entries,
    }


@pytest.fixture
def libraries(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What they are asked to open."""
    asked: list[object] = []
    for module, name in (
        *((fsspec, name) for name in ("open", "open_files", "filesystem", "url_to_fs")),
        *((fsspec.core, name) for name in ("open", "open_files", "filesystem", "url_to_fs")),
        (uproot, "open"),
    ):
        monkeypatch.setattr(module, name, lambda *given, **options: asked.append(given))
    return asked


def check_nothing_else_is_opened(
    folder: Path, libraries: list[object], place: Place, in_catalogue: bool
) -> None:
    """A place refuses all schemes but the allowed ones before any library is asked."""
    for scheme in SCHEMES:
        for value in (f"{scheme}://x/a.root", f"{scheme}:x", f"{scheme}::http://127.0.0.1:9/a.root"):
            with pytest.raises(TrigemuError) as caught:
                place(folder, value)
            assert "is not opened" in str(caught.value), value
            if in_catalogue:
                assert f"{folder / 'catalogue.toml'}:" in str(caught.value)
                assert "sample 'a': " in str(caught.value)
    assert libraries == []


def check_others_get_to_the_libraries(
    folder: Path, libraries: list[object], place: Place, local: bool
) -> None:
    """So that the check above would see it. local: whether the place takes no URL."""
    value = str(folder / "a.txt") if local else "https://h/a.txt"
    (folder / "a.txt").touch()
    with pytest.MonkeyPatch.context() as patch, suppress(Exception):  # of what the libraries gave: nothing
        patch.setattr(opening, "PAUSE_S", 0.0)
        place(folder, value)
    assert any(value in str(given) for given in libraries)
