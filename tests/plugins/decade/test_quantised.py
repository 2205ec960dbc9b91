"""Autoencoders in integers: the file computes what was trained."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest
from trigemu_anomaly.fixed_point import ApFixed
from trigemu_anomaly.models import open_model
from trigemu_decade.training import quantised
from trigemu_decade.training.autoencoder import Network, fit, initial_layers
from trigemu_decade.training.config import AutoencoderTable, read_config
from trigemu_decade.training.quantised import Arithmetic

from trigemu import TrigemuError

CONFIG = """
[training]
menu = "menu.toml"
requires = "n_photon >= 1"
unique_rate_hz = 1.0

[autoencoder]
hidden = [6, 3, 6]
epochs = 20
log = ["ht", "jet[0].pt", "photon[0].pt"]
variational = VARIATIONAL

[[autoencoder.inputs]]
observables = ["n_jet", "ht"]

[[autoencoder.inputs]]
observables = ["jet[0].pt", "jet[0].eta", "dphi(jet[0], mht)"]
padding = 0.0

[[autoencoder.inputs]]
observables = ["photon[0].pt", "photon[0].eta", "dphi(photon[0], mht)"]
padding = 0.0

[autoencoder.quantise]
weights = 5
activations = 6

[autoencoder.quantise.words]
n_jet = { highest = 7 }
ht = { highest = 1023 }
pt = { step = 0.5, highest = 511 }
"photon[0].pt" = { step = 0.5, highest = 255 }
eta = { step = 0.0625, lowest = -64, highest = 63 }
phi = { bins = 64 }

[quantile]
x = ["jet[0].pt"]
"""
BLOCKS = [(0, 2, False), (2, 5, True), (5, 8, True), (8, 9, False)]
Floats = npt.NDArray[np.float32]


def table_of(folder: Path, variational: bool) -> AutoencoderTable:
    path = folder / "train.toml"
    path.write_text(CONFIG.replace("VARIATIONAL", str(variational).lower()))
    table = read_config(path, quantise=True).table.autoencoder
    assert table
    return table


def events(n: int) -> Floats:
    """n_jet, HT, a jet, a photon and φ of MHT, of which some are beyond the ends of their words."""
    random = np.random.default_rng(3)
    pt = random.exponential(80.0, (n, 3))
    angles = random.uniform(-np.pi, np.pi, (n, 3))
    angles[: n // 4, 1] = angles[: n // 4, 2] + np.pi  # back to back
    eta = random.normal(0.0, 3.0, (n, 2))
    jet, photon = (np.column_stack([pt[:, i], eta[:, i], angles[:, i]]) for i in (0, 1))
    jet[random.random(n) < 0.4], photon[random.random(n) < 0.4] = 0.0, 0.0
    columns = random.integers(0, 12, n), 5.0 * pt[:, 2], jet, photon, angles[:, 2]
    return np.column_stack(columns).astype(np.float32)


@pytest.mark.parametrize("variational", [False, True])
def test_the_file_gives_the_score_of_what_was_trained(tmp_path: Path, variational: bool) -> None:
    table, x = table_of(tmp_path, variational), events(3000)
    texts = [text for block in table.inputs for text in block.observables]
    assert texts[-2:] == ["photon[0].phi", "phi(mht)"]
    assert table.quantise
    encoding = quantised.encode(x, np.ones(len(x)), texts, BLOCKS, table, table.quantise)
    z, present = encoding.apply(x)
    assert (z[~present] == 0.0).all()
    assert set(np.unique(present.sum(axis=1))) == {2, 5, 8}
    arithmetic = Arithmetic(table.quantise, variational)
    trained = fit(
        z, present, np.ones(len(x)), table, seed=1, learns=np.arange(len(x)) < 2000, output=arithmetic.dense
    )
    assert trained.curve[-1].test < trained.curve[0].test
    layers = [*zip(trained.network.weights, trained.network.biases, strict=True)]
    output = np.asarray(arithmetic.dense(layers, jnp.asarray(z)), np.float64)
    if variational:
        expected = np.floor(output**2 * 256).clip(max=2**14 - 1).sum(axis=1) / 256
    else:
        squares = np.floor(((output - z) * present) ** 2 * 16 + 0.5).clip(max=1023).sum(axis=1)
        factors = np.floor(1024 / present.sum(axis=1) + 0.5).clip(max=511)
        expected = np.floor(squares * factors / 16) / 1024
    content = quantised.integer_network(trained.network, encoding, arithmetic)
    np.testing.assert_array_equal(open_model(content, x.shape[1]).score(x), expected)
    assert len(np.unique(expected)) > 50


def test_weights_beyond_their_type_saturate(tmp_path: Path) -> None:
    table, x = table_of(tmp_path, variational=True), events(200)
    texts = [text for block in table.inputs for text in block.observables]
    assert table.quantise
    encoding = quantised.encode(x, np.ones(len(x)), texts, BLOCKS, table, table.quantise)
    arithmetic = Arithmetic(table.quantise, variational=True)
    layers = [(50.0 * w, b) for w, b in initial_layers((8, 6, 3), np.random.default_rng(1))]
    network = Network(*zip(*((np.asarray(w), np.asarray(b)) for w, b in layers), strict=True))
    output = np.asarray(arithmetic.dense(layers, jnp.asarray(encoding.apply(x)[0])), np.float64)
    content = quantised.integer_network(network, encoding, arithmetic)
    score = open_model(content, x.shape[1]).score(x)
    np.testing.assert_array_equal(score, np.floor(output**2 * 256).clip(max=2**14 - 1).sum(axis=1) / 256)


def test_the_gradient_passes_through_the_rounding() -> None:
    kind = ApFixed(4, 2)  # −2 to 1.75 in steps of 0.25
    values = jnp.array([0.3, -1.13, 5.0, -3.0])
    np.testing.assert_array_equal(quantised.rounded(values, kind), [0.25, -1.25, 1.75, -2.0])
    gradient = jax.grad(lambda v: quantised.rounded(v, kind).sum())(values)
    np.testing.assert_array_equal(gradient, [1.0, 1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ht = { highest = 1023 }\n", "", r"words has no entry for the input 'ht'"),
        ("bins = 64", "bins = 60", "bins = 60: expected a power of two"),
        ("dphi(photon[0], mht)", "dphi(photon[0], met)", "all to the same momentum"),
        ("phi = { bins = 64 }", "phi = { highest = 63 }", "bins are for angles, and angles need bins"),
        ("highest = 1023", "lowest = -1, highest = 1023", "words of 'ht': a logarithm needs lowest = 0"),
        ("weights = 5", "weights = 2", "weights"),
        ("[autoencoder.quantise", "[autoencoder.quantize", "quantize"),
    ],
)
def test_mistakes(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "train.toml"
    text = CONFIG.replace("VARIATIONAL", "false")
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(TrigemuError, match=message):
        read_config(path, quantise=True)


def test_quantise_needs_words(tmp_path: Path) -> None:
    path = tmp_path / "train.toml"
    path.write_text(
        CONFIG.replace("VARIATIONAL", "false").split("[autoencoder.quantise]")[0] + "[quantile]\nx = ['ht']\n"
    )
    assert read_config(path).table.autoencoder
    with pytest.raises(TrigemuError, match=r"train.toml: --quantise needs the words of the inputs"):
        read_config(path, quantise=True)
