"""Integers of the hardware as inputs: from columns of the sample, and from GeV and radians."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from trigemu_anomaly.integer_file import FORMAT, Dense, Input, IntegerFile, Numbers, written

from trigemu import decisions
from trigemu.base.toml import TableError

SCALES = """
[integer.jet]
pt = { first = -0.5, step = 0.5, bins = 100 }
eta = { step = 0.1, centred = true }
phi = { bins = 32 }

[integer.met]
pt = { first = 0.0, step = 0.5, bins = 4096 }
phi = { bins = 16 }
"""
WHOLE = "ap_fixed<16,16>"
RANDOM = np.random.default_rng(5)
N = 400


def accepted(
    folder: Path, events: Any, inputs: str, chosen: int, above: float, tables: str = ""
) -> list[bool]:
    """Whether the chosen one of the inputs is above a value."""
    count = inputs.count(",") + 1
    weight = Numbers("ap_fixed<3,3>", [int(i == chosen) for i in range(count)])
    layer = Dense("score", WHOLE, "x", WHOLE, weight, Numbers("ap_fixed<3,3>", [0]))
    content = written(IntegerFile(FORMAT, "one of them", [Input("x", WHOLE, count), layer]))
    (folder / "model.json").write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    (folder / "card.toml").write_text(
        f'{tables}\n[network]\nfile = "model.json"\nsha256 = "{sha256}"\n[[network.inputs]]\n'
        f"observables = [{inputs}]\npadding = 0.0\n"
    )
    menu = folder / "menu.toml"
    menu.write_text(
        '[menu]\nname = "m"\nformat = 1\n[[trigger]]\nname = "N"\nkind = "network"\ncard = "card.toml"\n'
        f"above = {above}\n"
    )
    return decisions(menu, events)["N"].tolist()


def jets() -> Any:
    pt, eta = RANDOM.uniform(0, 60, N), RANDOM.uniform(-4, 4, N)
    phi = RANDOM.uniform(-math.pi, math.pi, N)
    return ak.zip({"pt": pt.astype("f4"), "eta": eta.astype("f4"), "phi": phi.astype("f4")})


@pytest.mark.parametrize("halved", [False, True])
@pytest.mark.parametrize("chosen", [0, 1, 2])
def test_integers_of_gev_and_radians(tmp_path: Path, chosen: int, halved: bool) -> None:
    objects = jets()
    pt, eta, phi = (np.asarray(objects[name], np.float64) for name in ("pt", "eta", "phi"))
    expected = [
        np.minimum(np.floor((pt + 0.5) / 0.5), 100) // (1 + halved),
        np.floor(eta / 0.1 + 0.5),
        np.floor(phi % (2 * math.pi) / (2 * math.pi / 32)),
    ][chosen]
    events = ak.Array({"jet": ak.unflatten(objects, 1)})
    inputs = '"jet[0].hw_pt", "jet[0].hw_eta", "jet[0].hw_phi"'
    scale = ']\nscale = "integer half"\n#' if halved else ""
    for cut in (-3, 4, 20):
        found = accepted(tmp_path, events, inputs + scale, chosen, cut + 0.5, SCALES)
        assert found == (expected > cut + 0.5).tolist()


def test_a_missing_object_is_the_padding_as_an_integer(tmp_path: Path) -> None:
    events = ak.Array({"jet": [[]]})
    events["jet"] = ak.values_astype(
        ak.zip({"pt": [[], [3.0]], "eta": [[], [0.0]], "phi": [[], [0.0]]}), "f4"
    )
    inputs = '"jet[0].hw_pt", "jet[0].hw_eta"'
    for chosen, above, expected in ((0, -0.5, True), (0, 0.5, False), (1, -0.5, True), (1, 0.5, False)):
        found = accepted(tmp_path, events, inputs, chosen, above, SCALES)
        assert found == [expected, expected or chosen == 0]


def test_columns_of_the_sample_without_a_scale(tmp_path: Path) -> None:
    integers = RANDOM.integers(0, 200, N)
    events = ak.Array({"jet": ak.unflatten(ak.zip({"pt": integers / 2 + 0.25, "hw_pt": integers}), 1)})
    found = accepted(tmp_path, events, '"jet[0].hw_pt"]\nscale = "integer half"\n#', 0, 49.5)
    assert found == (integers // 2 > 49.5).tolist()
    assert accepted(tmp_path, events, '"jet[0].hw_pt"', 0, 99.5) == (integers > 99.5).tolist()


def test_missing_et_is_a_number_per_event(tmp_path: Path) -> None:
    met = RANDOM.uniform(0, 50, N).astype("f4")
    phi = RANDOM.uniform(-math.pi, math.pi, N).astype("f4")
    events = ak.Array({"met": met, "met_phi": phi})
    inputs = '"met[0].hw_pt", "met[0].hw_phi"'
    expected = np.floor(met.astype("f8") / 0.5)
    assert accepted(tmp_path, events, inputs, 0, 40.5, SCALES) == (expected > 40.5).tolist()
    bins = np.floor(phi.astype("f8") % (2 * math.pi) / (2 * math.pi / 16))
    assert accepted(tmp_path, events, inputs, 1, 7.5, SCALES) == (bins > 7.5).tolist()


def test_a_scale_that_lacks_the_column(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"\[integer.met\] has no eta"):
        accepted(tmp_path, ak.Array({"met": [1.0]}), '"met[0].hw_eta"', 0, 0.5, SCALES)
