"""Fitting the models of DECADE on plain arrays; needs the extra `train`, so only commands that train import it."""
