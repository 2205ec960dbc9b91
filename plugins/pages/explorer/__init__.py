"""The explorer page: menus whose thresholds, prescales and switches can be changed, with all rates. It is one
HTML file that needs no server.

in: `Menu`s as they are written, a `Catalogue`
out: HTML
"""

from .make import Explorer, make_explorer, samples_passed

__all__ = ["Explorer", "make_explorer", "samples_passed"]
