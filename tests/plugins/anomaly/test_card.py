"""Model cards, right and wrong: every mistake is reported with file and line of the card."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from onnx_toys import linear, write_card
from trigemu_anomaly.anomaly import AnomalyCard, InputBlock
from trigemu_anomaly.card import Card, open_card

from trigemu.api import Context
from trigemu.base.toml import TableError
from trigemu.observables.selections import Scope, make_scope
from trigemu.triggers.base import TrainedOn

OBJECTS = """
description = "two numbers"

[objects.lead]
from = "jet"
pt = { min = 30.0 }

[trained_on]
catalogue = "toy"
files = ["aa", "bb"]
"""


@pytest.fixture
def menu_scope() -> Scope:
    return make_scope({}, {}, lambda key, message: pytest.fail(message))


def read(context: Context, sha256: str | None = None) -> Card[AnomalyCard]:
    card = open_card(context, "card.toml", sha256, AnomalyCard)
    for i, block in enumerate(card.table.network.inputs):
        for j, text in enumerate(block.observables):
            card.observable(text, ("network", "inputs", i, "observables", j))
    card.model(card.table.network, ("network",), bytes)
    return card


def test_content_of_a_card(tmp_path: Path, menu_scope: Scope) -> None:
    content = linear([1.0, 1.0])
    path = write_card(tmp_path, content, [(["lead[0].pt"], 0.0), (["met"], None)], OBJECTS)
    context = Context(menu_scope, tmp_path)
    card = read(context)
    assert card.document.path == path
    assert card.table.description == "two numbers"
    assert card.table.network.inputs == (InputBlock(("lead[0].pt",), 0.0), InputBlock(("met",)))
    assert card.context.folder == tmp_path
    assert card.context.scope.object("lead").windows[0][1].min == 30.0
    assert not menu_scope.has_object("lead")
    assert card.model(card.table.network, ("network",), bytes) == content


def test_the_menu_has_the_needs_of_the_card(tmp_path: Path, menu_scope: Scope) -> None:
    """The columns, the files that were read, and on what the model was trained."""
    path = write_card(tmp_path, linear([1.0, 1.0]), [(["lead[0].pt", "met"], None)], OBJECTS)
    context = Context(menu_scope, tmp_path)
    read(context)
    assert context.needs == {("jet", "pt"), ("", "met")}
    assert context.models == {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest(),
        str(tmp_path / "model.onnx"): hashlib.sha256(linear([1.0, 1.0])).hexdigest(),
    }
    assert context.trained == [TrainedOn(catalogue="toy", files=("aa", "bb"))]


def test_the_sha256_of_card_and_model_in_capitals(tmp_path: Path, menu_scope: Scope) -> None:
    path = write_card(tmp_path, linear([1.0]), [(["met"], None)])
    digest = hashlib.sha256(linear([1.0])).hexdigest()
    path.write_text(path.read_text().replace(digest, digest.upper()))
    read(Context(menu_scope, tmp_path), hashlib.sha256(path.read_bytes()).hexdigest().upper())


def test_another_model_than_the_card_means(tmp_path: Path, menu_scope: Scope) -> None:
    path = write_card(tmp_path, linear([1.0]), [(["met"], None)])
    (tmp_path / "model.onnx").write_bytes(linear([2.0]))
    with pytest.raises(TableError) as error:
        read(Context(menu_scope, tmp_path))
    (problem,) = error.value.problems
    line = next(i for i, text in enumerate(path.read_text().splitlines(), 1) if text.startswith("sha256"))
    assert (problem.file, problem.line) == (str(path), line)
    assert all(hashlib.sha256(linear([c])).hexdigest() in problem.message for c in (2.0, 1.0))


CARD = """\
[objects.lead]
from = "jet"
[sums.ht]
of = ["lead"]
[trained_on]
catalogue = "toy"
[network]
file = "model.onnx"
sha256 = "SHA"
[[network.inputs]]
observables = ["met", "lead[0].pt"]
padding = 0.0
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('"lead[0].pt"]', '\n"lead[0]"]', 12, "'lead[0]' is not a number"),
        ('"met"', '"met > 3"', 11, "'met > 3' is a condition"),
        ("[network]\n", "[network]\nengine = 'onnxruntime'\n", 8, "unknown key 'engine'"),
        ('file = "model.onnx"\n', "", 7, "'file' is missing"),
        ('"model.onnx"', '"absent.onnx"', 8, "absent.onnx: No such file"),
        ('"model.onnx"', '"."', 8, "Is a directory"),
        ("padding = 0.0", "padding = 1e39", 12, "infinite as a float32"),
        ('["met", "lead[0].pt"]', "[]", 10, "at least one input"),
    ],
)
def test_one_mistake(tmp_path: Path, menu_scope: Scope, old: str, new: str, line: int, message: str) -> None:
    assert old in CARD
    content = linear([1.0, 1.0])
    (tmp_path / "model.onnx").write_bytes(content)
    text = CARD.replace("SHA", hashlib.sha256(content).hexdigest()).replace(old, new)
    (tmp_path / "card.toml").write_text(text)
    with pytest.raises(TableError) as error:
        read(Context(menu_scope, tmp_path))
    assert all(problem.file == str(tmp_path / "card.toml") for problem in error.value.problems)
    assert [problem.line for problem in error.value.problems if message in str(problem)] == [line]


def test_all_mistakes_at_once(tmp_path: Path, menu_scope: Scope) -> None:
    text = CARD.replace('"met"', '"mett["').replace('["lead"]', "[]").replace("model.onnx", "no.onnx")
    (tmp_path / "card.toml").write_text(text)
    with pytest.raises(TableError) as error:
        read(Context(menu_scope, tmp_path))
    assert [problem.line for problem in error.value.problems] == [4, 8, 11]


def test_no_card(tmp_path: Path, menu_scope: Scope) -> None:
    """The message says what its path is relative to, also if the menu was found through a link."""
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(TableError) as error:
        read(Context(menu_scope, tmp_path / "link"))
    assert f"'card.toml' is relative to the folder of the menu, {tmp_path.resolve()}" in str(error.value)
    (tmp_path / "card.toml").write_text("")
    with pytest.raises(TableError, match="'network' is missing"):
        read(Context(menu_scope, tmp_path))
