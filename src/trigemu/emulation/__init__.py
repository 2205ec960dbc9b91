"""The event loop, on any engine; rate budgets; reweighting to another pile-up or luminosity.

in: `Menu`s, a `Catalogue`
out: `Emulation`: the plan and its pattern table; columns of events (`per_event`); an `EventTable`
"""
