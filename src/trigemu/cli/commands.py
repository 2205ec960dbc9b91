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
from typing import Any

import click
from click.shell_completion import CompletionItem

from trigemu.base.errors import PluginError, TrigemuError, excerpt, own_cause, printable
from trigemu.base.plugins import CORE, FoundPlugin, find, providers, search_path, summary
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
        groups = {heading: [*filter(candidates.get, group)] for heading, group in GROUPS.items()}
        listed = {name for group in GROUPS.values() for name in group}
        groups[OTHERS] = [name for name in candidates if name not in listed]
        for heading, names in groups.items() if self.part == "commands" else [("Commands", [*candidates])]:
            if names:
                with formatter.section(heading):
                    formatter.write_dl([(name, self._summary(name, candidates[name])) for name in names])

    def _summary(self, name: str, candidate: FoundPlugin) -> str:
        """Return the first paragraph of a command's help, parsed from the source without loading it."""
        return printable(summary(candidate, self.part, name)) or f"(plugin {candidate.name})"

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
        name = ALIASES.get(name, name) if self.part == "commands" else name
        command = None
        with suppress(TrigemuError) if ctx.resilient_parsing else nullcontext():  # a shell completes it
            if name in getattr(CORE.declared(), self.part):
                command = CORE.part(self.part, name)
            elif name in (candidates := self._candidates()):
                command = (plugin := find(candidates[name].name, search_path())).part(self.part, name)
                if not isinstance(command, click.Command):
                    what = self.part.removesuffix("s")
                    raise PluginError(f"{plugin.where}: its {what} {name!r} is no click command")
        if not gc.isenabled():  # the program is starting
            gc.freeze()
            gc.enable()
        return command


#: Exit status if nobody reads the output to its end, as for programs that SIGPIPE ends.
UNREAD = 141

#: Errors of writing to a standard stream.
_OF_STREAMS = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
#: The longest line of a message that is printed.
LONGEST_LINE = 4000


class _Failed(click.ClickException):
    """The lines of a message, with status 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        with suppress(OSError):  # nobody reads it
            for line in self.message.splitlines() or ["failed without a message"]:
                say(f"trigemu: {excerpt(line, LONGEST_LINE)}", err=True)


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
            if _of_stream(error):
                raise
            if ctx.params.get("traceback"):
                remote = [error.remote] if isinstance(error, TrigemuError) else []
                with suppress(OSError):
                    say("".join([*remote, *traceback.format_exception(error)]).rstrip("\n"), err=True)
            if isinstance(error, OSError) and error.filename:
                raise _Failed(f"{error.filename}: {error.strerror}") from None
            raise _Failed(str(own_cause(error) if isinstance(error, MemoryError) else error)) from None

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


def _shown(error: click.ClickException) -> click.ClickException:
    """Return an error of click's with a message of bounded length, without control characters."""
    error.message = printable(excerpt(error.message, LONGEST_LINE))  # type: ignore[misc]
    return error


def _of_stream(error: Exception) -> bool:
    """Return whether an error may come from writing to a stream: errors of files have a file name."""
    return isinstance(error, OSError) and error.filename is None and error.errno in _OF_STREAMS


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
