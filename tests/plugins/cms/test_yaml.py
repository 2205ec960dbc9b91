"""YAML with lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from trigemu_cms import yaml

from trigemu.base.toml import TableError


def write(folder: Path, text: str) -> Path:
    file = folder / "a.yaml"
    file.write_text(text)
    return file


def test_keys_and_entries_have_their_lines(tmp_path: Path) -> None:
    document = yaml.load(write(tmp_path, "# c\nA:\n  b: 1\n\n  c:\n    - x\n    - y\n  1: {d: e}\n"))
    assert document.data == {"A": {"b": 1, "c": ["x", "y"], 1: {"d": "e"}}}
    assert document.lines == {
        ("A",): 2,
        ("A", "b"): 3,
        ("A", "c"): 5,
        ("A", "c", 0): 6,
        ("A", "c", 1): 7,
        ("A", "1"): 8,
        ("A", "1", "d"): 8,
    }


def test_aliases_stand_where_they_were_first_written(tmp_path: Path) -> None:
    document = yaml.load(write(tmp_path, "A: &a\n  b: 1\nB: *a\n"))
    assert document.data == {"A": {"b": 1}, "B": {"b": 1}}
    assert document.lines == {("A",): 1, ("A", "b"): 2, ("B",): 3}


NO_NUMBERS = ("0b_", "2024-99-99", "9" * 5000, "!!bool maybe", "!!timestamp x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A:\n  - b\n c: 1\n", "a.yaml:3: not valid YAML"),
        ("A: !!python/name:os.system x\n", "a.yaml:1: not valid YAML: could not determine a constructor"),
        ("a\n", "a.yaml:1: expected a mapping of names, not str"),
        ("[" * 1100, "a.yaml:1: is nested too deeply"),
        ("A: \x07\n", "a.yaml:1: not valid YAML"),
        *((f"A: {text}\n", "not valid YAML") for text in NO_NUMBERS),
        *((text, "not valid YAML") for text in ("? [a, b]\n: 1", "--- {}\n--- {}", "? {a: b}\n: 1")),
    ],
)
def test_what_is_no_yaml(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TableError) as caught:
        yaml.load(write(tmp_path, text))
    assert message in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"none\.yaml: cannot read: No such file"):
        yaml.load(tmp_path / "none.yaml")


def test_plain_scalars_are_what_they_look_like(tmp_path: Path) -> None:
    text = "A: [1, -0x10, 1.5, .inf, yes, ~, a]\n"
    assert yaml.load(write(tmp_path, text)).data == {"A": [1, -16, 1.5, float("inf"), True, None, "a"]}


@pytest.mark.parametrize("text", ["A: &a {b: *a}", "A: &a [*a]", "A: &a {<<: *a, b: 1}"])
def test_what_contains_itself_ends(tmp_path: Path, text: str) -> None:
    assert list(yaml.load(write(tmp_path, text)).data) == ["A"]
