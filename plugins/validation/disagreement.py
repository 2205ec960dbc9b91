"""An event on which an emulated and a stored decision differ."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from trigemu.api import Catalogue, Events, Need


@dataclass(frozen=True)
class Disagreement:
    """An event on which the emulated and the stored decision of a trigger differ.

    Attributes
    ----------
    sample : str
        The name of the sample.
    path : str
        The file.
    entry : int
        The position of the event in the file.
    emulated : bool
        The emulated decision.
    events : Events
        The event with the columns that the trigger needs, and the neighbouring crossings that it uses.
    """

    sample: str
    path: str
    entry: int
    emulated: bool
    events: Events = field(repr=False)


def read_difference(
    catalogue: Catalogue, needs: set[Need], margin: int, sample: int, source: int, entry: int, emulated: int
) -> Disagreement:
    """Read a differing event, with the columns that the trigger needs and η and φ of its objects."""
    of = catalogue.samples[sample]
    columns_of = of.schema.collections
    needs = needs | {(name, c) for name, _ in needs if name for c in columns_of[name] & {"eta", "phi"}}
    events = of.read(source, entry, entry + 1, needs, margin)
    collections = {
        name: replace(
            collection,
            columns={c: column for c, column in collection.columns.items() if (name, c) in needs},
        )
        for name, collection in events.collections.items()
    }
    path = of.sources[source].path
    return Disagreement(of.name, path, entry, bool(emulated), replace(events, collections=collections))
