"""Notes below tables of rates, for the terminal and for the report: what the marks and columns mean, which
sample the rates are from, and what a user should know before using them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from trigemu.counting import LISTED
from trigemu.menus import Menu
from trigemu.output.numbers import in_unit, rejection_text, short, with_error
from trigemu.rates import MenuRates, Rate, TriggerRates
from trigemu.samples import HALF_NAMES

#: Missing fraction of a pile-up distribution from which on it is mentioned.
_MISSING_TOLD = 1e-4
#: Largest number of triggers with a unique rate of 0 by construction that are named.
_NAMED = 8


class Note(NamedTuple):
    """A line below a table. about: "menu": one menu alone; "events", "unseen": what explains that column or
    mark; "rates": anything else."""

    text: str
    about: Literal["menu", "events", "unseen", "rates"] = "rates"


def texts(notes: Iterable[Note]) -> Iterator[str]:
    """Return the texts of notes."""
    return (note.text for note in notes)


def legend(rates: Sequence[TriggerRates], menus: Sequence[Rate]) -> Iterator[Note]:
    """Yield a line for each mark that the rates of triggers, of groups and of menus show."""
    every = [*menus, *(r.rates[quantity] for r in rates for quantity in LISTED)]
    if any(rate.upper_limit_hz is not None for rate in every):
        yield Note("<: no event; upper limit at 68 %.")
    contained = list(dict.fromkeys(_contained(r) for r in rates if r.unique.contained_in))
    if contained:
        more = f" and {len(contained) - _NAMED} more" if len(contained) > _NAMED else ""
        yield Note(
            f"0: by construction; those in brackets accept every event that the trigger accepts: "
            f"{', '.join(contained[:_NAMED])}{more}."
        )
    unseen = sorted({name for rate in every for name in rate.unseen})
    if unseen:
        yield Note(
            f"*: no event is from {' or '.join(unseen)}, and fewer than three would be if it passed like the "
            f"others; a single event would weigh more than the quoted error, which may be underestimated.",
            "unseen",
        )


def _contained(rates: TriggerRates) -> str:
    name = f"group {rates.name}" if rates.kind == "group" else rates.name
    return f"{name} ({' or '.join(rates.unique.contained_in)})"


def notes(result: MenuRates) -> Iterator[Note]:
    """Yield the notes below the rates of a menu."""
    samples = " + ".join(sample.name for sample in result.catalogue.background)
    kind = result.catalogue.table.convention
    yield Note("")
    yield Note(f"Sample {result.catalogue.table.name!r} ({kind} weights): {samples}.")
    yield from of_equal_weight(result)
    if kind == "luminosity" and result.catalogue.table.luminosity_cm2s:
        yield Note(f"Luminosity: {result.catalogue.table.luminosity_cm2s:g} cm⁻² s⁻¹.")
    yield Note("Events: those in the total (effective number).", "events")
    yield from rejections(result)
    wholes = [result.rate, *(level.rate for level in result.levels)]
    yield from legend((*result.triggers, *result.groups), wholes)
    if pileup := result.catalogue.pileup:
        yield Note(
            f"Pile-up: crossings reweighted from {pileup.sample_mean:.4g} to {pileup.mean:g} interactions on "
            f"average (Poisson). Effective number of crossings: {short(pileup.effective_events)}, before "
            f"{short(pileup.effective_before)}."
        )
        if not pileup.known:
            yield Note(
                "The mean that the sample was made with is not known (mean_interactions in its catalogue): "
                "the sample's own distribution is divided out, and the errors include its fluctuations."
            )
        if pileup.missing >= _MISSING_TOLD:
            yield Note(
                f"{100 * pileup.missing:.2g} % of that distribution are missing, because there are too few "
                f"crossings with very few or very many interactions; the others are scaled up for them."
            )
    yield from half_used(result)
    yield from solutions(result.menu)
    yield from (Note(f"Warning: {warning}.", "menu") for warning in result.warnings)


def half_used(result: MenuRates) -> Iterator[Note]:
    """Yield a note where the rates are from one half of each sample only."""
    if result.half:
        yield Note(
            f"Rates are from the {HALF_NAMES[result.half.number]} half of each sample, scaled to all of it: "
            f"models or thresholds were fitted on this sample."
        )


def rejections(result: MenuRates) -> Iterator[Note]:
    """Yield a line for each level but the first."""
    for before, level in pairwise(result.levels):
        if level.rejection is not None:
            yield Note(f"Rejection from {before.name} to {level.name}: {rejection_text(level)}.")
    if result.levels:
        yield Note(
            "Unique rates and shares are within a level; the rate of the menu is that of the last one."
        )


def of_equal_weight(result: MenuRates) -> Iterator[Note]:
    """Yield the rate that each event counts as where neither a catalogue nor weights say it."""
    for sample in result.catalogue.background:
        if not sample.weighted:
            each = in_unit(result.menu.crossing_rate_hz / sample.entries, 0.0)
            mean = " on average" if sample.per_interactions else ""
            files = len(sample.sources)
            of, given = f" of {result.catalogue.path.name}", "a file given as --samples is"
            if sample.in_memory:
                of, given = "", "events without weights are"
            elif files > 1:
                of, given = f" of {files} files", "files without a catalogue are"
            yield Note(
                f"Each of the {sample.entries} events{of} counts as {each}{mean}: {given} taken as crossings "
                f"of equal weight that make up the crossing rate."
            )


def solutions(menu: Menu) -> Iterator[Note]:
    """Yield a line for each threshold found from a budget, and a caution about other data."""
    solved = [(t.name, t.budget, t.solution) for t in menu.triggers if t.budget and t.solution]
    for name, budget, solution in solved:
        yield Note(
            f"{name}: threshold {with_error(solution.cut, solution.error)} for "
            f"{in_unit(budget.hz, 0.0)} of {budget.quantity} rate.",
            "menu",
        )
    if solved:
        yield Note(
            "On this half, such a rate equals its budget by construction; as a prediction for other data, "
            "its error is about √2 times the one printed."
        )


def notes_of_menus(variants: Sequence[MenuRates]) -> tuple[str, ...]:
    """Return the notes of a report, once for all menus."""
    found = [
        "Errors are statistical: √Σ (Σ w f)², the inner sum over the events made from one interaction. "
        "Events: those in the total, and their effective number in brackets."
    ]
    rates = [rates for variant in variants for rates in (*variant.triggers, *variant.groups)]
    equal = dict.fromkeys(text for variant in variants for text in texts(of_equal_weight(variant)))
    return (*found, *equal, *texts(legend(rates, [variant.rate for variant in variants])))
