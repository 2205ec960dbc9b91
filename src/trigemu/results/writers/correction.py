"""Efficiencies and scale factors as corrections of correctionlib (schema 2)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from trigemu import __version__
from trigemu.support import TrigemuError, module_of_extra

if TYPE_CHECKING:
    from collections.abc import Callable

#: What correctionlib does with values outside of the bins.
FLOWS = ("error", "clamp")
#: The input that selects a value or an end of its interval.
VARIATION = "variation"
#: The inputs that select a curve; the trigger "" is the whole menu.
CURVE = {"menu": "The menu.", "trigger": "The trigger; empty for the whole menu."}


class Values(NamedTuple):
    """The values of a curve in bins, with the ends of their intervals; NaN is allowed."""

    nominal: Sequence[float]
    down: Sequence[float]
    up: Sequence[float]


class Axis(NamedTuple):
    """The observable with its label, and the edges of its bins."""

    observable: str
    label: str
    edges: Sequence[float]


class Described(NamedTuple):
    """The name of a correction, what it is, and the name and the meaning of its value."""

    name: str
    description: str
    output: str
    meaning: str


def schema() -> Any:
    """Return the module of correctionlib that has its models, or raise MissingExtraError."""
    return module_of_extra("correctionlib.schemav2", "to_correction()", "correction", "correctionlib")


def of_values(about: Described, axis: Axis, values: Values, flow: str) -> Any:
    """Return a Correction of one curve, with the inputs observable and variation."""
    return _correction(about, axis, (), _by_variation(axis, flow)(values))


def of_curves(
    about: Described, axis: Axis, curves: Mapping[tuple[str, str | None], Values], flow: str
) -> Any:
    """Return a Correction of curves by menu and trigger, which are further inputs."""
    content, menus = _by_variation(axis, flow), dict.fromkeys(menu for menu, _ in curves)
    of_menus = (
        (menu, _category("trigger", ((t or "", content(of)) for (m, t), of in curves.items() if m == menu)))
        for menu in menus
    )
    return _correction(about, axis, CURVE.items(), _category("menu", of_menus))


def as_set(description: str, corrections: Iterable[Any]) -> Any:
    """Return a CorrectionSet; raise TrigemuError if two corrections have the same name."""
    made = list(corrections)
    name, times = Counter(correction.name for correction in made).most_common(1)[0]
    if times > 1:
        raise TrigemuError(
            f"to_correction(): {times} efficiencies are called {name!r}, and names in a set differ: measure "
            f"each observable, in each category, once"
        )
    return schema().CorrectionSet(
        schema_version=schema().VERSION, description=_signed(description), corrections=made
    )


def _correction(about: Described, axis: Axis, inputs: Iterable[tuple[str, str]], data: Any) -> Any:
    of = schema()
    variation = "nominal, or the ends of its interval, up and down."
    return of.Correction(
        name=about.name,
        description=_signed(about.description),
        version=1,
        inputs=[
            of.Variable(name=axis.observable, type="real", description=axis.label),
            *(of.Variable(name=name, type="string", description=meaning) for name, meaning in inputs),
            of.Variable(name=VARIATION, type="string", description=variation),
        ],
        output=of.Variable(name=about.output, type="real", description=about.meaning),
        data=data,
    )


def _by_variation(axis: Axis, flow: str) -> Callable[[Values], Any]:
    """Return a function that gives the content of a curve."""
    if flow not in FLOWS:
        raise TrigemuError(f"flow = {flow!r}: expected one of {', '.join(map(repr, FLOWS))}")
    of = schema()
    edges = [edge if math.isfinite(edge) else str(edge) for edge in axis.edges]  # "inf" or "-inf"
    # JSON has no NaN; this is evaluated to it.
    nan = of.Formula(nodetype="formula", expression="0/0", parser="TFormula", variables=[])

    def content(values: Values) -> Any:
        binned = (
            of.Binning(
                nodetype="binning",
                input=axis.observable,
                edges=edges,
                content=[nan if math.isnan(value) else float(value) for value in part],
                flow=flow,
            )
            for part in values
        )
        return _category(VARIATION, zip(Values._fields, binned, strict=True))

    return content


def _category(name: str, contents: Iterable[tuple[str, Any]]) -> Any:
    of = schema()
    items = [of.CategoryItem(key=key, value=value) for key, value in contents]
    return of.Category(nodetype="category", input=name, content=items)


def _signed(description: str) -> str:
    return f"{description} Made by trigemu {__version__}."
