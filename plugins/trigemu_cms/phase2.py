"""Conversion of a menu of the CMS Phase-2 Level-1 tools (YAML) into a menu in TOML with the same decisions.

A seed becomes a trigger of the kind `combination`; with a mask that contains |, it becomes several of these,
joined by `logic`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trigemu.base import toml_text
from trigemu.base.errors import TrigemuError
from trigemu.base.toml import Document, Key, Problem, TomlTable, read_table
from trigemu.menus.read import FORMAT

from . import yaml
from .imported import Imported, LeftOut, read_back
from .phase2_expressions import parse_condition
from .phase2_objects import OFFLINE_PT, Identified, ObjectFiles, Scaling, combination, read_scalings
from .phase2_windows import Alternatives, OfLeg, both


class _LegTable(TomlTable, frozen=True):
    obj: str
    threshold_cut: str | None = None


class _SeedTable(TomlTable, frozen=True):
    """A seed in the YAML, which has its legs in any order."""

    cross_masks: tuple[str, ...] = ()
    leg0: _LegTable | None = None
    leg1: _LegTable | None = None
    leg2: _LegTable | None = None
    leg3: _LegTable | None = None
    leg4: _LegTable | None = None
    leg5: _LegTable | None = None
    leg6: _LegTable | None = None
    leg7: _LegTable | None = None
    leg8: _LegTable | None = None
    leg9: _LegTable | None = None

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if not any(getattr(self, leg) for leg in _LEGS):
            yield (), "0 legs: expected leg1, leg2, …"


_LEGS = tuple(name for name in _SeedTable.__struct_fields__ if name.startswith("leg"))


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
    files = ObjectFiles(objects)
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

    def seed(self, name: str, content: Any) -> _Seed | None:
        seed = self._read(name, content)
        if problems := [*self.document.problems]:
            reasons = dict.fromkeys(problem.message.replace("\n", "; ") for problem in problems)
            self.left_out.append(LeftOut(name, None, problems[0].line, "; ".join(reasons)))
            self.problems += problems
            self.document.problems.clear()
        return seed

    def _read(self, name: str, content: Any) -> _Seed | None:
        document, where = self.document, f"seed {name!r}"
        content = yaml.shallow(content, 2)
        table = read_table(document, content, _SeedTable, (name,), where)
        if table is None:
            return None
        legs: dict[str, _LegTable] = {key: getattr(table, key) for key in content if key in _LEGS}
        numbers = {key: number for number, key in enumerate(legs)}
        objects: list[Identified] = []
        conditions: list[tuple[Key, str, str]] = []
        for key, leg in legs.items():
            with yaml.noted(document, (name, key, "obj"), where, f"{key}: "):
                objects.append(self.files.identified(leg.obj))
            if leg.threshold_cut:
                conditions.append(((name, key, "threshold_cut"), leg.threshold_cut, key))
        conditions += [((name, "cross_masks", i), mask, "") for i, mask in enumerate(table.cross_masks)]
        alternatives: Alternatives = ({},)
        for place, text, key in conditions:
            with yaml.noted(document, place, where):
                alternatives = both(alternatives, parse_condition(text, numbers, key))
        if document.problems:
            return None
        with yaml.noted(document, (name,), where):
            if not name:
                raise TrigemuError("expected a name")
            if not alternatives:
                raise TrigemuError("never fires: its conditions contradict each other")
            combinations = tuple(combination(objects, one) for one in alternatives)
            self._warn_of_twins(name, [leg.obj for leg in legs.values()], [*legs], objects)
            texts = tuple(f"{key}: {text}" if key else text for _, text, key in conditions)
            return _Seed(name, tuple(objects), alternatives, combinations, texts)
        return None

    def _warn_of_twins(self, name: str, texts: list[str], keys: list[str], legs: list[Identified]) -> None:
        """Warn about legs that may be one object in the tools, where their texts differ."""
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
        yield toml_text.comment(out.sentence(" of the YAML"))


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
