from __future__ import annotations

import ast
import io
from pathlib import Path

import pytest

import trigemu
from trigemu.results.signs import _LOWERED, _RAISED, SIGNS, SPELLING, escaped, spelled

SOURCE = Path(trigemu.__file__).parent


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("18.7 ± 1.4 kHz", "18.7 +- 1.4 kHz"),
        ("9.2e33 cm⁻² s⁻¹", "9.2e33 cm^-2 s^-1"),
        ("χ²/ndf, 1.2 σ, y − Y(x)", "chi^2/ndf, 1.2 sigma, y - Y(x)"),
        ("10⁶ ≤ Σ × x₁₂ …", "10^6 <= Sum x x_12 ..."),
        ("漢", r"\u6f22"),
        ("it's 'η' and η", r"it's '\u03b7' and eta"),
    ],
)
def test_signs_in_ascii(text: str, shown: str) -> None:
    assert spelled(text, "ascii") == shown
    assert spelled(text, "utf-8") == text


def test_only_what_an_encoding_lacks_is_spelled() -> None:
    assert spelled("1 ± 2 µs at η ≤ 2", "latin-1") == "1 ± 2 µs at eta <= 2"
    assert escaped("±η", "latin-1") == r"±\u03b7"


def test_names_keep_escapes() -> None:
    assert spelled("η: Jη and Jηη, η", "ascii", ["Jη", "Jηη", ""]) == r"eta: J\u03b7 and J\u03b7\u03b7, eta"


def test_streams_do_the_same() -> None:
    buffer = io.BytesIO()
    with io.TextIOWrapper(buffer, "ascii", errors=SPELLING) as stream:
        stream.write("cm⁻² ± 'Jη' ημ漢\n")
        stream.flush()
        assert buffer.getvalue() == rb"cm^-2 +- 'J\u03b7' etau\u6f22" + b"\n"


def test_every_sign_that_is_printed_has_a_spelling() -> None:
    known = {*SIGNS, *_RAISED, *_LOWERED}
    files = [SOURCE / "results" / "notes.py", SOURCE / "results" / "numbers.py"]
    for folder in ("results/kinds", "cli", "studies", "support", "menus", "samples"):
        files += (SOURCE / folder).rglob("*.py")
    found = set()
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        said = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        prose = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}  # docstrings
        found |= {c for n in said if isinstance(n.value, str) and id(n) not in prose for c in n.value}
    assert {"±", "–"} <= found
    assert {c for c in found if not c.isascii()} <= known
    assert all(word.isascii() and word for word in SIGNS.values())
