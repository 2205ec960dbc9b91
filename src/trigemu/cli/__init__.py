"""The command line: one file per command, each a few lines over the other rooms.

in: what users type   out: tables, documents and pages; messages and exit status 2 for mistakes
"""

from trigemu.cli.commands import main

__all__ = ["main"]
