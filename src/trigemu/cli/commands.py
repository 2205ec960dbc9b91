"""The command line: groups of commands, of the core and of plugins, each loaded when it is called, and the
exit statuses of errors."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
import traceback
from contextlib import nullcontext, suppress
from difflib import get_close_matches
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from trigemu.base.errors import PluginError, TrigemuError, excerpt, own_cause, printable
from trigemu.base.plugin_search import CORE, find, providers, search_path, summary
from trigemu.base.plugins import FoundPlugin
from trigemu.cli.console import say

#: Heading → commands, in their order. Commands of other plugins have a heading of their own.
GROUPS = {
    "Everyday": ("run", "compare", "bench", "report", "explore", "samples", "check-menu"),
    "Studies": ("scan", "rates-vs", "rates-vs section", "efficiency", "live", "fill", "optimise", "gate"),
    "Thresholds and events": ("calibrate", "scores", "events"),
    "Anomaly triggers": ("anomaly", "decade", "firmware"),
    "Experiments and samples": ("import", "check-decisions", "generate"),
    "Maintenance": ("schema", "checkpoint"),
}
OTHERS = "Plugins"
#: Earlier name of a command → its name.
ALIASES = {"check": "check-decisions"}


def by_group(names: list[str]) -> dict[str, list[str]]:
    """Return commands by their headings."""
    listed = {name for group in GROUPS.values() for name in group}
    groups = {heading: [name for name in group if name in names] for heading, group in GROUPS.items()}
    groups[OTHERS] = [name for name in names if name not in listed]
    return {heading: group for heading, group in groups.items() if group}


class PluginGroup(click.Group):
    """A group of the commands of plugins, including those of the core. Listing them loads no plugin: a plugin
    that fails must not hide the others. part: that of a `Plugin`, "commands" or "importers"."""

    def __init__(self, *args: Any, part: str = "commands", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.part = part

    def _candidates(self) -> dict[str, FoundPlugin]:
        return providers(self.part, search_path())

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._candidates())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with the first sentence of their help, by their headings."""
        candidates = self._candidates()
        groups = by_group(list(candidates)) if self.part == "commands" else {"Commands": list(candidates)}
        for heading, names in groups.items():
            with formatter.section(heading):
                formatter.write_dl([(name, _help(self.part, name, candidates[name])) for name in names])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands and options."""
        names = (n for n in self.list_commands(ctx) if n.startswith(incomplete) and " " not in n)
        return [*map(CompletionItem, names), *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, by its first two words if there is one of that name; the error names one with a
        similar name."""
        two = " ".join(args[:2])
        if len(args) > 1 and args[1].isidentifier() and two in self._candidates():
            args = [two, *args[2:]]
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if close := get_close_matches(args[0], self.list_commands(ctx), 1):
                error.message += f" Did you mean {close[0]!r}?"  # type: ignore[misc]
            raise

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        with suppress(TrigemuError) if ctx.resilient_parsing else nullcontext():  # a shell completes it
            return self._loaded(name)
        return None

    def _loaded(self, name: str) -> click.Command | None:
        name = ALIASES.get(name, name) if self.part == "commands" else name
        if name in getattr(CORE.declared(), self.part):
            plugin = CORE
        elif name in (candidates := self._candidates()):
            plugin = find(candidates[name].name, search_path())
        else:
            return None
        command = plugin.part(self.part, name)
        if not gc.isenabled():  # the program is starting
            gc.freeze()
            gc.enable()
        if not isinstance(command, click.Command):
            raise PluginError(
                f"{plugin.where}: its {self.part.removesuffix('s')} {name!r} is no click command"
            )
        return command


def _help(part: str, name: str, candidate: FoundPlugin) -> str:
    """Return the first paragraph of a command's help, parsed from the source without loading it."""
    return printable(summary(candidate, part, name)) or f"(plugin {candidate.name})"


#: Exit status if nobody reads the output to its end, as for programs that SIGPIPE ends.
UNREAD = 141

#: Errors of writing to a standard stream.
_OF_STREAMS = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
#: Lines of a message that are printed, and the longest line.
MOST_LINES, LONGEST_LINE = 250, 4000


class _Commands(PluginGroup):
    """The commands, with the handling of errors for all of them."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; after a user's mistake, end with a message and exit status 2, without a
        traceback."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            ctx.exit(UNREAD)
        except click.ClickException as error:
            raise _shown(error) from None
        except (TrigemuError, MemoryError, OSError) as error:
            if (message := _message(error)) is None:
                raise
            _trace(ctx, error)
            _end(ctx, message)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the options before the command; their error messages show control characters as escapes."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.ClickException as error:
            raise _shown(error) from None
        except BrokenPipeError:  # of its help
            sys.exit(UNREAD)


def _message(error: Exception) -> str | None:
    """Return the message of a mistake, of a file, or of too little memory; None of an error of a stream."""
    if isinstance(error, OSError):
        text = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return None if _of_stream(error) else text
    return str(own_cause(error) if isinstance(error, MemoryError) else error)


def _trace(ctx: click.Context, error: BaseException) -> None:
    """Print the traceback of an error with --traceback, for authors of plugins."""
    if ctx.params.get("traceback"):
        lines = traceback.format_exception(error)
        remote = [error.remote] if isinstance(error, TrigemuError) else []
        with suppress(OSError):
            say("".join((*remote, *lines)).rstrip("\n"), err=True)


def _shown(error: click.ClickException) -> click.ClickException:
    """Return an error of click's with a message of bounded length, without control characters."""
    error.message = printable(excerpt(error.message, LONGEST_LINE))  # type: ignore[misc]
    return error


def _end(ctx: click.Context, message: str) -> NoReturn:
    """Print the lines of a message, and end with status 2."""
    lines = message.splitlines() or ["failed without a message"]
    more = [f"… and {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    with suppress(OSError):  # nobody reads it
        for line in (*lines[:MOST_LINES], *more):
            say(f"trigemu: {excerpt(line, LONGEST_LINE)}", err=True)
    ctx.exit(2)


@click.group("import", cls=PluginGroup, part="importers")
def import_() -> None:
    """Convert menus of experiments to TOML."""


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Completion in a shell: _TRIGEMU_COMPLETE=bash_source trigemu > "
    "~/.local/share/bash-completion/completions/trigemu; also zsh_source and fish_source.\n\n"
    "Exit status: 0; 1 where a check finds a difference; 2 after a mistake, or where something cannot "
    "be written; 130 after Ctrl-C, 143 after SIGTERM; 141 where nobody reads the output.",
)
@click.version_option(package_name="trigemu")
@click.option("--traceback", is_flag=True, help="Show the traceback of an error, for authors of plugins.")
def cli(traceback: bool) -> None:
    """Emulate a trigger menu: the total, unique and overlap rate of every trigger."""


def run_command() -> None:
    """Run the command in the arguments of the program, and exit if it fails."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal may lack characters, such as ±
        sys.stdout.reconfigure(errors="replace")
    try:
        try:
            cli(prog_name="trigemu")
        finally:  # with what is left to write; None, if the caller closed it
            if sys.stdout:
                sys.stdout.flush()
    except OSError as error:
        if not _of_stream(error):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python would complain at exit
        if isinstance(error, BrokenPipeError):
            sys.exit(UNREAD)
        say(f"trigemu: cannot write to the standard output: {error.strerror}", err=True)
        sys.exit(2)


def _of_stream(error: OSError) -> bool:
    """Return whether an error may come from writing to a stream: errors of files have a file name."""
    return error.filename is None and error.errno in _OF_STREAMS
