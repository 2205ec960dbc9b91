"""Goals, and messages that name what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from optimise_toys import MENU, toy_samples, write_menu
from trigemu_live import live_fraction, read_filling, read_rules
from trigemu_optimise import Effort, Optimised, optimise

from trigemu import TrigemuError, read_menu

CHANNEL = "[[channel]]\nsample = 's'\n"
BASE = f"[goals]\nrate_hz = 1e5\n{CHANNEL}"
J30 = "[[vary]]\ntriggers = ['J30']\n"
VARY = f"{J30}above = {{ min = 10, max = 60, step = 5 }}\n"
J15 = "[[vary]]\ntriggers = ['J15']\nabove = {{ min = {}, max = 80 }}\n"
LIMIT = f"{BASE}{VARY}[[limit]]\n"
TIE = "[[tie]]\ntriggers = ['J30', 'J15']\n"
LIVE = f"{BASE}{VARY}[live]\n"


def optimised(folder: Path, goals: str, menu: str = MENU, hops: int = 0) -> Optimised:
    (folder / "goals.toml").write_text(goals)
    effort = Effort(starts=1, hops=hops, replicas=0, caps=0)
    return optimise(read_menu(write_menu(folder, menu)), folder / "goals.toml", toy_samples(), effort)


@pytest.mark.parametrize(
    ("goals", "messages"),
    [
        # of the file by itself
        ("", ["[goals] is missing", "goals.toml"]),
        ("[goals]\nrate_hz = 0\n", ["rate_hz"]),
        ("[goals]\nrate_hz = 1e3\nmerit = 'best'\n", ["merit", "'best'"]),
        ("[goals]\nrate_hz = 1e3\n", ["there is no [[channel]]"]),
        (BASE, ["there is no [[vary]]"]),
        (BASE + "[[chanel]]\nsample = 's'\n", ["unknown key 'chanel'", "channel"]),
        (BASE + CHANNEL + VARY, ["two channels are called 's'"]),
        (BASE + "channel = 3\n", [":5"]),
        (BASE + J30, ["nothing varies: expected above, prescale or switch"]),
        (BASE + J30 + "above = { min = 60, max = 10 }\n", ["min = 60, max = 10"]),
        (BASE + J30 + "above = { min = 0, max = 60, step = 0.1 }\n", ["gives 601 values, at most 255"]),
        (BASE + J30 + "prescale = [0.5]\n", ["prescale = [0.5]: expected a number >= 1"]),
        (LIMIT + "max_hz = 3\n", ["expected one of trigger, group and level"]),
        (LIMIT + "group = 'jets'\n", ["expected min_hz or max_hz"]),
        (LIMIT + "group = 'jets'\nmin_hz = 5\nmax_hz = 3\n", ["min_hz = 5 is above max_hz = 3"]),
        (BASE + VARY + "[[tie]]\ntriggers = ['J30']\n", ["two or more different triggers"]),
        (LIVE + "min = 2\nrules = 'cms'\n", ["min = 2"]),
        (LIVE + "min = 0.9\n", ["rules"]),
        # with the menu and the samples
        (LIVE + "min = 0.9\nrules = 'cmss'\n", ["rules 'cmss': expected a file"]),
        (LIVE + "min = 0.9\nrules = 'none.toml'\n", ["none.toml"]),
        (LIVE + "min = 0.9\nrules = 'cms'\nfilling = 'lhc'\n", ["filling 'lhc': expected a file"]),
        (BASE + VARY.replace("J30", "J31"), ["the menu 'toy' has no trigger 'J31'", "J30"]),
        (
            BASE + VARY.replace("J30", "MU"),
            ["[[vary]] MU: its kind 'combination' has no threshold", "leg_threshold"],
        ),
        (BASE + VARY + VARY, ["[[vary]] J30: above is given twice"]),
        (BASE.replace("'s'", "'z'") + VARY, ["unknown sample 'z'"]),
        (BASE.replace("'s'", "'a'") + VARY, ["channel 'a': 'a' is a background sample"]),
        (BASE + "require = 'met > 1e9'\n" + VARY, ["channel 's': no event of 's' fulfils 'met > 1e9'"]),
        (BASE + "require = 'nothing > 1'\n" + VARY, ["nothing"]),
        (LIMIT + "group = 'jet'\nmax_hz = 3\n", ["rate of group jet", "the enabled groups jets"]),
        (LIMIT + "level = 'L1'\nmax_hz = 3\n", ["rate of level L1", "the menu has no levels"]),
        (BASE + VARY + TIE, ["[[tie]] J15: its threshold does not vary, so it cannot equal"]),
        (BASE + VARY + TIE + "at_least = 10\n", ["a [[tie]] cannot be met: J15 at least 10 above J30"]),
        (BASE + VARY + J15.format(70) + TIE, ["no common value: J30 from 10 to 60, J15 from 70 to 80"]),
        (
            BASE + VARY + J15.format(10) + f"{TIE}at_least = 3\n"
            "[[tie]]\ntriggers = ['J15', 'J30']\nat_least = 3\n",
            ["a [[tie]] cannot be met", "J15", "J30"],
        ),
        (
            BASE + J30 + "above = { min = 30, max = 30 }\n",
            ["nothing varies: each has a single allowed value (J30 30): write these into the menu"],
        ),
        (
            BASE.replace("1e5", "10") + VARY,
            ["rate_hz = 10 is below the", "at its tightest", "J15 (", "do not vary: raise the cap"],
        ),
        (
            LIMIT + "trigger = 'J30'\nmin_hz = 1e8\n",
            ["[[limit]] on the rate of J30: min_hz = 1e+08, but at its loosest it is"],
        ),
        (
            LIMIT + "trigger = 'J30'\nquantity = 'unique'\nmin_hz = 1e8\n",
            ["no menu was found that meets all limits", "unique rate of J30 is", "below 100 MHz"],
        ),
    ],
)
def test_mistakes(tmp_path: Path, goals: str, messages: list[str]) -> None:
    with pytest.raises(TrigemuError) as error:
        optimised(tmp_path, goals)
    for message in messages:
        assert message in str(error.value)


def test_a_channel_that_no_trigger_accepts(tmp_path: Path) -> None:
    menu = MENU.replace("above = 40.0\nprescale = 2", "above = 400.0")
    with pytest.raises(TrigemuError, match="channel 's': no trigger accepts any of its events"):
        optimised(tmp_path, BASE + "require = 'n_jet == 0 and n_muon == 0'\n" + VARY, menu)


def test_disabled_triggers_need_a_switch(tmp_path: Path) -> None:
    menu = MENU.replace('group = "jets"', 'group = "jets"\nenabled = false', 1)
    with pytest.raises(TrigemuError, match=r"\[\[vary\]\] J30: the menu disables it"):
        optimised(tmp_path, BASE + VARY, menu)
    result = optimised(tmp_path, BASE.replace("1e5", "1e9") + VARY + "switch = true\n", menu, hops=1)
    assert result.menu.trigger("J30").enabled  # without a cap that matters, more is better
    assert not result.written.trigger("J30").enabled


def test_a_floor_on_the_live_fraction_caps_the_rate(tmp_path: Path) -> None:
    """The rate at which simple dead time of CMS's rules leaves that fraction, at the menu's crossing rate."""
    live = '[live]\nmin = 0.99\nrules = "cms"\nfilling = "lhc-2018-2544"\n'
    (limit,) = optimised(tmp_path, BASE.replace("1e5", "1e9") + VARY + live).summary.limits
    rules, filling = read_rules("cms"), read_filling("lhc-2018-2544")
    assert limit.name == "rate for 99 % live"
    assert limit.max_hz is not None
    assert limit.fitted_hz <= limit.max_hz
    at_cap = live_fraction(rules, filling, filling.crossing_rate_hz / 40e6 * limit.max_hz)
    assert at_cap.value == pytest.approx(0.99, abs=3 * at_cap.error + 0.001)
