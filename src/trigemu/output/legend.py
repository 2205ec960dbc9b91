"""What the signs in a table of rates mean, for the terminal and for the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trigemu.counting.quantities import LISTED
from trigemu.rates.results import Rate, TriggerRates

#: Of triggers whose unique rate is 0 by construction: so many are named.
_NAMED = 8


def legend(rates: Sequence[TriggerRates], menus: Sequence[Rate]) -> Iterator[str]:
    """A line for each sign that the rates of triggers, of groups and of menus show."""
    every = [*menus, *(r.rates[quantity] for r in rates for quantity in LISTED)]
    if any(rate.upper_limit_hz is not None for rate in every):
        yield "<: no event; upper limit at 68 %."
    contained = list(dict.fromkeys(_contained(r) for r in rates if r.unique.contained_in))
    if contained:
        more = f" and {len(contained) - _NAMED} more" if len(contained) > _NAMED else ""
        yield (
            f"0: by construction; what the trigger accepts, those in brackets accept too: "
            f"{', '.join(contained[:_NAMED])}{more}."
        )
    unseen = sorted({name for rate in every for name in rate.unseen})
    if unseen:
        yield (
            f"*: no event is from {' or '.join(unseen)}, and fewer than three would be if it passed like the "
            f"others; one would weigh more than the error, which may be too small."
        )


def _contained(rates: TriggerRates) -> str:
    name = f"group {rates.name}" if rates.kind == "group" else rates.name
    return f"{name} ({' or '.join(rates.unique.contained_in)})"
