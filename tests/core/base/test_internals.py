"""Private names of other libraries: they are there, and a message says so where they are not."""

from __future__ import annotations

import io
import time
from typing import Any

import numpy as np
import pytest
import tomlkit
import uproot

from trigemu.base.errors import TrigemuError
from trigemu.base.internals import insert_after, replace_key, without_clock

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
    monkeypatch.delattr(uproot._util, "datetime_to_code")
    with pytest.raises(TrigemuError, match=r"^uproot .*datetime_to_code"), without_clock():
        pass
