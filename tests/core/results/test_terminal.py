"""Tables at every width: nothing is longer than it, no name or number is cut, what gives way is named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from printing import text_of as printed
from rich.cells import cell_len

from trigemu.api import Column, Page, Table

#: Wide, combining, and beyond one encoding or the other.
NAMES = st.text("abJ_0é\u0301漢字ημ", min_size=1, max_size=40).filter(lambda name: name[0] != "\u0301")
NUMBERS = st.from_regex(r"[0-9]{1,9}±[0-9]{1,3} (k|m)?Hz\*?", fullmatch=True)


def key(name: str) -> Column:
    return Column(name, "key", name)


def number(name: str, **how: Any) -> Column:
    return Column(name, "number", name, **how)


def rates(*names: str) -> Table:
    numbers = (
        number("prescale"),
        number("total"),
        number("share", gives_way=2),
        number("events", gives_way=1),
    )
    table = Table((key("trigger"), *numbers))
    for name in names:
        table.add(name, "1000", "18.66±0.27 kHz ", "3.324±0.049 kHz*", "37.9k (4.69k)")
    return table


def test_names_do_not_act_on_the_terminal() -> None:
    table = Table((key("head\x1b[2J"),), title="title\x1b]0;x\x07")
    table.add("[red]a\x1b[31m\nfalse row", style="summary")
    shown = printed(Page([table, "[b]note\r\u202e\nsecond"]), 100)
    assert shown.splitlines() == [
        r"title\x1b]0;x\x07",
        r"head\x1b[2J",
        r"[red]a\x1b[31m\nfalse row",
        r"[b]note\r\u202e\nsecond",
    ]


def test_columns_are_aligned_whatever_names_are_made_of() -> None:
    lines = printed(rates("J100", "漢字", "e\u0301t"), 80).splitlines()
    assert lines[0] == "trigger  prescale            total             share         events"
    assert len({cell_len(line) for line in lines}) == 1


@given(
    names=st.lists(NAMES, min_size=1, max_size=5),
    numbers=st.lists(NUMBERS, min_size=3, max_size=3),
    width=st.integers(25, 130),
)
def test_no_line_is_too_long_and_nothing_is_cut(names: list[str], numbers: list[str], width: int) -> None:
    table = Table((key("trigger"), number("total"), number("less the first"), number("events", gives_way=1)))
    for name in names:
        table.add(name, *numbers)
    shown = printed(table, width)
    assert max(map(cell_len, shown.splitlines())) <= width
    assert all(name in shown for name in names if cell_len(name) <= 6)
    assert all(shown.count(sign) >= "".join(names).count(sign) for sign in {*"".join(names)})
    total, less, events = numbers
    assert shown.count(total) >= len(names)
    assert shown.count(less) >= len(names)
    assert events in shown or "Not shown: events" in shown


@pytest.mark.parametrize(
    ("width", "columns", "note"),
    [
        (100, "trigger prescale total share events", ""),
        (63, "trigger prescale total share events", ""),
        (62, "trigger prescale total events", "Not shown: share (with 63 columns, or in --json)."),
        (45, "trigger prescale total", "Not shown: share, events (with 63 columns, or in --json)."),
    ],
)
def test_columns_give_way_in_their_order(width: int, columns: str, note: str) -> None:
    shown = printed(rates("J100"), width)
    assert shown.splitlines()[0].split() == columns.split()
    assert " ".join(shown.split("\n\n", 1)[-1].split()).startswith(note)
    assert ("Not shown" in shown) == bool(note)


def test_numbers_without_names_are_printed_however_narrow() -> None:
    table = Table((number("a"), number("b")))
    table.add("1" * 9, "2" * 9)
    assert printed(table, 5).split() == ["a", "1" * 9, "b", "2" * 9]


def test_empty_columns_are_not_printed() -> None:
    table = Table((key("trigger"), number("prescale"), number("total")))
    table.add("a" * 10, "", "1 kHz")
    assert printed(table, 40).split() == ["trigger", "total", "a" * 10, "1", "kHz"]


def test_a_name_without_room_goes_on_in_the_next_line() -> None:
    assert printed(rates("J100", "L1_" + "x" * 40), 46).splitlines() == [
        "trigger                         prescale",
        "J100                                1000",
        f"L1_{'x' * 27}      1000",
        "x" * 13,
        "",
        "trigger                                  total",
        "J100                           18.66±0.27 kHz",
        f"L1_{'x' * 27} 18.66±0.27 kHz",
        "x" * 13,
        "",
        "Not shown: share, events (with 99 columns, or",
        "in --json).",
    ]


def test_long_names_are_broken_if_numbers_then_stay_beside_each_other() -> None:
    table = Table((key("quantity"), number("here"), number("there")))
    table.add("rank correlation with jet[0].pt where present", "0.321", "0.384")
    assert printed(table, 40).splitlines() == [
        "quantity                      here there",
        "rank correlation with        0.321 0.384",
        "jet[0].pt where present",
    ]


def test_numbers_are_split_into_blocks_that_begin_with_the_names() -> None:
    numbers = map(number, ("a", "less a", "b", "less b"))
    table = Table((key("trigger"), *numbers), title="Rates")
    table.add("J100", "1111", "+1", "2222", "+2")
    table.add_gap()
    table.add("menu", "3333", style="summary")
    assert printed(table, 24).splitlines() == [
        "Rates",
        "trigger     a  less a",
        "J100     1111      +1",
        "",
        "menu     3333",
        "",
        "trigger     b  less b",
        "J100     2222      +2",
        "",
        "menu",
    ]


def test_rows_of_one_name_stay_together_in_every_block() -> None:
    table = Table((key("trigger"), key("column"), number("total"), number("unique")))
    table.add("J100", "low", "off")
    table.add("", "high", "1111", "2222")
    table.add("MU14", "low", "off")
    assert printed(table, 22).splitlines() == [
        "trigger  column  total",
        "J100     low       off",
        "         high     1111",
        "MU14     low       off",
        "",
        "trigger column unique",
        "J100    low",
        "        high     2222",
        "MU14    low",
    ]


def test_texts_are_broken_at_spaces_then_below() -> None:
    table = Table((key("sample"), Column("what", "note", "what")))
    table.add("soft", "one two three four five six seven")
    assert printed(table, 32).splitlines() == [
        "sample  what",
        "soft    one two three four five",
        "        six seven",
    ]
    assert printed(table, 20).splitlines() == [
        "sample",
        "soft",
        "    one two three",
        "    four five six",
        "    seven",
    ]


def test_notes_say_once_what_gave_way_in_any_table() -> None:
    page = Page([rates("J100"), "", rates("J" * 30)], ["", "Sample 'toy'."])
    said = " ".join(printed(page, 61).split("\n\n")[-1].split())
    assert said == "Not shown: share, events (with 86 columns, or in --json). Sample 'toy'."
