"""Where events may be read from: paths on this machine, and URLs of a few schemes.

Catalogues come from other people. fsspec, which opens the files, also supports schemes that read other files
named in a file or run instructions in it (reference, zip, data, …), and chains of schemes. Therefore only
these locations are opened:

a path               → absolute; ~ and $NAME are characters like others
file:///path         → the same; %20 and the like are decoded, the host is none or localhost
http, https, root    → the URL, its scheme in lower case
anything with ::     → refused, also as a part of a path: libraries take it for a chain
any other scheme     → refused, and with it a colon before the first / of a path: write ./ before it

Redirects do not extend this list: aiohttp follows http and https only to http and https. Neither does uproot,
which reads URLs of some servers through a cached copy (simplecache::) of the location checked here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import fsspec

from trigemu.samples.errors import SampleError, UnreadableError
from trigemu.support import is_folder, is_there

REMOTE = ("http", "https", "root")
_EXPECTED = "expected a path, or a URL that begins with file:///, http://, https:// or root://"
#: Characters of a value shown in messages: data in a URL may be long.
_SHOWN = 100
#: Entries of folders that a path with wildcards may be compared with.
MOST_ENTRIES = 10**6
WILDCARDS = frozenset("*?[")


def located(given: Path | str, folder: Path | None = None) -> Path | str:
    """Return an absolute path, or a URL with one of the schemes in `REMOTE`. Raises SampleError for any other
    location.

    folder: base of relative paths; None: the current folder.
    """
    text = os.fspath(given)
    if "::" in text:
        raise _refused(text, ":: would chain URLs", "rename the file, or write %3A%3A in a URL")
    first = text.partition("/")[0]
    scheme, colon, _ = first.partition(":")
    if not colon:
        return _path(folder or Path(), text)
    known, rest = scheme.lower(), text.removeprefix(f"{scheme}://")
    if rest == text or known not in ("file", *REMOTE):
        reason = "has no // after it" if known in ("file", *REMOTE) else "is not a supported scheme"
        advice = "fetch the file and give its path, or write ./ before a name with a colon"
        raise _refused(text, f"{_quoted(scheme + colon)} {reason}", advice)
    if known != "file":
        return f"{known}://{rest}"
    host, slash, path = rest.partition("/")
    if not slash or host.lower() not in ("", "localhost"):
        raise _refused(text, f"{_quoted(host)} is taken for a host", "write file:/// before an absolute path")
    return _path(Path("/"), unquote(path))


def found(pattern: str, folder: Path) -> list[str]:
    """Return the URL itself, or the files that match a path with wildcards, ordered by name. Raises
    UnreadableError if no file matches."""
    where = located(pattern, folder)
    if isinstance(where, str):
        return [where]
    paths = sorted({str(located(file)) for file in _matching(where)})
    if not paths:
        literal = "; ~ and $ are taken literally, write the whole path" if pattern[:1] in ("~", "$") else ""
        raise UnreadableError(f"no file {where if '://' in pattern else folder / pattern}{literal}")
    return paths


def has_wildcards(where: Path | str) -> bool:
    """Return whether a location stands for the files that match it: a path with wildcards that is none of a
    file itself."""
    return isinstance(where, Path) and bool(WILDCARDS & set(str(where))) and not is_there(where)


def _matching(pattern: Path) -> Iterator[Path]:
    """Yield the paths that match, as `Path.glob` does, but give up in folders with too much in them."""
    looked_at = 0

    def entries(folder: Path) -> Iterator[os.DirEntry[str]]:
        nonlocal looked_at
        try:
            with os.scandir(folder) as found:
                listed = list(islice(found, MOST_ENTRIES + 1))
        except OSError:  # of no folder, or of one that may not be read
            return
        looked_at += len(listed)
        if looked_at > MOST_ENTRIES:
            raise SampleError(
                f"{_quoted(str(pattern))} matches in folders with more than {MOST_ENTRIES} entries: name the "
                f"folder more closely"
            )
        yield from listed

    def below(folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
        if not parts:
            yield folder
        elif parts[0] == "**":
            yield from below(folder, parts[1:])
            for entry in entries(folder):
                if entry.is_dir(follow_symlinks=False):
                    yield from below(folder / entry.name, parts)
        elif not WILDCARDS & set(parts[0]):
            if is_there(path := folder / parts[0]):
                yield from below(path, parts[1:])
        else:
            for entry in entries(folder):
                if fnmatchcase(entry.name, parts[0]):
                    yield from below(folder / entry.name, parts[1:])

    try:
        yield from below(Path(pattern.anchor), pattern.relative_to(pattern.anchor).parts)
    except RecursionError:
        raise SampleError(f"{_quoted(str(pattern))} leads through too many folders") from None


def opened(given: Path | str, compression: str | None = None) -> Any:
    """Open a file for reading bytes.

    Parameters
    ----------
    given : path or URL
        The file.
    compression : str, optional
        How it is compressed; "infer": as its suffix says.

    Returns
    -------
    context manager of a binary file
        The file, decompressed.

    Raises
    ------
    SampleError
        For a device, a pipe and a socket.
    """
    where = located(given)
    if isinstance(where, Path):
        regular(where)
    return fsspec.open(str(where), "rb", compression=compression, expand=False, **timeouts(where))


def regular(path: Path) -> None:
    """Raise SampleError for what may never end or never begin: a device, a pipe, a socket. What is not there
    is left to whoever opens it."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise SampleError(f"{_quoted(str(path))} is {kind}, not a file")


def timeouts(where: Path | str) -> dict[str, Any]:
    """Return the options with which fsspec gives up on a server that does not answer."""
    if isinstance(where, Path) or not where.startswith("http"):
        return {}
    from trigemu.samples.http import client  # its library takes long to load, and most samples are files

    return {"client_kwargs": client()}


def is_local_folder(given: Path | str) -> bool:
    where = located(given)
    return isinstance(where, Path) and is_folder(where)


def parts(given: Path | str) -> list[str]:
    """Return the files that a path stands for.

    Parameters
    ----------
    given : path or URL
        A file or a folder.

    Returns
    -------
    list of str
        The file itself, or the files `*.parquet` of the folder, ordered by name.
    """
    where = located(given)
    if isinstance(where, Path) and is_folder(where):
        return sorted(map(str, where.glob("*.parquet")))
    return [str(where)]


def _path(folder: Path, text: str) -> Path:
    path = (folder / text).absolute()
    if "::" in str(path):
        raise _refused(str(path), ":: would chain URLs", "rename the file or its folder")
    if "\0" in text:
        raise _refused(text, "no path has the character 0", "remove it")
    return path


def _refused(value: str, reason: str, advice: str) -> SampleError:
    return SampleError(f"{_quoted(value)} is not opened, {reason}: {_EXPECTED}; {advice}")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
