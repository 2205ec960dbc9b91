"""A kind whose triggers are functions of one event, of which menus choose one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from plugin_toys import write
from toys import menu_from

from trigemu import Menu
from trigemu.api import Compiled, CompiledFunction, Context, Kind

SHIFT = 0.25


def curved(pt1: float, pt2: float, dphi: float, scale: float) -> float:
    """A root of a negative number, and a division by zero, among others."""
    if abs(dphi) > 3:
        return math.nan
    return scale * pt2 / math.sqrt(pt1 - 20.0) + math.cos(dphi) - SHIFT


def is_close(pt1: float, pt2: float, dphi: float, scale: float) -> bool:
    return abs(pt1 - pt2) < scale and abs(dphi) < 1.5


def fussy(pt1: float, pt2: float, dphi: float, scale: float) -> float:
    if pt2 > 30:
        raise ValueError("too hard")
    return pt1


FUNCTIONS: dict[str, Callable[..., float]] = {"curved": curved, "is_close": is_close, "fussy": fussy}
NUMBERS = ("jet[0].pt", "jet[1].pt", "dphi(jet[0], jet[1])")


class Toy(Kind, frozen=True):
    """A kind of which menus choose the function."""

    function: str
    scale: float
    above: float | None = None

    def compile(self, context: Context) -> Compiled:
        numbers = tuple(map(context.observable, NUMBERS))
        return CompiledFunction(FUNCTIONS[self.function], numbers, self.above, (self.scale,))


@pytest.fixture(scope="module")
def toy_kind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The plugin `toy` is on the path."""
    file = write(
        tmp_path_factory.mktemp("plugins") / "toy.py", "from function_toys import Toy\nKINDS = {'toy': Toy}\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIGEMU_PLUGIN_PATH", str(file.parent))
        yield


def text(name: str, function: str, scale: float, above: float | None = None) -> str:
    threshold = "" if above is None else f"above = {above}\n"
    return (
        f'[[trigger]]\nname = "{name}"\nkind = "toy"\nfunction = "{function}"\nscale = {scale}\n{threshold}'
    )


def toy_menu(folder: Path, *triggers: str) -> Menu:
    return menu_from(folder, '[menu]\nplugins = ["toy"]\n' + "".join(triggers))
