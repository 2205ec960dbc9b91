"""Fuzzing of everything the program reads.

edits → cases of a format (`formats`, one file each) → a process of its own (`sandbox`) → outcomes
"""
