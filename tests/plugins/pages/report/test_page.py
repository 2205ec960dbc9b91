"""A page needs no other file, and contains its input."""

from __future__ import annotations

import base64
import csv
import io
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from trigemu_pages import render

from trigemu import TrigemuError
from trigemu.api import Column, Section, Table, style
from trigemu.results.figures.draw import write_pictures
from trigemu.results.section import Picture


@cache
def section(dense: bool = False) -> Section:
    with style.figure(4, 3) as (result, axes):
        axes.plot([0, 1], [0, 1])
        axes.set_xlabel("x [GeV]")
    picture = Picture(
        "line", 'A "line" & more', result, {"x": [0.1 + 0.2, np.nan], "y": np.array([0, 1])}, dense
    )
    table = Table((Column("a", "key", "a"), Column("b", "number", "b")))
    table.add("<b>", "1")
    table.add("c", "2", style="summary")
    return Section("Two words", ("x < y",), (table,), parts=(Section("part", pictures=(picture,)),))


class Elements(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_texts_are_shown_as_they_are_and_always_give_the_same_bytes() -> None:
    page = render("A <menu>", [section()])
    assert render("A <menu>", [section()]) == page
    for text in ("A &lt;menu&gt;", "x &lt; y", "&lt;b&gt;", "A &#34;line&#34; &amp; more", 'id="Two_words"'):
        assert text in page
    assert "<b>" not in page


def test_every_element_is_closed_and_nothing_is_fetched_or_run() -> None:
    elements = Elements(render("menu", [section(), section(dense=True)]))
    assert not elements.open
    tags = {tag for tag, _ in elements.attributes}
    assert not tags & {"script", "iframe", "object"}
    for tag, attributes in elements.attributes:
        for key in ("src", "href"):
            link = attributes.get(key) or "#"
            assert link.startswith(("#", "data:")), (tag, link)


def test_figures_are_vectors_unless_they_are_dense() -> None:
    for dense, kind, start in ((False, "svg+xml", b"<?xml"), (True, "png", b"\x89PNG")):
        result = re.search(r'src="data:image/([a-z+]+);base64,([^"]+)"', render("menu", [section(dense)]))
        assert result
        assert result[1] == kind
        assert base64.b64decode(result[2]).startswith(start)


def test_figures_are_written_with_their_numbers(tmp_path: Path) -> None:
    pictures = section().parts[0].pictures
    files = write_pictures(pictures, tmp_path / "new", ("png", "pdf", "csv"))
    assert [file.name for file in files] == ["line.png", "line.pdf", "line.csv"]
    assert (tmp_path / "new" / "line.pdf").read_bytes().startswith(b"%PDF")
    rows = list(csv.reader(io.StringIO((tmp_path / "new" / "line.csv").read_text())))
    names = [file.name for file in write_pictures([*pictures, *pictures], tmp_path / "two")]
    assert names == ["line.png", "line_2.png"]  # of two pictures of one name, none is lost
    assert rows == [["x", "y"], [repr(0.1 + 0.2), "0"], ["", "1"]]
    (tmp_path / "file").write_text("")
    with pytest.raises(TrigemuError, match="cannot write"):
        write_pictures(pictures, tmp_path / "file")
