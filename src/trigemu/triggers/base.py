"""The contract of trigger kinds, and the kinds by their names in menus.

A kind is a frozen, picklable description made from its TOML table, with `compile(context)`. Anything that
cannot be pickled (a neural-network session, a loaded library) exists only in the result of `compile`.

    class AlphaT(ScoreKind, frozen=True):              # the fields are the keys of the TOML table
        object: str = "jet"
        def compile(self, context: Context) -> Compiled: ...

Compiled triggers that compare equal are evaluated only once, even if they come from different menus.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import msgspec

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.base.errors import PluginError, nearest, wrong_type
from trigemu.base.files import read_bounded
from trigemu.base.plugins import CORE, FoundPlugin, Plugin, providers
from trigemu.base.toml import TomlTable
from trigemu.observables.expressions import Condition, Constant, Number, Relation
from trigemu.observables.language import parse_condition, parse_observable
from trigemu.observables.selections import ObjectSelection, Scope
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Need, stored_need


class TrainedOn(TomlTable, frozen=True):
    """The events that a model was trained on: one half of the events in some files."""

    catalogue: str  #: Name of the catalogue.
    files: tuple[str, ...] = ()  #: sha256 of each file.
    #: The half: "training", or "evaluation" if the halves were exchanged.
    half: Literal["training", "evaluation"] = "training"


@dataclass(eq=False)
class Context:
    """The context in which a kind is compiled: the meaning of names in the menu, and the folder of its files.
    It records what a trigger needs and reads."""

    scope: Scope  #: Working collections and sums, by name
    folder: Path = Path()  #: Base of the relative paths in the menu or card
    contents: Mapping[str, bytes] = field(default_factory=dict)  #: Files that need not be read, by path
    needs: set[Need] = field(default_factory=set)  #: Columns of the sample that have been requested
    models: dict[str, str] = field(default_factory=dict)  #: sha256 of each model file that was read, by path
    trained: list[TrainedOn] = field(default_factory=list)  #: Training events of these models
    #: Conditions, and observables above their threshold, with their texts
    requirements: list[tuple[str, Condition]] = field(default_factory=list)

    def within(self, scope: Scope, folder: Path) -> Context:
        """Return the context of another file, whose names have the meaning in `scope` and whose paths are
        relative to `folder`. It records everything in this context too."""
        records = self.needs, self.models, self.trained, self.requirements
        return Context(scope, folder, self.contents, *records)

    def read(self, path: Path, longest: int | None = None) -> bytes:
        """Return the content of the file `path`, at most `longest` bytes; see `read_bounded`."""
        content = self.contents.get(str(path))
        return read_bounded(path, longest) if content is None else content

    def observable(self, text: str, above: float | None = None) -> Number:
        """Parse a number per event in the observable language from a `text`; raise TrigemuError for other
        texts. If the trigger fires where this number itself is above a threshold, `above` is it."""
        if not isinstance(text, str):
            raise wrong_type("the observable", text, "a text, such as 'jet[0].pt'")
        number = parse_observable(text, self.scope)
        self.needs.update(number.needs())
        if above is not None:
            self.requirements.append((text, Relation(">", number, Constant(above))))
        return number

    def condition(self, text: str) -> Condition:
        """Parse a condition in the observable language from a `text`; raise TrigemuError for other texts."""
        if not isinstance(text, str):
            raise wrong_type("the condition", text, "a text, such as 'n_jet >= 2'")
        condition = parse_condition(text, self.scope)
        self.needs.update(condition.needs())
        self.requirements.append((text, condition))
        return condition

    def objects(self, name: str, *columns: str) -> ObjectSelection:
        """Return the object selection with a `name`, and request some of its `columns`. A name that is not
        declared is a collection of the sample."""
        selection = self.scope.object(name)
        self.needs.update(selection.needs(*map(selection.column, columns)))
        return selection

    def stored(self, name: str) -> str:
        """Request the stored decision `name` of the sample, and return the name of its column of 0 and 1."""
        return self.scalar(stored_need(name)[1])

    def scalar(self, name: str) -> str:
        """Request the column `name` of the sample, with one value per event, and return the name."""
        self.needs.add(("", name))
        return name


class Compiled(ABC):
    """A trigger, ready to be evaluated on any range of events. A kind defines `threshold` and `evaluate`; the
    other members have a default that is right for every kind.

    Attributes
    ----------
    threshold : float or None
        The threshold on the score; None if `evaluate` gives decisions. Frozen dataclasses that differ only in
        this field are evaluated once.
    """

    threshold: float | None

    @property
    def margin(self) -> int:
        """The number of crossings before and after an event that the trigger reads, as rows of the same
        events if they exist (`Events.core`); decisions of rows at the ends are meaningless."""
        return 0

    @property
    def preselection(self) -> Condition | None:
        """The condition of the events that it is evaluated on; None: all events. It never fires in others.
        Override it for an expensive score, so that its cost on these events is shown."""
        return None

    @property
    def condition(self) -> Condition | None:
        """The condition under which it fires, in the observable language; None: another. Override it, so that
        single events are decided by machine code."""
        return None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings to show with the rates. Override it for problems that only the kind can recognise, such as
        a model trained on other events."""
        return ()

    @property
    def engine(self) -> str:
        """The programs that evaluate its models, to show with the rates; empty without a model. Override it
        for a kind with models."""
        return ""

    @property
    def objects_needed(self) -> tuple[str, ...]:
        """The objects without which an event has no score, such as "muon[1]". Override it to explain why a
        trigger never fires."""
        return ()

    @property
    def leg_objects(self) -> tuple[ObjectSelection, ...]:
        """The objects that satisfy its legs, a selection for each leg; empty if it fires on sums or scores of
        models. Override it for a kind with legs, so that its turn-on can be measured against other objects,
        matched to these."""
        return ()

    def sample_warnings(self, menu: Any, name: str, catalogue: Catalogue, executor: Any) -> Iterable[str]:
        """Return how the background of a `catalogue` differs from the events that a model was fitted to, in
        sentences; `menu` and `name` say of which trigger, and `executor` reads events as in `emulate`.
        Override it for a model whose card describes its training events."""
        return ()

    @abstractmethod
    def evaluate(self, work: Workspace) -> FloatArray | BoolArray:
        """Return the scores of all n events of a workspace, `work`, float64[n]: −inf if an event fails the
        preselection or has no value; or raw decisions, bool[n], if `threshold` is None. The trigger fires if
        the score is above the threshold; the score does not depend on it."""

    def score_above(self, work: Workspace, threshold: float) -> FloatArray:
        """Evaluate a trigger on the events of `work` if only scores above a `threshold` matter: a score that
        is not above it may be replaced by any number that is not, such as −inf. Override it if an upper bound
        of the score is cheap."""
        score: FloatArray = self.evaluate(work)  # type: ignore[assignment]  # of a kind with a threshold
        return score


