"""DECADE: anomaly triggers that do not re-select what the others take (arXiv:2508.10224).

An autoencoder scores an event with y; Y(x) is the (1 − q) quantile of y given the primary observables x. The
trigger fires where y − Y(x) is above a cut, 0 by construction, and so takes the same fraction q of background
whatever the other triggers see. README.md tells the method; `decade.py` is the kind.
"""

from .decade import Decade

KINDS = {"decade": Decade}
