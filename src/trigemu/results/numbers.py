"""Rates and counts as short text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trigemu.menus.checks import unit_of_threshold
from trigemu.menus.menu import Menu
from trigemu.rates.results import LevelRates, Rate

#: The heading of the column of `events_text`.
EVENTS = "events (N_eff)"
#: Units of rates with their scales, descending; smaller values have the last one.
HZ = (("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0), ("mHz", 1e-3))
#: Units of times, in ns.
NS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))
#: Prefixes of numbers.
PREFIXES = (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))


def unit_of(size: float, units: Sequence[tuple[str, float]]) -> tuple[str, float]:
    """Return the largest of `units` (names with scales, descending, such as `HZ`) that a number reaches, or
    the last one."""
    return next((unit for unit in units if size >= unit[1]), units[-1])


def with_error(value: float, error: float) -> str:
    """Format a number as `18.7 ± 1.4`, its error with two digits."""
    if error <= 0:
        return f"{value:z.6g}"
    digits = 1 - math.floor(math.log10(float(f"{error:.1e}")))
    rounded = (f"{round(x, digits):z.{max(0, digits)}f}" for x in (value, error))
    return " ± ".join(rounded)


def percent(value: float, error: float | None) -> str:
    """Format a fraction and its error as `97.5 ± 0.7 %`."""
    return f"{with_error(100 * value, 100 * (error or 0.0))} %"


def short(count: float) -> str:
    """Format a number with three digits, 37900 as `37.9k`."""
    size = float(f"{count:.3g}")
    unit, scale = unit_of(size, PREFIXES)
    return f"{size / scale:.3g}{unit}"


def count(number: int, what: str) -> str:
    """Return a number with its noun, `1 trigger` or `3 triggers`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def in_hz(hz: float) -> str:
    """Format a known rate in Hz with four digits, `33.16 MHz`."""
    unit, scale = unit_of(float(f"{abs(hz):.4g}"), HZ)
    return f"{hz / scale:.4g} {unit}" if hz else "0 Hz"


def in_unit(hz: float, error_hz: float, least_hz: float = 0.0) -> str:
    """Format a rate and its error in Hz, without an error of 0; the unit is at least that of `least_hz`, a
    rate beside it.

    >>> in_unit(18700.0, 1400.0)
    '18.7 ± 1.4 kHz'
    """
    size = float(f"{max(abs(hz), abs(error_hz)):.3g}")
    if not size:
        return "0 Hz"
    unit, scale = unit_of(max(size, min(least_hz, 1.0)), HZ)
    number = with_error(hz / scale, error_hz / scale) if error_hz > 0 else f"{hz / scale:.3g}"
    return f"{number} {unit}"


def unsigned(hz: float, error_hz: float = 0.0, least_hz: float = 0.0) -> str:
    """Format a rate as `1.350±0.045 kHz`, or `0` where there is none; `least_hz`: see `in_unit`."""
    return in_unit(hz, error_hz, least_hz).replace(" ± ", "±") if hz or error_hz else "0"


def signed(hz: float, error_hz: float, least_hz: float = 0.0) -> str:
    """Format a difference of rates as `unsigned`, above 0 with its sign: `+1.350±0.045 kHz`."""
    text = unsigned(hz, error_hz, least_hz)
    return f"+{text}" if hz > 0 and text.partition("±")[0].strip("0. kmMHz") else text


def format_rate(rate: Rate) -> str:
    """Format a rate with its error as `18.7 ± 1.4 kHz`, the error with two digits: `< 12 Hz` for an upper
    limit at 68 %, `0` where it is 0 and `= 1.35 kHz` where it is a budget, both by construction."""
    if rate.contained_in:
        return "0"
    if rate.budgeted:
        return f"= {in_unit(rate.hz, 0.0)}"
    limit = rate.upper_limit_hz
    return in_unit(rate.hz, rate.error_hz) if limit is None else f"< {in_unit(limit, 0.0)}"


def marked(rate: Rate) -> str:
    """Format a rate for a column: as `format_rate`, with a space at the end, so that numbers are aligned, or
    a mark that its error may be too small: `*` where a sample may be missing by chance, `?` where few events
    contribute."""
    mark = "*" if rate.unseen else "?" if rate.is_uncertain else " "
    return format_rate(rate).replace(" ± ", "±") + mark


def events_text(rate: Rate) -> str:
    """Format the number of events behind a rate, and in brackets the effective number of independent
    interactions."""
    return f"{short(rate.events)} ({short(rate.effective_events)})"


def prescale_text(prescale: float | None) -> str:
    """Format a prescale, 40 MHz / 1 Hz without an exponent; 1 and None are empty."""
    return "" if prescale in (None, 1.0) else f"{prescale:.8g}"


def rejection_text(level: LevelRates) -> str:
    """Format the rejection, the rate of the level before over that of this one; empty where there is none."""
    return "" if level.rejection is None else with_error(level.rejection, level.rejection_error or 0.0)


def threshold_label(menu: Menu, name: str, label: str) -> str:
    """Return the label of the axis of a trigger's threshold, with its unit, `threshold of J100 [GeV]`."""
    return with_unit(f"threshold of {label}", unit_of_threshold(menu, menu.trigger(name)))


def with_unit(text: str, unit: str) -> str:
    """Return the label of an axis, with its unit if there is one: `MET [GeV]`."""
    return f"{text} [{unit}]" if unit else text
