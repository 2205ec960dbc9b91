"""Documents for other programs: JSON that every parser reads, CSV that a spreadsheet cannot run."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from typing import Any

from trigemu.samples import Catalogue
from trigemu.support import printable

#: First characters of a text that a spreadsheet takes for a formula.
_FORMULA = ("=", "+", "-", "@")


def in_json(document: Any) -> str:
    """Return a document as JSON.

    Parameters
    ----------
    document : object
        Of dicts, lists, texts, numbers and None.

    Returns
    -------
    str
        Numbers that are infinite or NaN, which JSON does not have, are null.
    """
    try:
        text = json.dumps(document, indent=2, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(document), indent=2, allow_nan=False)
    return text + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def left_out(catalogue: Catalogue) -> dict[str, Any] | None:
    """Return what a document says of files that are left out.

    Parameters
    ----------
    catalogue : Catalogue
        The samples.

    Returns
    -------
    dict or None
        None if there are no such files.
    """
    if not catalogue.left_out:
        return None
    files = [
        {"sample": file.sample, "file": file.path, "reason": file.reason, "events": file.entries}
        for file in catalogue.left_out
    ]
    return {"share_of_events": catalogue.share_left_out, "files": files}


def in_csv(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV.

    Parameters
    ----------
    rows : iterable of iterables
        Texts and numbers; the first row has the names of the columns.

    Returns
    -------
    str
        Numbers are written as they are. A text that begins with = + - or @ has an apostrophe before it, so
        that no spreadsheet takes it for a formula; control characters of a text are written as escapes.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([_cell(value) for value in row] for row in rows)
    return stream.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    return printable(f"'{value}" if value.startswith(_FORMULA) else value)
