"""Texts are decoded as Python's own split and int decode them, however they are spaced and read."""

from __future__ import annotations

import io
import lzma
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from l1_toys import vector_line
from trigemu_cms import CMSVector, vector_text
from trigemu_cms.vector_text import decoded

from trigemu import TrigemuError
from trigemu.api import SampleError

#: A small layout: columns of one word, of two, and of one digit.
WIDTHS = {4: (8, 32, 1), 3: (16, 1)}

Crossing = tuple[int, str]


def twin(text: bytes) -> list[Crossing]:
    """The numbers, and the digits of all columns."""
    rows = []
    for line in text.splitlines():
        if line.strip() and line[:1] not in (b"|", b"#"):
            number, *columns = line.split()
            rows.append((int(number), b"".join(columns).decode().lower()))
    return rows


def found(text: bytes) -> list[Crossing]:
    _, numbers, octets = decoded(io.BytesIO(text), WIDTHS)
    return [(int(n), row.tobytes().hex()[:-1]) for n, row in zip(numbers, octets, strict=True)]


blanks = st.text(" \t\v\f", max_size=3)
digits = st.sampled_from("0123456789abcdefABCDEF")


@st.composite
def lines(draw: st.DrawFn, columns: int) -> str:
    """A line of a crossing, a header, or a blank one, and its end."""
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return draw(blanks) + end
    if kind == 1:
        return draw(st.sampled_from("|#")) + draw(st.text("ab 0|#", max_size=9)) + end
    line = draw(blanks) + draw(st.text("0123456789", min_size=1, max_size=18))
    for width in WIDTHS[columns]:
        line += draw(blanks.filter(bool)) + "".join(draw(st.lists(digits, min_size=width, max_size=width)))
    return line + draw(blanks) + end


@given(st.data(), st.sampled_from(sorted(WIDTHS)), st.sampled_from([1, 7, 50, 2**20]))
def test_any_text_is_decoded_as_python_does(data: st.DataObject, columns: int, part: int) -> None:
    text = "".join(data.draw(st.lists(lines(columns), max_size=12)))
    last = "7 " + " ".join("f" * width for width in WIDTHS[columns])
    content = (text + last + data.draw(st.sampled_from(["", "\n"]))).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_text, "_PART", part)
        assert found(content) == twin(content)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 12345678 " + "a" * 32, "line 6: 3 columns, the lines before have 4"),
        ("1 1234567 " + "a" * 32 + " 0", "line 6: column 2 has 7 digits, expected 8"),
        ("1 12345678 " + "a" * 33 + " 0", "line 6: column 3 has 33 digits, expected 32"),
        ("1 12345678 " + "a" * 31 + "g 0", f"line 6, column 3: '{'a' * 31}g'"),
        ("-1 12345678 " + "a" * 32 + " 0", "line 6, column 1: '-1'"),
        ("1 12345678 " + "a" * 32 + "\0 0", "line 6: column 3 has 33 digits, expected 32"),
        ("1 1234567\udcff " + "a" * 32 + " 0", "line 6, column 2: '1234567\ufffd'"),
    ],
)
def test_the_first_mistake_has_its_line(monkeypatch: pytest.MonkeyPatch, line: str, message: str) -> None:
    good = "0 12345678 " + "a" * 32 + " 0"
    text = f"# header\r\n\r\n\n| one\n{good}\r\n{line}\n{good} 0\n".encode(errors="surrogateescape")
    for part in (1, 7, 50, 2**20):
        monkeypatch.setattr(vector_text, "_PART", part)
        with pytest.raises(SampleError) as caught:
            found(text)
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize("text", [b"", b"\n", b"# a\n\r\n| b", b" \t\n" * 100])
def test_a_text_without_crossings_is_refused(text: bytes) -> None:
    with pytest.raises(SampleError, match="has no crossings"):
        found(text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1 " * 10_000, "line 1 has more than 2000 characters"),
        (b"# a\n" + b"0" * 3000 + b"\n", "line 2 has more than 2000 characters"),
        (b"# a\n\n#" + b" " * 3000 + b"\n", "line 3 has more than 2000 characters"),
        (vector_line(0).encode() + b" " * 3000 + b"\n", "line 1 has more than 2000 characters"),
        (b"# a\n" * 3000, "is longer than 10000 bytes when decompressed"),
    ],
)
@pytest.mark.parametrize("part", [1000, 5000])
def test_a_text_is_decompressed_within_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str, part: int
) -> None:
    monkeypatch.setattr(vector_text, "LONGEST_LINE", 2000)
    monkeypatch.setattr(vector_text, "LARGEST_TEXT", 10_000)
    monkeypatch.setattr(vector_text, "_PART", part)
    (tmp_path / "a.txt.xz").write_bytes(lzma.compress(content))
    with pytest.raises(TrigemuError, match=message):
        assert CMSVector(str(tmp_path / "a.txt.xz")).entries
