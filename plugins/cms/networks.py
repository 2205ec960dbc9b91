"""Networks that compute the scores of algorithms, such as AXOL1TL for AXO."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trigemu.api import Context, TrigemuError, load_toml, nearest, read_scope
from trigemu_anomaly import IntegerNetwork, open_scorer

from .cms_l1_grammar import SCORES


@dataclass(frozen=True)
class ScoreNetwork:
    """The network of a score. signal: a key of SCORES; card: its absolute path; name: that of the network;
    step: of its score."""

    signal: str
    card: str
    name: str
    step: float

    def is_model(self, model: str) -> bool:
        """Whether it is this version, `v5`, of the network; "" for any."""
        return not model or self.name.lower().endswith(f"_{model.lower()}")


def read_network(text: str) -> ScoreNetwork:
    """Read a network, NAME=CARD as in `axo=axol1tl_v5.toml`; raise TrigemuError if the card has mistakes."""
    name, separator, file = text.partition("=")
    signal = name.strip().upper()
    if not separator or signal not in SCORES:
        hint = nearest(name, [score.lower() for score in SCORES])
        raise TrigemuError(f"--network {text}: expected NAME=CARD, such as axo=axol1tl_v5.toml{hint}")
    card = Path(file)
    empty = Context(read_scope(load_toml(card, lambda path: b"")), card.parent)
    network = open_scorer(empty, card.name, None).network
    if not isinstance(network, IntegerNetwork):
        raise TrigemuError(f"--network {text}: is no integer network, as `trigemu import hls4ml` writes them")
    return ScoreNetwork(signal, card.resolve().as_posix(), network.name, network.step)
