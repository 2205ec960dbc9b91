"""Atomic writing: a file is either complete or absent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trigemu.support.errors import TrigemuError


def write_text(path: Path | str, text: str) -> None:
    """Write to a temporary file next to the target, then rename it; raise TrigemuError if that fails."""
    target = Path(path)
    check_writable(target)
    with replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to a file, with the same suffix. What is written there replaces the file at
    the end, or is removed if anything fails. Raises TrigemuError if the file cannot be written."""
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise TrigemuError(f"cannot write {path}: {error.strerror}") from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def check_writable(path: Path | str) -> None:
    """Raise TrigemuError if the file cannot be written; to be called before its content is computed."""
    target = Path(path)
    if target.is_dir():
        raise TrigemuError(f"cannot write {target}: it is a folder")
    if not target.parent.is_dir():
        raise TrigemuError(f"cannot write {target}: there is no folder {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise TrigemuError(f"cannot write {target}: its folder is not writable")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder next to one that does not exist yet. At the end it is renamed to that folder,
    or removed if anything fails. Raises TrigemuError if the folder exists or cannot be written."""
    if path.exists() or path.is_symlink():
        raise TrigemuError(f"cannot write {path}: it already exists: remove it or choose another name")
    check_writable(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.mkdir()
        yield temporary
        temporary.rename(path)
    except OSError as error:
        raise TrigemuError(f"cannot write {path}: {error.strerror}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
