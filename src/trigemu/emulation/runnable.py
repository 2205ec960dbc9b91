"""Menus without the triggers that samples cannot feed."""

from __future__ import annotations

from dataclasses import replace

from trigemu.base.errors import SampleError
from trigemu.emulation.plan import make_plan
from trigemu.menus.menu import LeftOut, Menu
from trigemu.menus.read import MenuLike, menu_of
from trigemu.samples.memory import SamplesLike, samples_of


def fed_menu(menu: MenuLike, samples: SamplesLike = None) -> Menu:
    """Return a menu without the triggers that need a column that a background sample lacks.

    Triggers that read the decision of such a trigger, in `logic` or as a seed, are left out too. Rates of the
    result, and its total, are those of the remaining triggers.

    Parameters
    ----------
    menu : path or Menu
        The menu.
    samples : Catalogue, path, Events, ak.Array or None
        The samples, as in `emulate`; None: the embedded ones.

    Returns
    -------
    Menu
        The remaining menu; its `left_out` lists the others with what is missing. The menu itself if the
        samples have everything.

    Raises
    ------
    SampleError
        If no enabled trigger remains.

    Examples
    --------
    >>> import awkward as ak
    >>> import trigemu
    >>> particles = [{"pt": 120.0, "eta": 0.0, "phi": 0.0}]
    >>> events = ak.Array({"jet": [particles], "photon": [particles]})
    >>> menu = trigemu.fed_menu("menus/two-level.toml", events)
    >>> menu.left_out[:2]
    (LeftOut(name='L1_MET90', missing='met'), LeftOut(name='L1_E20', missing='electron'))
    """
    menu, catalogue = menu_of(menu), samples_of(samples)
    plan = make_plan(menu)
    missing: dict[str, str] = {}
    for sample in catalogue.background:
        for lacked, triggers, _ in plan.lacking(sample):
            for trigger in triggers:
                missing.setdefault(trigger.name, lacked)
    for name, bit in plan.bits[0].items():  # equal triggers lack the same
        if (first := plan.slots[bit].trigger.name) in missing:
            missing.setdefault(name, missing[first])
    for name in menu.order:  # each follows those that it reads
        read = next((other for other in menu.trigger(name).inputs() if other in missing), None)
        if read is not None:
            missing.setdefault(name, f"reads {read}")
    if not missing:
        return menu
    left_out = tuple(LeftOut(t.name, missing[t.name]) for t in menu.triggers if t.name in missing)
    fed = replace(
        menu,
        triggers=tuple(trigger for trigger in menu.triggers if trigger.name not in missing),
        order=tuple(name for name in menu.order if name not in missing),
        left_out=(*menu.left_out, *left_out),
    )
    if not fed.enabled:
        raise SampleError(f"{menu.path}: the samples can feed none of its triggers: {fed.left_out_text}")
    return fed
