"""Samples of events: their files, their columns, and their weights in Hz.

in: catalogues, files of events (`formats`, one file a format)
out: `Catalogue`, `Sample`, `Events`
"""
