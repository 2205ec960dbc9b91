"""Quantities computed per event: selections of objects, expressions, conditions, the inputs of models.

in: texts of menus and cards, `Events`
out: `Number`, `Condition`, `ObjectSelection`, evaluated in a `Workspace`
"""
