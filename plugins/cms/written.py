"""Check imported menus by reading them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from trigemu.api import Menu, TableError, TrigemuError, listed, read_menu


def read_back(toml: str, source: Path) -> Menu:
    """Return the menu in the TOML of an import. Raises TrigemuError, which names the source, if it cannot be
    read: this package or the source then has a mistake that the import did not notice."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "menu.toml")
        file.write_text(toml, encoding="utf-8")
        try:
            return read_menu(file)
        except TableError as error:
            reasons = [f"{problem.where}: {problem.message}" for problem in error.problems]
            raise TrigemuError(f"{source}: its conversion is not a valid menu: {listed(reasons)}") from error
