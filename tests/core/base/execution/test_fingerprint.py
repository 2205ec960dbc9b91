"""Fingerprints: equal for equal values in every process, and different for all others."""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from trigemu.base.checkpoint import digest_of_code, fingerprint

PROGRAM = """
import enum, sys
from dataclasses import dataclass
from pathlib import Path
import numpy as np
from trigemu.base.checkpoint import fingerprint
from trigemu.observables import workspace

@dataclass(frozen=True)
class Cut:
    name: str
    above: float

Colour = enum.Enum("Colour", ["RED", "BLUE"], module="shades")
names = ["name%d" % k for k in range(50)]
names = names[::int(sys.argv[1])]
print(fingerprint(
    frozenset(names), {name: (1, 2.5) for name in names}, Cut("a", 1e300), Colour.RED, np.arange(3) / 7,
    Path("a/b"), workspace.delta_phi.py_func, b"bytes", None, "\\ud800", {frozenset([1, "a"]): {2}},
))
"""


def test_it_is_the_same_in_another_process_and_in_any_order() -> None:
    found = set()
    for seed, step in (("1", "1"), ("2", "-1")):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, step], env=environment, capture_output=True, text=True, check=True
        )
        found.add(done.stdout.strip())
    (one,) = found
    assert len(one) == 64


@dataclass(frozen=True)
class Cut:
    name: str
    above: float = 1.0


@dataclass(frozen=True)
class Window:
    name: str
    above: float = 1.0


class Row(msgspec.Struct, frozen=True):
    name: str
    above: float = 1.0


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


def a_function() -> None: ...


class WithMethod:
    @classmethod
    def of_class(cls) -> None: ...

    def of_object(self) -> None: ...


ALL_DIFFERENT: list[Any] = [
    *(1, 1.0, True, "1", b"1", np.int64(1), np.int32(1), np.float32(1), np.float64(1), Level.LOW, Path("1")),
    *(0, 0.0, -0.0, False, None, "", b"", (), {}, set(), math.nan, math.inf, -math.inf, 1e-320),
    *(("a", "b"), ("ab",), ("b", "a"), (("a",), "b"), ("a", ("b",)), {"a": "b"}, {"b": "a"}, {"a", "b"}),
    *(Cut("a"), Cut("b"), Cut("a", 2.0), Cut("a", 1), Window("a"), Row("a"), Row("b"), Row("a", 2.0)),
    *(Colour.RED, Colour.BLUE, Cut, Window, Colour, a_function, fingerprint, math.sqrt, np.sum, len),
    *(WithMethod.of_class, WithMethod.of_object, np.array([0.0, 0.0, -0.0, 0.0])),
    *(np.zeros(shape) for shape in (4, (2, 2), (4, 1), 0, (0, 3))),
    *(np.zeros(4, kind) for kind in ("f4", "i8", ">i8", "i4,i4", [("f0", "i4"), ("other", "i4")])),
]


def test_different_values_have_different_fingerprints() -> None:
    """And several are not one."""
    pairs = [("a", "b"), ("ab",), ("", "ab"), (("a", "b"),), ("a", "b", "")]
    assert len({fingerprint(*pair) for pair in pairs}) == len(pairs)
    found = [fingerprint(value) for value in ALL_DIFFERENT]
    for (one, its), (other, others) in itertools.combinations(zip(ALL_DIFFERENT, found, strict=True), 2):
        assert its != others, (one, other)


def test_layout_and_fields_that_are_left_out_make_no_difference() -> None:
    grid = np.arange(6).reshape(2, 3)
    assert fingerprint(np.asfortranarray(grid)) == fingerprint(grid) == fingerprint(grid[::-1][::-1])
    assert fingerprint(grid.T) != fingerprint(grid)
    for kind in (Cut, Row):
        names = [fingerprint([{"x": kind(*of)}], without=["name"]) for of in (("a",), ("b",), ("a", 2.0))]
        assert names[0] == names[1] != names[2]


@pytest.mark.parametrize(
    "value",
    [
        *(
            lambda: 1,
            functools.partial(a_function),
            WithMethod().of_object,
            [].append,
            object(),
            1j,
            range(3),
        ),
        *(np.array([object()], object), bytearray(1), range(3), (name for name in "ab")),
        dataclasses.make_dataclass("Holder", ["value"])(object()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_no_content_tells_has_none(value: object) -> None:
    with pytest.raises(TypeError, match="has no fingerprint"):
        fingerprint(["in", {"a": value}])


def test_the_digest_of_code_changes_with_any_file_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest() -> str:
        digest_of_code.cache_clear()
        return digest_of_code()

    before = digest()
    monkeypatch.setattr("trigemu.base.checkpoint._ROOT", tmp_path)
    (tmp_path / "__init__.py").touch()
    (tmp_path / "below").mkdir()
    file = tmp_path / "below" / "code.py"
    found = [before, digest()]
    for text in ("x = 1", "x = 2", ""):
        file.write_text(text)
        found.append(digest())
    file.rename(file.with_name("other.py"))
    found.append(digest())
    assert len(set(found)) == 6
    (tmp_path / "notes.txt").write_text("no code")
    assert digest() == found[-1]
    digest_of_code.cache_clear()
