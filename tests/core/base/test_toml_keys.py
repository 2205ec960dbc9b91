from __future__ import annotations

from typing import ClassVar

from trigemu.base.toml import TomlTable
from trigemu.menus.schema import descriptions, schemas, summary, with_parts


class Inner(TomlTable, frozen=True):
    """An inner table."""


class First(TomlTable, frozen=True, rename={"from_": "from"}):
    """A table of
    two lines.

    And a paragraph.
    """

    #: The first key,
    #: on two lines.
    from_: str
    low: float  #: A low key.
    high: float  #: A high key.
    plain: int  # This describes nothing.


class Second(First, frozen=True):
    """Another table."""

    low: float  #: Said anew.
    parts: tuple[Inner, ...]
    named: dict[str, tuple[Inner, ...] | First | None]


def test_what_docstrings_say_of_tables_and_keys() -> None:
    assert summary(First) == "A table of two lines.\n\nAnd a paragraph."
    said = {"from": "The first key, on two lines.", "low": "A low key.", "high": "A high key."}
    assert (descriptions(First), descriptions(Inner)) == (said, {})
    assert descriptions(Second) == said | {"low": "Said anew."}  # the others are those of its base
    assert with_parts([Second, Inner]) == [Second, Inner, First]


class Open(TomlTable, frozen=True):
    """A table with keys of any name."""

    further: ClassVar[str | None] = "others"

    inner: Inner
    others: dict[str, int]  #: A key of any name.


def test_their_json_schema() -> None:
    names, definitions = schemas([Open, First], "#/{name}")
    assert set(names) == {Open, Inner, First}
    made = definitions[names[Open]]
    assert made["additionalProperties"] == {"description": "A key of any name.", "type": "integer"}
    assert made["properties"] == {"inner": {"$ref": f"#/{names[Inner]}"}}
    assert definitions[names[Inner]]["description"] == "An inner table."
    assert definitions[names[First]]["properties"]["low"] == {"description": "A low key.", "type": "number"}
