"""Fuzzing of all that the program reads: edits → cases of a format (`formats`, one file each) → outcomes."""
