"""The result of an import: a menu in TOML, which is checked by reading it, and what was left out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

from trigemu.base import toml_text
from trigemu.base.errors import TrigemuError, listed
from trigemu.base.files import temporary_folder
from trigemu.base.toml import TableError
from trigemu.menus.menu import Menu
from trigemu.menus.read import read_menu


@dataclass(frozen=True)
class LeftOut:
    """An algorithm or a seed that cannot be imported, and why. index: the bit of an algorithm."""

    name: str
    index: int | None
    line: int
    reason: str

    def sentence(self, of_file: str = "") -> str:
        """Return it as a sentence. of_file: what follows the line, such as " of the XML"."""
        name = self.name if self.index is None else f"{self.index}, {self.name}"
        return f"Left out: {name} (line {self.line}{of_file}): {self.reason}."


@dataclass(frozen=True)
class Imported:
    """toml: the text of the menu; menu: the menu in it. items: the number of its algorithms or seeds. parts:
    the number of conditions or objects that these consist of. cards: absolute paths in the text."""

    toml: str
    menu: Menu
    items: int
    parts: int
    left_out: tuple[LeftOut, ...]
    warnings: tuple[str, ...]
    cards: tuple[str, ...] = ()

    def in_folder(self, folder: Path) -> str:
        """Return the text of the menu in a folder, with paths of cards relative to it."""
        text = self.toml
        for card in self.cards:
            relative = Path(os.path.relpath(card, folder)).as_posix()
            text = text.replace(toml_text.entry("card", card), toml_text.entry("card", relative))
        return text


def read_back(toml: str, source: Path) -> Menu:
    """Return the menu of an import; TrigemuError if this package or the source has a mistake."""
    with temporary_folder(Path(gettempdir(), "import")) as folder:
        file = folder / "menu.toml"
        file.write_text(toml, encoding="utf-8")
        try:
            return read_menu(file)
        except TableError as error:
            reasons = [f"{problem.where}: {problem.message}" for problem in error.problems]
            raise TrigemuError(f"{source}: its conversion is not a valid menu: {listed(reasons)}") from error
