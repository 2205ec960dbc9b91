"""Trees as machine code: C that a generator writes → a library on this machine.

Libraries are kept in the cache folders and are never distributed with a menu. Their name consists of digests
of the sources, of the compiler, and of the library itself, because loading a truncated one would crash the
process. Each is checked whenever it is loaded.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from trigemu.api import TrigemuError, cache, children, temporary_folder

T = TypeVar("T")


@dataclass(frozen=True)
class CodeRecipe(Generic[T]):
    """How a model becomes a library.

    what: its name in messages, such as "the trees". depends_on: the model and the versions of the
    generators. write: writes main.c into a folder, or raises TrigemuError. check: opens the library at a
    path, compares it with the model and returns it, or raises TrigemuError. limits: limits on time and memory
    of the compiler; advice: what to do if it exceeds them.
    """

    what: str
    depends_on: bytes
    write: Callable[[Path], None]
    check: Callable[[Path], T]
    limits: children.Limits
    advice: str


def build_library(recipe: CodeRecipe[T]) -> T | None:
    """Return the library of a model, from a cache or newly compiled; None if it is not cached and there is no
    C compiler, or no folder to compile in. Raises TrigemuError if the compiler or `check` fails."""
    key = hashlib.sha256(recipe.depends_on).hexdigest()
    cc = compiler(recipe.limits)
    # Without a compiler, a library from another machine's compiler is used, as in the cache of a container.
    begin = key if cc is None else f"{key}-{hashlib.sha256(cc[1].encode()).hexdigest()[:16]}"
    for folder in cache.cache_folders():
        if (cached := _from_cache(recipe, folder, begin)) is not None:
            return cached
    return None if cc is None else _compile_into_cache(recipe, begin, cc[0])


def open_library(path: Path, name: str, what: str) -> tuple[ctypes.CDLL, int]:
    """Load a library; return it, to be held as long as the address is used, and the address of a function."""
    try:
        library = ctypes.CDLL(str(path))
        return library, ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    except (OSError, AttributeError) as error:
        raise TrigemuError(f"cannot load {what} as machine code: {error}") from None


def _from_cache(recipe: CodeRecipe[T], folder: Path, begin: str) -> T | None:
    """Return the library in a cache whose name begins with `begin`, or None. Remove any that is damaged, that
    others may have written, or that differs from the model."""
    for path in folder.glob(f"{begin}-*.so"):
        with suppress(OSError):  # it may be unreadable, or removed by another process
            if cache.is_trusted(path.lstat()) and path.name.endswith(f"-{_digest(path)}.so"):
                with suppress(TrigemuError):
                    return recipe.check(path)
            path.unlink()
    return None


def _compile_into_cache(recipe: CodeRecipe[T], begin: str, name: str) -> T | None:
    """Compile a model into the cache, where it appears only when complete and checked; without a writable
    cache, for this process alone."""
    with suppress(cache.NoCacheError, OSError):
        folder = cache.folder_of_cache()
        with temporary_folder(folder / "models") as scratch:
            compiled = _compile(recipe, scratch, name)
            compiled.chmod(0o755)  # for any umask: a library that others may write to is not used
            checked = recipe.check(compiled)
            compiled.replace(folder / f"{begin}-{_digest(compiled)}.so")  # libraries in use stay loaded
        return checked
    with suppress(OSError), tempfile.TemporaryDirectory(prefix="trigemu-") as alone:
        return recipe.check(_compile(recipe, Path(alone), name))
    return None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def compiler(limits: children.Limits) -> tuple[str, str] | None:
    """Return name and version of the C compiler: the variable CC, else gcc or clang."""
    for name in filter(None, (os.environ.get("CC"), "gcc", "clang")):
        if path := shutil.which(name):
            with suppress(TrigemuError):  # without a folder for temporary files nothing can be compiled
                output = children.run_limited([Path(path).absolute(), "--version"], Path("/"), limits).stdout
                return name, f"{name} {output.decode(errors='replace').partition(chr(10))[0]}"
    return None


def _compile(recipe: CodeRecipe[T], folder: Path, name: str) -> Path:
    path = Path(shutil.which(name) or name).absolute()
    recipe.write(folder)
    for options in (
        ["-c", "-O3", "-o", "main.o", "main.c", "-fPIC"],
        ["-shared", "-O3", "-o", "model.so", "main.o"],
    ):
        try:
            done = children.run_limited([path, *options, "-std=c99", "-lm"], folder, recipe.limits)
        except children.StoppedError as error:
            raise TrigemuError(f"cannot be compiled: {error}: {recipe.advice}") from None
        if done.code:
            reason = output_tail((done.stderr or done.stdout).decode(errors="replace"))
            raise TrigemuError(f"{name} cannot compile {recipe.what}: {reason} (within {recipe.limits})")
    return folder / "model.so"


def output_tail(text: str) -> str:
    """Return the end of a program's output, on one line."""
    return " ".join(text.split())[-300:]
