"""Menus as calls are given them: paths or `Menu`s, one or several."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from trigemu.menus.menu import Menu
from trigemu.menus.read import read_menu
from trigemu.support import TrigemuError, excerpt, is_folder, is_there, wrong_type

#: A menu, or the path of one.
MenuLike = Menu | str | os.PathLike[str]
#: One menu or several.
MenusLike = MenuLike | Iterable[MenuLike]
EXPECTED = "the path of a menu (TOML), or a Menu"
#: Files that a message names.
_NAMED = 10


def menu_of(given: MenuLike) -> Menu:
    """Return a menu, read from its file if a path is given.

    Parameters
    ----------
    given : Menu or path
        The menu.

    Returns
    -------
    Menu
        The menu.

    Raises
    ------
    WrongTypeError
        For anything but a path or a `Menu`.
    TrigemuError
        If there is no such file, or the menu has mistakes.
    """
    if isinstance(given, Menu):
        return given
    if not isinstance(given, str | os.PathLike):
        raise wrong_type("the menu", given, EXPECTED, _advice(given))
    return read_menu(_file(Path(given)))


def menus_of(given: MenusLike) -> tuple[Menu, ...]:
    """Return menus, given as one or as several.

    Parameters
    ----------
    given : Menu, path, or a list or iterator of these
        The menus.

    Returns
    -------
    tuple of Menu
        The menus; those given by path are read.

    Raises
    ------
    WrongTypeError
        For anything else.
    TrigemuError
        If there is no such file, or a menu has mistakes.
    """
    if isinstance(given, Menu | str | os.PathLike):
        return (menu_of(given),)
    if not isinstance(given, list | tuple | Iterator):
        raise wrong_type("the menus", given, f"{EXPECTED}, or a list of these", _advice(given))
    return tuple(menu_of(menu) for menu in given)


def _file(path: Path) -> Path:
    """Return the path of a file; raise TrigemuError if there is none."""
    text = str(path)
    if is_folder(path):
        inside = ", ".join(sorted(file.name for file in path.glob("*.toml"))[:_NAMED])
        raise TrigemuError(f"{text} is a folder: give the path of one menu{inside and f' in it ({inside})'}")
    if is_there(path):
        return path
    if "\n" in text:
        first = text.strip().partition("\n")[0]
        raise TrigemuError(f"{excerpt(first)!r} … is no path: write the menu to a file first")
    where = "" if path.is_absolute() else f" in the current folder, {Path.cwd()}"
    raise TrigemuError(f"there is no menu {text}{where}")


def _advice(given: Any) -> str:
    kind = type(given).__name__
    if kind in ("Catalogue", "Events", "Array"):
        return "the menu comes first, then the samples"
    if kind in ("MenuRates", "Emulation"):
        return "its menu is .menu" if kind == "MenuRates" else "its menus are .menus"
    if isinstance(given, list | tuple):
        return "emulate and compare take several"
    return "write it to a file first" if kind == "dict" else ""
