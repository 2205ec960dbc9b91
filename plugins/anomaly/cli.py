"""The command `trigemu anomaly card`."""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import click

from trigemu.api import (
    Context,
    TrigemuError,
    check_outputs,
    load_toml,
    parse_tree,
    quoting,
    read_bounded,
    read_scope,
    say,
    toml_text,
    write_text,
)

from .card import MAX_BYTES
from .network import Network
from .onnx_graph import read_graph

#: The first lines of a card: what its author has to add.
_HEAD = """\
# Written by `trigemu anomaly card`. Complete it where a comment begins with "Add".

{description}
# Add above what the score measures and how the model was trained.

# Add the selections that the inputs were computed with, as in a menu. Without them jet, n_jet, ht … are of
# all objects of a sample:
# [objects.jet]
# from = "jet"
# pt = {{ min = 20.0 }}

# Add the training events, from which no rates are then computed:
# [trained_on]
# catalogue = "embedded"
# files = ["sha256 of each file"]
# half = "training"

"""
_PADDING = "# Add padding = 0.0 if the training replaced missing values. Without it, an event needs {}.\n"
#: The number of objects that the summary names.
_NAMED = 4


@click.group("anomaly")
def command() -> None:
    """Describe the model of an anomaly trigger."""


@command.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--inputs",
    "texts",
    multiple=True,
    required=True,
    metavar="NAMES",
    help="The inputs in their order, separated by commas, as in the observable language: "
    "'n_jet, ht, jet[0].pt'; repeatable.",
)
@click.option(
    "-o", "--output", "file", type=click.Path(path_type=Path), required=True, help="The new card (TOML)."
)
def card(model: Path, texts: tuple[str, ...], file: Path) -> None:
    """Write a card for MODEL, an ONNX file with one score per event, for the kind `anomaly`.

    The model is checked as when a menu uses it. The card can be used at once. Its comments ask for what only
    the author of the model knows: the selection of objects, values that replace missing ones, the training
    events.
    """
    check_outputs([file], [model])
    inputs = _inputs(texts, file)
    content = read_bounded(model, MAX_BYTES)
    try:
        Network(content, len(inputs))
    except TrigemuError as error:
        raise TrigemuError(f"{model} {error}".replace("the card names", "--inputs names")) from None
    read, score = _names(content)
    sha256 = hashlib.sha256(content).hexdigest()
    blocks = [(key, [text for text, _ in group]) for key, group in groupby(inputs, lambda item: item[1])]
    write_text(file, _card(_relative(model, file.parent), sha256, score, blocks))
    for line in _summary(file, f"{len(inputs)} inputs in {read!r}, score {score!r} of {model}", blocks):
        say(line)


def _inputs(texts: Sequence[str], file: Path) -> list[tuple[str, str]]:
    """Return each input with the objects that it needs; raise TrigemuError for what a card cannot have."""
    context = Context(read_scope(load_toml(file, lambda path: b"")), file.parent)
    inputs = []
    for text in texts:
        with quoting(text):
            tree = parse_tree(text)
        for node in tree.elts if isinstance(tree, ast.Tuple) else [tree]:
            objects = (ast.unparse(part) for part in ast.walk(node) if isinstance(part, ast.Subscript))
            written = ast.unparse(node)
            context.observable(written)
            inputs.append((written, ", ".join(dict.fromkeys(objects))))
    return inputs


def _relative(model: Path, folder: Path) -> Path:
    """Return the path of a model as a card in a folder gives it."""
    try:
        str(model).encode()
    except UnicodeEncodeError:
        raise TrigemuError(f"{model}: a card is UTF-8 and cannot have this name: rename the file") from None
    return Path(os.path.relpath(model, folder))


def _names(content: bytes) -> tuple[str, str]:
    """Return the names of the input and the output of a model that was checked."""
    graph = read_graph(content)
    return next(i.name for i in graph.inputs if i.name not in graph.weights), graph.outputs[0].name


def _card(model: Path, sha256: str, output: str, blocks: Sequence[tuple[str, list[str]]]) -> str:
    description = toml_text.entry("description", f"The output {output!r} of {model.name}.")
    parts = [toml_text.table("[network]", {"file": model.as_posix(), "sha256": sha256})]
    for objects, observables in blocks:
        block = toml_text.table("[[network.inputs]]", {"observables": observables})
        parts.append(block + (_PADDING.format(objects) if objects else ""))
    return _HEAD.format(description=description) + "\n".join(parts)


def _summary(file: Path, what: str, blocks: Sequence[tuple[str, list[str]]]) -> list[str]:
    objects = [*dict.fromkeys(objects for objects, _ in blocks if objects)]
    named = ", ".join(objects[:_NAMED]) + f" and {len(objects) - _NAMED} more" * (len(objects) > _NAMED)
    return [
        f"{file}: {what}. Add by hand, as its comments say:",
        "  description   what the score measures, and how the model was trained",
        "  [objects]     the selections of the training, and [sums]; now all objects of a sample",
        *([f"  padding       if the model takes events without {named}"] if objects else []),
        "  [trained_on]  the training events, from which no rates are computed",
        "Normalisation and masks are part of the model, which reads GeV and radians.",
        "",
        "A trigger with it, in a menu in the same folder:",
        "  [[trigger]]",
        '  name = "AD"',
        '  kind = "anomaly"',
        f"  card = {toml_text.value(file.name)}",
        "  total_rate_hz = 1000.0",
    ]
