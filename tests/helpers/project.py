"""Where the project is, and its menus."""

import tomllib
from pathlib import Path

from trigemu.base.plugins import CORE

ROOT = Path(__file__).parents[2]


def _kinds(file: Path) -> set[str]:
    return {trigger["kind"] for trigger in tomllib.loads(file.read_text())["trigger"]}


#: The menus of the folder menus, and those of them that need no plugin.
MENUS = sorted(file for file in (ROOT / "menus").glob("*.toml") if "[menu]" in file.read_text())
CORE_MENUS = [file for file in MENUS if _kinds(file) <= set(CORE.declared().kinds)]
