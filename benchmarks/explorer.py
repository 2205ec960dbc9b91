"""The page of `trigemu explore` in Chromium: random states against trigemu, and the time from a change to the
painted numbers.

    python benchmarks/explorer.py menus/full.toml [MENU …] [--signal yy] [--states 200] [--seed 1]

Each state moves thresholds, prescales and switches of both slots of the page. The menus that the page then
offers for download are emulated, and all rates, errors, overlaps, differences, efficiencies and turn-ons
compared. For the first states, the events are read again instead of their scores.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import base64
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

import chromium
from explorer_truth import random_slot, same, truth, unpacked
from trigemu_pages.explorer.columns import turnon_profiles
from trigemu_pages.explorer.make import all_enabled, page_data
from trigemu_pages.explorer.page import page_of

import trigemu

#: States whose events are read again, 2 s each.
READ_AGAIN = 5
#: Timed changes of each kind.
CHANGES = 60


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("menus", nargs="+", type=Path)
    parser.add_argument("--signal", action="append", default=[])
    parser.add_argument("--states", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    catalogue = trigemu.open_catalogue()
    menus = trigemu.solve_budgets(list(map(trigemu.read_menu, options.menus)), catalogue)
    scores = trigemu.score_table(all_enabled(menus), catalogue, signals=options.signal)
    profiles = turnon_profiles(scores, menus)
    data = page_data(menus, scores, trigemu.__version__)
    html = page_of([menu.name for menu in menus], base64.b64encode(data.packed).decode())
    print(f"page: {len(html.encode()) / 1e6:.2f} MB")
    header, rng = unpacked(data.block), random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder, chromium.browser(Path(folder)) as tab:
        file = Path(folder) / "page.html"
        file.write_text(html, "utf-8")
        tab.open(file, 1280)
        while not tab.value("!!window.trigemuExplorer"):
            time.sleep(0.05)
        tab.value("trigemuExplorer.settled()")
        times(tab)
        numbers = 0
        for state in range(options.states):
            tab.value(f"location.hash = 'A={random_slot(rng, header)}&B={random_slot(rng, header)}&two'")
            tab.value("new Promise((r) => setTimeout(r, 20)).then(() => trigemuExplorer.settled())")
            slots = [
                downloaded(tab.value(f"trigemuExplorer.toml('{place}')"), options.menus[0]) for place in "AB"
            ]
            page = tab.value("trigemuExplorer.numbers()")
            for name, expected in truth(scores, slots, dict.fromkeys(options.signal, profiles)):
                assert same(name, page[name], expected), (state, name, page[name], expected)
                numbers += len(expected)
            if state < READ_AGAIN:
                again = trigemu.run(slots[0])
                assert same("A rate", page["A rate"], (again.rate.hz, again.rate.error_hz, again.rate.events))
        assert tab.complaints == []
        print(f"{options.states} states: {numbers} numbers agree; no console message, no request")


def downloaded(text: str, beside: Path) -> trigemu.Menu:
    """Read a menu that the page wrote, in the folder of its original, since paths of models are relative to
    it."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml", dir=beside.parent, encoding="utf-8") as file:
        file.write(text)
        file.flush()
        return trigemu.read_menu(Path(file.name))


def times(tab: chromium.Page) -> None:
    """Print the time from a change to the painted numbers, for sliders, prescales and switches."""
    for kind, script in (
        ("threshold", "input[type=range]"),
        ("prescale", "input.prescale:not(:disabled)"),
        ("switch", "input[type=checkbox]"),
    ):
        taken = tab.value(
            f"""(async () => {{
              const fields = [...document.querySelectorAll(`.triggers {script}`)];
              performance.clearMeasures();
              for (let i = 0; i < {CHANGES}; i++) {{
                const field = fields[i % fields.length];
                if (field.type === "checkbox") field.click();
                else {{
                  const isRange = field.type === "range";
                  field.value = isRange ? Number(field.value) + (i % 2 ? 1 : -1) : i % 3 ? 2 : 5;
                  field.dispatchEvent(new Event(isRange ? "input" : "change"));
                }}
                await new Promise((resolve) => setTimeout(resolve, 120));
              }}
              return performance.getEntriesByName("change-to-paint").map((entry) => entry.duration);
            }})()"""
        )
        ordered = sorted(taken)
        most = ordered[int(0.99 * (len(ordered) - 1))]
        median = statistics.median(ordered)
        print(f"{kind}: median {median:.0f} ms, 99 % below {most:.0f} ms ({len(ordered)} changes)")


if __name__ == "__main__":
    main()
