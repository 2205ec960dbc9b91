"""The tables of the validation page, as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trigemu.rates.results import MenuRates, Rate
from trigemu.results.numbers import in_unit, short, with_error

Table = Mapping[str, Any]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def hz(value: float, error: float) -> str:
    """Return a rate with its error."""
    return in_unit(value, max(error, 0.0))


def ratio(ours: float, error: float, value: float, spread: float) -> str:
    """Return ours / value with the errors of both."""
    if not ours > 0 or not value > 0:
        return "–"
    return with_error(ours / value, ours / value * math.hypot(error / ours, spread / value))


def of_rate(rate: Rate) -> str:
    """Return a rate with its error, or its upper limit."""
    if rate.upper_limit_hz is not None:
        return f"< {hz(rate.upper_limit_hz, 0)}"
    return hz(rate.hz, rate.error_hz) + ("\\*" if rate.unseen else "")


class Level1:
    """Published counts of seeds, scaled linearly in luminosity to that of a sample."""

    def __init__(self, counts: Table, crossing_rate_hz: float, luminosity_cm2s: float) -> None:
        #: Luminosity of a crossing in the published data, in 1/cm².
        self.per_crossing = counts["pileup"] / (counts["pileup_cross_section_mb"] * 1e-27)
        #: What the rates are multiplied by because of it.
        self.scale = luminosity_cm2s / crossing_rate_hz / self.per_crossing
        self.luminosity_cm2s = self.per_crossing * crossing_rate_hz
        self.seeds = {seed["name"]: seed for seed in counts["seeds"]}
        self._hz = crossing_rate_hz * self.scale / counts["crossings"]

    def rate(self, name: str) -> tuple[float, float]:
        """Return the rate of a seed and its error."""
        seed = self.seeds[name]
        one = self._hz * seed.get("prescale", 1)
        return one * seed["fired"], one * math.sqrt(seed["fired"])


def seeds_table(level1: Level1, ours: MenuRates) -> str:
    """Return the rates of seeds beside those of the sample with their cuts."""
    found = {one.name: one.total for one in ours.triggers}
    rows = []
    for name, seed in level1.seeds.items():
        if name not in found:
            continue
        value, error = level1.rate(name)
        mine = found[name]
        prescale = f" (1 in {seed['prescale']} counted)" if "prescale" in seed else ""
        rows.append(
            [
                f"`{name}`{prescale}",
                str(seed["fired"]),
                hz(value, error),
                of_rate(mine),
                short(mine.effective_events),
                ratio(mine.hz, mine.error_hz, value, error),
            ]
        )
    head = ["seed", "fired", "scaled rate", "sample, same cuts", "effective parents", "sample / published"]
    return table(head, rows)


def triggers_table(menu: MenuRates, known: Sequence[Table], level1: Level1, ours: MenuRates) -> str:
    """Return the rates of a menu beside published ones of comparable triggers."""
    comparable = {one["name"]: one for one in known}
    same = {one.name: one.total for one in ours.triggers}
    rows = []
    for trigger in menu.triggers:
        entry = comparable.get(trigger.name, {"none_found": True})
        texts, scaled, cuts = [], [], []
        if "rate_hz" in entry:
            texts.append(entry["source"])
            scaled.append(hz(entry["rate_hz"], 0))
            cuts.append("–")
        for name in entry.get("seeds", ()):
            texts.append(f"`{name}`")
            scaled.append(hz(*level1.rate(name)))
            cuts.append(of_rate(same[name]) if name in same else "–")
        if entry.get("differs"):
            texts[-1] += f" ({entry['differs']})"
        rows.append(
            [
                f"`{trigger.name}`",
                f"{trigger.prescale or 1:g}",
                of_rate(trigger.total),
                short(trigger.total.effective_events),
                "<br>".join(texts) or "none found",
                "<br>".join(scaled) or "–",
                "<br>".join(cuts) or "–",
            ]
        )
    head = ["trigger", "prescale", "rate", "effective parents", "published", "its rate", "sample, its cuts"]
    return table(head, rows)


def classes_table(rows: Iterable[tuple[str, str, float, float, int]]) -> str:
    """Return the classes: name, description, rate in Hz and σ in pb (NaN: of a signal), crossings stored."""
    lines = []
    for name, what, rate, sigma, n in rows:
        shown = "signal" if math.isnan(rate) else hz(rate, 0.0)
        lines.append([f"`{name}`", what, shown, pb(sigma), f"{n:,}".replace(",", " ")])
    return table(["class", "what", "rate", "rate / luminosity", "crossings stored"], lines)


def pb(value: float) -> str:
    """Return a cross-section in a readable unit."""
    if math.isnan(value):
        return "–"
    for size, unit in ((1e9, "mb"), (1e6, "μb"), (1e3, "nb")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} pb"
