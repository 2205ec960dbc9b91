"""Values on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fuzzing.edits import NUMBERS, TEXTS, as_json
from fuzzing.formats.base import Files, Format, command
from fuzzing.formats.menus import PLAIN, write_sample

#: Command → what it needs, and the options that are drawn.
_COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "run": (
        ("menu.toml",),
        ("--pileup", "--luminosity", "--errors", "--column", "--prescales", "--json", "--csv", "--samples"),
    ),
    "compare": (("menu.toml", "menu.toml"), ("--json", "--samples", "--errors")),
    "scan": (("menu.toml", "--trigger", "T0"), ("--values", "--steps", "--trigger", "--json")),
    "rates-vs": (("menu.toml", "n_jet"), ("--bins", "--trigger", "--json")),
    "efficiency": (
        ("menu.toml",),
        ("--sample", "--observable", "--bins", "--category", "--require", "--trigger"),
    ),
    "calibrate": (("menu.toml",), ("-o",)),
    "report": (("menu.toml", "-o", "page.html"), ("--scan", "-o", "--efficiency")),
    "samples": (("catalogue.toml",), ("--plots",)),
    "check-menu": (("menu.toml",), ("--samples", "--plugin-path")),
    "check-decisions": (("menu.toml", "all.root"), ("--match-bits", "--json")),
    "import": (("cms-l1", "menu.toml"), ("-o",)),
    "generate": (("menu.toml",), ("-o", "--workers")),
    "schema": ((), ("--plugin-path",)),
    "firmware": (("precision", "ap_fixed<8,4>"), ("--json",)),
}
_VALUES = (
    *TEXTS,
    *(str(n) for n in NUMBERS if abs(n) < 1e300 or n != n),
    *("0:100:5", "0:1e9:1e-9", "5:0:1", "0:nan:1", "0:10:0", "0,1,2", "T0=0:100:20", "T0=", "="),
    *("menu.toml", "catalogue.toml", "all.root", "new.json", "page.html", "http://127.0.0.1:1/x.toml"),
    *("all", "n_jet", "n_jet >= 1", "a" * 5000),
)


def _cases() -> st.SearchStrategy[Files]:
    def of(name: str) -> st.SearchStrategy[list[str]]:
        needed, options = _COMMANDS[name]
        given = st.lists(st.tuples(st.sampled_from(options), st.sampled_from(_VALUES)), max_size=3)
        samples = (
            []
            if name in ("samples", "check-decisions", "import", "generate", "schema", "firmware")
            else ["--samples", "catalogue.toml"]
        )
        return given.map(lambda pairs: [name, *needed, *samples, *(word for pair in pairs for word in pair)])

    words = st.sampled_from(sorted(_COMMANDS)).flatmap(of)
    replaced = st.builds(_replaced, words, st.floats(0, 1, exclude_max=True), st.sampled_from(_VALUES))
    return st.one_of(words, replaced).map(lambda made: {"words": as_json(made), "menu.toml": PLAIN.encode()})


def _replaced(words: list[str], place: float, value: str) -> list[str]:
    at = 1 + int(place * (len(words) - 1))
    return [*words[:at], value, *words[at + 1 :]]


def _use(folder: Path) -> Any:
    write_sample(folder)
    words = json.loads((folder / "words").read_bytes())
    if any("\0" in word for word in words):
        return None  # no shell can pass it
    before = {name: (folder / name).read_bytes() for name in ("all.root", "catalogue.toml", "menu.toml")}
    try:
        return command(*words)
    finally:
        for name, content in before.items():
            if (folder / name).read_bytes() != content:
                raise AssertionError(f"{words} changed {name}")


FORMATS = (Format("command-line values", _cases, _use),)
