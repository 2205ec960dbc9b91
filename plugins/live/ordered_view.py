"""What rules leave of consecutive crossings, as tables."""

from __future__ import annotations

from typing import Any

from trigemu.api import Column, Page, Table, View, name, numbers, records, stacked

from .ordered_results import OrderedAccepts, OrderedItem
from .view import document_of_inputs, most, notes_of_inputs

#: Accepts that are listed where a terminal shows them.
SHOWN = 20
_COLUMNS = (
    Column("name", "key", "trigger", "The name of the trigger, group, level or menu."),
    Column("kind", "label", None, "trigger, group or level."),
    Column("before", "count", "accepts", "Its accepts without the rules."),
    Column("after", "count", "recorded", "Its accepts with the rules."),
    Column("cause", "label", "lost most to", "The rule that vetoes most of its accepts."),
    Column("because", "label", "because of", "The trigger whose accepts block most of its own.", gives_way=1),
)
_VETOED = (
    Column("crossing", "count", "crossing", "The number of the crossing."),
    Column("rule", "key", "vetoed by", "The rule."),
    Column("triggers", "key", "triggers", "The triggers that accept it."),
)


class _OrderedAccepts(View[OrderedAccepts]):
    def line(self, result: OrderedAccepts) -> str:
        return f"of {name(result.menu.name)}: {_summary(result)}"

    def page(self, result: OrderedAccepts) -> Page:
        table = Table(_COLUMNS)
        for item in result.triggers:
            if item.before > item.after:
                table.add_record(_row(item))
        for item in result.levels:
            table.add_record(_row(item) | {"name": item.name or f"menu {result.menu.name}"}, "summary")
        listed = Table(_VETOED)
        for veto in result.vetoed[:SHOWN]:
            names = ", ".join(veto.triggers[:3]) + (" …" if len(veto.triggers) > 3 else "")
            listed.add(veto.crossing, veto.rule, names)
        more = len(result.vetoed) - SHOWN
        notes = [f"And {more} more accepts that are vetoed: --json."] if more > 0 else []
        whole = [t for t in result.triggers if t.before and t.before == t.after]
        if whole:
            notes.append(f"Not shown: {numbers.count(len(whole), 'trigger')} that lost nothing.")
        notes += notes_of_inputs(result.menu, result.catalogue)
        notes.append(f"{_summary(result)} Rules {result.rules.name}: {result.rules.text}.")
        return Page(stacked([table, listed] if result.vetoed else [table]), notes)

    def table(self, result: OrderedAccepts) -> Table:
        return Table.of(_COLUMNS, map(_row, (*result.triggers, *result.groups, *result.levels)))

    def document(self, result: OrderedAccepts) -> dict[str, Any]:
        items = (*result.triggers, *result.groups, *result.levels)
        return {
            **document_of_inputs(result.menu, result.catalogue, result.models),
            "crossings": result.crossings,
            "rules": {"name": result.rules.name, "rules": list(result.rules.labels)},
            "rows": records(self.table(result)),
            "losses": [
                {"name": i.name, "kind": i.kind, "lost": dict(i.lost), "because": dict(i.because)}
                for i in items
            ],
            "vetoed": [
                {"path": v.path, "crossing": v.crossing, "rule": v.rule, "triggers": list(v.triggers)}
                for v in result.vetoed
            ],
        }


VIEW = _OrderedAccepts()


def _row(item: OrderedItem) -> dict[str, Any]:
    return {
        "name": item.name,
        "kind": item.kind,
        "before": item.before,
        "after": item.after,
        "cause": most(item.lost),
        "because": most(item.because),
    }


def _summary(result: OrderedAccepts) -> str:
    first = result.levels[0]
    return (
        f"{numbers.count(result.crossings, 'crossing')} in order: {first.before} accepts, of which the rules "
        f"veto {len(result.vetoed)}."
    )
