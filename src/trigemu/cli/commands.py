"""The command line: each command a few lines over the public API, loaded when it is called."""

from __future__ import annotations

import importlib
import keyword
import shlex
import sys
import traceback
from contextlib import nullcontext, suppress
from dataclasses import astuple
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from trigemu.cli.console import accept_every_character, say
from trigemu.cli.limits import unmet
from trigemu.cli.streams import of_stream, open_streams, output_error
from trigemu.support import (
    KEPT,
    PluginError,
    TrigemuError,
    excerpt,
    own_cause,
    printable,
)
from trigemu.triggers import plugins

#: Exit status where the output is not read to its end, as of programs that SIGPIPE ends.
UNREAD = 141
#: Command → the module that holds it, and the begin of its help: `trigemu --help` loads no module.
COMMANDS = {
    "run": ("run", "Run a MENU over samples and print each trigger's rates."),
    "compare": ("compare", "Compare MENUs, variants of each other, on the same events."),
    "gate": ("gate", "Compare the menu NEW with OLD on the same events, within..."),
    "scan": ("scan", "Scan the rates of a MENU over a threshold, a leg or a..."),
    "rates-vs": ("rates_vs", "Print the rates of a MENU in bins of an OBSERVABLE, such..."),
    "efficiency": ("efficiency", "Measure efficiencies of MENUs on signal samples; gains..."),
    "bench": ("bench", "Measure the time per event of a MENU and of each of its..."),
    "calibrate": ("calibrate", "Write MENU with thresholds in place of rate budgets."),
    "events": ("events", "Write which events pass a MENU: decisions, scores, and..."),
    "scores": ("scores", "Write the scores of the events that MENUs may accept, for..."),
    "explore": ("explore", "Write one HTML page in which thresholds, prescales and..."),
    "report": ("report", "Write one HTML page on MENUs: rates, differences,..."),
    "firmware": ("firmware", "Study the trees of a trigger on an FPGA: rates, latency..."),
    "samples": ("samples", "List the samples of a CATALOGUE, the embedded one by..."),
    "check-menu": ("menus", "Check MENUs, and that the samples have the columns they..."),
    "check": ("check", "Compare the decisions of a MENU with those stored in a..."),
    "import": ("import_", "Convert menus of experiments to TOML."),
    "schema": ("menus", "Print the JSON schema of a menu, with the kinds of these..."),
    "generate": ("generate", "Generate a sample from CONFIG, a TOML file or the name of..."),
    "checkpoint": ("checkpoint", "List what a checkpoint FOLDER holds, or remove some of it."),
    "warm": ("warm", "Compile what ordinary runs need, once for all of them."),
}

#: Where the arguments of the command line are kept.
_ARGUMENTS = "trigemu.arguments"

#: Lines of a message that are printed, and the longest line.
MOST_LINES, LONGEST_LINE = 250, 4000

#: Kernels that a process may compile for itself alone before it says so: some two seconds.
FEW = 8


class _Commands(click.Group):
    """A group that imports the module of a command only when it is called, to start quickly."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        brought = plugins.with_commands(plugins.search_path())
        return [*COMMANDS, *(name for name in brought if name not in COMMANDS)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without loading plugins: one that fails must not hide the help."""
        rows = []
        for name in self.list_commands(ctx):
            rows.append((name, COMMANDS[name][1] if name in COMMANDS else _of_plugin(name)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands and options. Nothing is imported for it, least of all plugins."""
        names = (name for name in self.list_commands(ctx) if name.startswith(incomplete))
        return [*map(CompletionItem, names), *click.Command.shell_complete(self, ctx, incomplete)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            with suppress(TrigemuError) if ctx.resilient_parsing else nullcontext():  # it is only completed
                return self._of_plugin(name)
            return None
        module = importlib.import_module(f"trigemu.cli.{COMMANDS[name][0]}")
        attribute = name.replace("-", "_") + "_" * keyword.iskeyword(name)
        command: click.Command = getattr(module, attribute)
        return command

    def _of_plugin(self, name: str) -> click.Command | None:
        """Load a plugin when its command is called: one that fails must not hide the other commands."""
        folders = plugins.search_path()
        if name not in plugins.with_commands(folders):
            return None
        command = plugins.find(name, folders).command()
        if not isinstance(command, click.Command):
            raise PluginError(f"plugin {name!r}: its cli.command is not a click command")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; end with a message and exit status 2, no traceback, after a mistake of the user."""
        try:
            result = super().invoke(ctx)
            _tell_of_unkept()
            return result
        except TrigemuError as error:
            _trace(ctx, error)
            _end(ctx, f"{error}{_reproduced(ctx, error)}")
        except MemoryError as error:
            _trace(ctx, error)
            _end(ctx, str(own_cause(error)))
        except BrokenPipeError:
            ctx.exit(UNREAD)
        except OSError as error:
            if of_stream(error):
                raise
            _trace(ctx, error)
            _end(ctx, f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except click.ClickException as error:
            raise _shown(error) from None

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the options before the command; messages about them show control characters as escapes."""
        given = list(args)
        try:
            context = super().make_context(info_name, args, parent, **extra)
            context.meta[_ARGUMENTS] = given
            return context
        except click.ClickException as error:
            raise _shown(error) from None
        except BrokenPipeError:  # of its help
            sys.exit(UNREAD)


def _trace(ctx: click.Context, error: BaseException) -> None:
    """Print the traceback of an error, for authors of plugins who ask for it."""
    if ctx.params.get("traceback"):
        lines = traceback.format_exception(error)
        remote = [error.remote] if isinstance(error, TrigemuError) else []
        with suppress(OSError):
            say("".join((*remote, *lines)).rstrip("\n"), err=True)


def _of_plugin(name: str) -> str:
    """Return the help of a plugin's command for the list of commands, on one line."""
    text = printable(plugins.summary(name, plugins.search_path()))
    return click.Command(name, help=text).get_short_help_str(60) if text else f"(plugin {name})"


def _tell_of_unkept() -> None:
    """Say that kernels could not be kept, so that the next run will compile them again."""
    if len(KEPT.unkept) > FEW:
        say(
            f"trigemu: {len(KEPT.unkept)} kernels were compiled for this run alone, because no cache folder "
            "can be written to: set TRIGEMU_CACHE_DIR to a folder of your own",
            err=True,
        )


def _reproduced(ctx: click.Context, error: TrigemuError) -> str:
    """Return the command that does again what failed, on its events alone, if these are known."""
    if error.place is None:
        return ""
    only = ":".join(map(str, astuple(error.place)))
    command = ["trigemu", *ctx.meta[_ARGUMENTS], "--engine", "local", "--workers", "1", "--only", only]
    return f"\nto do it again on these alone: {shlex.join(command)}"


def _shown(error: click.ClickException) -> click.ClickException:
    """Return an error of click's with a message that is bounded, and acts on no terminal."""
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
    """Run the command that the arguments of the program name, and exit if it fails."""
    output = open_streams()
    accept_every_character()
    if problem := unmet():
        say(f"trigemu: {problem}", err=True)
        sys.exit(2)
    failed: OSError | None = None
    try:
        cli(prog_name="trigemu")
    except OSError as error:
        failed = output_error(output, error)
        if failed is None:
            raise
    except SystemExit:
        failed = output_error(output, None)
        if failed is None:
            raise
    if failed is None:
        return
    if isinstance(failed, BrokenPipeError):
        sys.exit(UNREAD)
    say(f"trigemu: cannot write to the standard output: {failed.strerror}", err=True)
    sys.exit(2)
