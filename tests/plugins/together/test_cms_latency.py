"""Menus of the CMS Phase-2 trigger, one event at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import phase2_toys as toys
from stream_toys import streamed
from trigemu_cms import import_cms_phase2

from trigemu import catalogue_of, decide, make_plan, read_menu


def test_single_events_have_the_same_decisions(tmp_path: Path) -> None:
    (tmp_path / "menu.toml").write_text(import_cms_phase2(*toys.write_files(tmp_path)).toml)
    (sample,) = catalogue_of(toys.write_events(tmp_path / "events", toys.events(200, 1))).samples
    plan = make_plan([read_menu(tmp_path / "menu.toml")])
    events = sample.read(0, 0, sample.entries, plan.needs)
    words = decide(events, plan)
    assert words.any()
    np.testing.assert_array_equal(streamed(plan, events), words)
