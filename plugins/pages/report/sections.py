"""The sections of a report, in their order on the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trigemu.api import (
    Contents,
    FoundPlugin,
    MenuRates,
    PluginError,
    Profiles,
    Section,
    Table,
    TrigemuError,
    changes_table,
    find,
    notes,
    of_groups,
    of_triggers,
    own_cause,
    reason_of,
    view_of,
)

from ..report_contents import shown_turnons
from . import pictures, tables
from .provenance import provenance
from .published import beside_references
from .summary import all_are_drawn


def sections(contents: Contents) -> tuple[Section, ...]:
    """Return all sections: those of this plugin, of the plugins of the menus, and the provenance."""
    own = find("pages")
    made = [section for name in own.declared().sections for section in sections_of(own, name, contents)]
    first, *others = (*made, *of_plugins(contents), *provenance(contents))
    return (first, *beside_references(contents, others), *others)


def menus(contents: Contents) -> Iterator[Section]:
    text = [_sample(contents)]
    text += dict.fromkeys(
        line for variant in contents.variants for line in notes.texts(notes.half_used(variant))
    )
    text += _remarks(contents)
    yield Section("Menus", tuple(text), (tables.menus(contents), tables.definitions(contents.variants)))


def _remarks(contents: Contents) -> Iterator[str]:
    """Yield the notes of all menus; a note that several menus share is given once."""
    menus_of: dict[str, list[str]] = {}
    for variant in contents.variants:
        warnings = (f"Warning: {warning}." for warning in variant.warnings)
        for line in (*notes.texts(notes.solutions(variant.menu)), *warnings):
            menus_of.setdefault(line, []).append(variant.menu.name)
    for line in sorted(menus_of, key=lambda line: len(menus_of[line])):
        one = len(menus_of[line]) < len(contents.variants) and len(menus_of[line]) == 1
        yield f"{menus_of[line][0]}: {line}" if one else line


def _sample(contents: Contents) -> str:
    catalogue = contents.catalogue
    samples = " + ".join(sample.name for sample in catalogue.background)
    entries = sum(sample.entries for sample in catalogue.background)
    kind = catalogue.table.convention
    return f"Sample {catalogue.table.name}: {entries:,} events of {samples}, {kind} weights."


def differences(contents: Contents) -> Iterator[Section]:
    if not contents.comparison:
        return
    comparison = contents.comparison
    changes = replace(changes_table(comparison), title="What is defined differently.")
    shown = (changes, tables.differences(comparison), tables.common(comparison))
    text = "The menus were run on the same events."
    yield Section("Differences", (text,), tuple(table for table in shown if table.rows))


def rates(contents: Contents) -> Iterator[Section]:
    parts = tuple(Section(variant.menu.name, tables=_rate_tables(variant)) for variant in contents.variants)
    if len(parts) == 1:
        yield Section("Rates", notes.notes_of_menus(contents.variants), parts[0].tables)
    else:
        yield Section("Rates", notes.notes_of_menus(contents.variants), parts=parts)


def _rate_tables(variant: MenuRates) -> tuple[Table, ...]:
    return tuple(part for part in view_of(variant).page(variant).parts if isinstance(part, Table))


def groups(contents: Contents) -> Iterator[Section]:
    by_group = of_groups(contents.variants)
    by_trigger = None if all_are_drawn(contents) else of_triggers(contents.variants)
    drawn = tuple(picture for picture in (by_group, by_trigger) if picture)
    if drawn:
        yield Section("Rates by group and trigger" if by_trigger else "Rates by group", pictures=drawn)


def overlaps(contents: Contents) -> Iterator[Section]:
    parts = []
    for variant, exclusive in zip(contents.variants, contents.combinations, strict=True):
        drawn = [pictures.overlap(variant)] if len(variant.triggers) > 1 else []
        if exclusive.largest:
            drawn.append(pictures.combinations(variant, exclusive))
        parts.append(Section(variant.menu.name, pictures=tuple(drawn)))
    yield parts[0].titled("Overlap") if len(parts) == 1 else Section("Overlap", parts=tuple(parts))


def scans(contents: Contents) -> Iterator[Section]:
    if not contents.scans:
        return
    text = "All else is as in the menu. Bands are statistical errors; neighbouring points share events."
    drawn = tuple(pictures.scan(menu, rates) for menu, rates in contents.scans)
    yield Section("Rates against thresholds", (text,), pictures=drawn)


def turnons(contents: Contents) -> Iterator[Section]:
    for profiles in contents.turnons:
        yield from _efficiencies(profiles)


def _efficiencies(profiles: Profiles) -> Iterator[Section]:
    efficiencies = profiles.efficiencies
    labels = {c.condition: c.name for c in profiles.profile_set.categories} if profiles.profile_set else {}
    if efficiencies.turnons[0].sample is not None:
        by_sample = tuple(tables.efficiencies_by_sample(efficiencies, labels))
        yield Section("Efficiencies by sample", tuple(_text(profiles)), tables=by_sample)
    by_observable: dict[str, list[int]] = {}
    for i in shown_turnons(profiles):
        by_observable.setdefault(efficiencies.turnons[i].profile.observable, []).append(i)
    if not by_observable:
        return
    parts = tuple(
        Section(
            observable.name,
            pictures=tuple(
                pictures.turnon(observable, efficiencies.turnons[i], efficiencies.menus)
                for i in by_observable[observable.expression]
            ),
        )
        for observable in profiles.observables
        if observable.expression in by_observable
    )
    if all(len(part.pictures) == 1 for part in parts):
        alone = tuple(picture for part in parts for picture in part.pictures)
        yield Section("Efficiencies", tuple(_text(profiles)), pictures=alone)
    else:
        yield Section("Efficiencies", tuple(_text(profiles)), parts=parts)


def _text(profiles: Profiles) -> Iterator[str]:
    efficiencies = profiles.efficiencies
    entering = f" with {efficiencies.require}" if efficiencies.require else ""
    yield (
        f"Events of {', '.join(efficiencies.samples)}{entering}; bands are intervals at 68 % (Wilson, for "
        f"weighted events)."
    )
    if len(efficiencies.menus) > 1:
        yield f"Gain: efficiency of a menu less that of {efficiencies.menus[0].name}, on the same events."
    yield from (f"Warning: {warning}." for warning in efficiencies.warnings)


def of_plugins(contents: Contents) -> Iterator[Section]:
    """Yield the sections that the plugins of the menus bring, those of one title as parts of one section."""
    by_title: dict[str, list[Section]] = {}
    for plugin in dict.fromkeys(plugin for variant in contents.variants for plugin in variant.menu.plugins):
        for name in plugin.declared().sections:
            for section in sections_of(plugin, name, contents):
                by_title.setdefault(section.title, []).append(section)
    for title, of_title in by_title.items():
        if len(of_title) == 1:
            yield of_title[0]
        else:
            yield Section(title, parts=tuple(section.titled(section.menu) for section in of_title))


def sections_of(plugin: FoundPlugin, name: str, contents: Contents) -> list[Section]:
    """Return the sections that a plugin adds under a name; raise PluginError if that fails."""
    function = plugin.part("sections", name)
    try:
        made = list(function(contents))
    except TrigemuError:
        raise
    except Exception as error:
        if own := own_cause(error):
            raise own from error
        raise PluginError(f"{plugin.where}: its section {name!r} fails: {reason_of(error)}") from error
    for section in made:
        if not isinstance(section, Section):
            kind = type(section).__name__
            raise PluginError(f"{plugin.where}: its section {name!r} gave {kind}, expected Sections")
    return made
