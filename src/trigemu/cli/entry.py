"""Where the program begins."""

from trigemu.cli.streams import fill_closed_streams
from trigemu.support import end_on_signals


def main() -> None:
    """Run the command line.

    `trigemu --help` lists the exit statuses; 141, where nobody reads the output, comes without a message.
    """
    # Before all that takes time to load: an interruption meanwhile ends the program with a message, not with
    # a traceback, and is not taken for the failure of whatever was loading.
    end_on_signals()
    fill_closed_streams()
    from trigemu.cli.commands import run_command

    run_command()
