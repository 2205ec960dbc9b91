"""Tuning of luminosity and fakes to the rates of the DECADE paper (arXiv:2508.10224), stated or derived.

Stage two is repeated on the same interactions, and trigemu itself computes its rates. The luminosity is
adjusted to the jet rate; probability and power of the fakes to the rates of hard photons and of any photon;
the busy factor to the share of crossings with two photons. The random numbers are the same in every step, so
few steps are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import msgspec

from trigemu.menus.read import read_menu
from trigemu.rates.menu_rates import run
from trigemu.rates.results import Rate
from trigemu.samples.opening import open_catalogue

from .config import Config, ConfigError

# Hz. The paper states the first two. Derived from it: its 1.35 kHz are 0.5 % of the crossings with a photon
# that pass neither of them, which makes 270 kHz (245 to 300, since 0.5 % has one digit); its 1.42 kHz are
# 0.5 % of all crossings with a photon only if its DECADE is exactly flat.
TARGETS = {"J100": 18.5e3, "G30": 3.28e3, "photon_alone": 270e3, "photon": 284e3}
# The rates of any photon and of photons without a primary trigger differ by less in this sample than these
# two targets, so both cannot be matched: with this target for the former, both deviate by the same fraction
# with opposite signs.
PHOTON_HZ = 278.6e3
TWO_PHOTON_SHARE = 0.02  # of the crossings with a photon; chosen, see docs/explanation/sample.md
# d ln(rate) / d power of any photon and of photons above 30 GeV: the mean of ln(pT / 20 GeV) of the jets that
# fake.
POWER_ANY, POWER_HARD = -0.5, 0.65
STEPS = 4


@dataclass(frozen=True, slots=True)
class Step:
    """A configuration and its rates."""

    config: Config
    rates: dict[str, Rate]

    @property
    def two_photon_share(self) -> float:
        """The fraction of the crossings with a photon that have two."""
        return self.rates["two_photons"].hz / self.rates["photon"].hz


def measure(catalogue: Path) -> dict[str, Rate]:
    """Return the rates of the triggers of tuning.toml."""
    menu = read_menu(Path(str(resources.files(__package__) / "tuning.toml")))
    result = run(menu, open_catalogue(catalogue))
    return {trigger.name: trigger.total for trigger in result.triggers}


def tune(config: Config, make: Callable[[Config], Path], report: Callable[[Step], None]) -> Config:
    """Return the tuned configuration; make(config) runs stage two and returns the catalogue."""
    if config.crossings is None:
        raise ConfigError(f"{config.name}: only a configuration with [crossings] can be tuned")
    for _ in range(STEPS):
        step = Step(config, measure(make(config)))
        report(step)
        config = improved(step)
    return config


def improved(step: Step) -> Config:
    """Return the next configuration, from logarithmic derivatives."""
    config, rates = step.config, step.rates
    for name, rate in rates.items():
        if not rate.hz > 0:
            raise ConfigError(
                f"{config.name}: no crossing passes {name!r} of the tuning menu; generate more blocks"
            )
    assert config.crossings is not None
    jets = TARGETS["J100"] / rates["J100"].hz
    # More luminosity gives more photons too; the fakes are adjusted to the remaining difference.
    any_, hard = (math.log(target / rate / jets) for target, rate in _photons(rates))
    power = (hard - any_) / (POWER_HARD - POWER_ANY)
    probability = math.exp(any_ - POWER_ANY * power)
    fakes = msgspec.structs.replace(
        config.fakes,
        probability=_digits(config.fakes.probability * probability),
        power=_digits(config.fakes.power + power),
    )
    busy = config.crossings.busy_factor * (TWO_PHOTON_SHARE / step.two_photon_share) ** 0.5
    most = 1.0 / config.crossings.busy_fraction if config.crossings.busy_fraction else 1.0
    crossings = msgspec.structs.replace(config.crossings, busy_factor=_digits(min(max(busy, 1.0), most)))
    return msgspec.structs.replace(
        config,
        luminosity_cm2s=_digits(config.luminosity_cm2s * jets),
        fakes=fakes,
        crossings=crossings,
    )


def tuning_table(step: Step) -> str:
    """Return the four rates and their targets, and the parameters that give them, as lines of text."""
    config, lines = step.config, [f"{'':14}{'target':>8}   here (kHz)"]
    assert config.crossings is not None
    for name, target in TARGETS.items():
        rate = step.rates[name]
        lines.append(
            f"{name:14}{target / 1e3:8.2f}   {rate.hz / 1e3:.3f} ± {rate.error_hz / 1e3:.3f}"
            f"   {100 * (rate.hz / target - 1):+.1f} %"
        )
    lines.append(f"{'two photons':14}{'':8}   {100 * step.two_photon_share:.2f} % of crossings with a photon")
    lines += [
        f"luminosity_cm2s = {config.luminosity_cm2s:g}",
        f"fakes.probability = {config.fakes.probability:g}, power = {config.fakes.power:g}",
        f"crossings.busy_factor = {config.crossings.busy_factor:g}",
    ]
    return "\n".join(lines)


def _photons(rates: dict[str, Rate]) -> list[tuple[float, float]]:
    return [(PHOTON_HZ, rates["photon"].hz), (TARGETS["G30"], rates["G30"].hz)]


def _digits(value: float) -> float:
    return float(f"{value:.3g}")
