"""YAML with lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from trigemu_cms import yaml

from trigemu import TrigemuError
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


def test_aliases_of_aliases_take_no_time(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 40))]
    assert len(yaml.load(write(tmp_path, "\n".join(lines))).lines) < 1000


NO_NUMBERS = ("0b_", "2024-99-99", "9" * 5000, "!!bool maybe", "!!timestamp x")
MERGES = "a0: &a0 {x: 1}\n" + "\n".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, 30)
)


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
        (MERGES, "a mapping with all merged into it has more than 100000 entries"),
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


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml, "MAX_BYTES", 10)
    with pytest.raises(TrigemuError, match="larger than 10 bytes"):
        yaml.load(write(tmp_path, "A: 123456789"))
