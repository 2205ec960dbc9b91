"""Recognise the kind of a TOML file by a table that only files of this kind have."""

from __future__ import annotations

from typing import Any

from trigemu.support.toml import Document

#: Table → the kind of file that has it, and how such files are used.
KINDS = {
    "trigger": ("a menu", "trigemu check-menu and most other commands take it as MENU"),
    "catalogue": ("a catalogue of samples", "give it as --samples"),
    "profile": ("a set of efficiency profiles", "trigemu efficiency takes it as --profile"),
    "slice": ("a configuration of simulated samples", "trigemu generate takes it"),
    "training": ("a configuration for training a model", "trigemu decade train takes it"),
    "goals": ("a file of goals", "trigemu optimise takes it as GOALS, after the menu"),
    "fill": ("a fill", "trigemu fill takes it as FILL, after the menu"),
    "filling": ("a filling scheme", "trigemu live takes it as --filling"),
    "rules": ("a set of trigger rules", "trigemu live takes it as --rules"),
    "rule": ("a set of trigger rules", "trigemu live takes it as --rules"),
    "quantity": ("a set of tolerances", "trigemu gate takes it as --tolerances"),
    "default": ("a set of tolerances", "trigemu gate takes it as --tolerances"),
    "network": ("a model card", "a trigger names it as its card"),
    "score": ("a model card", "a trigger names it as its card"),
}


def kind_of(data: dict[str, Any]) -> str | None:
    """Return the table that identifies the kind of a file, a key of `KINDS`; None if it has none of them."""
    return next((table for table in KINDS if table in data), None)


def refuse_other_kinds(document: Document, table: str) -> None:
    """Refuse a file of another kind, such as a menu where a catalogue is expected.

    Parameters
    ----------
    document : Document
        The file.
    table : str
        The table that only the expected kind of file has, a key of `KINDS`.

    Raises
    ------
    TableError
        If the file has the table of another kind instead; the message explains how such files are used.
    """
    other = None if table in document.data else kind_of(document.data)
    if other and KINDS[other] != KINDS[table]:
        what, use = KINDS[other]
        document.problem((other,), "", f"this is {what}, not {KINDS[table][0]}: {use}")
        document.finish()
