"""The command line: one file a command, each a few lines over the rooms of the flow.

in: what users type   out: tables, documents and pages; messages and exit status 2 for mistakes
"""

from trigemu.cli.commands import main

__all__ = ["main"]
