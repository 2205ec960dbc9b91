"""The entry point of the program."""

import gc

from trigemu.base.files import end_on_signals


def main() -> None:
    """Run the command line.

    `trigemu --help` lists the exit statuses; 141, if nobody reads the output, comes without a message.
    """
    # Before the slow imports: an interruption during an import then ends the program with a message, without
    # a traceback, and is not reported as a failure of the import.
    end_on_signals()
    # Until the command is loaded: imports make objects that stay, and looking for garbage among them takes a
    # tenth of their time.
    gc.disable()
    from trigemu.cli.commands import run_command

    run_command()
