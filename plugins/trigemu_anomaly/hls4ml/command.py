"""`trigemu import hls4ml`"""

from __future__ import annotations

import hashlib
from pathlib import Path

import click

from trigemu.base import toml_text
from trigemu.base.errors import TrigemuError
from trigemu.base.files import check_outputs, read_bounded, write_bytes, write_text
from trigemu.cli.console import say

from .. import integer_file
from ..anomaly import open_scorer
from ..card import empty_context, input_blocks, input_tables, network_table
from .project import network_of
from .source import Source

_SETS = Path(__file__).parent / "inputs"
_MAX_BYTES = 2**20


@click.command("hls4ml")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "-o", "--output", "file", type=click.Path(path_type=Path), required=True, help="The new card (TOML)."
)
@click.option(
    "--inputs",
    required=True,
    metavar="INPUTS",
    help="What the network reads: axol1tl, axol1tl-simulated or cicada; a TOML file with "
    "[[network.inputs]]; or observables, separated by commas.",
)
def hls4ml(folder: Path, file: Path, inputs: str) -> None:
    """Convert FOLDER, the C++ of a network that hls4ml wrote, into a card for the kind `network`.

    The card names a file beside it, NAME.json, with layers, types and weights. Nothing in the folder is
    compiled or run.
    """
    model = file.with_suffix(".json")
    if model == file:
        raise TrigemuError(f"{file}: is the name of the network: let the card end with .toml")
    source = Source(folder)
    network = network_of(source)
    check_outputs([file, model], source.files.read)
    content, first = integer_file.written(network), network.layers[0]
    assert isinstance(first, integer_file.Input)
    description = toml_text.entry("description", f"{network.name}, a network that hls4ml wrote.")
    card = "\n".join([description, network_table(model, content, file), _inputs(inputs, file)])
    contents = {str(file.parent / file.name): card.encode(), str(file.parent / model.name): content}
    open_scorer(empty_context(file, contents), file.name, None)
    write_bytes(model, content)
    write_text(file, card)
    digest = hashlib.sha256(content).hexdigest()[:16]
    what = f"{network.name}, {first.size} inputs, {len(network.layers)} layers"
    say(f"{file}: {what}, in {model}, sha256 {digest}…")


def _inputs(inputs: str, file: Path) -> str:
    """Return the tables of a card that say what the network reads."""
    sets = {path.stem: path for path in _SETS.glob("*.toml")}
    path = sets.get(inputs) or (Path(inputs) if inputs.endswith(".toml") else None)
    if path:
        try:
            return read_bounded(path, _MAX_BYTES).decode()
        except (OSError, UnicodeDecodeError) as error:
            raise TrigemuError(f"--inputs {inputs}: cannot be read: {error}") from None
    try:
        return "\n".join(input_tables(input_blocks([inputs], empty_context(file))))
    except TrigemuError as error:
        raise TrigemuError(
            f"--inputs {error}; sets that come with trigemu: {', '.join(sorted(sets))}"
        ) from None
