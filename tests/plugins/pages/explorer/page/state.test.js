// History, address, CSV and TOML of states.

import assert from "node:assert/strict";
import { test } from "node:test";
import { decode, encode } from "../../../../../plugins/trigemu_pages/explorer/page/address.js";
import { ratesCsv } from "../../../../../plugins/trigemu_pages/explorer/page/csv.js";
import { prepared } from "../../../../../plugins/trigemu_pages/explorer/page/engine/unpack.js";
import { History } from "../../../../../plugins/trigemu_pages/explorer/page/history.js";
import { withTrigger } from "../../../../../plugins/trigemu_pages/explorer/page/state.js";
import { menuText } from "../../../../../plugins/trigemu_pages/explorer/page/toml.js";

const triggers = [
  { name: "J & <b>", on: true, prescale: 1, decision: { score: 0, at: 1, first: 0, last: 2 }, fixed: null },
  {
    name: "G",
    on: false,
    prescale: 10,
    decision: { score: 0, at: 2, first: 2, last: 2 },
    fixed: "The page has no other threshold for it.",
  },
  { name: "off", on: true, prescale: null, decision: { bit: 0 }, fixed: "no score" },
];
const text = [
  "# head\n",
  { trigger: "J & <b>", key: "budget", before: "total_rate_hz = ", value: "5", after: "", fitted_on: "toy" },
  " # a comment\n",
  { trigger: "G", key: "enabled", before: "enabled = ", value: "false", after: "" },
  "\n",
  { trigger: "G", key: "prescale", before: "prescale = ", after: "\n" },
];
/** Data of some menus without events. */
const dataOf = (...menus) =>
  prepared({
    menus,
    scores: [{ steps: [20, 30.5, 1e-7] }],
    background: { events: 0, weight: [] },
    signals: [],
  });
const menu = { name: "a;b", triggers, text, pick: "J & <b>" };
const data = dataOf(menu);
const { written } = data.menus[0];

test("an address gives its state back", () => {
  const page = decode(
    "A=a%3Bb;J%20%26%20%3Cb%3E:t20,p3.5,s1350;G:on;off:off&B=a%3Bb&two&show=B&pick=G&budget=2000",
    data,
    1,
  );
  assert.deepEqual(page.slots.A.triggers.get("J & <b>"), { on: true, step: 0, prescale: 3.5 });
  assert.deepEqual(page.slots.A.holds.get("J & <b>"), { quantity: "total", hz: 1350 });
  assert.equal(page.slots.A.triggers.get("off").on, false);
  assert.deepEqual([page.two, page.shown, page.pick, page.budget], [true, "B", "G", 2000]);
  assert.deepEqual(decode(encode(page, data), data, 1), page);
});

test("two menus are shown side by side, with what the second one adds", () => {
  const page = decode("", dataOf(menu, { ...menu, name: "c", pick: "G" }), 1);
  assert.deepEqual([page.slots.A.menu, page.slots.B.menu, page.two, page.shown], [0, 1, true, "B"]);
  assert.equal(page.pick, "G");
});

test("what an address cannot say is ignored", () => {
  const as = decode("", data, 7);
  for (const broken of [
    "A=none",
    "A=a%3Bb;K:t1;J%20%26%20%3Cb%3E:tNaN,p0,p-1,x;:",
    "%",
    "&&=&",
    "A=a%3Bb;G:t20,u5",
  ]) {
    assert.deepEqual(decode(broken, data, 7), as, broken);
  }
});

test("changes of one gesture are undone together", () => {
  const history = new History(0);
  history.push(1, "slide");
  history.push(2, "slide");
  history.endGesture();
  history.push(3, "slide");
  history.push(4);
  history.undo();
  assert.equal(history.present, 3);
  history.undo();
  assert.equal(history.present, 2);
  history.redo();
  assert.equal(history.present, 3);
  history.undo();
  history.undo();
  assert.deepEqual([history.present, history.canUndo, history.canRedo], [0, false, true]);
  history.push(5);
  assert.equal(history.canRedo, false);
});

test("a menu as written is its file; a changed one has thresholds in place of rates", () => {
  assert.equal(menuText(data, written), "# head\ntotal_rate_hz = 5 # a comment\nenabled = false\n");
  assert.equal(
    menuText(data, withTrigger(written, "G", { on: true, step: 2, prescale: 4 })),
    '# head\nabove = 30.5\nfitted_on = "toy" # a comment\nenabled = true\nprescale = 4.0\n',
  );
});

test("a spreadsheet takes no name for a formula", () => {
  const rate = { hz: 1.5, error: 0.5, events: 3, effective: 2.5, limit: null };
  const rates = {
    rate,
    levels: [],
    groups: [],
    triggers: [{ name: "=1+1", total: rate, unique: { ...rate, limit: 2 }, share: rate }],
  };
  const menus = [
    { name: 'a "menu", so', triggers: [{ ...triggers[0], name: "=1+1", kind: "threshold", factor: 2 }] },
  ];
  const slot = dataOf(...menus).menus[0].written;
  const lines = ratesCsv(dataOf(...menus), slot, rates).split("\n");
  assert.ok(lines[1].startsWith("'=1+1,threshold,,,2,30.5,1.5,0.5,3,2.5,,"));
  assert.ok(lines[2].startsWith('"a ""menu"", so",menu,,,,,1.5'));
});
