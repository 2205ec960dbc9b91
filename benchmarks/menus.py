"""Menus of any number of triggers: the triggers of `menus/full.toml`, repeated with other values."""

from __future__ import annotations

import re
from operator import itemgetter
from pathlib import Path

FULL = Path(__file__).parent.parent / "menus" / "full.toml"
#: Increase of every threshold from one round to the next.
STEP = 0.02


def menu_of(n: int) -> str:
    """Return the TOML of n triggers; one in four is a combination, evenly distributed over the menu.

    Each round goes through the thresholds and combinations of `full.toml` that see every event (none with
    a seed); the next one has all numbers they cut on raised by STEP. The first m of n triggers are
    those of `menu_of(m)`.
    """
    head, *sections = re.split(r"(?m)^(?=\[\[trigger\]\])", re.sub(r"(?m)^#.*\n", "", FULL.read_text()))
    placed: list[tuple[float, str]] = []
    for kind in ("threshold", "combination"):
        chosen = [s for s in sections if f'kind = "{kind}"' in s and "seed = " not in s]
        placed += [(i / len(chosen), section) for i, section in enumerate(chosen)]
    recipe = [section for _, section in sorted(placed, key=itemgetter(0))]
    triggers = [_raised(recipe[i % len(recipe)], i // len(recipe)) for i in range(n)]
    return head.replace('name = "full"', f'name = "{n} triggers"') + "".join(triggers)


def _raised(section: str, number: int) -> str:
    factor = 1 + number * STEP
    section = re.sub(r'(?m)^name = "(.*)"', rf'name = "\1_{number}"', section)
    return re.sub(
        r"((?:above|min|max) = |> )([\d.]+)", lambda m: f"{m[1]}{float(m[2]) * factor:.6g}", section
    )
