"""Replicas: what `decade train --replicas` writes and what `decade check --replicas` makes of it."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest
from decade_toys import AD_MENU, TRAINING as CONFIG, TRAINING_MENU as OTHERS, command
from trigemu_decade.check import scored_events
from trigemu_decade.diagnostics import diagnose
from trigemu_decade.replicas import read_replicas

from trigemu import (
    Profile,
    TrigemuError,
    efficiencies,
    emulate,
    open_catalogue,
    read_menu,
)

BARE = '[[trigger]]\nname = "AD"\nkind = "anomaly"\ncard = "{}"\ntotal_rate_hz = 2.0e6\n'
PROFILES = """
[profile]
menus = ["others.toml", "bare.toml", "menu.toml"]
samples = ["yy"]

[[observable]]
expression = "met"
bins = "0:100:50"
"""


@pytest.fixture
def place(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(trained)
    Path("menu.toml").write_text(menu_of("own"))
    (score,) = Path("own").glob("decade-*/autoencoder.toml")
    Path("bare.toml").write_text("[menu]\n" + OTHERS + BARE.format(score))
    Path("profiles.toml").write_text(PROFILES)
    return trained


def menu_of(folder: str) -> str:
    return AD_MENU.format(folder)


def test_a_replica_is_what_its_seed_gives(place: Path) -> None:
    """Byte by byte; the configuration has seed 1."""
    own, first = (
        {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}
        for folder in (place / "own", place / "set/1")
    )
    assert own == first
    halves = [
        tomllib.loads((place / f"set/{n}/decade.toml").read_text())["trained_on"].get("half")
        for n in (1, 2, 3)
    ]
    assert halves == [None, "evaluation", None]
    assert (place / "set/3/decade.toml").read_bytes() != (place / "set/1/decade.toml").read_bytes()


def test_models_of_both_halves_leave_no_unseen_event(place: Path) -> None:
    both = menu_of("set/1") + menu_of("set/2").removeprefix(OTHERS).replace('"AD"', '"AD2"')
    Path("both.toml").write_text(both)
    with pytest.raises(TrigemuError, match=r"both halves of toy.*no event is unseen"):
        emulate(read_menu("both.toml"), open_catalogue("catalogue.toml"))


def test_each_is_checked_as_if_it_were_the_only_one(place: Path) -> None:
    status, text = command(
        "check", "menu.toml", "--samples", "catalogue.toml", "--replicas", "set", "--json", "all.json",
        "--efficiency", "profiles.toml", "--figures", "figures",
    )  # fmt: skip
    assert status == 0, text
    assert "3 replicas" in text
    result = json.loads(Path("all.json").read_text())
    catalogue = open_catalogue("catalogue.toml")
    shares, gained = [], []
    for number in (1, 2, 3):
        Path("one.toml").write_text(menu_of(f"set/{number}"))
        shares.append(diagnose(scored_events(read_menu("one.toml"), catalogue)).overlap.share.value)
        (score,) = Path(f"set/{number}").glob("decade-*/autoencoder.toml")
        Path("one_bare.toml").write_text("[menu]\n" + OTHERS + BARE.format(score))
        menus = ["others.toml", "one_bare.toml", "one.toml"]
        turnon = efficiencies(menus, catalogue, ["yy"], Profile("met", (0.0, 100.0))).turnons[0]
        gained.append([curve.overall.gain for curve in turnon.curves])
    numbers = result["numbers"]
    assert numbers["unique share, y − Y(x)"]["values"] == shares
    assert numbers["unique share, y − Y(x)"]["mean"] == pytest.approx(np.mean(shares))
    assert numbers["unique share, y − Y(x)"]["spread"] == pytest.approx(np.std(shares, ddof=1))
    for at, name in ((1, "bare"), (2, "menu")):
        expected = [gain[at] for gain in gained]
        assert numbers[f"all: gain of {name} over others"]["values"] == pytest.approx(expected, rel=1e-12)
    assert [replica["half"] for replica in result["replicas"]] == ["training", "evaluation", "training"]
    assert [file.name for file in Path("figures").iterdir()] == ["replicas_jet_0_pt.png"]


def test_what_cannot_be(place: Path) -> None:
    for arguments, message in (
        (("train", "train.toml", "--replicas", "0"), "0 is not in the range 1<=x<=1000"),
        (("check", "menu.toml", "--replicas", "none"), "none: no replicas: expected folders 1, 2, "),
        (("check", "menu.toml", "--efficiency", "profiles.toml"), "--efficiency is for --replicas"),
    ):
        status, text = command(*arguments, "--samples", "catalogue.toml")
        assert (status, message in " ".join(text.split())) == (2, True), text


def test_replicas_of_a_score_with_a_card(place: Path) -> None:
    """They differ in their seeds, and are fitted to the half that the score was trained on."""
    head, _, rest = CONFIG.partition("[autoencoder]")
    (card,) = Path("own").glob("decade-*/autoencoder.toml")
    rest = f"[quantile]{rest.partition('[quantile]')[2]}"
    Path("given.toml").write_text(f'{head}[score]\ncard = "own/none.toml"\n{rest}')
    given = ("train", "given.toml", "--replicas", "2", "--samples", "catalogue.toml", "-o", "given")
    status, text = command(*given)
    assert status == 2
    assert "own/none.toml: cannot read: No such file" in " ".join(text.split())
    Path("given.toml").write_text(f'{head}[score]\ncard = "{card}"\n{rest}')
    status, text = command(*given)
    assert status == 0, text
    one, two = read_replicas(Path("given"))
    assert one.half == two.half == "training"
    assert one.score.resolve() == two.score.resolve() == card.resolve()
    shutil.rmtree("given")


def test_an_incomplete_replica(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "set", tmp_path / "set")
    next((tmp_path / "set/2").glob("decade-*/metrics.json")).unlink()
    with pytest.raises(TrigemuError, match=r"set/2: not a complete replica"):
        read_replicas(tmp_path / "set")