class Kind(TomlTable, frozen=True):
    """Base class of kinds that evaluate events. The fields of a subclass are the keys of its TOML table."""

    def compile(self, context: Context) -> Compiled:
        """Return the trigger, ready to be evaluated, in a `context`: the meaning of names, and the folder of
        files. Raise TrigemuError if a part of the description is undefined there."""
        raise NotImplementedError


class ScoreKind(Kind, frozen=True, kw_only=True):
    """Base class of kinds that give a score. They fire above a threshold, which a rate budget may give."""

    #: The threshold on the score: the trigger fires above it. None if it is found from a budget.
    above: float | None = None

    @property
    def threshold(self) -> float:
        """The threshold on the score. Until a budget is solved, it is infinite: the trigger never fires."""
        return math.inf if self.above is None else self.above

    def at(self, threshold: float) -> Self:
        """Return the same trigger with another `threshold`."""
        return msgspec.structs.replace(self, above=threshold)


class BitKind(TomlTable, frozen=True):
    """Base class of kinds that act on the raw decisions of other triggers and do not read events. The fields
    of a subclass are the keys of its TOML table. It defines `decide`, and `inputs` if it reads triggers."""

    def inputs(self) -> tuple[str, ...]:
        """Return the names of the triggers whose raw decisions it reads; by default none."""
        return ()

    def decide(self, raw: Mapping[str, BoolArray], n: int) -> BoolArray:
        """Return the decisions for `n` events, bool[n], from the `raw` ones of its `inputs`, by name."""
        raise NotImplementedError

    def own_prescale(self, crossing_rate_hz: float) -> float:
        """Return the factor by which the kind itself reduces its rate, at a `crossing_rate_hz` in Hz.
        Override it for a kind that accepts at random."""
        return 1.0


