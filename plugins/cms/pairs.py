"""Menus and test vectors of a folder that belong together, by their names.

Names are compared without the ending, without the prefix `TestVector_`, and up to the version, `_v8` or
`_v2_1_0`. A menu and a vector with equal names are a pair: `L1Menu_Collisions2016_v8_m2.xml.xz` and
`TestVector_L1Menu_Collisions2016_v8.txt.xz`. A name without a version is compared in full.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trigemu.api import Menu, TrigemuError, excerpt, is_file, read_menu
from trigemu_validation import DecisionCheck

from .cms_l1 import LeftOut, import_cms_l1
from .cms_l1_conditions import AsEmulated

_PACKED = r"(?:\.xz|\.gz)?"
_IMPORTED = re.compile(rf"(.+)\.xml{_PACKED}")
_MENU = re.compile(rf"(.+)(?:\.toml|\.xml{_PACKED})")
_VECTOR = re.compile(rf"(.+)\.txt{_PACKED}")
_VERSION = re.compile(r".+?_v\d+(?:_\d+)*(?=_|$)")
_BEFORE = "TestVector_"
#: Largest number of files in a message.
_NAMED = 10


@dataclass(frozen=True)
class Pair:
    """A menu and its vector."""

    menu: Path
    vector: Path


@dataclass(frozen=True)
class CheckedPair:
    """The validation of a menu on its vector.

    Attributes
    ----------
    pair : Pair
        The files.
    left_out : tuple of LeftOut
        The algorithms that the import left out; empty for a menu in TOML.
    result : DecisionCheck
        The validation of the others.
    """

    pair: Pair
    left_out: tuple[LeftOut, ...]
    result: DecisionCheck

    @property
    def is_complete(self) -> bool:
        """Whether every algorithm was compared."""
        return not (self.left_out or self.result.skipped)


def find_pairs(folder: Path) -> tuple[tuple[Pair, ...], tuple[Path, ...]]:
    """Find the menus and vectors in a folder, not in its subfolders.

    Parameters
    ----------
    folder : Path
        A folder with menus (.xml, also .xz and .gz; .toml) and vectors (.txt, also .xz and .gz).

    Returns
    -------
    pairs : tuple of Pair
        Every pair, in the order of the names.
    alone : tuple of Path
        Menus and vectors without a counterpart.

    Raises
    ------
    TrigemuError
        If there is no pair.
    """
    try:
        files = sorted(file for file in folder.iterdir() if is_file(file))
    except OSError as error:
        raise TrigemuError(f"{folder}: cannot be read: {error.strerror}") from error
    menus = {file: _key(match[1]) for file in files if (match := _MENU.fullmatch(file.name))}
    vectors = {file: _key(match[1]) for file in files if (match := _VECTOR.fullmatch(file.name))}
    pairs = tuple(Pair(m, v) for m, key in menus.items() for v, k in vectors.items() if key == k)
    if not pairs:
        raise TrigemuError(
            f"{folder}: no pairs of menu and vector: their names have to agree up to the "
            f"version, as in L1Menu_A_v8.xml and TestVector_L1Menu_A_v8.txt; menus: {_names(menus)}; "
            f"vectors: {_names(vectors)}"
        )
    paired = {file for pair in pairs for file in (pair.menu, pair.vector)}
    return pairs, tuple(file for file in (*menus, *vectors) if file not in paired)


def read_menu_of(
    pair: Pair, plugin_path: Sequence[Path] | None = None, as_emulated: AsEmulated | None = None
) -> tuple[Menu, tuple[LeftOut, ...]]:
    """Return the menu of a pair, imported if it is XML, and the algorithms that the import left out."""
    if not _IMPORTED.fullmatch(pair.menu.name):
        return read_menu(pair.menu, plugin_path), ()
    imported = import_cms_l1(pair.menu, as_emulated)
    return replace(imported.menu, path=pair.menu), imported.left_out


def _key(stem: str) -> str:
    name = stem.removeprefix(_BEFORE)
    match = _VERSION.match(name)
    return match[0] if match else name


def _names(files: Collection[Path]) -> str:
    names = [excerpt(file.name) for file in files]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more if names else "none"
