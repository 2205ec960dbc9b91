"""All private names of other libraries that trigemu uses, except those of conifer in `firmware/convert.py`, a
script that runs without trigemu.

They may change with any release. If one is missing, the error names it and the version of the library that
trigemu was checked with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from numba.core import entrypoints
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from trigemu.support.errors import TrigemuError

if TYPE_CHECKING:
    from tomlkit.items import Table

#: Versions with which these names were checked.
CHECKED = {"numba": "0.68", "tomlkit": "0.15", "uproot": "5.7"}


def keep_in(compiled: Callable[..., Any], cache: Any) -> None:
    """Make numba store the code of a kernel in a cache that has the methods of numba's own."""
    if isinstance(compiled, Dispatcher):  # false if compilation is disabled
        _needed("numba", compiled, "_cache")
        vars(compiled)["_cache"] = cache


def extend_in_turn(compiled: Callable[..., Any]) -> None:
    """Make numba load the extensions of other libraries under its lock.

    By default it loads them before its first compilation without the lock. If another thread compiles at that
    time, operators change between type inference and code generation, and it fails with a KeyError.
    """
    if isinstance(compiled, Dispatcher):
        _needed("numba", compiled, "_compilation_chain_init_hook")
        vars(compiled)["_compilation_chain_init_hook"] = _load_extensions


def _load_extensions() -> None:
    with global_compiler_lock:
        entrypoints.init_all()


def pickled(compiled: Any) -> bytes | None:
    """Pickle a compiled kernel; return None if it depends on addresses of this process."""
    if compiled.lifted or _needed("numba", compiled.library, "has_dynamic_globals"):
        return None
    content: bytes = dumps(_needed("numba", compiled, "_reduce")())
    return content


def compiled_from(reduced: tuple[Any, ...], target: Any) -> Any:
    """Return the kernel that was pickled with this content."""
    return _needed("numba", CompileResult, "_rebuild")(target, *reduced)


def address_of(compiled: Callable[..., Any], signature: Any) -> int:
    """Return the address of the C function of a kernel.

    Parameters
    ----------
    compiled : callable
        A kernel made with `c_function`.
    signature : numba signature
        Types of the arguments and of the result, such as types.intp(types.intp).

    Returns
    -------
    int
        The address; it is valid as long as the kernel exists.

    Raises
    ------
    TrigemuError
        If the installed numba lacks a private name that this needs.
    """
    result = _needed("numba", compiled, "get_compile_result")(signature)
    name = _needed("numba", result.fndesc, "llvm_cfunc_wrapper_name")
    return int(_needed("numba", result.library, "get_pointer_to_function")(name))


def prepare(target: Any) -> None:
    """Prepare to load compiled kernels that call only mathematical functions and allocate memory."""
    rtsys.initialize(target)


def processor(codegen: Any) -> tuple[str, str, str]:
    """Return the triple, the model and the features that code is generated for."""
    triple, model, features = _needed("numba", codegen, "magic_tuple")()
    return triple, model, features


def replace_key(table: Table, key: str, new: str, value: Any) -> None:
    """Replace a key and its value, and keep its place and comment."""
    _needed("tomlkit", table.value, "_replace")(key, new, value)


def insert_after(table: Table, key: str, new: str, value: Any) -> None:
    """Insert a key into a table of tomlkit directly after another, before any comments on what follows.

    Parameters
    ----------
    table : tomlkit.items.Table
        The table.
    key : str
        The key that it has.
    new : str
        The new key.
    value : object
        Its value.

    Raises
    ------
    TrigemuError
        If the installed tomlkit lacks a private name that this needs.
    """
    _needed("tomlkit", table.value, "_insert_after")(key, new, value)


@contextmanager
def without_clock() -> Iterator[None]:
    """Keep uproot from writing the time into its files within a block: equal contents give identical files.

    Returns
    -------
    context manager
        The block in which files are written.

    Raises
    ------
    TrigemuError
        If the installed uproot lacks a private name that this needs.
    """
    import uproot

    original = _needed("uproot", uproot._util, "datetime_to_code")
    uproot._util.datetime_to_code = lambda time: 0
    try:
        yield
    finally:
        uproot._util.datetime_to_code = original


def _needed(library: str, of: Any, name: str) -> Any:
    try:
        return getattr(of, name)
    except AttributeError:
        raise TrigemuError(
            f"{library} {version(library)} has no {type(of).__name__}.{name}, which trigemu needs: it was "
            f"checked with version {CHECKED[library]}"
        ) from None