AnyKind = type[Kind] | type[BitKind]


class Kinds(Mapping[str, AnyKind]):
    """The kinds that a menu may use: those that come with trigemu, and those of the plugins that it names.
    Access to a kind raises PluginError if its plugin cannot be loaded."""

    def __init__(self, folders: Iterable[Path] = ()) -> None:
        self._folders = tuple(folders)  # The plugin path; messages name its plugins
        self._loaded: dict[str, AnyKind] = {}
        #: The plugins that were added, or whose kinds were accessed, by name; without the core
        self.used: dict[str, FoundPlugin] = {}
        self.failed: set[str] = set()  # Plugins that could not be added, which other messages report

    def add(self, plugin: FoundPlugin) -> None:
        """Add the kinds of a plugin that a menu names; raise PluginError if it cannot be loaded, has no
        kinds, or redefines one."""
        declaration = plugin.declared()
        if declaration == Plugin():
            raise _no_kinds(plugin)
        for name in declaration.kinds:
            kind = _kind(plugin, name)
            if name in self and self[name] is not kind:
                raise PluginError(f"plugin {plugin.name!r} redefines the kind {name!r}")
            self._loaded[name] = kind
        self.used[plugin.name] = plugin

    def unknown(self, kind: str) -> str:
        """Return the message for an unknown kind, with a remedy if there is one; empty for a kind of a plugin
        that failed."""
        provider = providers("kinds", self._folders).get(kind)
        if provider is None:
            return f"unknown kind {kind!r}{nearest(kind, self)}"
        if provider.name in self.failed:
            return ""
        how = f"list it as plugins = [{provider.name!r}] under [menu]"
        return f"unknown kind {kind!r}; the plugin {provider.name!r} provides it: {how}"

    @cached_property
    def _included(self) -> dict[str, FoundPlugin]:
        """The provider of each kind that comes with trigemu. The search takes time: kinds of the core do not
        need it."""
        return providers("kinds", None)

    def __getitem__(self, name: str) -> AnyKind:
        if name not in self._loaded:
            plugin = CORE if name in CORE.declared().kinds else self._included[name]
            if plugin is not CORE:
                plugin = self.used.setdefault(plugin.name, plugin.found())
            self._loaded[name] = _kind(plugin, name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._included | self._loaded)

    def __len__(self) -> int:
        return len(self._included | self._loaded)


def _kind(plugin: FoundPlugin, name: str) -> AnyKind:
    """Return one kind of a plugin; raise PluginError if it cannot be loaded, or is not a kind."""
    kind = plugin.part("kinds", name)
    kind = kind[name] if isinstance(kind, dict) else kind  # the short form, a table KINDS
    if not isinstance(kind, type) or not issubclass(kind, Kind | BitKind):
        raise _no_kinds(plugin)
    return kind


def _no_kinds(plugin: FoundPlugin) -> PluginError:
    return PluginError(
        f"{plugin.where} provides no kinds: it needs PLUGIN = Plugin(kinds={{'name': '.module:Kind', …}}), "
        "or a table KINDS = {'name': a Kind, …}"
    )
