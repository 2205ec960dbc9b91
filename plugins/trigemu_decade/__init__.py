"""DECADE: anomaly triggers that do not re-select the events of other triggers (arXiv:2508.10224).

An autoencoder gives the score y of an event; Y(x) is the (1 − q) quantile of y given the primary observables
x. An event passes if y − Y(x) is above a threshold, 0 by construction: the same fraction q of background
passes at every value of the observables that other triggers cut on. docs/explanation/decade.md describes the
method; `decade.py` is the kind.
"""

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    kinds={"decade": ".decade:Decade"},
    commands={"decade": ".cli:command"},
    sections={"decade": ".report:sections"},
    uses=("anomaly",),
)
