"""Everything in a file is found, with its line; whatever is wrong with it, too."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest
from l1_toys import EXTERNALS, menu_xml, write_menu
from trigemu_cms.l1_xml import read_xml

from trigemu.base.toml import TableError


def test_what_is_in_a_menu(tmp_path: Path) -> None:
    menu = read_xml(write_menu(tmp_path, {"L1_B": "MU3[MU-QLTY_SNGL]", "L1_A": "EXT_BPTX_OR"}))
    assert (menu.name, menu.grammar, menu.comment) == ("Toy", "0.6", "two lines")
    assert [(a.index, a.name, a.expression) for a in menu.algorithms] == [
        (0, "L1_B", "MU3[MU-QLTY_SNGL]"),
        (1, "L1_A", "EXT_BPTX_OR"),
    ]
    assert (
        menu.document.path.read_text().splitlines()[menu.algorithms[0].line - 1]
        == "<expression>MU3[MU-QLTY_SNGL]</expression>"
    )
    cut = menu.algorithms[0].cuts["MU-QLTY_SNGL"]
    assert (cut.type, cut.data, cut.minimum) == ("QLTY", "12,13,14,15", 0.0)
    assert menu.externals == EXTERNALS
    assert menu.digits["MU-JET-Math"] == 4
    edges = menu.scales["MU", "ETA"].edges
    assert [edges[0], edges[225], edges[-1]] == [
        (-2.45, -224.5 * 0.010875, 287),
        (-0.5 * 0.010875, 0.5 * 0.010875, 0),
        (224.5 * 0.010875, 2.45, 225),
    ]


def test_algorithms_come_in_the_order_of_their_bits(tmp_path: Path) -> None:
    file = write_menu(tmp_path, ["MU0", "MU1"])
    file.write_text(file.read_text().replace("<index>0<", "<index>300<"))
    assert [a.index for a in read_xml(file).algorithms] == [1, 300]


def test_doubles_keep_every_bit(tmp_path: Path) -> None:
    file = write_menu(tmp_path, ["dist{MU0,MU0}[DR_MAX_0p8]"])
    file.write_text(file.read_text().replace("+8.0000000000000004E-01", "+1.4000000000000001E+00"))
    assert read_xml(file).algorithms[0].cuts["DR_MAX_0p8"].maximum == np.nextafter(1.4, 2)


@pytest.mark.parametrize(("name", "pack"), [("m.xml.xz", lzma.compress), ("m.xml.gz", gzip.compress)])
def test_compressed_files(tmp_path: Path, name: str, pack: object) -> None:
    assert callable(pack)
    (tmp_path / name).write_bytes(pack(menu_xml(["MU0"]).encode()))
    assert read_xml(tmp_path / name).algorithms[0].expression == "MU0"


def line_of(file: Path, text: str) -> int:
    """The last one that has this text."""
    return max(i for i, line in enumerate(file.read_text().splitlines(), 1) if text in line)


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        ("<index>1<", "<index>0<", "<algorithm>", "this index, 0 (line 7)"),
        ("<name>A1<", "<name>A0<", "<algorithm>", "this name, 'A0' (line 7)"),
        ("<index>1<", "<index>512<", "<algorithm>", "index 512: expected 0 … 511"),
        ("<index>1<", "<index>x<", "<index>x", "<index> 'x'"),
        ("<index>1</index>", "", "<algorithm>", "<index> is missing"),
        ("<name>A1</name>", "", "<algorithm>", "<name> is missing"),
        ("<channel>35<", "<channel>?<", "<channel>?", "external signal 'BPTX_OR': <channel> '?'"),
        ("+1.2016875000000000E+00", "nan", "nan", "cut 'MU-ETA_1p2': <maximum> 'nan'"),
        ("<n_bits>4</n_bits>", "<n_bits>four</n_bits>", "four", "MU-MU-Math: <n_bits> 'four'"),
    ],
)
def test_mistakes_have_their_line(tmp_path: Path, old: str, new: str, at: str, message: str) -> None:
    file = write_menu(tmp_path, ["MU0", "MU1[MU-ETA_1p2]"])
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(TableError) as caught:
        read_xml(file)
    problems = caught.value.problems
    assert any(message in str(problem) for problem in problems), caught.value
    assert problems[0].line == line_of(file, at)


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    file = write_menu(tmp_path, ["MU0", "MU1", "MU2"])
    file.write_text(file.read_text().replace("<index>0<", "<index>x<").replace("<index>2<", "<index>y<"))
    with pytest.raises(TableError) as caught:
        read_xml(file)
    assert [problem.where for problem in caught.value.problems] == ["algorithm 'A0'", "algorithm 'A2'"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not valid XML: no element found"),
        ("<menu><a></menu>", "1: not valid XML: mismatched tag"),
        ("<other/>", "expected a CMS Level-1 menu, whose root is 'menu', not 'other'"),
        ("<menu/>", "has no algorithms"),
        ('<!DOCTYPE menu [<!ENTITY a "b">]>\n<menu>&a;</menu>', "has a DOCTYPE"),
        ('<!DOCTYPE menu SYSTEM "file:///etc/passwd">\n<menu/>', "has a DOCTYPE"),
    ],
)
def test_what_is_no_menu(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "m.xml").write_text(content)
    with pytest.raises(TableError, match=message):
        read_xml(tmp_path / "m.xml")


def test_a_file_that_is_not_there_or_damaged(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="cannot read: No such file"):
        read_xml(tmp_path / "none.xml")
    (tmp_path / "m.xml.xz").write_bytes(lzma.compress(b"<menu/>")[:-9])
    with pytest.raises(TableError, match=r"m\.xml\.xz: cannot read"):
        read_xml(tmp_path / "m.xml.xz")


def test_encodings(tmp_path: Path) -> None:
    text = menu_xml(["MU0"]).partition("?>")[2]
    file = tmp_path / "menu.xml"
    for encoding in ("utf-8", "UTF-16", "iso-8859-1", "us-ascii"):
        file.write_bytes(f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding))
        assert len(read_xml(file).algorithms) == 1
    for encoding in ("idna", "punycode", "utf-7", "none"):
        file.write_text(f'<?xml version="1.0" encoding="{encoding}"?>{text}')
        with pytest.raises(TableError, match="encoding"):
            read_xml(file)
