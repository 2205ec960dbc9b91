"""The model of a card on events of a sample: its inputs as a file, its scores beside those of its author, and
the efficiencies of several scores at one rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np

from trigemu.base import toml_text
from trigemu.base.arrays import IntArray
from trigemu.base.errors import TrigemuError, listed, module_of_extra
from trigemu.base.files import temporary_folder
from trigemu.base.toml import TableError, load_toml
from trigemu.emulation.engine import Job, over_samples
from trigemu.emulation.event_table import EVENT_COLUMNS, EventColumn, EventTable
from trigemu.emulation.per_event import Columns, PerEvent
from trigemu.emulation.plan import Plan, make_plan
from trigemu.emulation.tabulate import FIRED, event_table
from trigemu.menus.menu import Menu
from trigemu.menus.read import read_menu
from trigemu.observables.workspace import Workspace
from trigemu.results.table import Column, Table
from trigemu.samples.catalogue import Catalogue

from .anomaly import CompiledAnomaly, Scorer

#: The name of the trigger with the model, and of the column with its score.
SCORE = "score"
#: Scores that differ by more than this, or this part of them, are different.
TOLERANCE = 1e-4


def menu_of_card(card: Path, **keys: Any) -> Menu:
    """Return a menu with one trigger, `score`, of the model of a card; TrigemuError if it cannot be used.
    keys: further ones of the trigger."""
    kind = "decade" if "quantile" in load_toml(card).data else "network"
    entries = {"name": SCORE, "kind": kind, "card": card.resolve().as_posix(), **keys}
    with temporary_folder(Path(gettempdir()) / "card") as folder:
        file = folder / f"{card.stem}.toml"
        file.write_text(toml_text.table("[[trigger]]", entries))
        try:
            return read_menu(file)
        except TableError as error:  # about the card, at whose lines its messages begin
            raise TrigemuError(listed([problem.message for problem in error.problems])) from None


def input_table(
    card: Path, catalogue: Catalogue, samples: Sequence[str] = (), executor: Any = None
) -> EventTable:
    """Return a table of events with the inputs of a card, named as it writes them, and the score.

    samples, executor: as in `event_table`.
    """
    menu = menu_of_card(card, above=0.0)
    plan = make_plan([menu])
    if not isinstance(plan.slots[0].compiled, CompiledAnomaly):
        raise TrigemuError(f"{card}: has no [network]: expected the card of its score, which has inputs")
    selection = tuple(catalogue.sample(name) for name in samples) or catalogue.background
    for sample in selection:
        plan.check(sample)
    inputs = (
        EventColumn(text, "float32", "an input, float32, padded")
        for text in dict.fromkeys(_scorer(plan).inputs.texts)
    )
    score = EventColumn(SCORE, "float64", "the score; −inf if an input without padding is missing")
    columns = (*EVENT_COLUMNS, *inputs, score)
    task = PerEvent([column.name for column in EVENT_COLUMNS], _read)
    inputs_of = partial(over_samples, selection, Job((menu,), plan, catalogue), task, executor)
    return EventTable((menu,), catalogue, selection, columns, inputs_of)


def _scorer(plan: Plan) -> Scorer:
    compiled = plan.slots[0].compiled
    assert isinstance(compiled, CompiledAnomaly)
    return compiled.scorer


def _read(plan: Plan, work: Workspace) -> Columns:
    """Return the inputs and the score."""
    scorer = _scorer(plan)
    features, complete = scorer.inputs.evaluate(work)
    inputs = dict(zip(scorer.inputs.texts, features.T, strict=True))
    return {**inputs, SCORE: scorer.scores_of(features, complete)}


_DIFFERENCES = (
    Column("column", "label", ""),
    Column("differ", "count", "events that differ"),
    Column("largest", "number", "by at most", text="{:.3g}".format),
    Column("id", "count", "in event"),
    Column("file", "number", "file", text="{:.6g}".format),
    Column("card", "number", "card", text="{:.6g}".format),
)


def compare_scores(table: EventTable, file: Path) -> tuple[Table, str, int]:
    """Compare the columns of a Parquet file with those of a table of inputs, by event. Returns a table with a
    row for the score, and for each input that differs; a sentence; the number of scores that differ."""
    parquet = module_of_extra("pyarrow.parquet", "reading Parquet", "formats", "pyarrow")
    try:
        read = parquet.read_table(file)
    except (OSError, ValueError) as error:
        raise TrigemuError(f"{file}: cannot be read as Parquet: {error}") from None
    theirs: Columns = {name: read.column(name).to_numpy() for name in read.column_names}
    ours = table.arrays()
    rows = _rows_of(theirs, ours, table, file)
    inputs = [c.name for c in table.columns[len(EVENT_COLUMNS) : -1] if c.name in theirs]
    result, wrong = Table(_DIFFERENCES), {SCORE: 0}
    for name in (SCORE, *inputs):
        try:
            a, b = theirs[name].astype(np.float64), ours[name][rows].astype(np.float64)
        except (TypeError, ValueError):
            raise TrigemuError(f"{file}: the column {name!r} is not one of numbers") from None
        with np.errstate(invalid="ignore"):
            difference = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        difference[np.isnan(difference)] = np.inf  # only one of them is a number
        allowed = TOLERANCE * np.maximum(1.0, np.nan_to_num(np.abs(b), posinf=1.0))
        wrong[name] = int((difference > allowed).sum())
        if wrong[name] or name == SCORE:
            i = int(difference.argmax())
            result.add(name, wrong[name], difference[i], int(theirs["id"][i]), float(a[i]), float(b[i]))
    return result, f"{len(rows)} events, their scores and {len(inputs)} of the inputs.", wrong[SCORE]


def _rows_of(theirs: Columns, ours: Columns, table: EventTable, file: Path) -> IntArray:
    """Return the row of each event of a file, int64[n]; or TrigemuError."""
    if missing := [name for name in ("id", SCORE) if name not in theirs]:
        raise TrigemuError(
            f"{file}: has no column {missing[0]!r}: expected id, score and, if you like, inputs"
        )
    if not len(theirs["id"]):
        raise TrigemuError(f"{file}: has no events")
    events, keys = theirs["id"].tolist(), ours["id"].tolist()
    if "sample" in theirs:
        numbers = {sample.name: sample.number for sample in table.samples}
        names = (numbers.get(str(name)) for name in theirs["sample"])
        events, keys = [*zip(names, events, strict=True)], [*zip(ours["sample"].tolist(), keys, strict=True)]
    row_of = {key: row for row, key in enumerate(keys)}
    if len(row_of) < len(keys):
        raise TrigemuError(f"{file}: several events of the samples have one id: expected a column 'sample'")
    rows = np.array([row_of.get(event, -1) for event in events], np.int64)
    if (rows < 0).any():
        first, named = theirs["id"][(rows < 0).argmax()], ", ".join(sample.name for sample in table.samples)
        raise TrigemuError(f"{file}: event {first} is not among those of {named}")
    return rows


def efficiencies(
    cards: Sequence[Path],
    catalogue: Catalogue,
    hz: float,
    requires: str | None = None,
    beside: Menu | None = None,
    executor: Any = None,
) -> Table:
    """Return the efficiency of each card's score on each signal of a catalogue, with its statistical error.

    hz: the rate of each score, the total one, or the unique one `beside` the triggers of a menu. requires:
    the condition on events that scores are evaluated on. Events of one parent fluctuate together.
    """
    signals = [sample.name for sample in catalogue.samples if sample.table.role == "signal"]
    if not signals:
        raise TrigemuError(f"{catalogue.path}: has no sample with role = 'signal'")
    names = [card.stem for card in cards]
    if len({*names}) < len(names):
        names = [card.as_posix() for card in cards]
    cells: dict[str, list[str]] = {"threshold": [], **{name: [] for name in signals}}
    quantity = "unique_rate_hz" if beside else "total_rate_hz"
    for card in cards:
        menu = menu_of_card(card, requires=requires, **{quantity: hz})
        if beside:
            menu = _beside(beside, menu)
        table = event_table(menu, catalogue, samples=signals, executor=executor)
        solution = table.menu.trigger(SCORE).solution
        cells["threshold"].append(f"{solution.threshold:.4f} ± {solution.error:.4f}" if solution else "")
        for sample in table.samples:
            columns = table.rows_of(sample)
            weight, fired = columns["weight"], columns[FIRED + SCORE]
            total = weight.sum()
            share = float(weight[fired].sum() / total) if total else 0.0
            _, group = np.unique(columns["parent"], return_inverse=True)
            error = np.sqrt((np.bincount(group, weight * (fired - share)) ** 2).sum()) / (total or 1.0)
            cells[sample.name].append(f"{100 * share:.2f} ± {100 * error:.2f} %" if total else "")
    result = Table((Column("", "label", ""), *(Column(name, "number", name) for name in names)))
    for name, texts in cells.items():
        result.add(name, *texts)
    return result


def _beside(menu: Menu, other: Menu) -> Menu:
    """Return a menu with the triggers of another one added."""
    if menu.levels or menu.columns.names:
        raise TrigemuError(f"{menu.path}: expected a menu without levels and prescale columns beside scores")
    if SCORE in (trigger.name for trigger in menu.triggers):
        raise TrigemuError(f"{menu.path}: has a trigger {SCORE!r}: rename it, to compare scores beside it")
    plugins = {plugin.name: plugin for plugin in (*menu.plugins, *other.plugins)}
    triggers, order = (*menu.triggers, *other.triggers), (*menu.order, *other.order)
    return replace(menu, triggers=triggers, order=order, plugins=tuple(plugins.values()))
