"""The page as a widget, in a real browser, with a model that stands for the notebook's."""

from __future__ import annotations

import json
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest
from toys import memory_catalogue, menu_from, toy_events
from trigemu_pages import Explorer, make_explorer

from trigemu.api import MissingExtraError

MENU = """
[menu]
name = "toy"

[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = 30.0

[[trigger]]
name = "G"
kind = "threshold"
observable = "photon[0].pt"
above = 12
"""
#: What anywidget does: it calls `render` with a model, and ends what that returns.
HOST = """<!doctype html>
<html lang="en"><title>notebook</title><body><div id="cell"></div>
<script type="application/json" id="values">{values}</script>
<script type="module">
{esm}
const values = JSON.parse(document.getElementById("values").textContent);
const listeners = new Map();
window.saved = 0;
window.model = {{
  get: (name) => values[name],
  set: (name, value) => {{ values[name] = value; }},
  save_changes: () => window.saved++,
  on: (name, listener) => listeners.set(name, listener),
  off: (name) => listeners.delete(name),
}};
window.fromPython = (name, value) => {{ values[name] = value; listeners.get(`change:${{name}}`)(); }};
const end = widget.render({{ model: window.model, el: document.getElementById("cell") }});
window.end = () => {{ end(); return listeners.size; }};
</script></body></html>
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Explorer:
    menu = menu_from(tmp_path_factory.mktemp("menu"), MENU)
    return make_explorer([menu], memory_catalogue({"a": toy_events(1, 300)}), "1.0", vary={"J": (20, 80)})


@pytest.fixture
def widget(page: Explorer) -> Any:
    pytest.importorskip("anywidget")
    return page.to_widget(height=700)


def test_a_widget_has_the_page(page: Explorer, widget: Any) -> None:
    assert (widget.html, widget.height, widget.address, widget.toml) == (page.html, 700, "", "")
    assert {"html", "height", "address", "toml", "_esm"} <= set(widget.get_state())


def test_without_anywidget_it_says_how_to_install_it(page: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "trigemu_pages.explorer.widget", raising=False)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingExtraError, match=r'^to_widget\(\) needs .* pip install "trigemu\[widget\]"$'):
        page.to_widget()


@pytest.fixture
def cell(widget: Any, tmp_path: Path) -> Iterator[chromium.Page]:
    """A tab with the widget in it."""
    if not chromium.PROGRAM:
        pytest.skip("chromium is not installed (Debian: chromium)")
    values = {name: getattr(widget, name) for name in ("html", "address", "toml", "height")}
    text = json.dumps(values).replace("</", "<\\/").replace("<!--", "<\\u0021--")
    esm = widget.get_state()["_esm"].replace("export default", "const widget =")
    file = tmp_path / "host.html"
    file.write_text(HOST.format(values=text, esm=esm), "utf-8")
    with chromium.browser(tmp_path / "profile") as tab:
        tab.open(file, 1280)
        yield tab


def waited(tab: chromium.Page, script: str) -> Any:
    """What an expression gives as soon as it is true."""
    for _ in range(200):
        if value := tab.value(script):
            return value
        time.sleep(0.05)
    raise AssertionError(f"never: {script}; {tab.complaints}")


def thresholds(tab: chromium.Page) -> dict[str, float]:
    menu = tomllib.loads(tab.value("model.get('toml')"))
    return {trigger["name"]: trigger["above"] for trigger in menu["trigger"]}


@pytest.mark.slow
def test_the_state_of_the_page_and_of_the_widget_are_one(cell: chromium.Page) -> None:
    """First the menu as written; then a threshold that Python moves."""
    waited(cell, "window.saved")
    assert thresholds(cell) == {"J": 30.0, "G": 12}
    assert cell.value("model.get('address')").startswith("A=toy")
    cell.value("window.saved = 0; fromPython('address', 'A=toy;J:t50')")
    waited(cell, "window.saved")
    assert thresholds(cell) == {"J": 50.0, "G": 12}
    assert "J:t50" in cell.value("model.get('address')")
    assert cell.value("document.querySelector('iframe').offsetHeight") == 700
    cell.value("fromPython('height', 500)")
    assert cell.value("document.querySelector('iframe').offsetHeight") == 500
    assert [text for text in cell.complaints if "asks for blob:" not in text] == []
    assert cell.value("document.querySelector('iframe').contentDocument === null"), (
        "the page sees the notebook"
    )
    assert cell.value("end()") == 0
