from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import pytest
from hypothesis import given, settings, strategies as st
from project import CORE_MENUS, ROOT

import trigemu
from trigemu.base.errors import TrigemuError
from trigemu.base.toml import Document, Key, TomlTable, read_table
from trigemu.menus.variation import full_path, table_of, with_numbers

FOLDER = ROOT / "menus"


class Limits(TomlTable, frozen=True):
    min: float | None = None
    max: float | None = None
    flag: bool = False


class Part(TomlTable, frozen=True):
    further: ClassVar[str | None] = "windows"

    name: str
    count: Annotated[int, msgspec.Meta(ge=1)] = 1
    windows: dict[str, Limits | tuple[Limits, ...]] = msgspec.field(default_factory=dict)


class Whole(TomlTable, frozen=True):
    parts: tuple[Part, ...]
    between: tuple[int, float] = (0, 1.0)
    limits: Limits | None = None
    other: Limits | None = None
    above: float | None = None
    told: bool = False
    names: dict[str, str] = msgspec.field(default_factory=dict)


WHOLE = Whole(
    parts=(
        Part(name="a", windows={"pt": Limits(min=3.0), "eta": (Limits(max=1.0), Limits(min=2.0, max=3.0))}),
        Part(name="b", count=2, windows={"phi-1": Limits(min=1.0, max=2.0)}),
    ),
    limits=Limits(max=7.0),
)


def read(table: dict[str, Any], kind: type[TomlTable]) -> TomlTable | None:
    document = Document(Path("made.toml"), {}, {}, "")
    made = read_table(document, table, kind, ("whole", 0), "")
    document.finish()
    return made


@pytest.mark.parametrize(
    ("path", "full"),
    [
        ("above", "above"),
        ("limits", "limits.max"),
        ("limits.min", "limits.min"),
        ("other", "other.min"),
        ("other.max", "other.max"),
        ("between[1]", "between[1]"),
        ("parts[0].pt", "parts[0].pt.min"),
        ("parts[0].pt.max", "parts[0].pt.max"),
        ("parts[1].pt", "parts[1].pt.min"),
        ("parts[0].eta[0]", "parts[0].eta[0].max"),
        ("parts[0].eta[1].max", "parts[0].eta[1].max"),
        ("parts[1].count", "parts[1].count"),
        ("parts[1].phi-1.max", "parts[1].phi-1.max"),
    ],
)
def test_a_number_is_found_and_changed_alone(path: str, full: str) -> None:
    assert full_path(WHOLE, path) == full
    key = tuple(int(part) if part.isdigit() else part for part in re.findall(r"[\w-]+", full))
    made = read(with_numbers(WHOLE, {full: 4.0}), Whole)
    assert made is not None
    before, after = dict(leaves(WHOLE)), dict(leaves(made))
    assert after.pop(key) == 4.0
    before.pop(key, None)
    assert after == before


def leaves(value: Any, key: Key = ()) -> Iterator[tuple[Key, Any]]:
    """What is in a struct, without what is as by default."""
    if isinstance(value, TomlTable):
        struct = type(value)
        for name in struct.__struct_fields__:
            entry = getattr(value, name)
            yield from leaves(entry, key if name == struct.further else (*key, name))
    elif isinstance(value, dict | tuple):
        for part, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(entry, (*key, part))
    elif value not in (None, False):
        yield key, value


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("parts", r"parts is a list of 2: say which, parts\[0\]"),
        ("parts.pt", r"parts is a list of 2: say which, parts\[0\]"),
        ("parts[2].pt", r"parts\[2\]: parts has 2 entries, from 0"),
        ("parts[0]", r"parts\[0\] is no number"),
        ("parts[0].name", r"parts\[0\]\.name is no number"),
        ("parts[0].name.x", r"parts\[0\]\.name is no table: it has no key 'x'"),
        ("parts[0].eta", r"parts\[0\]\.eta is a list of 2: say which, parts\[0\]\.eta\[0\]"),
        ("parts[0].eta[1]", r"say which, parts\[0\]\.eta\[1\]\.min or parts\[0\]\.eta\[1\]\.max"),
        ("parts[0].pt[0]", r"parts\[0\]\.pt is no list"),
        ("parts[0].pt.flag", r"parts\[0\]\.pt\.flag is no number"),
        ("above[0]", "above = .*expected a number"),
        ("other[0]", "unknown key '0'"),
        ("above.x", "above = .*expected a number"),
        ("told", "told is no number"),
        ("names", "names is no number"),
        ("limit", r"unknown key 'limit'; did you mean 'limits'\?"),
        *((text, "expected the path of a number") for text in ("", ".", "a..b", "a[b]", "a[-1]", "[0]")),
        ("a[9999999]", "expected the path of a number"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_said(path: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        full_path(WHOLE, path)


@settings(max_examples=15)
@given(st.text(max_size=30))
def test_any_text_is_a_number_or_a_message(text: str) -> None:
    with pytest.raises(TrigemuError) as caught:
        full_path(WHOLE, f"{text}..")
    assert len(str(caught.value)) < 1000
    with suppress(TrigemuError):
        assert full_path(WHOLE, text)


def test_several_numbers_are_changed_together() -> None:
    made = read(with_numbers(WHOLE, {"parts[0].pt.min": 8.0, "parts[0].pt.max": 9.5}), Whole)
    assert made == msgspec.structs.replace(
        WHOLE,
        parts=(
            msgspec.structs.replace(
                WHOLE.parts[0], windows=WHOLE.parts[0].windows | {"pt": Limits(min=8.0, max=9.5)}
            ),
            WHOLE.parts[1],
        ),
    )


def test_whole_numbers_stay_whole() -> None:
    key = "parts[0].count"
    assert read(with_numbers(WHOLE, {key: 3.0}), Whole).parts[0].count == 3  # type: ignore[union-attr]
    with pytest.raises(TrigemuError, match="expected an integer, got a number"):
        read(with_numbers(WHOLE, {key: 3.5}), Whole)


@pytest.mark.parametrize("path", CORE_MENUS, ids=lambda path: path.stem)
def test_the_table_of_a_trigger_is_read_as_the_same_trigger(path: Path) -> None:
    for trigger in trigemu.read_menu(path).triggers:
        assert read(table_of(trigger.description), type(trigger.description)) == trigger.description
