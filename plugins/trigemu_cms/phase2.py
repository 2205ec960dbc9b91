"""Conversion of a menu of the CMS Phase-2 Level-1 tools (YAML) into a menu in TOML with the same decisions.

A seed becomes a trigger of the kind `combination`; with a mask that contains |, it becomes several of these,
joined by `logic`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from trigemu.base import toml_text
from trigemu.base.errors import TrigemuError, quoted
from trigemu.base.toml import Document, Key, Problem
from trigemu.menus.menu import Menu
from trigemu.menus.read import FORMAT
from trigemu.triggers.combination.kind import MAX_LEGS

from . import yaml
from .l1 import read_back
from .phase2_expressions import parse_mask, parse_threshold
from .phase2_objects import OFFLINE_PT, Identified, ObjectFiles, Scaling, combination, read_scalings
from .phase2_windows import Alternatives, OfLeg, both

T = TypeVar("T")

_LEG = re.compile(r"leg\d")
_KEYS = ("cross_masks",)


@dataclass(frozen=True)
class LeftOut:
    """A seed that cannot be imported, and why."""

    name: str
    line: int
    reason: str


@dataclass(frozen=True)
class Imported:
    """The result of an import. toml: the text of the menu; menu: the menu in it. seeds: the number of its
    seeds. objects: the number of object definitions that they use."""

    toml: str
    menu: Menu
    seeds: int
    objects: int
    left_out: tuple[LeftOut, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Seed:
    name: str
    legs: tuple[Identified, ...]
    alternatives: Alternatives
    combinations: tuple[Mapping[str, Any], ...]
    texts: tuple[str, ...]


def import_cms_phase2(path: Path, objects: Path, scalings: Path | None = None) -> Imported:
    """Read and convert a menu whose objects are defined in a folder of YAML files. Seeds that cannot be
    imported are left out; TableError with all mistakes, each with its line, if no seed can.

    scalings: a folder of files NAME:ID:RANGE.yaml with the constants of offline pT; by default, every object
    has the defaults of `Scaling`.
    """
    files = ObjectFiles.read(objects)
    document = yaml.load(path)
    reader = _SeedReader(document, files)
    seeds = [seed for name, table in document.data.items() if (seed := reader.seed(str(name), table))]
    if not seeds:
        document.problems += reader.problems
        document.finish()
        raise TrigemuError(f"{path}: no seeds")
    used: dict[str, Identified] = {}
    for leg in (leg for seed in seeds for leg in seed.legs):
        if used.setdefault(leg.name, leg) != leg:
            raise TrigemuError(f"{path}: two objects would be called {leg.name!r}: rename one of them")
    scaled = {leg.name for seed in seeds for leg in _offline(seed)}
    constants = {name: read_scalings(used[name], scalings) for name in scaled}
    text = "\n".join(_text(document, seeds, used, constants, reader.left_out))
    left_out, warnings = tuple(reader.left_out), tuple(reader.warnings)
    return Imported(text, read_back(text, path), len(seeds), len(used), left_out, warnings)


def _offline(seed: _Seed) -> Iterator[Identified]:
    """Yield the objects whose offline pT a seed cuts on."""
    for windows in seed.alternatives:
        for window in windows:
            if isinstance(window, OfLeg) and window.column == OFFLINE_PT:
                yield seed.legs[window.leg]


@dataclass
class _SeedReader:
    """Reads the seeds of a menu; mistakes are recorded in the document until the seed is left out."""

    document: Document
    files: ObjectFiles
    warnings: list[str] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def seed(self, name: str, table: Any) -> _Seed | None:
        seed = self._read(name, table)
        if problems := [*self.document.problems]:
            reasons = dict.fromkeys(problem.message.replace("\n", "; ") for problem in problems)
            self.left_out.append(LeftOut(name, problems[0].line, "; ".join(reasons)))
            self.problems += problems
            self.document.problems.clear()
        return seed

    def _read(self, name: str, table: Any) -> _Seed | None:
        where = f"seed {name!r}"
        if not name:
            self.document.problem((name,), where, "expected a name")
        if not isinstance(table, dict):
            self.document.problem((name,), where, "expected cross_masks and leg1, leg2, …")
            return None
        for key in table:
            if key not in _KEYS and not _LEG.fullmatch(str(key)):
                self.document.problem(
                    (name, key), where, f"unknown key {quoted(key)}: expected cross_masks, leg1 … leg9"
                )
        tables = {key: leg for key, leg in table.items() if _LEG.fullmatch(str(key))}
        if not 1 <= len(tables) <= MAX_LEGS:
            self.document.problem((name,), where, f"{len(tables)} legs: expected 1 to {MAX_LEGS}")
        numbers = {key: number for number, key in enumerate(tables)}
        legs: list[Identified] = []
        alternatives: Alternatives = ({},)
        texts: list[str] = []
        for key, leg in tables.items():
            identified, threshold = self._leg(leg, (name, key), where)
            if identified:
                legs.append(identified)
            if threshold:
                texts.append(f"{key}: {threshold}")
                parse = partial(parse_threshold, threshold, key, numbers)
                parsed = self._parsed(parse, (name, key, "threshold_cut"), where)
                alternatives = self._both(alternatives, parsed, (name, key), where)
        for i, mask in enumerate(self._masks(table.get("cross_masks"), name, where)):
            texts.append(mask)
            parsed = self._parsed(partial(parse_mask, mask, numbers), (name, "cross_masks", i), where)
            alternatives = self._both(alternatives, parsed, (name, "cross_masks", i), where)
        if self.document.problems:
            return None
        if not alternatives:
            self.document.problem((name,), where, "never fires: its conditions contradict each other")
            return None
        tables_ = self._parsed(lambda: [combination(legs, one) for one in alternatives], (name,), where)
        if tables_ is None:
            return None
        self._warn_of_twins(name, tables, legs)
        return _Seed(name, tuple(legs), alternatives, tuple(tables_), tuple(texts))

    def _parsed(self, parse: Callable[[], T], key: Key, where: str) -> T | None:
        try:
            return parse()
        except TrigemuError as error:
            self.document.problem(key, where, str(error))
            return None

    def _both(self, first: Alternatives, second: Alternatives | None, key: Key, where: str) -> Alternatives:
        if second is None:
            return first
        return self._parsed(lambda: both(first, second), key, where) or ()

    def _leg(self, leg: Any, path: Key, where: str) -> tuple[Identified | None, str | None]:
        obj = leg.get("obj") if isinstance(leg, dict) else None
        threshold = leg.get("threshold_cut") if isinstance(leg, dict) else None
        if not isinstance(obj, str):
            self.document.problem(
                path, where, f"{path[-1]}: expected obj: NAME:ID and threshold_cut: an expression"
            )
            return None, None
        for key in leg:
            if key not in ("obj", "threshold_cut"):
                self.document.problem((*path, key), where, f"{path[-1]}: unknown key {quoted(key)}")
        if threshold is not None and not isinstance(threshold, str):
            message = (
                f"{path[-1]}: threshold_cut: {quoted(threshold)}: expected an expression, such as pt > 5"
            )
            self.document.problem((*path, "threshold_cut"), where, message)
            threshold = None
        try:
            return self.files.identified(obj), threshold
        except TrigemuError as error:
            self.document.problem((*path, "obj"), where, f"{path[-1]}: {error}")
            return None, threshold

    def _masks(self, masks: Any, name: str, where: str) -> list[str]:
        if masks is None:
            return []
        if not isinstance(masks, list) or not all(isinstance(mask, str) for mask in masks):
            self.document.problem((name, "cross_masks"), where, "cross_masks: expected a list of expressions")
            return []
        return masks

    def _warn_of_twins(self, name: str, tables: Mapping[str, Any], legs: list[Identified]) -> None:
        """Warn about legs that may be the same object in the tools, which require distinct objects only for
        legs with the same text."""
        texts = [leg["obj"] for leg in tables.values()]
        keys = list(tables)
        for j in range(len(legs)):
            for i in range(j):
                if texts[i] != texts[j] and legs[i].collection == legs[j].collection:
                    self.warnings.append(
                        f"{name}: {keys[i]} ({texts[i]}) and {keys[j]} ({texts[j]}) are different objects "
                        f"here; in the tools one {legs[i].collection} may be both"
                    )


# ------------------------------------------------------------------------------------------- TOML


def _text(
    document: Document,
    seeds: list[_Seed],
    used: Mapping[str, Identified],
    constants: Mapping[str, Mapping[str, Scaling]],
    left_out: list[LeftOut],
) -> Iterator[str]:
    yield toml_text.comment(f"From {document.path.name} (sha256 {document.sha256[:16]}…).")
    name = re.sub(r"\W+", "_", document.path.stem)
    yield toml_text.table("[menu]", {"name": name, "format": FORMAT})
    yield toml_text.comment(
        "Cuts of an id apply within ranges of |η|. A range does not include its ends: at |η| = 0, at an end "
        "that two ranges share and above the last one fewer cuts apply, or none. Numbers such as 0.12999999 "
        "are the cuts in the comments above them, rounded to float32."
    )
    for name in sorted(used):
        yield _object(used[name], constants.get(name))
    for seed in seeds:
        yield from _triggers(seed)
    for out in left_out:
        yield toml_text.comment(f"Left out: {out.name} (line {out.line} of the YAML): {out.reason}.")


def _object(identified: Identified, scalings: Mapping[str, Scaling] | None) -> str:
    cuts = "".join(
        toml_text.comment(f"{range_}: {text}") for range_, texts in identified.cuts.items() for text in texts
    )
    entries = identified.table(scalings)
    scaled = entries.pop("scaled", None)
    text = cuts + toml_text.table(f"[objects.{identified.name}]", entries)
    return text + (toml_text.table(f"[objects.{identified.name}.scaled]", scaled) if scaled else "")


def _triggers(seed: _Seed) -> Iterator[str]:
    comment = "".join(map(toml_text.comment, seed.texts))
    if len(seed.combinations) == 1:
        yield comment + toml_text.table("[[trigger]]", {"name": seed.name, **seed.combinations[0]})
        return
    stem = re.sub(r"\W", "_", seed.name)
    names = [f"{stem}_{number}" for number in range(1, len(seed.combinations) + 1)]
    expression = " or ".join(names)
    yield comment + toml_text.table(
        "[[trigger]]", {"name": seed.name, "kind": "logic", "expression": expression}
    )
    for name, entries in zip(names, seed.combinations, strict=True):
        yield toml_text.table("[[trigger]]", {"name": name, "enabled": False, **entries})
