"""Groups of commands from plugins: each command is loaded when it is called, for a fast start."""

from __future__ import annotations

import gc
from contextlib import nullcontext, suppress
from difflib import get_close_matches
from typing import Any

import click
from click.shell_completion import CompletionItem

from trigemu.cli.groups import ALIASES, by_group
from trigemu.support import (
    CORE,
    Candidate,
    PluginError,
    TrigemuError,
    find,
    printable,
    providers,
    remedy,
    search_path,
    summary,
)


class PluginGroup(click.Group):
    """A group of the commands of plugins, including those of the core.

    Listing them loads no plugin: a plugin that fails must not hide the others.

    Parameters
    ----------
    part : str
        The part of a `Plugin`: "commands" or "importers".
    """

    def __init__(self, *args: Any, part: str = "commands", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.part = part

    def _candidates(self) -> dict[str, Candidate]:
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
        names = (name for name in self.list_commands(ctx) if name.startswith(incomplete))
        return [*map(CompletionItem, names), *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; the error names the missing package, if it is one of trigemu's, or a command with a
        similar name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if hint := remedy(self.part, args[0]):
                error.message = f"{error.message.rstrip('.')}{hint}."  # type: ignore[misc]
            elif close := get_close_matches(args[0], self.list_commands(ctx), 1):
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


def _help(part: str, name: str, candidate: Candidate) -> str:
    """Return the first paragraph of a command's help, parsed from the source without loading it."""
    return printable(summary(candidate, part, name)) or f"(plugin {candidate.name})"
