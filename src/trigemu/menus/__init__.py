"""Menus: read, checked, described for editors, written.

in: TOML
out: `Menu` with its `Trigger`s
"""
