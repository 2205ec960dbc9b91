"""What a plugin declares, read from its source."""

from __future__ import annotations

import pytest

from trigemu.base.errors import PluginError
from trigemu.base.plugins import Plugin, declared

WHOLE = Plugin(
    kinds={"mine": ".kind:Mine"},
    formats={"lines": ":Lines"},
    importers={"other-menu": ".importing:convert"},
    commands={"greet": "some_package.cli:command"},
    sections={"more": ".report.sections:more"},
    uses=("other",),
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"from trigemu.api import Plugin\nPLUGIN = {WHOLE!r}", WHOLE),
        (f"PLUGIN: Plugin = {WHOLE!r}", WHOLE),
        (f"import trigemu.api as t\nPLUGIN = t.{WHOLE!r}", WHOLE),
        ("PLUGIN = Plugin()", Plugin()),
        ("PLUGIN = Plugin(kinds={'a': '.b:' + 'C'})\nPLUGIN = Plugin()", Plugin()),
        ("", Plugin()),
        ("KINDS = {'mine': Mine, 'bits': object()}", Plugin(kinds={"mine": ":KINDS", "bits": ":KINDS"})),
        ("KINDS: dict[str, type] = {'mine': Mine, NAME: Mine}", Plugin(kinds={"mine": ":KINDS"})),
        ("from .inner import KINDS", Plugin()),
        ("KINDS = {'mine': Mine}\nPLUGIN = Plugin(formats={'x': ':y'})", Plugin(formats={"x": ":y"})),
        ("def function():\n    PLUGIN = 3", Plugin()),
    ],
)
def test_what_is_declared(source: str, expected: Plugin) -> None:
    assert declared(source.encode()) == expected


def test_it_is_read_and_not_run() -> None:
    source = f"raise SystemExit('was run')\nimport no_such_package\nPLUGIN = {WHOLE!r}"
    assert declared(source.encode()) == WHOLE


PLACE = r"expected \{'name': '\.module:object'\}, a place in the plugin's own module `module`"
LITERALS = "must be written with literals: it is read, not run"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("3", r"PLUGIN must be Plugin\(kinds=\{…\}, …\), written with literals"),
        ("make", r"PLUGIN must be Plugin\(kinds=\{…\}, …\), written with literals"),
        ("Plugin({'mine': '.kind:Mine'})", r"PLUGIN must be Plugin\(kinds=\{…\}, …\), written with literals"),
        ("Plugin(kind={})", r"PLUGIN has an unknown part 'kind'; did you mean 'kinds'\?"),
        ("Plugin(**parts)", r"PLUGIN has an unknown part '\*\*'"),
        ("Plugin(kinds=KINDS)", f"kinds of PLUGIN {LITERALS}"),
        ("Plugin(kinds={'a': '.b:C', **more})", f"kinds of PLUGIN {LITERALS}"),
        ("Plugin(kinds={'a': open('f').read()})", f"kinds of PLUGIN {LITERALS}"),
        ("Plugin(kinds={{}: '.b:C'})", f"kinds of PLUGIN {LITERALS}"),
        ("Plugin(uses=('other', THIRD))", f"uses of PLUGIN {LITERALS}"),
        ("Plugin(commands=['greet'])", rf"commands of PLUGIN is \['greet'\], {PLACE}"),
        ("Plugin(kinds=None)", r"kinds of PLUGIN is None, expected"),
        ("Plugin(kinds={1: '.b:C'})", rf"kinds of PLUGIN is \{{1: '.b:C'\}}, {PLACE}"),
        ("Plugin(kinds={'a': 3})", rf"kinds of PLUGIN is \{{'a': 3\}}, {PLACE}"),
        ("Plugin(kinds={'a': 'kind'})", rf"kinds of PLUGIN is \{{'a': 'kind'\}}, {PLACE}"),
        ("Plugin(kinds={'a': '.kind:'})", rf"kinds of PLUGIN is \{{'a': '.kind:'\}}, {PLACE}"),
        ("Plugin(kinds={'a': '.kind:B.c'})", rf"kinds of PLUGIN is \{{'a': '.kind:B.c'\}}, {PLACE}"),
        ("Plugin(kinds={'a': '..kind:B'})", rf"kinds of PLUGIN is \{{'a': '..kind:B'\}}, {PLACE}"),
        ("Plugin(kinds={'a': '/tmp/kind:B'})", rf"kinds of PLUGIN is \{{'a': '/tmp/kind:B'\}}, {PLACE}"),
        ("Plugin(uses='other')", r"uses of PLUGIN is 'other', expected names of plugins: \('anomaly',\)"),
        ("Plugin(uses=(1,))", r"uses of PLUGIN is \(1,\), expected names of plugins"),
    ],
)
def test_what_cannot_be_declared(value: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        declared(f"PLUGIN = {value}".encode())


@pytest.mark.parametrize("source", [b"KINDS = [", b"\0", b"\xff", b"x = " + 10_000 * b"(" + 10_000 * b")"])
def test_what_is_no_python(source: bytes) -> None:
    with pytest.raises((SyntaxError, ValueError, MemoryError, RecursionError)):
        declared(source)
