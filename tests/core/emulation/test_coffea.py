"""The processor of the guide, on chunks of NanoEvents, against the same file read by trigemu."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from project import ROOT
from toys import combination, menu_from, threshold, toy_events, write_tree

import trigemu

pytest.importorskip("coffea")
pytestmark = [
    pytest.mark.slow,  # to import coffea
    pytest.mark.filterwarnings("ignore:Missing cross-reference:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:coffea.*"),
]
MENU = (
    '[menu]\nname = "toy"\n'
    + combination(
        "JETS", '{ object = "jet", pt = { above = 30.0 } }, { object = "jet", eta = { abs_max = 2.0 } }'
    )
    + threshold("PHOTON", "photon[0].pt", 20.0, "prescale = 10")
    + threshold("MET", "met", 40.0)
)


def nanoaod(path: Path, events: list[dict[str, Any]]) -> Path:
    """The events with the branches that a schema of NanoAOD needs."""
    arrays: dict[str, Any] = {
        "MET_pt": np.array([event["met"] for event in events], np.float32),
        "MET_phi": np.zeros(len(events), np.float32),
        "event": np.arange(len(events), dtype=np.uint64),
        "run": np.ones(len(events), np.uint32),
        "luminosityBlock": np.ones(len(events), np.uint32),
    }
    for name in ("jet", "photon"):
        columns = {c: [[o[c] for o in event[name]] for event in events] for c in ("pt", "eta", "phi")}
        if name == "jet":  # photons have none
            columns["mass"] = [[0.0 for _ in event[name]] for event in events]
        made = {c: ak.values_astype(ak.Array(of), np.float32) for c, of in columns.items()}
        arrays[name.title()] = ak.zip(made)
    return write_tree(path, arrays)


def processor_of_the_guide() -> Any:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/guides/ecosystem.md").read_text(), re.DOTALL)
    (source,) = (block for block in blocks if "ProcessorABC" in block)
    names: dict[str, Any] = {}
    exec(source, names)
    return names["Triggers"]


def test_the_processor_of_the_guide_counts_what_trigemu_counts(tmp_path: Path) -> None:
    from coffea import processor
    from coffea.nanoevents import NanoAODSchema

    menu = menu_from(tmp_path, MENU)
    file = nanoaod(tmp_path / "toy.root", toy_events(3, 1100))
    executor = processor.IterativeExecutor(status=False, retries=0)
    run = processor.Runner(executor, schema=NanoAODSchema, chunksize=300)
    counts = run({"toy": {"files": {str(file): "Events"}}}, processor_of_the_guide()(menu.path))["toy"]
    fired = trigemu.decisions(menu, str(file))
    assert counts == {name: int(decisions.sum()) for name, decisions in fired.items()}
    assert all(0 < count < 1100 for count in counts.values())
    rates = trigemu.run(menu, str(file))
    assert counts == {trigger.name: trigger.total.events for trigger in rates.triggers}
