from __future__ import annotations

import io

from rich.console import Console, Group

from trigemu.output.text.terminal import Table, plain


def test_names_do_not_act_on_the_terminal() -> None:
    table = Table("title\x1b]0;x\x07")
    table.add_column("head\x1b[2J")
    table.add_row("[red]a\x1b[31m\nfalse row", style="bold")
    stream = io.StringIO()
    console = Console(file=stream, width=100, markup=False, highlight=False)
    console.print(Group(table, plain("[b]note\r\u202e\nsecond")))
    assert [line.rstrip() for line in stream.getvalue().splitlines()] == [
        r"title\x1b]0;x\x07",
        r"head\x1b[2J",
        r"[red]a\x1b[31m\nfalse row",
        r"[b]note\r\u202e\nsecond",
    ]
