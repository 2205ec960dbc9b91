"""Networks that compute the scores of algorithms, such as AXOL1TL for AXO."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trigemu_anomaly.anomaly import open_scorer
from trigemu_anomaly.card import empty_context
from trigemu_anomaly.integer_network import IntegerNetwork

from trigemu.base.errors import TrigemuError, nearest

from .l1_grammar import SCORES

#: The networks that decide as CMS recorded, by name and by how the sha256 of their files begin: the menu, and
#: which of its test vectors. Two are called v5.
_COMPARED = {
    "GTADModel_v4": {"da38132ff8e4fe6f": "2025 v1.0.1 (vectors data and ttBar)"},
    "GTADModel_v5": {
        "3d71f23d79b7fbf7": "2025 v1.0.0 (vectors …_TestVector_data_000 and …_TestVector_ttBar_000)",
        "096ef216c193fd4d": "2025 v1.0.0 (vector TestVector_ttBar_000)",
    },
}


@dataclass(frozen=True)
class ScoreNetwork:
    """The network of a score. signal: a key of SCORES; card: its absolute path; name: that of the network;
    step: of its score; sha256: of the file with its weights."""

    signal: str
    card: str
    name: str
    step: float
    sha256: str

    @property
    def menu(self) -> str | None:
        """The menu in which it decides as recorded, if it was compared."""
        known = _COMPARED.get(self.name, {}).items()
        return next((menu for digest, menu in known if self.sha256.startswith(digest)), None)

    def warning(self) -> str | None:
        """Return a warning if networks of this name were compared with decisions, and not this one."""
        compared = _COMPARED.get(self.name)
        if not compared or self.menu:
            return None
        return (
            f"{self.name} of {self.card} has sha256 {self.sha256[:16]}…: the networks of this name that "
            f"decide as recorded have {' or '.join(f'{key}…, in {menu}' for key, menu in compared.items())}"
        )

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
    scorer = open_scorer(empty_context(card), card.name, None)
    network = scorer.model
    if not isinstance(network, IntegerNetwork):
        raise TrigemuError(f"--network {text}: is no integer network, as `trigemu import hls4ml` writes them")
    return ScoreNetwork(signal, card.resolve().as_posix(), network.name, network.step, scorer.sha256)
