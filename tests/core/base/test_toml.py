"""TOML documents are written here key by key, so that the line of each key is known."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec
import pytest
from hypothesis import given, strategies as st

from trigemu import open_catalogue, read_menu
from trigemu.base import toml_text
from trigemu.base.toml import KINDS, Key, TableError, TomlTable, kind_of, load_toml, read_table
from trigemu.studies.efficiency_profiles import read_profiles

#: Every key and number in it is that of its line; all else is there to mislead a reader of lines.
DOCUMENT = r'''# a remark [l9] = "
l2 = 2
"l3 = #" = "a # [b] \" , } = c" # remark
'l4 ]["' = [ 4,
  5, # remark ] } "
  "x", [6],

  { l8 = 8, n8 = { "l8" = 8 } }, ]
l9 . "l9 . b".l9 = [
  10 ]
l11 = """
l12 = 12
  lines, # ] } = \""" "l13" """""
l14 = """
""l15 = 1"""""
l16 = 1979-05-27T07:32:00Z
l17 = { l17 = [17, { l17 = 17 }], "l17\u00e9" = '' }

 [ l19 ] # remark
	"l20"	= 20
[l19 . "l21"]
l22 = """folded \
   # no comment
"""
[[l25]]
l26 = 26
[[l25]]
[[ l25."l28" ]]
l29 = inf
[[l25.l28]]
[l31.l31]
l32 = [
  [
    34], [
    ], 35]
