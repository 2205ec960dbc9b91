"""The allowed locations of events: paths on this machine, and URLs of a few schemes.

Catalogues come from other people, and fsspec supports schemes that read other files or run instructions in a
file (reference, zip, data, …), and chains of them. Therefore only these locations are opened:

a path               → absolute; ~ and $NAME are not expanded
http, https, root    → the URL, its scheme in lower case
anything with ::     → refused, also within a path: libraries interpret it as a chain
any other scheme     → refused, also a colon before the first / of a path: write ./ before it

Redirects do not extend this list: aiohttp follows http and https only to http and https. Nor does uproot,
which reads URLs of some servers through a cached copy (simplecache::) of the location checked here.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import has_magic
from pathlib import Path
from traceback import walk_tb
from typing import Any

import fsspec

from trigemu.base.errors import SampleError, TrigemuError, UnreadableError, own_cause
from trigemu.base.files import is_file, is_folder, is_there

REMOTE = ("http", "https", "root")
_EXPECTED = "expected a path, or a URL that begins with http://, https:// or root://"
#: Seconds to wait for a connection to a server, for further data, and for a complete answer.
CONNECT_S, SILENT_S, ANSWER_S = 30.0, 60.0, 300.0


def located(location: Path | str, folder: Path | None = None) -> Path | str:
    """Return an absolute path, or a URL with one of the schemes in `REMOTE`; raise SampleError for others.
    folder: base of relative paths; None: the current folder."""
    text = os.fspath(location)
    if "::" in text:
        raise _refused(text, ":: would chain URLs", "rename the file, or write %3A%3A in a URL")
    scheme, colon, _ = text.partition("/")[0].partition(":")
    if colon:
        lowered, rest = scheme.lower(), text.removeprefix(f"{scheme}://")
        if rest == text or lowered not in REMOTE:
            reason = "has no // after it" if lowered in REMOTE else "is not a supported scheme"
            advice = "fetch the file and give its path, or write ./ before a name with a colon"
            raise _refused(text, f"{_quoted(scheme + colon)} {reason}", advice)
        return f"{lowered}://{rest}"
    absolute = ((folder or Path()) / text).absolute()
    if "::" in str(absolute):
        raise _refused(str(absolute), ":: would chain URLs", "rename the file or its folder")
    if "\0" in text:
        raise _refused(text, "no path has the character 0", "remove it")
    return absolute


def matching_files(pattern: str, folder: Path) -> list[str]:
    """Return a URL unchanged, or the files that match a path with wildcards, ordered by name; raise
    UnreadableError if there is none."""
    where = located(pattern, folder)
    if isinstance(where, str) or is_there(where):
        return [str(where)]
    paths: list[str] = []
    with suppress(OSError):  # such as a name that is too long; Path.glob takes no absolute pattern
        matches = Path(where.anchor).glob(str(where.relative_to(where.anchor)))
        paths = sorted({str(located(file)) for file in matches})
    if not paths:
        literal = "; ~ and $ are taken literally, write the whole path" if pattern[:1] in ("~", "$") else ""
        raise UnreadableError(f"no file {folder / pattern}{literal}")
    return paths


def has_wildcards(where: Path | str) -> bool:
    """Return whether a location is a path with wildcards, and not the path of an existing file."""
    return isinstance(where, Path) and has_magic(str(where)) and not is_there(where)


def opened(location: Path | str, compression: str | None = None) -> Any:
    """Open a file for reading bytes."""
    where = located(location)
    if isinstance(where, Path):
        regular(where)
    return fsspec.open(str(where), "rb", compression=compression, expand=False, **timeouts(where))


def regular(path: Path) -> None:
    """Raise SampleError for a device, a pipe or a socket, from which a read may never return."""
    if is_there(path) and not (is_file(path) or is_folder(path)):
        kind = "a pipe" if path.is_fifo() else "a socket" if path.is_socket() else "a device"
        raise SampleError(f"{_quoted(str(path))} is {kind}, not a file")


def timeouts(where: Path | str) -> dict[str, Any]:
    """Return the options of fsspec that limit the time for an answer of a server."""
    if isinstance(where, Path) or not where.startswith("http"):
        return {}
    from aiohttp import ClientTimeout  # takes long to import, and most samples are files

    limits = ClientTimeout(total=ANSWER_S, sock_connect=CONNECT_S, sock_read=SILENT_S)
    return {"client_kwargs": {"timeout": limits}}


def parts(location: Path | str) -> list[str]:
    """Return the files at a location."""
    where = located(location)
    if isinstance(where, Path) and is_folder(where):
        return sorted(map(str, where.glob("*.parquet")))
    return [str(where)]


@contextmanager
def naming(sample: str, path: str) -> Iterator[None]:
    """Turn any error of a file, from any library, into a SampleError that names sample and file."""
    try:
        yield
    except TrigemuError as error:
        kind = UnreadableError if isinstance(error, UnreadableError) else SampleError
        raise kind(f"sample {sample!r}: {path}: {error}") from error
    except ImportError as error:
        missing = f"needs a package that is not installed: {error}"
        raise SampleError(f"sample {sample!r}: {path} {missing}") from error
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        modules = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
        ours = isinstance(error, AssertionError) and modules[-1].startswith("trigemu")
        if ours or any(module.startswith("numba.") for module in modules):
            raise  # a bug of the program, or a problem of the kernel cache
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        wrong = f"cannot be read ({reason}); is it complete and in this format?"
        raise UnreadableError(f"sample {sample!r}: {path} {wrong}") from error


def digest_of(location: str) -> str:
    """Return the sha256 of a file; for a folder, of its files *.parquet in order of their names."""
    digest = hashlib.sha256()
    for file in parts(location):
        with opened(file) as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _refused(value: str, reason: str, advice: str) -> SampleError:
    return SampleError(f"{_quoted(value)} is not opened, {reason}: {_EXPECTED}; {advice}")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 100 else f"{text[:100]}…")  # data in a URL may be long
