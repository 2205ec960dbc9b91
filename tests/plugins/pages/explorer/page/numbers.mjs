// What the page shows in some states, without a browser: node numbers.mjs BLOCK < ADDRESSES, each a line.
// Writes a line of JSON for each: the numbers by name, as tests/helpers/explorer_truth.py names them, and the
// menus as TOML.

import fs from "node:fs";
import { decode } from "../../../../../plugins/trigemu_pages/explorer/page/address.js";
import { Engine } from "../../../../../plugins/trigemu_pages/explorer/page/engine/index.js";
import { unpack } from "../../../../../plugins/trigemu_pages/explorer/page/engine/unpack.js";
import { menuText } from "../../../../../plugins/trigemu_pages/explorer/page/toml.js";
import { numbersOf } from "../../../../../plugins/trigemu_pages/explorer/page/everything.js";

const data = unpack(new Uint8Array(fs.readFileSync(process.argv[2])));
const engine = new Engine(data);
for (const address of fs.readFileSync(0, "utf-8").trim().split("\n")) {
  const { slots } = decode(address, data, 1);
  const toml = ["A", "B"].map((place) => menuText(data, slots[place]));
  console.log(JSON.stringify({ numbers: numbersOf(data, engine, slots), toml }));
}
