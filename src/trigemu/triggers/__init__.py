"""Trigger kinds, one per module; `base` is the contract. Plugins add more kinds.

in: tables of a menu, a `Context`
out: `Kind`, which compiles to `Compiled`, which gives decisions or scores
"""
