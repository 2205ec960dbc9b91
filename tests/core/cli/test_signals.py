"""Signals without the sum of their generator weights, as skims are."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from typing import Any

import pytest
from toys import toy_events, write_root

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")
MISSING = "signal.root: Runs/genEventSumw, the sum of all generated weights, is missing"
EFFICIENCY = ("efficiency", "menu.toml", "--observable", "met", "--bins", "0,1000", *ON_TOYS)


@pytest.fixture
def skims(place: Any) -> Callable[..., None]:
    """Add two signals with the same events to the catalogue: one with the sum, one without."""

    def made(cross_section: str) -> None:
        events = toy_events(5, 200)
        write_root(place.folder / "signal.root", events, runs=False)
        write_root(place.folder / "whole.root", events)
        text = (place.folder / "catalogue.toml").read_text()
        text = text.replace("[[sample]]", "luminosity_cm2s = 1e34\n\n[[sample]]", 1)
        for name in ("signal", "whole"):
            text += (
                f'\n[[sample]]\nname = "{name}"\nrole = "signal"\nfiles = ["{name}.root"]\n{cross_section}'
            )
        place.write("catalogue.toml", text)

    return made


def without_provenance(document: str) -> Any:
    result = json.loads(document)
    return {key: result[key] for key in ("menu", "triggers", "groups", "overlap", "samples")}


@pytest.mark.parametrize("cross_section", ["", "cross_section_pb = 3.0\n"])
def test_rates_do_not_need_the_sum_of_a_signal(
    place: Any, trigemu: Run, skims: Callable[..., None], cross_section: str
) -> None:
    assert trigemu("run", "menu.toml", *ON_TOYS, "--json", "before.json")[0] == 0
    skims(cross_section)
    status, text = trigemu("run", "menu.toml", *ON_TOYS, "--json", "after.json")
    assert status == 0
    before, after = ((place.folder / f"{name}.json").read_text() for name in ("before", "after"))
    assert without_provenance(before) == without_provenance(after)
    warning = (
        f"the rate of the signal 'signal' is not known, which no rate of a trigger needs: {place.folder}"
    )
    shown = "".join(text.split())  # a path may be broken at the end of a line
    assert ("".join(f"{warning}/{MISSING}".split()) in shown) == bool(cross_section)
    listed = trigemu("samples", "catalogue.toml")[1]
    assert ("unknown" in listed) == bool(cross_section)


def test_an_efficiency_needs_it_only_among_several_samples(
    place: Any, trigemu: Run, skims: Callable[..., None]
) -> None:
    skims("cross_section_pb = 3.0\n")
    rows = []
    for name in ("signal", "whole"):
        status, text = trigemu(*EFFICIENCY, "--sample", name, "--csv", f"{name}.csv")
        assert status == 0, text
        result = csv.DictReader((place.folder / f"{name}.csv").read_text().splitlines())
        rows.append([float(row[column]) for row in result for column in ("efficiency", "low", "high")])
    assert rows[0] == pytest.approx(rows[1], rel=1e-9)
    status, text = trigemu(*EFFICIENCY, "--sample", "whole", "--sample", "signal")
    assert status == 2
    assert "samples are added by their rates, but the rate of 'signal' is unknown: " in text
    assert MISSING in text


def test_a_background_needs_it(place: Any, trigemu: Run) -> None:
    write_root(place.folder / "all.root", toy_events(5, 20), runs=False)
    status, text = trigemu("run", "menu.toml", *ON_TOYS)
    assert status == 2
    assert "sample 'all': " in text
    assert "Runs/genEventSumw, the sum of all generated weights, is missing" in text
