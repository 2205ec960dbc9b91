"""What commands of menus and samples have in common: options, engine, samples and outputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from trigemu.base.checkpoint import Checkpoint
from trigemu.base.errors import SampleError, TrigemuError
from trigemu.base.files import check_outputs
from trigemu.base.mapping import Engine
from trigemu.base.plugins import search_path
from trigemu.base.processes import cores, dask_client, end_own_pools
from trigemu.base.shown import Shown, view_of
from trigemu.cli import options
from trigemu.cli.console import say
from trigemu.cli.outputs import check_inputs, on_disk, present_result
from trigemu.cli.point import OPTIONS as POINT, WorkingPoint
from trigemu.cli.progress import events_bar
from trigemu.emulation.plan import LackingError
from trigemu.menus.menu import Menu, named_apart
from trigemu.menus.prescales import ALL_COLUMNS
from trigemu.menus.read import read_menu
from trigemu.results.table import Page
from trigemu.results.view import View
from trigemu.samples.catalogue import Catalogue, without_bad_files
from trigemu.samples.opening import open_catalogue
from trigemu.samples.sample import Sample

if TYPE_CHECKING:  # Matplotlib is loaded when something is drawn
    from trigemu.results.section import Picture

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

LOCAL, DASK = "local", "dask"


def _engine(context: click.Context, option: click.Parameter, value: str) -> str:
    kind, colon, where = value.partition(":")
    if value == LOCAL or (kind == DASK and bool(colon) == bool(where)):
        return value
    raise click.BadParameter(f"{value!r}: expected local, dask, dask:tcp://HOST:PORT or dask:FILE")


@dataclass(frozen=True)
class Processing:
    """The values of the options that `processing` adds to a command."""

    engine: str  # "local", or "dask" with an address or a file
    workers: int | None  # The number of processes on this machine; None: all cores
    retries: int  # The number of times that a failed task is repeated
    checkpoint: Path | None  # The folder of finished tasks
    skip_bad_files: bool  # Whether to skip files that cannot be read
    tree: str | None  # The tree with the events of a ROOT file

    def __post_init__(self) -> None:
        if (self.workers or 1) > 1 and self.engine.startswith(f"{DASK}:"):
            raise TrigemuError("--workers is for processes on this machine: a cluster has its own workers")

    @contextmanager
    def started(self) -> Iterator[Engine]:
        """Start the engine; it stops at the end of the block."""
        checkpoint = Checkpoint(self.checkpoint) if self.checkpoint else None
        where = self.engine.partition(":")[2] or None
        local = nullcontext() if self.engine == LOCAL else dask_client(where, self.workers or cores())
        with local as client:
            engine = Engine(
                client, workers=self.workers, retries=self.retries, checkpoint=checkpoint, warn=_report
            )
            if engine.number == 0:
                _report("the cluster has no workers yet: waiting for the first")
            try:
                yield engine
            finally:
                end_own_pools()

    @contextmanager
    def opened(self, catalogue: Path | str | None) -> Iterator[tuple[Engine, Catalogue]]:
        """Start the engine, and open a `catalogue` with it."""
        with self.started() as engine:
            skip = self.skip_bad_files
            yield engine, open_catalogue(catalogue, executor=engine, skip_bad_files=skip, tree=self.tree)


def _report(message: str) -> None:
    say(f"trigemu: {message}", err=True)


_OPTIONS = (
    options.tree,
    click.option(
        "--engine",
        metavar="ENGINE",
        callback=_engine,
        default=LOCAL,
        show_default=True,
        help="Engine: this machine (local), or dask: processes on this machine (dask), or a cluster "
        "(dask:tcp://HOST:PORT, dask:FILE of its scheduler). The result does not depend on it.",
    ),
    click.option(
        "--workers",
        type=options.WORKERS,
        help="Number of threads, and of processes on this machine, which are started if the work takes long "
        "enough; 1: one core [default: all cores].",
    ),
    click.option(
        "--retries",
        type=click.IntRange(0, 100),
        default=3,
        show_default=True,
        help="How often to repeat a task whose file cannot be read, or whose worker was lost.",
    ),
    click.option(
        "--checkpoint",
        type=click.Path(path_type=Path, file_okay=False),
        help="Store finished tasks in this folder; the same command then runs only the missing ones.",
    ),
    click.option(
        "--skip-bad-files", is_flag=True, help="Skip files that cannot be read, and list them with the rates."
    ),
)


def collects(made: type, argument: str, *added: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds options to a command, which gets them as one `argument`: a dataclass whose
    fields have the names of options."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def collected(*arguments: Any, **keywords: Any) -> Any:
            names = [field.name for field in fields(made) if field.name in keywords]
            settings = made(**{name: keywords.pop(name) for name in names})
            return command(*arguments, **{argument: settings}, **keywords)

        for option in reversed(added):
            option(collected)
        return collected  # type: ignore[return-value]

    return decorate


#: Add the options of `Processing` to a command.
processing = collects(Processing, "processing", *_OPTIONS)


@dataclass(frozen=True)
class Session(Processing):
    """What a command reads and writes, and where its menus are run."""

    catalogue: Path | str | None
    plugin_path: tuple[Path, ...]
    point: WorkingPoint
    json_file: Path | None = None
    csv_file: Path | None = None
    figure: Path | None = None
    figures: Path | None = None  # A folder
    files: tuple[Path, ...] = ()  # All files that the command writes

    def menus(self, *files: Path) -> list[Menu]:
        """Read menus, with different names, at the prescales and the crossing rate of the working point."""
        folders = search_path(self.plugin_path)
        return self.point.of_menus(named_apart([read_menu(file, folders) for file in files]))

    def columns(self, file: Path) -> list[Menu]:
        """Read a menu, at each column that is asked for; with a file of columns, by default at all."""
        point = self.point
        if point.prescales and not point.columns:
            point = replace(point, columns=(ALL_COLUMNS,))
        return point.of_columns(read_menu(file, search_path(self.plugin_path)))

    def run(
        self,
        menus: Sequence[Menu],
        task: Callable[..., T],
        read: Callable[[Catalogue], Iterable[Sample]] | None = None,
        *,
        reweight: bool = True,
    ) -> T:
        """Return the result of a task on the menus and the samples, both at the working point, with the
        engine and the progress as its keywords; again without files that turn out to be damaged.

        menus: no output may replace their files. read: lists the samples that the task reads, each once for
        each pass; by default the background, twice if a menu has a budget. reweight: False for a task that
        sets the pile-up itself.
        """

        def at_point(good: Catalogue) -> T:
            try:
                ready = self.point.at_point(menus, good, engine, advance, reweight)
                return task(*ready, executor=engine, progress=advance)
            except LackingError as error:
                if self.point.skip_missing:
                    raise
                raise SampleError(f"{error}\n--skip-missing leaves these triggers out") from error

        with self.opened(self.catalogue) as (engine, samples):
            samples = samples.with_errors(self.point.errors)
            check_inputs(self.files, menus, samples)
            passes = read(samples) if read else samples.background * (1 + any(m.budgeted for m in menus))
            further = samples.background * self.point.passes(menus)
            with events_bar((*passes, *further), engine) as advance:
                return without_bad_files(samples, at_point)

    def present(
        self,
        result: Shown,
        *further: Page | str,
        view: View[Any] | None = None,
        pictures: Iterable[Picture] = (),
        lines: Iterable[object] = (),
    ) -> None:
        """Draw a result and its pictures, write its documents, and print it, as a view or its own shows it;
        below it further pages, and lines with the files."""
        view, files = view or view_of(result), [*lines]
        if self.figure:
            from trigemu.results.figures.style import save

            save(next(view.figures(result)), self.figure)
        if self.figures:
            from trigemu.results.figures.draw import write_pictures

            files += write_pictures(pictures, self.figures)
        present_result(result, self.json_file, self.csv_file, further, files, view)


#: Names of options of commands: files that are written, and files that are read.
_WRITTEN = ("json_file", "csv_file", "junit", "markdown", "figure", "output", "explorer_file")
_READ = ("menu", "old", "new", "config", "goals", "tolerances", "profile", "scores")


def session(command: F) -> F:
    """Add the options of `Session` to a command, and check that its outputs can be written and replace no
    input."""
    collected = collects(Session, "session", options.samples, *_OPTIONS, options.plugin_path)(command)
    collected = collects(WorkingPoint, "point", *POINT)(collected)

    @functools.wraps(collected)
    def checked(*arguments: Any, **keywords: Any) -> Any:
        files = on_disk(*(keywords.get(name) for name in _WRITTEN))
        inputs = (keywords.get(name) for name in _READ)
        several = (*keywords.get("menus", ()), *keywords.get("profiles", ()))
        histogram = keywords["pileup"] if isinstance(keywords["pileup"], Path) else None
        check_outputs(files, (*inputs, *several, keywords["catalogue"], keywords["prescales"], histogram))
        return collected(*arguments, files=tuple(files), **keywords)

    return checked  # type: ignore[return-value]
