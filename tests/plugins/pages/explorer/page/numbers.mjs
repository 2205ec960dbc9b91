// What the page shows in some states, without a browser: node numbers.mjs BLOCK < ADDRESSES, each a line.
// Writes a line of JSON for each: the numbers by name, as tests/helpers/explorer_truth.py names them, the menus
// as TOML, and scans of the triggers of A: [hz, error] of total, unique and menu at some steps, and the same from
// the rates of these states.

import fs from "node:fs";
import { decode } from "../../../../../plugins/trigemu_pages/explorer/page/address.js";
import { Engine } from "../../../../../plugins/trigemu_pages/explorer/page/engine/index.js";
import { unpack } from "../../../../../plugins/trigemu_pages/explorer/page/engine/unpack.js";
import { withTrigger } from "../../../../../plugins/trigemu_pages/explorer/page/state.js";
import { menuText } from "../../../../../plugins/trigemu_pages/explorer/page/toml.js";
import { numbersOf } from "../../../../../plugins/trigemu_pages/explorer/page/everything.js";

const data = unpack(new Uint8Array(fs.readFileSync(process.argv[2])));
const engine = new Engine(data);

/** Each tenth step of the scans of the triggers that are on. */
function* scansOf(slot) {
  for (const { name, decision } of data.menus[slot.menu].triggers) {
    if (!slot.triggers.get(name).on || !("score" in decision)) continue;
    const { steps, total, unique, rate } = engine.scan(slot, name);
    for (let i = 0; i < steps.length; i += 10) {
      const scanned = [total, unique, rate].flatMap(({ hz, error }) => [hz[i], error[i]]);
      const moved = engine.rates(withTrigger(slot, name, { step: steps[i] }));
      const row = moved.triggers.find((trigger) => trigger.name === name);
      const rates = [row.total, row.unique, moved.rate].flatMap(({ hz, error }) => [hz, error]);
      const found = engine.solve(slot, name, { quantity: "total", hz: total.hz[i] });
      yield { scanned, rates, solved: [total.hz[i], found.hz] };
    }
  }
}

for (const address of fs.readFileSync(0, "utf-8").trim().split("\n")) {
  const { slots } = decode(address, data, 1);
  const toml = ["A", "B"].map((place) => menuText(data, slots[place]));
  console.log(
    JSON.stringify({ numbers: numbersOf(data, engine, slots), toml, scans: [...scansOf(slots.A)] }),
  );
}
