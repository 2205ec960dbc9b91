"""What commands that read samples have in common: the working point of menus, engine, samples and outputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from trigemu.base.checkpoint import Checkpoint
from trigemu.base.errors import SampleError, TrigemuError, few_of
from trigemu.base.files import check_outputs, is_file
from trigemu.base.mapping import Engine
from trigemu.base.plugins import search_path
from trigemu.base.processes import dask_client, end_own_pools
from trigemu.base.shown import Shown, view_of
from trigemu.cli import options
from trigemu.cli.console import bar, on_disk, present_result, warn
from trigemu.emulation.plan import LackingError, fed_menu
from trigemu.emulation.reweight import at_conditions, at_luminosity, at_pileup
from trigemu.menus.menu import Menu, named_apart
from trigemu.menus.prescales import ALL_COLUMNS, at_column, at_crossing_rate, chosen_columns, read_prescales
from trigemu.menus.read import read_menu
from trigemu.results.table import Page
from trigemu.results.view import View
from trigemu.samples.catalogue import Catalogue, Errors
from trigemu.samples.opening import open_catalogue

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

#: Skipped rows of prescales that a message names.
_NAMED = 5
#: Names of options of commands: files that are written, and files that are read.
_WRITTEN = ("json_file", "csv_file", "junit", "figure", "output", "explorer_file")
_READ = ("menu", "old", "new", "config", "goals", "tolerances", "profile", "scores", "catalogue", "prescales")


@dataclass(frozen=True)
class Session:
    """The values of the options that `session` or `processing` adds to a command, and of options for its
    documents and figures."""

    catalogue: str | None = None  # The samples
    tree: str | None = None  # The tree with the events of a ROOT file
    plugin_path: tuple[Path, ...] = ()
    # How the samples are read
    engine: str = "local"  # "local", or "dask:" with an address or a file
    workers: int | None = None  # The number of processes on this machine; None: all cores
    retries: int = 3  # The number of times that a failed task is repeated
    checkpoint: Path | None = None  # The folder of finished tasks
    skip_bad_files: bool = False  # Whether to skip files that cannot be opened
    # The working point: prescales of the menus, and the conditions of the samples
    prescales: Path | None = None  # A file of columns in place of those of the menus
    columns: tuple[str, ...] = ()  # The columns of prescales
    # The mean number of interactions per crossing, or a histogram of it; 0: that of the samples
    pileup: float | Path | None = None
    luminosity: float | None = None  # in cm⁻² s⁻¹
    crossing_rate: float | None = None  # in Hz
    errors: Errors = "interactions"  # What fluctuates independently
    skip_missing: bool = False  # Whether to leave out triggers that the samples cannot feed
    # What is written
    json_file: str | None = None
    csv_file: str | None = None
    figure: Path | None = None
    figures: Path | None = None  # A folder
    files: tuple[Path, ...] = ()  # All files that the command writes

    def __post_init__(self) -> None:
        kind, _, where = self.engine.partition(":")
        if self.engine != "local" and not (kind == "dask" and where):
            expected = f"{self.engine!r}: expected local, dask:tcp://HOST:PORT or dask:FILE"
            raise click.BadParameter(expected, param_hint="'--engine'")
        if where and (self.workers or 1) > 1:
            raise TrigemuError("--workers is for processes on this machine: a cluster has its own workers")
        if self.pileup is not None and self.luminosity is not None:
            raise TrigemuError(
                "--pileup is for samples of crossings, and --luminosity for samples of interactions: give one"
            )

    def menus(self, *files: Path, by_column: bool = False) -> list[Menu]:
        """Read menus, with different names, at the crossing rate and the column of prescales that are asked
        for; a menu without columns has its one prescale. by_column: read one menu, at each column that is
        asked for; with a file of columns, by default at all."""
        folders, menus = search_path(self.plugin_path), []
        for menu in named_apart([read_menu(file, folders) for file in files]):
            if self.prescales:
                menu = read_prescales(menu, self.prescales, self.skip_missing)
                if skipped := menu.columns.skipped:
                    names = few_of(skipped, _NAMED)
                    warn(f"{self.prescales}: skipped rows without a trigger in {menu.path}: {names}")
            if self.pileup is not None or self.luminosity is not None:
                menu = replace(menu, columns=replace(menu.columns, pileup=(), luminosity_cm2s=()))
            rate_hz = menu.crossing_rate_hz if self.crossing_rate is None else self.crossing_rate
            menus.append(at_crossing_rate(menu, rate_hz))
        columns = [*dict.fromkeys(self.columns)]
        if by_column:
            (menu,) = menus
            columns = columns or [ALL_COLUMNS] * bool(self.prescales)
            chosen = chosen_columns(menu, columns)
            if ALL_COLUMNS in columns and (off := [c for c in menu.columns.names if c not in chosen]):
                warn(f"{', '.join(off)}: every trigger is off there, so there are no rates")
            return [at_column(menu, column) for column in chosen] or menus
        if len(columns) > 1 or ALL_COLUMNS in columns:
            raise TrigemuError(
                f"--column {' --column '.join(columns)}: expected one column; trigemu run takes several"
            )
        none = not any(menu.columns.names for menu in menus)  # which is refused
        for column in columns:
            menus = [at_column(menu, column) if none or menu.columns.names else menu for menu in menus]
        return menus

    def run(self, menus: Sequence[Menu], task: Callable[..., T], *, reweight: bool = True) -> T:
        """Return the result of a task on the menus and the samples, both at the working point, with the
        engine, which shows its progress, as the keyword `executor`.

        reweight: False for a task that sets the pile-up itself.
        """
        conditions = {menu.columns.conditions for menu in menus}
        with self.opened() as (engine, samples), bar("events", engine):
            inputs: list[Path | str | None] = [samples.path]
            inputs += [file.path for sample in samples.samples for file in sample.sources]
            check_outputs([file for file in self.files if is_file(file)], inputs)
            samples = samples.with_errors(self.errors)
            if self.luminosity is not None:
                samples = at_luminosity(samples, self.luminosity)
            ready = [fed_menu(menu, samples) if self.skip_missing else menu for menu in menus]
            if reweight and self.pileup:
                samples = at_pileup(samples, self.pileup, executor=engine)
            if reweight and len(conditions) == 1:  # else each column by itself
                samples = at_conditions(ready, samples, executor=engine)
            try:
                return task(ready, samples, executor=engine)
            except LackingError as error:
                if self.skip_missing:
                    raise
                raise SampleError(f"{error}\n--skip-missing leaves these triggers out") from error

    @contextmanager
    def opened(self) -> Iterator[tuple[Engine, Catalogue]]:
        """Start the engine, and open the samples with it."""
        with self.started() as engine:
            skip = self.skip_bad_files
            yield engine, open_catalogue(self.catalogue, executor=engine, skip_bad_files=skip, tree=self.tree)

    @contextmanager
    def started(self) -> Iterator[Engine]:
        """Start the engine; it stops at the end of the block."""
        where = self.engine.partition(":")[2]
        checkpoint = Checkpoint(self.checkpoint) if self.checkpoint else None
        with dask_client(where) if where else nullcontext() as client:
            engine = Engine(
                client, workers=self.workers, retries=self.retries, checkpoint=checkpoint, warn=warn
            )
            if engine.number == 0:
                warn("the cluster has no workers yet: waiting for the first")
            try:
                yield engine
            finally:
                end_own_pools()

    def present(
        self,
        result: Shown,
        *further: Page | str,
        view: View[Any] | None = None,
        lines: Iterable[object] = (),
    ) -> None:
        """Draw a result, write its documents, and print it, as a view or its own shows it; below it further
        pages, and lines with the files."""
        shown, files = view or view_of(result), [*lines]
        if self.figure:
            from trigemu.results.figures.style import save

            save(next(shown.figures(result)), self.figure)
        if self.figures:
            from trigemu.results.figures.draw import write_pictures

            files += write_pictures(shown.pictures(result), self.figures)
        present_result(result, self.json_file, self.csv_file, further, files, shown)


def collects(made: type, argument: str, *added: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds options to a command, which gets them, and others of these names, as one
    `argument`: a dataclass whose fields have the names of options. Those of a `Session` that are files to
    write must be writable and replace no input."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def collected(*arguments: Any, **keywords: Any) -> Any:
            if made is Session:
                files = on_disk(*(keywords.get(name) for name in _WRITTEN))
                inputs = [keywords.get(name) for name in _READ]
                inputs += [*keywords.get("menus", ()), *keywords.get("profiles", ())]
                inputs += [keywords["pileup"]] if isinstance(keywords.get("pileup"), Path) else []
                check_outputs(files, inputs)
                keywords["files"] = tuple(files)
            names = [field.name for field in fields(made) if field.name in keywords]
            settings = made(**{name: keywords.pop(name) for name in names})
            return command(*arguments, **{argument: settings}, **keywords)

        for option in reversed(added):
            option(collected)
        return collected  # type: ignore[return-value]

    return decorate


#: Add the options for samples and engines, and the argument `session`, to a command without a menu.
processing = collects(Session, "session", *options.ENGINE)
#: Add all options for running menus, and the argument `session`, to a command.
session = collects(Session, "session", *options.POINT, options.samples, *options.ENGINE, options.plugin_path)
