"""Messages stay readable, and quick to make, whatever they are about."""

from __future__ import annotations

import errno
import re

import numpy as np
import pytest

from trigemu.base import errors
from trigemu.base.errors import MAX_EXCERPT, excerpt, listed, nearest, own_cause, without_unit


def test_the_nearest_name_and_the_known_ones() -> None:
    assert nearest("Jte", ["jet", "muon"]) == "; did you mean 'jet'? (known: jet, muon)"
    assert nearest("x", []) == " (known: none)"
    assert nearest("ET", ["eta", "phi", "pt"]) == "; did you mean 'pt'? (known: eta, phi, pt)"
    assert nearest("et", ["eta", "phi"]).startswith("; did you mean 'eta'?")


def test_of_many_names_some_are_listed() -> None:
    hint = nearest("n00a", (f"n{i:03}" for i in range(60)))
    assert re.fullmatch(r"; did you mean 'n\d+'\? \(nearest of 60: n\d+, n\d+, n\d+\)", hint)


def test_of_very_many_names_those_near_in_the_alphabet_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "MAX_COMPARED", 2)
    names = [f"n{i}" for i in range(10)]
    assert "did you mean 'n5'" in nearest("n5x", names)
    assert "did you mean" not in nearest("m9", names)  # near n0, and 9 would be the closest


def test_a_long_text_keeps_its_ends() -> None:
    assert excerpt("abcdefgh", 4) == "ab … gh"
    assert len(nearest("x" * 10**6, ["y" * 10**6])) < 3 * MAX_EXCERPT


def test_many_problems_are_counted() -> None:
    assert listed(["a", "b"]) == "a\nb"
    assert listed([1, 2, 3, 4], 2) == "1\n2\n… and 2 more"


def test_lack_of_memory_or_space_is_nobodys_fault() -> None:
    with pytest.raises(MemoryError) as caught:
        np.empty(1 << 55)
    assert "not enough memory (Unable to allocate" in str(own_cause(caught.value))
    assert "No space left" in str(own_cause(OSError(errno.ENOSPC, "No space left on device")))
    assert own_cause(FileNotFoundError(errno.ENOENT, "no")) is None
    assert own_cause(ValueError("x")) is None


@pytest.mark.parametrize(
    ("written", "hz"),
    [
        ("100kHz", "100000"),
        ("1.5 MHz", "1.5e6"),
        ("40 Hz", "40"),
        ("1e3khz", "1e6"),
        ("2GHz", "2e9"),
        ("5 mHz", "0.005"),
    ],
)
def test_a_rate_has_no_unit(written: str, hz: str) -> None:
    assert without_unit(written) == f"; rates are numbers in Hz, without the unit: {hz}"


@pytest.mark.parametrize(
    "written", [3.0, "100", "kHz", "100 kb", "1 kHz and more", "x100kHz", "\u0661Hz\u00b2"]
)
def test_what_is_no_rate_with_a_unit(written: object) -> None:
    assert without_unit(written) == ""
