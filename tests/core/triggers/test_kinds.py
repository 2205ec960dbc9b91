"""Kinds by name: those of the core, and those of plugins that a menu names or that come with trigemu."""

from __future__ import annotations

from pathlib import Path

import pytest
from plugin_toys import write

from trigemu.base.errors import PluginError
from trigemu.base.plugins import CORE, find
from trigemu.triggers.base import BitKind, Kind, Kinds

pytestmark = pytest.mark.usefixtures("forget")
NO_KINDS = (
    r"provides no kinds: it needs PLUGIN = Plugin\(kinds=\{'name': '\.module:Kind', …\}\), or a table KINDS"
)


def with_kinds(name: str, folder: Path) -> Kinds:
    kinds = Kinds([folder])
    kinds.add(find(name, [folder]))
    return kinds


def test_those_of_the_core_need_no_plugin() -> None:
    kinds = Kinds()
    for name in CORE.declared().kinds:
        assert issubclass(kinds[name], Kind | BitKind)
    assert set(kinds) >= set(CORE.declared().kinds)
    assert kinds.used == {}
    with pytest.raises(KeyError):
        kinds["no such kind"]


@pytest.mark.parametrize(
    "source",
    ["KINDS = {'mine': Mine, 'bits': Bits}", "PLUGIN = Plugin(kinds={'mine': ':Mine', 'bits': ':Bits'})"],
)
def test_those_of_a_plugin_that_a_menu_names(tmp_path: Path, source: str) -> None:
    write(
        tmp_path / "one.py",
        "from trigemu.api import BitKind, Kind, Plugin\n"
        f"class Mine(Kind, frozen=True): ...\nclass Bits(BitKind, frozen=True): ...\n{source}\n",
    )
    kinds = with_kinds("one", tmp_path)
    assert (issubclass(kinds["mine"], Kind), issubclass(kinds["bits"], BitKind)) == (True, True)
    assert kinds.used == {"one": find("one", [tmp_path])}
    assert "mine" not in Kinds([tmp_path])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", NO_KINDS),
        ("KINDS = {}", NO_KINDS),
        ("KINDS = ['mine']", NO_KINDS),
        ("KINDS = {'mine': int}", NO_KINDS),
        ("PLUGIN = Plugin(kinds={'mine': ':int_'})\nint_ = int", NO_KINDS),
    ],
)
def test_a_plugin_without_kinds(tmp_path: Path, source: str, message: str) -> None:
    imported = "from trigemu.api import Plugin\n" if "Plugin(" in source else ""
    file = write(tmp_path / "bad.py", imported + source)
    with pytest.raises(PluginError, match=message) as error:
        with_kinds("bad", tmp_path)
    assert str(error.value).startswith(f"plugin 'bad' ({file})")


def test_a_kind_that_there_is_already(tmp_path: Path) -> None:
    write(tmp_path / "one.py", "from trigemu.api import Kind\nclass Mine(Kind): ...\nKINDS = {'logic': Mine}")
    with pytest.raises(PluginError, match="plugin 'one' redefines the kind 'logic'"):
        with_kinds("one", tmp_path)
