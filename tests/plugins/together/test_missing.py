"""Messages if the package of a plugin that comes with trigemu is not installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Place
from project import ROOT

from trigemu.api import Plugin
from trigemu.base.plugins import NAMES, PARTS, PROVIDED, declared

#: Runs commands in a process in which some packages cannot be imported.
RUN = """
import json, sys
sys.modules.update(dict.fromkeys(json.loads(sys.argv[1])))
from click.testing import CliRunner
from trigemu.cli.commands import cli
results = [CliRunner().invoke(cli, command, prog_name="trigemu") for command in json.loads(sys.argv[2])]
print(json.dumps([(result.exit_code, result.output) for result in results]))
"""
GOALS = """
[goals]
rate_hz = 1e6
[[channel]]
sample = "s"
[[vary]]
triggers = ["J30"]
above = { min = 20, max = 60 }
[live]
min = 0.95
rules = "cms"
"""
CARD = 'name = "AD"\nkind = "{}"\ncard = "card.toml"\nabove = 0.0\n'


def declared_by(plugin: str) -> Plugin:
    return declared((ROOT / "plugins" / f"trigemu_{plugin}" / "__init__.py").read_bytes())


USES = [(name, other) for name in sorted(NAMES) for other in declared_by(name).uses]
#: A command for which a plugin needs what it uses.
NEEDING = {
    ("cms", "anomaly"): ("import", "cms-l1", "m.xml", "-o", "new.toml", "--network", "axo=card.toml"),
    ("cms", "pages"): ("check", "--all", ".", "--html", "page.html"),
    ("cms", "validation"): ("check", "--help"),
    ("decade", "anomaly"): ("run", "decade.toml", "--samples", "catalogue.toml"),
    ("firmware", "anomaly"): ("firmware", "--help"),
    ("hls4ml", "anomaly"): ("import", "hls4ml", "--help"),
    ("optimise", "live"): (
        "optimise",
        "menu.toml",
        "goals.toml",
        "-o",
        "new.toml",
        "--samples",
        "with-signal.toml",
    ),
    ("latency", "anomaly"): ("bench", "menu.toml", "--samples", "catalogue.toml", "--events", "10"),
}


def without(plugins: list[str], *commands: tuple[str, ...]) -> list[tuple[int, str]]:
    """The statuses of commands, and what they say, where the packages of some plugins are missing."""
    inputs = json.dumps([f"trigemu_{name}" for name in plugins]), json.dumps(commands)
    done = subprocess.run([sys.executable, "-c", RUN, *inputs], capture_output=True, text=True, check=True)
    return [
        (status, " ".join(message.split())) for status, message in json.loads(done.stdout.splitlines()[-1])
    ]


def test_the_core_lists_its_packages() -> None:
    folders = {file.parent.name for file in (ROOT / "plugins").glob("*/__init__.py")}
    assert folders == {f"trigemu_{name}" for name in NAMES}
    for part in PARTS:
        brought = {name: plugin for plugin in NAMES for name in getattr(declared_by(plugin), part)}
        assert brought == PROVIDED.get(part, brought), part


def test_requested_names_belong_to_a_package(place: Place) -> None:
    """Those of nothing do not, and the core runs without any."""
    catalogue = (place.folder / "catalogue.toml").read_text()
    commands: dict[tuple[str, str], tuple[str, ...]] = {}
    for name in PROVIDED["formats"]:
        place.write(f"{name}.toml", f'{catalogue}\nformat = "{name}"\n')
        commands["formats", name] = ("samples", f"{name}.toml")
    for name in PROVIDED["kinds"]:
        place.write(f"{name}.toml", f"[[trigger]]\n{CARD.format(name)}")
        commands["kinds", name] = ("check-menu", f"{name}.toml")
    pair = (
        'legs = [{ object = "jet" }, { object = "jet" }]\npairs = [{ legs = [0, 1], deta = { max = 1 } }]'
    )
    trigger = f'[[trigger]]\nname = "T"\nkind = "combination"\n{pair}'
    place.write("integer.toml", f"[integer.jet]\npt = {{ first = 0.0, step = 0.5, bins = 9 }}\n{trigger}")
    commands["arithmetic", "integer"] = ("check-menu", "integer.toml")
    commands |= {("importers", name): ("import", name) for name in PROVIDED["importers"]}
    commands |= {("commands", name): (name,) for name in PROVIDED["commands"]}
    assert commands.keys() == {(part, name) for part, names in PROVIDED.items() for name in names}
    place.write("named.toml", f'[menu]\nplugins = ["decade"]\n[[trigger]]\n{CARD.format("decade")}')
    further = ("check-menu", "named.toml"), ("benhc",), ("run", "menu.toml", "--samples", "catalogue.toml")
    *result, named, nothing, core = without(sorted(NAMES), *commands.values(), *further)
    package = "plugin 'decade' comes with trigemu, but its package trigemu_decade is not installed"
    assert (named[0], package in named[1]) == (2, True), named
    assert (nothing[0], "package" in nothing[1]) == (2, False), nothing
    assert (core[0], "J30" in core[1]) == (0, True), core
    for (part, name), (status, text) in zip(commands, result, strict=True):
        plugin = PROVIDED[part][name]
        package = f"the plugin '{plugin}' provides it, and its package trigemu_{plugin} is not installed"
        assert (status, package in text) == (2, True), text


@pytest.mark.parametrize("used", sorted({used for _, used in USES}))
def test_plugins_without_one_that_they_use(place: Place, used: str) -> None:
    place.write("decade.toml", f"[[trigger]]\n{CARD.format('decade')}")
    place.write("goals.toml", GOALS)
    signal = '[[sample]]\nname = "s"\nrole = "signal"\nfiles = ["all.root"]\n'
    place.write("with-signal.toml", (place.folder / "catalogue.toml").read_text() + signal)
    commands = [NEEDING[pair] for pair in USES if pair[1] == used]
    for command, (status, text) in zip(commands, without([used], *commands), strict=True):
        assert status == 2, (command, text)
        assert f"it needs the plugin '{used}', and its package trigemu_{used} is not installed" in text
    assert not Path("page.html").exists()


def test_an_importer_needs_no_plugin_that_it_does_not_use() -> None:
    others = sorted(NAMES - {"cms"})
    ((status, text),) = without(others, ("import", "cms-l1", "--help"))
    assert (status, "--network" in text) == (0, True), text
