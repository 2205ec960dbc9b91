"""Seeds whose counters have too many outcomes; their probabilities are in test_acceptance.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from toys import menu_from

from trigemu.base.errors import TrigemuError
from trigemu.counting.acceptance import acceptances


@pytest.mark.parametrize(("seeds", "coherent"), [(16, False), (17, True), (17, False)])
def test_too_many_outcomes_are_an_error(tmp_path: Path, seeds: int, coherent: bool) -> None:
    """Of 17 counters; where all fire together."""
    text = "[menu]\n"
    for number in range(seeds):
        text += f'[[trigger]]\nname = "S{number}"\nkind = "threshold"\nobservable = "met"\nabove = {number}\n'
        text += "prescale = 2\n" + ('coherent = "c"\n' if coherent and number < 2 else "")
    names = " or ".join(f"S{number}" for number in range(seeds))
    text += f'[[trigger]]\nname = "T"\nkind = "random"\nrate_hz = 40e6\nseed = "{names}"\n'
    menu = menu_from(tmp_path, text)
    bits = {f"S{number}": number for number in range(seeds)}
    few, every = np.array([[2**16 - 1]], np.uint64), np.array([[2**seeds - 1]], np.uint64)
    assert acceptances(few, menu, bits).total[0, -1] > 0
    if seeds == 17 and not coherent:
        with pytest.raises(TrigemuError, match=r"the seeds .*'S16'.* are prescaled, fire together"):
            acceptances(every, menu, bits)
    else:
        assert acceptances(every, menu, bits).total[0, -1] == pytest.approx(1 - 0.5**16)
