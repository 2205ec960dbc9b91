"""The explorer page as a widget of notebooks (anywidget)."""

from __future__ import annotations

from importlib import resources

import anywidget
import traitlets


class ExplorerWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """The explorer page in the output of a notebook.

    html: the page. address: its state, as after the # of its address; a change moves the page. toml: the menu
    with the thresholds and prescales that the page shows. height: in pixels.
    """

    _esm = resources.files(__package__).joinpath("widget.js").read_text(encoding="utf-8")
    html = traitlets.Unicode().tag(sync=True)
    address = traitlets.Unicode().tag(sync=True)
    toml = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int(900).tag(sync=True)
