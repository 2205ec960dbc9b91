"""The beginning of a report: the answer in sentences, and the rates of the triggers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trigemu.api import Comparison, Contents, MenuRates, Picture, Section, numbers, of_triggers

#: The most triggers in the figure, those with the largest total rates.
_DRAWN = 12
#: The most triggers and changes that a sentence names.
_NAMED = 3


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
    variant = comparison[name]
    (d,) = (d for d in comparison.differences if (d.what, d.a, d.b) == ("menu", first, name))
    hz, error, before = d.b_minus_a_hz, d.error_hz, comparison[first].rate.hz
    text = f"{name} accepts {numbers.format_rate(variant.rate)}"
    if hz or error:
        size = [_percent(abs(hz) / before)] if before > 0 else []
        size += [f"{_short(abs(hz) / error)} σ"] if error else []
        change = numbers.in_unit(abs(hz), error)
        text += f", {change} ({', '.join(size)}) {'less' if hz < 0 else 'more'} than {first}"
    else:
        text += f", the same rate as {first}"
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
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        yield f"{', '.join(names[:_NAMED])}{more} ({how})"
    if len(changed) > _NAMED:
        yield f"{numbers.count(len(changed) - _NAMED, 'further change')}, listed below"


def _percent(fraction: float) -> str:
    return f"{_short(100 * fraction)} %"


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 9.95 else f"{value:.0f}"
