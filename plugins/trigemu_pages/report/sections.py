"""The sections of a report, in their order on the page: the answer in sentences first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from trigemu.base.errors import PluginError, TrigemuError, few_of, own_cause
from trigemu.base.plugins import FoundPlugin, find, reason_of
from trigemu.base.shown import Shown, view_of
from trigemu.rates.results import MenuRates
from trigemu.results import notes, numbers
from trigemu.results.efficiency import events_of
from trigemu.results.figures.draw import of_triggers
from trigemu.results.section import Contents, Picture, Section
from trigemu.results.table import Table
from trigemu.studies.comparison import Comparison

from . import pictures, tables
from .page import provenance
from .tables import beside_references

#: The most triggers in the figure, those with the largest total rates.
_DRAWN = 12
#: The most triggers and changes that a sentence names.
_NAMED = 3
#: Turn-ons that nobody requested are left out if they have fewer events.
_FEW_EVENTS = 50


def summary(contents: Contents) -> Iterator[Section]:
    text = [_accepts(contents.variants[0])]
    if contents.comparison:
        names = [variant.menu.name for variant in contents.variants]
        text += [_differs(contents.comparison, names[0], name) for name in names[1:]]
    yield Section("Summary", tuple(text), pictures=(_picture(contents),))


def all_are_drawn(contents: Contents) -> bool:
    """Whether the figure of the summary has all triggers."""
    return len({trigger.name for variant in contents.variants for trigger in variant.triggers}) <= _DRAWN


def _picture(contents: Contents) -> Picture:
    if all_are_drawn(contents):
        return of_triggers(contents.variants)
    totals: dict[str, float] = {}
    for trigger in (trigger for variant in contents.variants for trigger in variant.triggers):
        totals[trigger.name] = max(trigger.total.hz, totals.get(trigger.name, 0.0))
    largest = sorted(totals, key=lambda name: -totals[name])[:_DRAWN]
    drawn = of_triggers(
        [replace(v, triggers=tuple(t for t in v.triggers if t.name in largest)) for v in contents.variants]
    )
    caption = f"The {_DRAWN} triggers with the highest total rates: total (full) and unique (open)."
    return replace(drawn, name="highest_rates", caption=caption)


def _accepts(variant: MenuRates) -> str:
    """Say what a menu accepts, and the triggers with the largest shares of it."""
    menu, whole = variant.menu, variant.rate.hz
    text = f"The menu {menu.name} accepts {numbers.format_rate(variant.rate)}"
    last = menu.levels[-1] if menu.levels else None
    shares = {t.name: t.share.hz for t in variant.triggers if t.level == last and t.share.hz > 0}
    if not (whole > 0 and shares):
        return f"{text}."
    largest = sorted(shares, key=lambda name: -shares[name])
    parts = [f"{name} {_percent(shares[name] / whole)}" for name in largest[1:_NAMED]]
    if others := largest[_NAMED:]:
        rest = _percent(sum(shares[name] for name in others) / whole)
        parts.append(f"{numbers.count(len(others), 'other trigger')} {rest}")
    first = f"{largest[0]} takes {_percent(shares[largest[0]] / whole)}"
    return f"{text}; by share, {', '.join([first, *parts])}."


def _differs(comparison: Comparison, first: str, name: str) -> str:
    """Say by how much the rate of a menu differs from that of the first, and what is defined differently."""
    variant, d = comparison[name], tables.changes_of_menu(comparison, first)[name]
    hz, error, before = d.b_minus_a_hz, d.error_hz, comparison[first].rate.hz
    text = f"{name} accepts {numbers.format_rate(variant.rate)}"
    if hz or error:
        size = [_percent(abs(hz) / before)] if before > 0 else []
        size += [f"{_short(abs(hz) / error)} σ"] if error else []
        change = numbers.in_unit(abs(hz), error)
        text += f", {change} ({', '.join(size)}) {'less' if hz < 0 else 'more'} than {first}"
    else:
        text += f", the same rate as {first}"
    before_last = {f"level {level}" for level in comparison[name].menu.levels[:-1]}
    for d in comparison.differences:
        if (d.a, d.b) == (first, name) and d.what in before_last and (d.b_minus_a_hz or d.error_hz):
            more = "less" if d.b_minus_a_hz < 0 else "more"
            text += f"; {d.what} accepts {numbers.in_unit(abs(d.b_minus_a_hz), d.error_hz)} {more}"
    gains = {(gain.a, gain.b): (gain.hz, gain.error_hz) for gain in comparison.gained}
    gained, lost = gains[first, name], gains[name, first]
    if any(gained) and any(lost):
        text += f"; it gains {numbers.in_unit(*gained)} and loses {numbers.in_unit(*lost)}"
    found = "; ".join(_changes(comparison, first, name))
    return f"{text}. Defined differently: {found}." if found else f"{text}."


def _changes(comparison: Comparison, first: str, name: str) -> Iterator[str]:
    """Yield what is defined differently: the triggers with the same change, a few of them by name."""
    changed: dict[str, list[str]] = {}
    for change in comparison.changes:
        if (change.a, change.b) == (first, name):
            changed.setdefault(change.how, []).append(change.what)
    for how, names in list(changed.items())[:_NAMED]:
        yield f"{few_of(names, _NAMED)} ({how})"
    if len(changed) > _NAMED:
        yield f"{numbers.count(len(changed) - _NAMED, 'further change')}, listed below"


def _percent(fraction: float) -> str:
    return f"{_short(100 * fraction)} %"


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 9.95 else f"{value:.0f}"


def sections(contents: Contents) -> tuple[Section, ...]:
    """Return all sections: those of this plugin, of the plugins of the menus, and the provenance."""
    pages = find("pages")
    made = [section for name in pages.declared().sections for section in sections_of(pages, name, contents)]
    first, *others = (*made, *of_plugins(contents), *provenance(contents))
    return (first, *beside_references(contents, others), *others)


def menus(contents: Contents) -> Iterator[Section]:
    catalogue = contents.catalogue
    samples = " + ".join(sample.name for sample in catalogue.background)
    entries = sum(sample.entries for sample in catalogue.background)
    kind = catalogue.table.convention
    text = [f"Sample {catalogue.table.name}: {entries:,} events of {samples}, {kind} weights."]
    listed = (note for variant in contents.variants for note in notes.notes(variant))
    text += dict.fromkeys(note for note in listed if note.about == "half")
    text += _remarks(contents)
    yield Section("Menus", tuple(text), (tables.menus(contents), tables.definitions(contents.variants)))


def _remarks(contents: Contents) -> Iterator[str]:
    """Yield the notes of all menus; a note that several menus share is given once."""
    menus_of: dict[str, list[str]] = {}
    for variant in contents.variants:
        warnings = (f"Warning: {warning}." for warning in variant.warnings)
        for line in (*notes.solutions(variant.menu), *warnings):
            menus_of.setdefault(line, []).append(variant.menu.name)
    for line in sorted(menus_of, key=lambda line: len(menus_of[line])):
        one = len(menus_of[line]) == 1 < len(contents.variants)
        yield f"{menus_of[line][0]}: {line}" if one else line


def differences(contents: Contents) -> Iterator[Section]:
    if contents.comparison:
        text = (
            "The menus were run on the same events: errors of differences include the correlation. Gained: "
            "what the second accepts beyond the first."
        )
        yield Section("Differences", (text,), _tables_of(contents.comparison))


def _tables_of(result: Shown) -> tuple[Table, ...]:
    """Return the tables that the command line prints of a result."""
    return tuple(part for part in view_of(result).page(result).parts if isinstance(part, Table))


def rates(contents: Contents) -> Iterator[Section]:
    variants = contents.variants
    errors = (
        "Errors are statistical: √Σ (Σ w f)², the inner sum over the events made from one interaction. "
        "Events: those in the total; N_eff: effective number of independent interactions."
    )
    listed = [rates for variant in variants for rates in (*variant.triggers, *variant.groups)]
    sources = (note for v in variants for note in notes.source(v.menu, v.catalogue))
    equal = (note for note in sources if note.about == "weights")
    marks = notes.legend(listed, variants)
    text = (errors, *dict.fromkeys(equal), *marks)
    yield _joined("Rates", [Section(v.menu.name, tables=_tables_of(v)) for v in variants], text)


def _joined(title: str, parts: Sequence[Section], text: tuple[str, ...] = ()) -> Section:
    """Return a section of parts; a single one needs no title of its own."""
    if len(parts) == 1:
        return replace(parts[0], title=title, text=text)
    return Section(title, text, parts=tuple(parts))


def groups(contents: Contents) -> Iterator[Section]:
    by_group = of_triggers(contents.variants, "groups") if any(v.groups for v in contents.variants) else None
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
    yield _joined("Overlap", parts)


def scans(contents: Contents) -> Iterator[Section]:
    if not contents.scans:
        return
    text = "All else is as in the menu. Bands are statistical errors; neighbouring points share events."
    drawn = tuple(pictures.scan(menu, rates) for menu, rates in contents.scans)
    yield Section("Rates against thresholds", (text,), pictures=drawn)


def turnons(contents: Contents) -> Iterator[Section]:
    for profiles in contents.turnons:
        measured = profiles.efficiencies
        text = [f"{events_of(measured)}; bands are intervals at 68 % (Wilson, for weighted events)."]
        if len(measured.menus) > 1:
            first = measured.menus[0].name
            text.append(f"Gain: efficiency of a menu less that of {first}, on the same events.")
        text += [f"Warning: {warning}." for warning in measured.warnings]
        if measured.turnons[0].sample is not None:
            yield Section("Efficiencies by sample", tuple(text), tables=_tables_of(measured))
        least = 1 if profiles.profile_set else _FEW_EVENTS
        shown = [t for t in measured.turnons if t.sample is None and t.events.sum() >= least]
        parts = []
        for observable in profiles.observables:
            of_observable = (t for t in shown if t.profile.observable == observable.observable)
            if drawn := tuple(map(pictures.turnon, of_observable)):
                parts.append(Section(observable.name, pictures=drawn))
        title = "Efficiencies" if profiles.profile_set else f"Efficiencies for {measured.samples[0]}"
        if parts and all(len(part.pictures) == 1 for part in parts):
            yield Section(title, tuple(text), pictures=tuple(part.pictures[0] for part in parts))
        elif parts:
            yield Section(title, tuple(text), parts=tuple(parts))


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
            yield Section(title, parts=tuple(replace(section, title=section.menu) for section in of_title))


def sections_of(plugin: FoundPlugin, name: str, contents: Contents) -> list[Section]:
    """Return the sections that a plugin adds under a name; raise PluginError if that fails."""
    function = plugin.part("sections", name)
    try:
        made = list(function(contents))
    except TrigemuError:
        raise
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        raise PluginError(f"{plugin.where}: its section {name!r} fails: {reason_of(error)}") from error
    for section in made:
        if not isinstance(section, Section):
            kind = type(section).__name__
            raise PluginError(f"{plugin.where}: its section {name!r} gave {kind}, expected Sections")
    return made
