"""Send plugins to workers that share no folder with the process that found them: their sources are sent with
the work."""

from __future__ import annotations

import atexit
import pickletools
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from trigemu.support.cache import folder_of_cache
from trigemu.support.errors import PluginError, TrigemuError
from trigemu.support.files import temporary_folder
from trigemu.support.plugins.found import (
    MODULE,
    FoundPlugin,
    digest_of_plugin,
    files_of_plugin,
    loaded_plugin,
)


def plugins_in(pickled: bytes) -> set[FoundPlugin]:
    """Return the plugins whose modules a pickle refers to."""
    texts = (arg for _, arg, _ in pickletools.genops(pickled) if isinstance(arg, str))
    modules = {text.split(".")[0] for text in texts if text.startswith(MODULE)}
    return {plugin for module in modules if (plugin := loaded_plugin(module))}


def sources_of(plugin: FoundPlugin) -> dict[str, bytes]:
    """Return the Python files of a plugin, by their path in its package or their name.

    Raises PluginError if they changed since the plugin was found.
    """
    folder = plugin.file.parent
    try:
        sources = {f.relative_to(folder).as_posix(): f.read_bytes() for f in files_of_plugin(plugin.file)}
        same = digest_of_plugin(plugin.file) == plugin.sha256
    except OSError as error:
        raise PluginError(f"plugin {plugin.name!r}: cannot read {error.filename}: {error.strerror}") from None
    if not same:
        raise PluginError(f"plugin {plugin.name!r}: {plugin.file} was changed while it was used: start again")
    return sources


def load_from(plugin: FoundPlugin, sources: Mapping[str, bytes]) -> None:
    """Load a plugin: from its own file, if this machine has the same, else from its sources, which are
    written to the cache folder, so that its compiled kernels are cached too."""
    with suppress(OSError):
        if digest_of_plugin(plugin.file) == plugin.sha256:
            plugin.load()
            return
    try:
        base = folder_of_cache() / "plugins"
        base.mkdir(exist_ok=True, mode=0o700)
    except (OSError, TrigemuError):  # there is none
        base = _temporary()
    folder = base / plugin.sha256
    file = folder / plugin.name / plugin.file.name
    if not file.is_file() or digest_of_plugin(file) != plugin.sha256:
        with temporary_folder(folder) as temporary:
            for name, content in sources.items():
                (temporary / plugin.name / name).parent.mkdir(parents=True, exist_ok=True)
                (temporary / plugin.name / name).write_bytes(content)
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # another process was first
                temporary.rename(folder)
    replace(plugin, file=file).load()


@cache
def _temporary() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="trigemu-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
