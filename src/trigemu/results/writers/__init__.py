"""Tables for a terminal, JSON and CSV, one file per command."""
