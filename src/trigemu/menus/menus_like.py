"""Menus as arguments of calls: paths or `Menu`s, one or several."""

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


def menu_of(menu: MenuLike) -> Menu:
    """Return a menu; read it if the argument is its path.

    Parameters
    ----------
    menu : Menu or path
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
    if isinstance(menu, Menu):
        return menu
    if not isinstance(menu, str | os.PathLike):
        raise wrong_type("the menu", menu, EXPECTED, _advice(menu))
    return read_menu(_file(Path(menu)))


def menus_of(menus: MenusLike) -> tuple[Menu, ...]:
    """Return one or several menus as a tuple.

    Parameters
    ----------
    menus : Menu, path, or a list or iterator of these
        The menus.

    Returns
    -------
    tuple of Menu
        The menus; paths are read.

    Raises
    ------
    WrongTypeError
        For anything else.
    TrigemuError
        If there is no such file, or a menu has mistakes.
    """
    if isinstance(menus, Menu | str | os.PathLike):
        return (menu_of(menus),)
    if not isinstance(menus, list | tuple | Iterator):
        raise wrong_type("the menus", menus, f"{EXPECTED}, or a list of these", _advice(menus))
    return tuple(menu_of(menu) for menu in menus)


def _file(path: Path) -> Path:
    """Return the path of a menu; raise TrigemuError if there is no such file."""
    text = str(path)
    if is_folder(path):
        inside = ", ".join(sorted(file.name for file in path.glob("*.toml"))[:_NAMED])
        raise TrigemuError(f"{text} is a folder: give the path of one menu{inside and f' in it ({inside})'}")
    if is_there(path):
        return path
    if "\n" in text:
        first = text.strip().partition("\n")[0]
        raise TrigemuError(f"{excerpt(first)!r} … is not a path: write the menu to a file first")
    where = "" if path.is_absolute() else f" in the current folder, {Path.cwd()}"
    raise TrigemuError(f"there is no menu {text}{where}")


def _advice(value: Any) -> str:
    kind = type(value).__name__
    if kind in ("Catalogue", "Events", "Array"):
        return "the menu comes first, then the samples"
    if kind in ("MenuRates", "Emulation"):
        return "its menu is .menu" if kind == "MenuRates" else "its menus are .menus"
    if isinstance(value, list | tuple):
        return "emulate and compare accept several"
    return "write it to a file first" if kind == "dict" else ""
