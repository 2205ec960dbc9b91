"""Files that are whole or not there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trigemu.support.errors import TrigemuError


def write_text(path: Path | str, text: str) -> None:
    """Write under a temporary name beside the file, then rename; TrigemuError where that fails."""
    target = Path(path)
    check_writable(target)
    with replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name with the same ending beside a file; what is written there becomes the file at
    the end, and is removed if anything fails. TrigemuError where the file cannot be written."""
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
    """TrigemuError where a file of that name cannot be, before work is spent on what it shall hold."""
    target = Path(path)
    if target.is_dir():
        raise TrigemuError(f"cannot write {target}: it is a folder")
    if not target.parent.is_dir():
        raise TrigemuError(f"cannot write {target}: there is no folder {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise TrigemuError(f"cannot write {target}: its folder is not writable")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside one that is not there yet; what is written into it becomes that folder at the
    end, and is removed if anything fails. TrigemuError where that cannot be."""
    if path.exists() or path.is_symlink():
        raise TrigemuError(f"cannot write {path}: it is there already: remove it or choose another name")
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
