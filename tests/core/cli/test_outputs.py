"""Documents on the standard output."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from click.testing import CliRunner, Result
from command_checks import check_documents_and_help

from trigemu.api import on_disk
from trigemu.cli.commands import cli
from trigemu.cli.outputs import STDOUT
from trigemu.support import CORE, TrigemuError

ON_TOYS = ("--samples", "catalogue.toml")
RATES_VS = ("rates-vs", "jet[0].pt", "menu.toml", "--bins", "0:90:30", *ON_TOYS)
SCAN = ("scan", "menu.toml", "--trigger", "J30", "--values", "30,40", *ON_TOYS)
COMMANDS = [
    ("run", "menu.toml", *ON_TOYS, "--overlap"),
    ("compare", "menu.toml", "hard.toml", *ON_TOYS),
    SCAN,
    RATES_VS,
    ("efficiency", "menu.toml", "--sample", "all", "--observable", "met", "--bins", "0:90:30", *ON_TOYS),
]


def called(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, prog_name="trigemu", catch_exceptions=False)


@pytest.fixture
def menus(place: Any) -> Any:
    place.write("hard.toml", (place.folder / "menu.toml").read_text().replace("30.0", "35.0"))
    return place


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_the_standard_output_is_the_document_alone(menus: Any, command: tuple[str, ...]) -> None:
    before = menus.files()
    written = called(*command, "--json", "file.json", "--csv", "file.csv")
    assert written.exit_code == 0, written.output
    to_stdout = called(*command, "--json", "-", "--csv", "other.csv")
    assert to_stdout.stdout == (menus.folder / "file.json").read_text()
    assert json.loads(to_stdout.stdout)
    as_csv = called(*command, "--csv", "-").stdout
    assert as_csv == (menus.folder / "file.csv").read_text() == (menus.folder / "other.csv").read_text()
    rows = [*csv.reader(io.StringIO(as_csv))]
    assert len({len(row) for row in rows}) == 1
    assert any("unseen" in head for head in rows[0]) or command[0] == "efficiency"
    assert menus.files() == sorted([*before, "file.csv", "file.json", "other.csv"])


def test_two_documents_at_once_are_refused(menus: Any) -> None:
    result = called("run", "menu.toml", *ON_TOYS, "--json", "-", "--csv", "-")
    assert result.exit_code == 2
    assert "only one document can go to the standard output" in result.stderr
    with pytest.raises(TrigemuError, match="only one"):
        on_disk(STDOUT, None, STDOUT)


def test_a_file_may_be_called_like_the_sign(menus: Any) -> None:
    result = called("run", "menu.toml", *ON_TOYS, "--json", "./-")
    assert result.exit_code == 0
    assert "J30" in result.stdout
    assert json.loads((menus.folder / "-").read_text())["menu"]["name"] == "menu"


def test_every_command_with_documents_can_write_them_there() -> None:
    result = check_documents_and_help(set(CORE.declared().commands))
    assert {"run", "compare", "scan", "rates-vs", "efficiency"} <= result
