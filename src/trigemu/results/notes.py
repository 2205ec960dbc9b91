"""Notes below tables of rates, for the terminal and for the report: what the marks and columns mean, which
sample the rates are from, and what a user should know before using them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from trigemu.base.errors import few_of
from trigemu.counting.quantities import LISTED
from trigemu.menus.menu import Menu
from trigemu.rates.results import FEW_EVENTS, MenuRates, Rate, TriggerRates
from trigemu.results.numbers import in_unit, rejection_text, short, with_error
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.split import HALF_NAMES

#: Largest number of triggers with a unique rate of 0 by construction that are named.
_NAMED = 8
#: Notes with the name of the menu that they are about, if others lack them.
_OF_ONE = ("menu", "rejection", "column", "conditions", "unseen")


class Note(str):
    """A line below a table."""

    #: "menu": one menu alone, so that it is named if there are several; "rejection", "column": the same, of
    #: what a table may have as a column; "conditions": pile-up and luminosity; "events", "unseen", "few",
    #: "budget": what explains that column or mark; "weights": samples without weights; "half": rates from one
    #: half of the samples; "rates": anything else.
    about: str

    def __new__(cls, text: str, about: str = "rates") -> Note:
        note = super().__new__(cls, text)
        note.about = about
        return note


def legend(
    rates: Sequence[TriggerRates], results: Iterable[MenuRates] = (), quantities: Sequence[str] = LISTED
) -> Iterator[Note]:
    """Yield a line for each mark that is shown: of triggers and groups, and of menus with their levels."""
    menus = [rate for r in results for rate in (r.rate, *(level.rate for level in r.levels))]
    every = [*menus, *(r.rates[quantity] for r in rates for quantity in quantities)]
    if any(rate.upper_limit_hz is not None for rate in every):
        yield Note("<: no event; upper limit at 68 %.")
    contained = dict.fromkeys(
        f"{'group ' if r.kind == 'group' else ''}{r.name} ({' or '.join(r.unique.contained_in)})"
        for r in rates
        if "unique" in quantities and r.unique.contained_in
    )
    if contained:
        yield Note(
            f"0: by construction; those in brackets accept every event that the trigger accepts: "
            f"{few_of([*contained], _NAMED)}."
        )
    if any(rate.budgeted for rate in every):
        text = "=: a rate budget, from which the threshold was found; as a measurement it says nothing."
        yield Note(text, "budget")
    missing: dict[str, Rate] = {}  # the rate of a name that one event of such a sample changes most
    for name, rate in ((r.name, r.rates[quantity]) for r in rates for quantity in quantities):
        if rate.unseen and (name not in missing or rate.unseen_hz > missing[name].unseen_hz):
            missing[name] = rate
    marked = [
        f"{name} (up to {in_unit(rate.unseen_hz, 0.0)} of {' or '.join(rate.unseen)})"
        for name, rate in missing.items()
    ]
    if marked := [*marked, *(["menu"] if any(rate.unseen for rate in menus) else [])]:
        yield Note(
            "*: a sample may be missing by chance; one event of it would change the rate by more than its "
            f"error and by a tenth. Marked: {few_of(marked, _NAMED)}.",
            "unseen",
        )
    if any(rate.is_uncertain and not rate.unseen for rate in every):
        text = f"?: N_eff below {FEW_EVENTS:g}: the error is too small, and the rate more often too low."
        yield Note(text, "few")


def notes(result: MenuRates, marks: Iterable[Note] | None = None) -> Iterator[Note]:
    """Yield the notes below the rates of a menu."""
    menu, catalogue = result.menu, result.catalogue
    yield Note("")
    yield from source(menu, catalogue)
    yield Note(f"±: statistical errors only. {conditions(menu, catalogue)}", "conditions")
    yield Note("Events: those in the total; N_eff: effective number of independent interactions.", "events")
    for before, level in pairwise(result.levels):
        if level.rejection is not None:
            text = f"Rejection from {before.name} to {level.name}: {rejection_text(level)}."
            yield Note(text, "rejection")
    if result.levels:
        yield Note(
            "Unique rates and shares are within a level; the rate of the menu is that of the last one."
        )
    yield from legend((*result.triggers, *result.groups), [result]) if marks is None else marks
    if pileup := catalogue.pileup:
        to = f"{pileup.mean:.4g} ({pileup.measured}" if pileup.measured else f"{pileup.mean:g} (Poisson"
        yield Note(
            f"Pile-up: crossings reweighted from µ = {pileup.before:.4g} to {to}; their mean "
            f"is then {pileup.after:.4g}), and by a factor of {pileup.factor:.4g}: the crossing rate is "
            f"kept. Effective number of crossings: {short(pileup.effective_events)}, before "
            f"{short(pileup.effective_before)}.",
            "conditions",
        )
        if not pileup.known:
            yield Note(
                "The mean that the sample was made with is not known (mean_interactions in its catalogue): "
                "the sample's own distribution is divided out, and the errors include its fluctuations."
            )
    if menu.columns.chosen:
        off = [trigger.name for trigger in menu.triggers if trigger.prescale == math.inf]
        listed = f" Off: {few_of(off, _NAMED)}." if off else ""
        yield Note(f"Prescales: those of column {menu.columns.chosen}.{listed}", "column")
    if menu.left_out:
        yield Note(
            f"Left out: {len(menu.left_out)} of {len(menu.left_out) + len(menu.triggers)} triggers, since "
            f"the samples lack what they need: {menu.left_out_text}. Rates are those of the menu without "
            f"them.",
            "menu",
        )
    if half := result.half:
        yield Note(
            f"Fitted on this sample: {few_of(half.triggers, _NAMED)}. What is accepted by these, and what "
            f"they change in other rates, is from the {HALF_NAMES[half.number]} half, scaled to all; all "
            f"else is from all events.",
            "half",
        )
    yield from solutions(menu)
    for engine in dict.fromkeys(result.engines.values()):
        names = ", ".join(name for name, other in result.engines.items() if other == engine)
        yield Note(f"{names}: {engine}.", "menu")
    yield from (Note(f"Warning: {warning}.", "menu") for warning in result.warnings)


def notes_of_several(listed: Mapping[str, Iterable[Note]]) -> Iterator[str]:
    """Yield the notes of several menus, or of columns, each once; one that not all of them have begins with
    the names of those that have it, if it is about these."""
    names: dict[Note, list[str]] = {}
    for name, of_menu in listed.items():
        for note in dict.fromkeys(of_menu):
            names.setdefault(note, []).append(name)
    for note, having in names.items():
        is_named = note.about in _OF_ONE and len(having) < len(listed)
        yield f"{', '.join(having)}: {note}" if is_named else note


def source(menu: Menu, catalogue: Catalogue) -> Iterator[Note]:
    """Yield the samples that rates are from, and the rate of each event of those without weights."""
    samples = " + ".join(sample.name for sample in catalogue.background)
    yield Note(f"Sample {catalogue.table.name!r} ({catalogue.table.convention} weights): {samples}.")
    rates = menu.crossing_rate_hz, catalogue.crossing_rate_hz
    if catalogue.table.convention == "crossing" and not math.isclose(*rates):
        of_menu, of_sample = (in_unit(rate, 0.0) for rate in rates)
        text = f"Rates are those at {of_menu} of crossings; those of the sample have {of_sample}."
        yield Note(text, "menu")
    for sample in catalogue.background:
        if not sample.weighted:
            each = in_unit(menu.crossing_rate_hz / sample.entries, 0.0)
            mean = " on average" if sample.per_interactions else ""
            files, what = f" of {catalogue.path.name}", "a file given as --samples is"
            if sample.in_memory:
                files, what = "", "events without weights are"
            elif len(sample.sources) > 1:
                files, what = f" of {len(sample.sources)} files", "files without a catalogue are"
            yield Note(
                f"Each of the {sample.entries} events{files} counts as {each}{mean}: {what} taken as "
                f"crossings of equal weight that make up the crossing rate.",
                "weights",
            )


def working_point(menu: Menu, catalogue: Catalogue) -> dict[str, Any]:
    """Return where a menu is run, for documents: with the mean number of interactions and the luminosity, if
    they are known."""
    table, pileup = catalogue.table, catalogue.pileup
    luminosity, of_sample = table.luminosity_cm2s, table.mean_interactions
    mean = pileup.mean if pileup else of_sample
    if table.convention == "luminosity":
        mean = None
    elif mean is None or not (luminosity and of_sample):
        luminosity = None
    else:
        luminosity *= (mean / of_sample) * (menu.crossing_rate_hz / catalogue.crossing_rate_hz)
    return {
        "menu": menu.name,
        "column": menu.columns.chosen,
        "crossing_rate_hz": menu.crossing_rate_hz,
        "pileup": mean,
        "luminosity_cm2s": luminosity,
        "samples": table.name,
        "errors": catalogue.errors,
    }


def conditions(menu: Menu, catalogue: Catalogue) -> str:
    """Return a sentence with the mean number of interactions and the luminosity of a sample."""
    point = working_point(menu, catalogue)
    mean, luminosity = point["pileup"], point["luminosity_cm2s"]
    if mean is None:
        return f"Luminosity: {luminosity:g} cm⁻² s⁻¹." if luminosity else ""
    at = f", which is {luminosity:.2e} cm⁻² s⁻¹ if {in_unit(menu.crossing_rate_hz, 0.0)} of crossings collide"
    return f"µ = {mean:.3g} interactions a crossing{at if luminosity else ''}."


def points(menus: Iterable[Menu], catalogue: Catalogue) -> Iterator[str]:
    """Yield the column of prescales and the pile-up of each menu that is not run as it is written, on samples
    as they are."""
    for menu in menus:
        column = f", column {menu.columns.chosen}" if menu.columns.chosen else ""
        if column or catalogue.pileup:
            yield f"Menu {menu.name}{column}. {conditions(menu, catalogue)}".rstrip()


def solutions(menu: Menu) -> Iterator[Note]:
    """Yield a line for each threshold found from a budget."""
    for trigger in menu.triggers:
        if (budget := trigger.budget) and (solution := trigger.solution):
            threshold = with_error(solution.threshold, solution.error)
            rate = f"{in_unit(budget.hz, 0.0)} of {budget.quantity} rate"
            yield Note(f"{trigger.name}: threshold {threshold} for {rate}.", "menu")
