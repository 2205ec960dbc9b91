"""How far a new menu may be from an old one, in TOML.

    [default]                   # of every quantity
    percent = 1.0
    sigma = 3.0

    [quantity.unique_hz]        # in place of the default
    percent = 5.0

    [trigger.AD]                # of every quantity of this trigger
    percent = 10.0

    [trigger.G25]
    removed = true              # it may be missing in the new menu

A difference is accepted if it is within any limit of the table that applies to it: the table of the trigger,
else of the quantity, else the default. Without a limit no difference is accepted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

from trigemu.api import TomlTable, TrigemuError, load_toml, nearest, read_table, refuse_other_kinds

#: The quantities that a gate compares.
QUANTITIES = ("rate_hz", "total_hz", "unique_hz", "overlap_hz", "decisions_hz", "differ_from_stored")
_SECTIONS = ("default", "quantity", "trigger")
_Limit = Annotated[float, msgspec.Meta(ge=0)]


class Tolerance(TomlTable, frozen=True):
    """Limits of a difference, any of which accepts it.

    Attributes
    ----------
    percent : float or None
        The largest difference, in percent of the old value.
    sigma : float or None
        The largest difference, in units of its statistical uncertainty.
    """

    percent: _Limit | None = None
    sigma: _Limit | None = None

    def __str__(self) -> str:
        limits = [f"{self.percent:g} %"] if self.percent is not None else []
        limits += [f"{self.sigma:g} σ"] if self.sigma is not None else []
        return " or ".join(limits) or "none"


class TriggerTolerance(Tolerance, frozen=True):
    """[trigger.NAME] or [default]: limits, and whether a trigger may come or go.

    Attributes
    ----------
    added : bool
        Whether only the new menu may have it.
    removed : bool
        Whether only the old menu may have it.
    """

    added: bool = False
    removed: bool = False

    @property
    def has_limit(self) -> bool:
        """Whether there is a limit in place of a more general one."""
        return self.percent is not None or self.sigma is not None


@dataclass(frozen=True)
class Tolerances:
    """The tolerances of a gate.

    Attributes
    ----------
    default : TriggerTolerance
        What holds where nothing else is given.
    quantities : mapping of str to Tolerance
        The limits of single quantities, of `QUANTITIES`.
    triggers : mapping of str to TriggerTolerance
        The limits of single triggers.
    path : Path or None
        The file that they are from.
    """

    default: TriggerTolerance = field(default_factory=TriggerTolerance)
    quantities: Mapping[str, Tolerance] = field(default_factory=dict)
    triggers: Mapping[str, TriggerTolerance] = field(default_factory=dict)
    path: Path | None = None

    def of(self, names: Collection[str], quantity: str) -> Tolerance:
        """Return what holds for a quantity of one trigger or of several, or of the menu (no names)."""
        given = [self.triggers[name] for name in names if name in self.triggers]
        limits = [tolerance for tolerance in given if tolerance.has_limit]
        if limits:  # of several, the widest of each kind
            percent, sigma = ([getattr(limit, name) for limit in limits] for name in ("percent", "sigma"))
            widest = (max((v for v in values if v is not None), default=None) for values in (percent, sigma))
            return Tolerance(*widest)
        return self.quantities.get(quantity, Tolerance(self.default.percent, self.default.sigma))

    def allows(self, name: str, change: str) -> bool:
        """Whether a trigger may be `added` or `removed`."""
        return bool(getattr(self.triggers.get(name, self.default), change))

    def check_names(self, known: Collection[str]) -> None:
        """Raise TrigemuError if a trigger is in no menu."""
        for name in self.triggers:
            if name not in known:
                hint = nearest(name, known)
                raise TrigemuError(f"{self.path}: [trigger.{name}]: no menu has such a trigger{hint}")


def read_tolerances(path: Path | str) -> Tolerances:
    """Read and check a file of tolerances.

    Parameters
    ----------
    path : Path or str
        The TOML file.

    Returns
    -------
    Tolerances

    Raises
    ------
    TableError
        With all mistakes of the file, each with its line.
    """
    document = load_toml(Path(path))
    if not isinstance(document.data.get("trigger"), dict):  # [trigger.NAME]; a menu has [[trigger]]
        refuse_other_kinds(document, "quantity")
    for key in document.data:
        if key not in _SECTIONS:
            document.problem((key,), "", f"unknown key {key!r}{nearest(key, _SECTIONS)}")
    default = read_table(
        document, document.data.get("default", {}), TriggerTolerance, ("default",), "[default]"
    )
    named: dict[str, dict[str, Tolerance]] = {"quantity": {}, "trigger": {}}
    for section, struct in (("quantity", Tolerance), ("trigger", TriggerTolerance)):
        tables = document.data.get(section, {})
        if not isinstance(tables, dict):
            document.problem((section,), "", f"{section}: expected tables [{section}.NAME]")
            continue
        for name, table in tables.items():
            where = f"[{section}.{name}]"
            if section == "quantity" and name not in QUANTITIES:
                document.problem(
                    (section, name), where, f"unknown quantity {name!r}{nearest(name, QUANTITIES)}"
                )
            elif read := read_table(document, table, struct, (section, name), where):
                named[section][name] = read
    document.finish()
    assert default is not None
    triggers = {name: t for name, t in named["trigger"].items() if isinstance(t, TriggerTolerance)}
    return Tolerances(default, named["quantity"], triggers, document.path)
