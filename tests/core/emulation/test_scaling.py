"""The half that no model was trained on, by the catalogue and by the files of a card."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from toys import toy_events, write_root

from trigemu import catalogue_of
from trigemu.emulation.plan import Plan, make_plan
from trigemu.emulation.scaling import unseen_half
from trigemu.samples import sample
from trigemu.samples.split import EVALUATION, TRAINING
from trigemu.triggers.base import TrainedOn


def test_files_are_hashed_where_a_card_names_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And only there: a card that names the catalogue, or no files, needs no digest."""
    write_root(tmp_path / "a.root", toy_events(1, 50))
    digest = hashlib.sha256((tmp_path / "a.root").read_bytes()).hexdigest()
    catalogue = catalogue_of(tmp_path / "a.root")

    def half(*trained: TrainedOn) -> int | None:
        plan = make_plan([])
        return unseen_half([], Plan(**{**vars(plan), "trained_on": ({"AD": trained},)}), catalogue)

    with monkeypatch.context() as patch:
        patch.setattr(sample, "digest_of", lambda path: pytest.fail("it was read"))
        assert half() is None
        assert half(TrainedOn("other")) is None
        assert half(TrainedOn("a", (digest,))) == EVALUATION
    assert half(TrainedOn("other", ("0" * 64,))) is None
    assert half(TrainedOn("other", ("0" * 64, digest.upper()))) == EVALUATION
    assert half(TrainedOn("other", (digest,), "evaluation")) == TRAINING
