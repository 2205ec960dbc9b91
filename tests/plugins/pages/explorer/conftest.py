from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import chromium
import pytest
from explorer_page import MENU
from toys import memory_catalogue, menu_from, toy_events
from trigemu_pages import make_explorer

from trigemu import Menu


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    with chromium.browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(scope="module")
def menu(tmp_path_factory: pytest.TempPathFactory) -> Menu:
    return menu_from(tmp_path_factory.mktemp("menu"), MENU.format(name="toy <script>alert(1)</script>"))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, menu: Menu) -> Path:
    catalogue = memory_catalogue({"a": toy_events(1, 600)}, signals={"s": toy_events(3, 80)})
    path = tmp_path_factory.mktemp("page") / "toy.html"
    path.write_text(
        make_explorer([menu], catalogue, "1.0", vary={"J": (20, 80)}, signals=["s"]).html, "utf-8"
    )
    return path
