"""The commands `trigemu anomaly`: cards that menus read, digests, and scores beside those of an author."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet as parquet
import pytest
import xgboost
from commands import place as place, root_file as root_file, trigemu as trigemu
from onnx_toys import linear
from toys import CATALOGUE, menu_from

from trigemu import event_table

Run = Callable[..., tuple[int, str]]
TRIGGER = '[[trigger]]\nname = "AD"\nkind = "anomaly"\ncard = "card.toml"\n'


def written(place: Any, trigemu: Run, content: bytes, *inputs: str, name: str = "m.onnx") -> dict[str, Any]:
    (place.folder / name).write_bytes(content)
    options = [word for text in inputs for word in ("--inputs", text)]
    status, text = trigemu("anomaly", "card", name, *options, "-o", "card.toml")
    assert status == 0, text
    return tomllib.loads((place.folder / "card.toml").read_text()) | {"printed": text}


def test_what_a_card_says(place: Any, trigemu: Run) -> None:
    """One block an object, in the order of the inputs, whatever the options; nothing is guessed."""
    content = linear([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    text = "n_jet,dphi(jet[0],mht)", "jet[0].eta, m(jet[0], jet[1]),photon[0].pt , ht/ 2"
    card = written(place, trigemu, content, *text, name='a "model".onnx')
    digest = hashlib.sha256(content).hexdigest()
    blocks = [
        ["n_jet"],
        ["dphi(jet[0], mht)", "jet[0].eta"],
        ["m(jet[0], jet[1])"],
        ["photon[0].pt"],
        ["ht / 2"],
    ]
    assert card["network"] == {
        "file": 'a "model".onnx',
        "sha256": digest,
        "inputs": [{"observables": block} for block in blocks],
    }
    assert card["description"] == "The output 'y' of a \"model\".onnx."
    assert {*card} == {"description", "network", "printed"}
    assert "6 inputs in 'x', score 'y' of a \"model\".onnx" in card["printed"]
    for asked in ("description", "[objects]", "padding", "[trained_on]"):
        assert f"\n  {asked} " in card["printed"]
    assert "without jet[0], jet[0], jet[1], photon[0]" in card["printed"]


def test_the_comments_can_be_made_keys(place: Any, trigemu: Run) -> None:
    """Without their signs they are read, and change the score."""
    written(place, trigemu, linear([1.0, 1.0]), "n_jet", "jet[0].pt")
    file = place.folder / "card.toml"
    text = file.read_text().replace("# Add padding = 0.0 if", "padding = 0.0 # if")
    head, rest = text.split("# [objects.jet]")
    objects, rest = rest.split("\n\n", 1)
    training = rest[rest.index("# [trained_on]") :].split("\n\n", 1)
    uncommented = f"[objects.jet]{objects}\n\n{training[0]}\n\n".replace("\n# ", "\n").replace("# [tr", "[tr")
    file.write_text(f"{head}{uncommented}{training[1]}")
    card = tomllib.loads(file.read_text())
    assert card["objects"] == {"jet": {"from": "jet", "pt": {"min": 20.0}}}
    assert {*card["trained_on"]} == {"catalogue", "files", "half"}
    (trigger,) = menu_from(place.folder, f"{TRIGGER}above = 1.0\n").triggers
    assert trigger.name == "AD"
    assert card["network"]["inputs"][1]["padding"] == 0.0


def test_a_model_in_another_folder(place: Any, trigemu: Run) -> None:
    (place.folder / "models").mkdir()
    (place.folder / "cards").mkdir()
    place.folder.joinpath("models/m.onnx").write_bytes(linear([1.0]))
    for name in ("models/m.onnx", str(place.folder / "models" / "m.onnx")):
        status, text = trigemu("anomaly", "card", name, "--inputs", "met", "-o", "cards/card.toml")
        assert status == 0, text
        card = tomllib.loads((place.folder / "cards" / "card.toml").read_text())
        assert card["network"]["file"] == "../models/m.onnx"
    menu_from(place.folder, f"{TRIGGER.replace('card.toml', 'cards/card.toml')}above = 1.0\n")


@pytest.mark.parametrize(
    ("content", "inputs", "told"),
    [
        (linear([1.0]), "met, ht", "m.onnx reads 1 features an event, but --inputs names 2 inputs"),
        (linear([1.0]), "met > 3", "'met > 3' is a condition"),
        (linear([1.0]), "met; ht", "column 4"),
        (linear([1.0]), "__import__('os')", "unknown function '__import__'"),
        (b"junk", "met", "m.onnx is not an ONNX model"),
        (None, "met", "m.onnx: No such file"),
    ],
)
def test_nothing_is_written_after_a_mistake(
    place: Any, trigemu: Run, content: bytes | None, inputs: str, told: str
) -> None:
    if content is not None:
        (place.folder / "m.onnx").write_bytes(content)
    place.write("card.toml", "kept")
    status, text = trigemu("anomaly", "card", "m.onnx", "--inputs", inputs, "-o", "card.toml")
    assert status == 2
    assert text.startswith("trigemu: ")
    assert told in text
    assert len(text.splitlines()) == 1
    assert (place.folder / "card.toml").read_text() == "kept"


def test_what_a_file_of_xgboost_says_of_itself(place: Any, trigemu: Run) -> None:
    """Trees after the best iteration, and names that are not those of the inputs."""
    x = np.random.default_rng(1).normal(size=(500, 2))
    data = xgboost.DMatrix(x, x[:, 0] > 0, feature_names=["sumet", "f1"])
    booster = xgboost.train({"objective": "binary:logistic", "nthread": 1}, data, 5)
    booster.set_attr(best_iteration="2")
    printed = written(place, trigemu, bytes(booster.save_raw("json")), "ht, met", name="m.json")["printed"]
    assert "m.json has 5 trees, of which the first 3 are used" in printed
    assert "m.json names its inputs, and --inputs gives for them: sumet = ht, f1 = met" in printed
    menu = menu_from(place.folder, f"{TRIGGER}above = 0\n").path
    status, text = trigemu("run", str(menu), "--samples", "all.root")
    assert status == 0
    assert "m.json has 5 trees, of which the first 3 are used" in " ".join(text.split())


def test_the_selections_of_a_menu_become_those_of_a_card(place: Any, trigemu: Run) -> None:
    place.write(
        "objects.toml",
        '[objects.jet]\nfrom = "jet"\npt = { min = 30.0 }\n[objects.hard]\nfrom = "jet"\nany_of = [{ pt = { '
        'min = 50.0 } }]\n[sums.ht]\nof = ["jet"]\n',
    )
    (place.folder / "m.onnx").write_bytes(linear([1.0, 1.0]))
    options = "--inputs", "ht, n_hard", "--objects-from", "objects.toml"
    status, text = trigemu("anomaly", "card", "m.onnx", *options, "-o", "card.toml")
    assert (status, "[objects]" in text) == (0, False), text
    read = (tomllib.loads((place.folder / name).read_text()) for name in ("card.toml", "objects.toml"))
    card, menu = read
    assert [card["objects"], card["sums"]] == [menu["objects"], menu["sums"]]


def test_digests_are_renewed_up_to_the_menu(place: Any, trigemu: Run) -> None:
    """A changed model changes its card, that the card above it, and that the menu; files in any order."""
    written(place, trigemu, linear([1.0]), "met")
    above = '[score]\ncard = "card.toml"\nsha256 = "old"\n[quantile]\nfile = "m.onnx"\nsha256 = \'\' # q\n'
    place.write("above.toml", above)
    menu = f'{TRIGGER}sha256 = "" # old\nabove = 0.0\n'
    place.write("menu.toml", menu)
    (place.folder / "m.onnx").write_bytes(content := linear([2.0]))
    status, text = trigemu("anomaly", "sign", "menu.toml", "above.toml", "card.toml")
    assert (status, text.count("as they are now")) == (0, 3), text
    digest = hashlib.sha256(content).hexdigest()
    of_card = hashlib.sha256((place.folder / "card.toml").read_bytes()).hexdigest()
    assert tomllib.loads((place.folder / "card.toml").read_text())["network"]["sha256"] == digest
    expected = above.replace("old", of_card).replace("''", f'"{digest}"')
    assert (place.folder / "above.toml").read_text() == expected
    assert (place.folder / "menu.toml").read_text() == menu.replace('""', f'"{of_card}"')
    status, text = trigemu("anomaly", "sign", "menu.toml", "above.toml", "card.toml")
    assert (status, text.strip()) == (0, "All have the sha256 of the files that they name.")
    (place.folder / "m.onnx").unlink()
    assert trigemu("anomaly", "sign", "card.toml")[0] == 2
    (place.folder / "card.toml").write_bytes(b'a = "\xff"')
    assert trigemu("anomaly", "sign", "card.toml")[0] == 2


def test_inputs_and_scores_beside_those_of_the_author(place: Any, trigemu: Run) -> None:
    written(place, trigemu, linear([1.0, -2.0]), "met", "jet[0].pt")
    samples = "--samples", "catalogue.toml", "--sample", "all"
    assert trigemu("anomaly", "inputs", "card.toml", "-o", "inputs.parquet", *samples)[0] == 0
    file = place.folder / "inputs.parquet"
    events = parquet.read_table(file).to_pydict()
    rows = [i for i, value in enumerate(events["score"]) if value > -math.inf][:200]
    mine = {name: [column[i] for i in rows] for name, column in events.items()}
    scores = [a - 2.0 * b for a, b in zip(mine["met"], mine["jet[0].pt"], strict=True)]
    parquet.write_table(pyarrow.table(mine | {"score": scores}), file)
    command = "anomaly", "verify", "card.toml", "inputs.parquet", *samples
    status, text = trigemu(*command)
    assert (status, "200 events, their scores and 2 of the inputs" in text) == (0, True), text
    scores[7] += 1.0
    mine["met"][9] *= 2.0
    parquet.write_table(pyarrow.table(mine | {"score": scores}), file)
    status, text = trigemu(*command)
    assert status == 1
    assert [line.split()[:2] for line in text.splitlines() if line[:1] in "sm"] == [
        ["score", "1"],
        ["met", "1"],
    ]
    parquet.write_table(pyarrow.table({"id": [1, 10**9], "score": [0.0, 0.0]}), file)
    status, text = trigemu(*command)
    assert (status, "event 1000000000 is not among those of all" in text) == (2, True), text
    parquet.write_table(pyarrow.table({"id": [1], "score": ["high"]}), file)
    status, text = trigemu(*command)
    assert (status, "the column 'score' is not one of numbers" in text) == (2, True), text
    file.with_name("m.onnx").write_bytes(b"trained again")
    status, text = trigemu(*command)
    begin = f"trigemu: {place.folder}/card.toml:20: "
    assert (status, text.startswith(begin), "anomaly sign" in text) == (2, True, True), text


def test_scores_are_compared_at_one_rate(place: Any, trigemu: Run) -> None:
    written(place, trigemu, linear([1.0]), "ht")
    place.write("second.toml", (place.folder / "card.toml").read_text().replace('"ht"', '"met"'))
    place.write("J.toml", '[[trigger]]\nname = "J"\nkind = "threshold"\nobservable = "ht"\nabove = 300.0\n')
    signal = '[[sample]]\nname = "tt"\nrole = "signal"\nfiles = ["all.root"]\n'
    place.write("two.toml", CATALOGUE + signal)
    command = "anomaly", "compare", "--samples", "two.toml", "--rate"
    status, text = trigemu(*command, "4e6", "card.toml", "second.toml")
    assert status == 0, text
    (line,) = (line.split() for line in text.splitlines() if line.startswith("tt "))
    for name, share, error in zip(("card", "second"), line[1::4], line[3::4], strict=True):
        place.write("menu.toml", f"{TRIGGER.replace('card.toml', f'{name}.toml')}total_rate_hz = 4e6\n")
        arrays = event_table(place.folder / "menu.toml", "two.toml", samples=["tt"]).arrays()
        weight, fired = arrays["weight"] / arrays["weight"].sum(), arrays["fired_AD"]
        assert float(share) == pytest.approx(100 * weight[fired].sum(), abs=0.01)
        spread = np.sqrt(((weight * (fired - weight[fired].sum())) ** 2).sum())
        assert float(error) == pytest.approx(100 * spread, abs=0.01)
    beside = "--menu", "J.toml", "--requires", "n_photon >= 1"
    status, text = trigemu(*command, "1e5", "second.toml", *beside)
    assert (status, "threshold" in text) == (0, True), text