'''


def places(value: Any, key: Key = ()) -> Iterator[tuple[Key, Any]]:
    """All keys and indices of what tomllib makes of a document, and what is there."""
    if isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*key, name), inner
            yield from places(inner, (*key, name))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_key_is_found_at_its_line(tmp_path: Path, newline: str) -> None:
    file = tmp_path / "document.toml"
    file.write_bytes(DOCUMENT.replace("\n", newline).encode())
    document = load_toml(file)
    assert document.data == tomllib.loads(DOCUMENT.replace("\n", newline))
    for key, value in places(document.data):
        line = re.search(r"\d+", key[-1]) if isinstance(key[-1], str) else None
        if line or isinstance(value, int):
            assert document.lines[key] == (int(line[0]) if line else value), key
    assert len(document.lines) == 44


def test_a_problem_stands_at_the_nearest_key_that_has_a_line(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("\n[one]\nx = 1\n\n[[two]]\n\n[[two]]\ny = [\n 1,\n 2 ]\n")
    document = load_toml(file)
    document.problem(("two", 1, "y", 1), "here", "b")
    document.problem(("one", "absent", "below"), "", "a")
    document.problem(("nowhere",), "", "c")
    with pytest.raises(TableError) as error:
        document.finish()
    assert str(error.value).splitlines() == [f"{file}:1: c", f"{file}:2: a", f"{file}:10: here: b"]
    assert [problem.line for problem in error.value.problems] == [1, 2, 10]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"a = 1\nb = = 2\n", 2, "not valid TOML"),
        (b"a = 1\n\nb = [1,\n", 4, "not valid TOML"),
        (b"a = 1\na = 2\n", 2, "not valid TOML"),
        (b"a = 1\n b = jet[0].pt # GeV\n", 2, '; text has quotation marks: b = "jet[0].pt"'),
        (b"a = 1\nrate_hz = 100 kHz # cap\n", 2, "; rates are numbers in Hz, without the unit: 100000"),
        (b"a = 1\na = inf\n", 2, "not valid TOML: Cannot overwrite a value (at line 2, column 8)"),
        (b"root\x00\x00\xf0\xff", 0, "a file of events, not of text: commands take it as --samples"),
        (b"# a remark\na = '\xff\xfe'\n", 2, "not a text file (UTF-8)"),
        (b"a = 1\nb = 1" + b"0" * 5000, 0, "not valid TOML: Exceeds the limit"),
        (b"a = 1\n\0 = 2", 2, "not valid TOML: "),
        ("a = 1".encode("utf-16"), 1, "not a text file (UTF-8)"),
        (b'a = "\\ud800"', 1, "not valid TOML: "),
        (b"a = " + b"[" * 5000 + b"]" * 5000, 0, "not valid TOML: maximum recursion depth"),
    ],
)
def test_what_is_no_toml(tmp_path: Path, content: bytes, line: int, message: str) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(content)
    with pytest.raises(TableError) as error:
        load_toml(file)
    (problem,) = error.value.problems
    assert problem.line == line
    assert message in problem.message
    assert len(problem.message) < 300


class Inner(TomlTable, frozen=True):
    low: float | None = None
    high: float | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if self == Inner():
            yield "", "empty"


class Outer(TomlTable, frozen=True, rename={"from_": "from"}):
    further: ClassVar[str | None] = "windows"

    from_: str
    count: int = 0
    on: bool = True
    sign: Literal["same", "opposite"] | None = None
    pair: tuple[int, int] | None = None
    edges: tuple[float, ...] = ()
    many: tuple[Inner, ...] = ()
    one: Inner | None = None
    windows: dict[str, Inner] = msgspec.field(default_factory=dict)

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        for i, inner in enumerate(self.many):
            if inner.low == 13:
                yield ("many", i, "low"), "unlucky"


def read_outer(tmp_path: Path, text: str) -> tuple[Outer | None, list[tuple[int, str]]]:
    file = tmp_path / "a.toml"
    file.write_text(f"[[thing]]\n{text}")
    document = load_toml(file)
    made = read_table(document, document.data["thing"][0], Outer, ("thing", 0), "thing")
    return made, [(problem.line, problem.message) for problem in document.problems]


def test_a_table_becomes_a_struct(tmp_path: Path) -> None:
    made, problems = read_outer(
        tmp_path,
        'from = "x"\ncount = 3\non = false\nsign = "same"\npair = [1, 2]\n'
        "many = [{low = 1}, {high = 2.5}]\none = {low = -1}\npt = {low = 3, high = 4}\n",
    )
    assert not problems
    assert made == Outer(
        from_="x",
        count=3,
        on=False,
        sign="same",
        pair=(1, 2),
        many=(Inner(low=1.0), Inner(high=2.5)),
        one=Inner(low=-1.0),
        windows={"pt": Inner(low=3.0, high=4.0)},
    )


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("count = 3", 1, "the key 'from' is missing"),
        ("from = 3", 2, "from = 3: expected a string, got an integer"),
        ("from = 'x'\ncount = 1.5", 3, "count = 1.5: expected an integer, got a number"),
        ("from = 'x'\ncount = true", 3, "count = True: expected an integer, got true or false"),
        ("from = 'x'\non = 'yes'", 3, "on = 'yes': expected true or false, got a string"),
        (
            "from = 'x'\nsign = 'oposite'",
            3,
            "sign = 'oposite': expected 'opposite' or 'same'; did you mean 'opposite'?",
        ),
        ("from = 'x'\nsign = 1", 3, "sign = 1: expected 'opposite' or 'same'"),
        ("from = 'x'\npair = [1]", 3, "pair = [1]: expected a list of length 2, got 1"),
        ("from = 'x'\npair = 1", 3, "pair = 1: expected a list, got an integer"),
        ("from = 'x'\none = 2.0", 3, "one = 2.0: expected a table of low, high"),
        ("from = 'x'\npt = 2.0", 3, "pt = 2.0: expected a table of low, high"),
        ("from = 'x'\nmany = {low = 1}", 3, "many = {'low': 1}: expected a list, got a table"),
        ("from = 'x'\nmany = [{low = 1},\n 7]", 4, "many[1] = 7: expected a table of low, high"),
        ("from = 'x'\nmany = [{low = 1},\n {low = 13}]", 4, "unlucky"),
        ("from = 'x'\nmany = [\n {low = 'a'}]", 4, "many[0].low = 'a': expected a number, got a string"),
        ("from = 'x'\nedges = [1.0, nan]", 3, "edges = [1.0, nan]: expected finite numbers"),
        ("from = 'x'\none = { low = 1" + "0" * 400 + " }", 3, "number out of range"),
        ("from = 'x'\none = { low = nan }", 3, "one.low = nan: expected a finite number"),
        ("from = 'x'\npt.low = -inf", 3, "pt.low = -inf: expected a finite number"),
        ("from = 'x'\none = {}", 3, "one: empty"),
        ("from = 'x'\npt = {}", 3, "pt: empty"),
        ("from = 'x'\none = { lwo = 1 }", 3, "unknown key 'lwo'; did you mean 'low'? (known: high, low)"),
        ("from = 'x'\n\ncoutn = 3", 4, "unknown key 'coutn'; did you mean 'count'?"),
        ("from = 'x'\nones = {lo = 1, hi = 2}", 3, "unknown key 'ones'; did you mean 'one'?"),
    ],
)
def test_a_mistake_says_where_what_and_what_is_allowed(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    made, problems = read_outer(tmp_path, text)
    assert made is None
    ((found, said),) = problems
    assert found == line
    assert said.endswith(message)


def test_all_mistakes_of_a_table_at_once(tmp_path: Path) -> None:
    made, problems = read_outer(
        tmp_path, "count = 'a'\non = 1\nmany = [{low = ''},\n {hihg = 1}]\npt = {}\neta = []\n"
    )
    assert made is None
    assert sorted(line for line, _ in problems) == [1, 2, 3, 4, 5, 6, 7]


def test_a_byte_order_mark_and_other_ends_of_lines_are_fine(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(b"\xef\xbb\xbfa = 1\r\nb = 2\r\n")
    assert load_toml(file).lines == {("a",): 1, ("b",): 2}


def test_messages_are_bounded_and_act_on_no_terminal(tmp_path: Path) -> None:
    name = "\\u001b[31m" + "x" * 10_000
    (tmp_path / "a.toml").write_text("\n".join(f'"{name}{i}" = 1' for i in range(300)))
    document = load_toml(tmp_path / "a.toml")
    with pytest.raises(TableError) as caught:
        read_table(document, document.data, Outer, (), "")
    lines = str(caught.value).splitlines()
    assert lines[-1].startswith("… and perhaps more")
    assert max(map(len, lines)) < 1000
    assert "\x1b" not in str(caught.value)


READERS: dict[str, Callable[[Path], object]] = {
    "trigger": read_menu,
    "catalogue": open_catalogue,
    "profile": read_profiles,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_kind_is_told_what_it_is(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "file.toml"
    file.write_text(f"# a file\nname = 'x'\n\n[{kind}]\nname = 'y'\n")
    assert kind_of(load_toml(file).data) == kind
    for own, read in READERS.items():
        if own != kind:
            with pytest.raises(TableError) as error:
                read(file)
            (problem,) = error.value.problems
            assert problem.message.startswith(f"this is {KINDS[kind][0]}, not {KINDS[own][0]}: ")
            assert problem.line == 4


LEAVES = (
    st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
)
ANY_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_NAMES, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(ANY_NAMES, VALUES, max_size=4))
def test_what_is_written_is_read(entries: dict[str, Any]) -> None:
    read = tomllib.loads(toml_text.table("[part]", entries))["part"]
    assert repr(read) == repr(entries)


def test_long_lists_and_texts_have_several_lines() -> None:
    legs = [{"object": "muon", "pt": {"min": 3.0}, "quality": {"any_of": [12, 13, 14, 15]}}] * 2
    assert toml_text.table("[[trigger]]", {"legs": legs, "none": None}).splitlines() == [
        "[[trigger]]",
        "legs = [",
        '    { object = "muon", pt = { min = 3.0 }, quality = { any_of = [12, 13, 14, 15] } },',
        '    { object = "muon", pt = { min = 3.0 }, quality = { any_of = [12, 13, 14, 15] } },',
        "]",
    ]
    assert toml_text.entry("legs", [{"object": "muon"}]) == 'legs = [{ object = "muon" }]'
    assert toml_text.entry("expression", "a or\n(b and c)") == 'expression = """\na or\n(b and c)"""'


@pytest.mark.parametrize("text", ["one", "two\nlines\x00", "long " * 60, "nobreak" * 40, ""])
def test_every_line_of_a_comment_is_one(text: str) -> None:
    lines = toml_text.comment(text).splitlines()
    assert all(line.startswith("#") for line in lines)
    assert all(len(line) <= toml_text.WIDTH or " " not in line[2:].strip() for line in lines)
    assert " ".join(lines).replace("#", " ").split() == text.replace("\x00", " ").split()
