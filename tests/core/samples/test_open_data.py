"""Entries that name a dataset, with a stand-in for the package that asks the server."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from toys import toy_events, write_root

from trigemu import TrigemuError, open_catalogue

KNOWN: dict[str, Any] = {"cross_section_pb": 2000.0, "genFiltEff": 0.25, "kFactor": 1.2, "nEvents": 7}


def catalogue(folder: Path, entry: str) -> Any:
    (folder / "catalogue.toml").write_text(
        '[catalogue]\nname = "c"\nconvention = "luminosity"\nluminosity_cm2s = 1e34\n'
        f'[[sample]]\nname = "a"\nrole = "background"\n{entry}\n'
    )
    return open_catalogue(folder / "catalogue.toml").samples[0]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The server's answer, and what was asked."""
    write_root(tmp_path / "a.root", toy_events(1, 20), sum_of_weights=30.0)
    seen: list[str] = []

    def get_metadata(key: str) -> dict[str, Any]:
        seen.append(key)
        if not known:
            raise ValueError(f"Dataset '{key}' not found in release '2024r-pp':\n no route to host")
        return known

    def get_urls(key: str, *, protocol: str, cache: bool) -> list[str]:
        assert (protocol, cache) == ("https", False)
        return [str(tmp_path / "a.root")]

    known = dict(KNOWN)
    module = SimpleNamespace(get_metadata=get_metadata, get_urls=get_urls)
    monkeypatch.setitem(sys.modules, "atlasopenmagic", module)
    return SimpleNamespace(known=known, seen=seen)


def test_a_dataset_completes_what_the_entry_does_not_say(tmp_path: Path, asked: Any) -> None:
    sample = catalogue(tmp_path, 'dataset = 301204\nformat = "nanoaod"')
    assert asked.seen == ["301204"]
    assert sample.rate_hz == pytest.approx(2000 * 0.25 * 1.2 * 1e-36 * 1e34)
    assert (sample.entries, sample.table.dataset) == (20, 301204)
    own = catalogue(tmp_path, 'dataset = "301204"\nformat = "nanoaod"\nk_factor = 3.0\nfiles = ["a.root"]')
    assert own.rate_hz == pytest.approx(2000 * 0.25 * 3.0 * 1e-36 * 1e34)


def test_nobody_is_asked_for_what_the_entry_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "atlasopenmagic", None)
    write_root(tmp_path / "a.root", toy_events(1, 20), sum_of_weights=30.0)
    entry = 'dataset = 1\nfiles = ["a.root"]\ncross_section_pb = 10.0\nfilter_efficiency = 1.0\n'
    assert catalogue(tmp_path, entry + "k_factor = 1.0").rate_hz == pytest.approx(0.1)
    with pytest.raises(TrigemuError, match=r'catalogue\.toml:8: .*pip install "trigemu\[atlas\]"'):
        catalogue(tmp_path, entry)


def test_nothing_is_made_up(tmp_path: Path, asked: Any) -> None:
    asked.known["kFactor"] = None
    with pytest.raises(
        TrigemuError, match=r"catalogue\.toml:8: sample 'a': .* does not have k_factor; write it"
    ):
        catalogue(tmp_path, 'dataset = 301204\nformat = "nanoaod"')
    asked.known["cross_section_pb"] = None
    with pytest.raises(TrigemuError, match="sample 'a' needs cross_section_pb in its catalogue entry"):
        catalogue(tmp_path, 'dataset = 301204\nformat = "nanoaod"')


def test_without_an_answer_the_message_says_what_to_write(tmp_path: Path, asked: Any) -> None:
    asked.known.clear()
    message = (
        r"catalogue\.toml:8: .*Dataset '9' not found in release '2024r-pp': no route to host\); without it "
        r"write files, cross_section_pb, filter_efficiency, k_factor in the entry"
    )
    with pytest.raises(TrigemuError, match=message):
        catalogue(tmp_path, "dataset = 9")
