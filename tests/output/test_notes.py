from __future__ import annotations

from dataclasses import replace

from trigemu import Rate
from trigemu.output.notes import legend, texts
from trigemu.rates.results import TriggerRates

RATE = Rate(10.0, 1.0, 100, 100.0, None)
ZERO = Rate(0.0, 0.0, 0, 0.0, None, contained_in=("J10",))


def trigger(name: str, unique: Rate = RATE, total: Rate = RATE, kind: str = "threshold") -> TriggerRates:
    return TriggerRates(
        name, kind, None, None, 1.0, None, None, {"total": total, "unique": unique, "share": RATE}
    )


def test_only_signs_that_are_shown_are_explained() -> None:
    assert list(legend([trigger("A")], [RATE])) == []
    (line,) = texts(legend([trigger("A", unique=replace(ZERO, upper_limit_hz=3.0, contained_in=()))], [RATE]))
    assert line.startswith("<: ")
    (line,) = texts(legend([trigger("A")], [replace(RATE, unseen=("w", "hard"))]))
    assert line.startswith("*: no event is from hard or w, ")


def test_what_triggers_are_contained_in_is_named_once() -> None:
    both = [trigger("J20", ZERO), trigger("J20", ZERO), trigger("jets", ZERO, kind="group")]
    (line,) = texts(legend(both, [RATE]))
    assert line.endswith(": J20 (J10), group jets (J10).")


def test_of_many_contained_triggers_some_are_named() -> None:
    (line,) = texts(legend([trigger(f"T{i}", ZERO) for i in range(30)], [RATE]))
    assert line.endswith("T7 (J10) and 22 more.")
