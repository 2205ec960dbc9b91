"""The command line: one file per command, each a thin layer over the other subpackages.

in: what users type   out: tables, documents and pages; messages and exit status 2 for mistakes
"""
