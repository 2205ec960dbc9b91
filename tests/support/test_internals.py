"""Private names of other libraries: they are there, and a message says so where they are not."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomlkit
import uproot
from numba.core.dispatcher import Dispatcher

from trigemu.support import (
    TrigemuError,
    insert_after,
    kernel,
    kernels,
    replace_key,
    without_clock,
)
from trigemu.support.internals import _SoundCacheFile, stamp_cache

TEXT = '[[trigger]]\nname = "A"\nbudget = 3.0  # Hz\n# on what follows\nprescale = 2\n'


def test_a_key_takes_the_place_of_another_with_its_comment() -> None:
    document = tomlkit.parse(TEXT)
    table: Any = document["trigger"][0]
    replace_key(table, "budget", "above", tomlkit.item(0.5))
    insert_after(table, "above", "fitted_on", "sample")
    lines = tomlkit.dumps(document).splitlines()
    assert lines[2:4] == ["above = 0.5  # Hz", 'fitted_on = "sample"']
    assert lines[4] == "# on what follows"


def test_a_root_file_without_the_clock_is_the_same_a_second_later() -> None:
    def content() -> bytes:
        file = io.BytesIO()
        with (
            without_clock(),
            uproot.recreate(file, uuid_function=lambda: __import__("uuid").UUID(int=1)) as made,
        ):
            made.mktree("tree", {"x": np.arange(3)})
            return file.getvalue()

    known = uproot._util.datetime_to_code
    first = content()
    time.sleep(1.1)
    assert content() == first
    assert uproot._util.datetime_to_code is known


class Nothing:
    """What a later version might have."""

    value = object()


def test_a_name_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        TrigemuError, match=r"^tomlkit \S+ has no object._replace, .*checked with version 0\."
    ):
        replace_key(Nothing(), "a", "b", 1)  # type: ignore[arg-type]
    with pytest.raises(TrigemuError, match=r"_insert_after"):
        insert_after(Nothing(), "a", "b", 1)  # type: ignore[arg-type]
    compiled = kernel(lambda x: x)
    assert isinstance(compiled, Dispatcher)
    monkeypatch.delattr(type(compiled._cache._cache_file), "_source_stamp", raising=False)
    del compiled._cache._cache_file._source_stamp
    with pytest.raises(TrigemuError, match=r"^numba .*_source_stamp"):
        stamp_cache(compiled, "0")
    monkeypatch.delattr(uproot._util, "datetime_to_code")
    with pytest.raises(TrigemuError, match=r"^uproot .*datetime_to_code"), without_clock():
        pass


KERNEL = """
from trigemu.support import kernel, unkept


@kernel
def successor(x):
    return x + 1.0


assert successor(2.0) == 3.0
print(unkept(), sum(successor.stats.cache_hits.values()))
"""


def compiled(folder: Path) -> str:
    (folder / "made.py").write_text(KERNEL)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "made.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_a_damaged_cache_of_kernels_is_made_again(tmp_path: Path) -> None:
    assert compiled(tmp_path) == "False 0"
    (index,) = tmp_path.rglob("made.successor*.nbi")
    (code,) = tmp_path.rglob("made.successor*.nbc")
    index.write_bytes(index.read_bytes()[:40])
    assert compiled(tmp_path) == "False 0"
    content = code.read_bytes()
    code.write_bytes(content[:500] + bytes([content[500] ^ 1]) + content[501:])
    assert compiled(tmp_path) == "False 0"
    assert compiled(tmp_path) == "False 1"


@pytest.mark.parametrize(("mode", "theirs"), [(0o755, False), (0o700, False), (0o777, True), (0o757, True)])
def test_a_cache_that_others_can_write_to_is_not_loaded(tmp_path: Path, mode: int, theirs: bool) -> None:
    cached = _SoundCacheFile(str(tmp_path), "made", "1")
    cached.save("key", 7)
    tmp_path.chmod(mode)
    assert cached.load("key") == (None if theirs else 7)


def test_without_a_folder_for_compiled_code_kernels_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(compiled: Any) -> None:
        raise RuntimeError("no locator available")

    monkeypatch.setattr(kernels, "_UNKEPT", [])
    monkeypatch.setattr(Dispatcher, "enable_caching", refused)
    assert kernels.kernel(lambda x: x + 1.0)(2.0) == 3.0
    assert kernels.unkept()
