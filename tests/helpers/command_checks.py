"""What holds of every command, of the core and of plugins: tests of each call it for their own."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import click
import fsspec
import pytest
import uproot
from click.shell_completion import BashComplete, CompletionItem
from click.testing import CliRunner
from rich.cells import cell_len
from toys import threshold

from trigemu.cli import console
from trigemu.cli.commands import cli
from trigemu.results.terminal import FittingConsole

Run = Callable[..., tuple[int, str]]
#: A menu whose rate is given, for commands that solve budgets.
BUDGET = threshold("MET", "met", None, "total_rate_hz = 1e5")


def check_other_schemes_are_refused(
    place: Any, trigemu: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """A command that is given samples with another scheme than a few ends with status 2, before any library
    is asked. `{}` in the command is where they are given."""
    asked: list[object] = []
    for library in (fsspec, uproot):
        monkeypatch.setattr(library, "open", lambda *given, **options: asked.append(given))
    place.write("budget.toml", BUDGET)
    files = place.files()
    for value in ("reference://x::data:,x", "S3://b/a.root", "data:,x", "zip://a::c.zip", "local:/a.toml"):
        status, said = trigemu(*(word.format(value) for word in command))
        assert (status, "is not opened" in said) == (2, True), said
    assert (asked, place.files()) == ([], files)


def check_a_url_is_handed_on_as_it_is(place: Any, trigemu: Run, command: tuple[str, ...]) -> None:
    place.write("budget.toml", BUDGET)
    url = "https://127.0.0.1:9/c.toml"
    status, said = trigemu(*(word.format(url) for word in command))
    assert (status, f"{url}: catalogues are read from this machine only: download it" in said) == (2, True), (
        said
    )


def printed(arguments: tuple[str, ...]) -> list[Any]:
    """What a command prints, before it is laid out for a width."""
    pages: list[Any] = []

    class Collector(FittingConsole):
        def print(self, *objects: Any, **options: Any) -> None:
            pages.extend(objects)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console, "console", Collector)
        result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return pages


def lines_of(page: list[Any], width: int, encoding: str) -> list[str]:
    """The lines of a page in an encoding. None is too long, and no number is cut."""
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding=encoding, errors="replace", write_through=True)
    FittingConsole(file=stream, width=width, highlight=False, markup=False, emoji=False).print(*page)
    lines = buffer.getvalue().decode(encoding).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert not any("…" in line for line in lines if "±" in line)
    return lines


def every_command(names: set[str]) -> Iterator[tuple[str, click.Command]]:
    """Commands of the top with all below them, by what users write."""

    def below(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
        context = click.Context(group)
        for name in group.list_commands(context):
            if not path and name not in names:
                continue
            command = group.get_command(context, name)
            assert command
            yield " ".join((*path, name)), command
            if isinstance(command, click.Group):
                yield from below(command, (*path, name))

    return below(cli, ())


def check_documents_and_help(names: set[str]) -> set[str]:
    """Every option for a document can name the standard output, and help needs no sign beyond ASCII: click
    writes it in UTF-8 even where the encoding is ASCII. Return the commands that have documents."""
    found = set()
    for path, command in every_command(names):
        text = command.get_help(click.Context(command, info_name=f"trigemu {path}"))
        assert text.isascii(), (path, {c for c in text if not c.isascii()})
        documents = [o for o in command.params if {"--json", "--csv"} & set(o.opts)]
        assert {option.type.convert("-", option, None) for option in documents} <= {console.STDOUT}
        found |= {path} if documents else set()
    return found


def completed(*words: str) -> list[CompletionItem]:
    *before, incomplete = words
    return BashComplete(cli, {}, "trigemu", "_TRIGEMU_COMPLETE").get_completions(before, incomplete)
