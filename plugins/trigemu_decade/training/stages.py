"""Results of the stages of a training, stored in the user's cache until it has succeeded: an interrupted
training continues where it stopped, with the same result to the last bit."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.base import cache
from trigemu.base.errors import TrigemuError
from trigemu.base.files import write_bytes
from trigemu.base.fingerprint import digest_of_code
from trigemu.emulation.plan import make_plan
from trigemu.menus.menu import Menu
from trigemu.samples.catalogue import Catalogue

from .config import Config

LIBRARIES = ("numpy", "jax", "optax", "onnx", "xgboost-cpu")
#: Prefixes of environment variables that change the results of JAX.
_VARIABLES = ("JAX_", "XLA_")

Arrays = Mapping[str, npt.NDArray[Any]]


def as_array(content: bytes) -> npt.NDArray[np.uint8]:
    """Return bytes as an array, to be stored with other arrays."""
    return np.frombuffer(content, np.uint8)


@dataclass(frozen=True)
class Stages:
    """Where results are stored: a folder for this output and all that they depend on. None: nowhere."""

    folder: Path | None = None

    def arrays(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the stored arrays of a finished stage, else make and store them."""
        content = self._stored(name)
        if content is None:
            result = make()
            self._store(name, result)
            return result
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return {key: file[key] for key in file.files}

    def remove(self) -> None:
        """Remove all stages of this output, also those of other configurations and samples."""
        if self.folder:
            for other in self.folder.parent.glob(f"{self.folder.name.partition('-')[0]}-*"):
                shutil.rmtree(other, ignore_errors=True)

    def _stored(self, name: str) -> bytes | None:
        for path in self.folder.glob(f"{name}-*.npz") if self.folder else ():
            with suppress(OSError):
                content = path.read_bytes()
                if path.name == f"{name}-{hashlib.sha256(content).hexdigest()}.npz":
                    return content
        return None

    def _store(self, name: str, arrays: Arrays) -> None:
        if self.folder is None:
            return
        stream = io.BytesIO()
        np.savez(stream, allow_pickle=False, **arrays)
        content = stream.getvalue()
        with suppress(TrigemuError, OSError):  # the training may be long, and succeeds without
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_bytes(self.folder / f"{name}-{hashlib.sha256(content).hexdigest()}.npz", content)


def stages_of(config: Config, menu: Menu, catalogue: Catalogue, output: Path) -> Stages:
    """Return where the stages of a training are stored; nowhere if there is no cache."""
    digest = hashlib.sha256(os.fsencode(output.resolve())).hexdigest()[:16]
    key = hashlib.sha256(json.dumps(list(_depends_on(config, menu, catalogue))).encode()).hexdigest()
    try:
        return Stages(cache.folder_of_cache() / "training" / f"{digest}-{key[:32]}")
    except TrigemuError:
        return Stages()


def _depends_on(config: Config, menu: Menu, catalogue: Catalogue) -> Iterator[object]:
    """Yield all that a result depends on: the code, the libraries, the machine, and the input files."""
    yield digest_of_code(Path(__file__).parents[1])
    yield [version(name) for name in LIBRARIES]
    yield [platform.node(), platform.machine(), platform.python_version(), os.cpu_count()]
    yield sorted(item for item in os.environ.items() if item[0].startswith(_VARIABLES))
    yield [config.half, config.table.training.seed, config.table.quantile.max_trees]
    yield [config.document.sha256, menu.sha256, [plugin.sha256 for plugin in menu.plugins]]
    yield [sorted(models.items()) for models in (*make_plan([menu]).models, config.context.models)]
    yield [catalogue.sha256, catalogue.errors]
    for sample in catalogue.samples:
        for source in sample.sources:
            yield [sample.name, str(source.path), source.entries, source.identity]
