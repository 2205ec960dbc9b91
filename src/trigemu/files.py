"""Files that are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

from trigemu.errors import TrigemuError


def write_text(path: Path | str, text: str) -> None:
    """Write under a temporary name beside the file, then rename; TrigemuError where that fails."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise TrigemuError(f"cannot write {target}: {error.strerror}") from None
