"""Fitting the models of DECADE, on plain arrays; only what trains imports it: it needs the extra `train`."""
