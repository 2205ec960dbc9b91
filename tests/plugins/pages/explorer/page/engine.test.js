// The sums of the engine against plain loops over events. Node's own test runner; test_engine.py compares
// whole menus with trigemu.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../../../../../plugins/trigemu_pages/explorer/page/engine/index.js";
import { prepared } from "../../../../../plugins/trigemu_pages/explorer/page/engine/unpack.js";
import { withTrigger } from "../../../../../plugins/trigemu_pages/explorer/page/state.js";

/** Numbers between 0 and 1 that are the same in each run. */
function random(seed) {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

const trigger = (name, decision, more = {}) => ({
  name,
  kind: "threshold",
  group: null,
  level: null,
  coherent: null,
  on: true,
  prescale: 1,
  factor: 1,
  decision,
  unit: "GeV",
  seed: null,
  fixed: null,
  budget: null,
  fitted: false,
  ...more,
});

/** A menu of two thresholds, the second prescaled, on n events of which up to four have one parent. */
function toy(n, seed = 1, further = []) {
  const next = random(seed);
  const weights = Float64Array.from({ length: 7 }, next);
  const pick = (most) => Math.floor(next() * most);
  const first = new Uint8Array(Math.ceil(n / 8));
  for (let i = 0; i < n; i++) if (i % 4 === 0 || next() < 0.3) first[i >> 3] |= 1 << (i & 7);
  const scores = [0, 1].map(() => Uint8Array.from({ length: n }, () => pick(6)));
  const steps = [10, 20, 30, 40, 50];
  return prepared({
    scores: [
      { name: "x", unit: "GeV", steps },
      { name: "y", unit: "GeV", steps },
    ],
    bits: [],
    menus: [
      {
        name: "toy",
        scale: 2,
        levels: [],
        order: ["X", "Y", ...further.map(({ name }) => name)],
        triggers: [
          trigger("X", { score: 0, at: 2, first: 0, last: 4 }),
          trigger("Y", { score: 1, at: 1, first: 0, last: 4 }, { prescale: 4 }),
          ...further,
        ],
        text: [],
        warnings: [],
      },
    ],
    background: {
      events: n,
      weights,
      weight: Uint16Array.from({ length: n }, () => pick(7)),
      first,
      scores,
      bits: [],
      cells: 0,
      cell_events: new Uint32Array(0),
      cell_weight: new Float64Array(0),
      cell_square: new Float64Array(0),
      cell_largest: new Float64Array(0),
      factors: [1],
      factor: new Uint8Array(n),
      largest: 1,
      largest_fitted: 1,
    },
    signals: [],
  });
}

/** Σ w f and its error, by parent. f: a function of the decisions of X and Y. */
function brute({ background: { events, weight, first, scores } }, [x, y], f) {
  let [hz, square, sum] = [0, 0, 0];
  for (let i = 0; i < events; i++) {
    if ((first[i >> 3] >> (i & 7)) & 1) {
      square += sum ** 2;
      sum = 0;
    }
    const value = 2 * weight[i] * f(scores[0][i] > x, scores[1][i] > y);
    hz += value;
    sum += value;
  }
  return { hz, error: Math.sqrt(square + sum ** 2) };
}

const near = (found, expected) =>
  assert.ok(Math.abs(found - expected) <= 1e-9 * Math.max(1, Math.abs(expected)), `${found} ${expected}`);

function check(found, expected) {
  near(found.hz, expected.hz);
  near(found.error, expected.error);
}

const either = (x, y) => (x ? 1 : y ? 0.25 : 0);

test("rates at any steps, one after the other", () => {
  const data = toy(400);
  const engine = new Engine(data);
  let state = data.menus[0].written;
  const next = random(5);
  for (let move = 0; move < 60; move++) {
    const name = move % 2 ? "X" : "Y";
    state = withTrigger(state, name, { step: Math.floor(next() * 5) });
    const steps = ["X", "Y"].map((of) => state.triggers.get(of).step);
    const rates = engine.rates(state);
    check(rates.rate, brute(data, steps, either));
    check(
      rates.triggers[0].unique,
      brute(data, steps, (x, y) => (x ? (y ? 0.75 : 1) : 0)),
    );
    check(
      rates.triggers[1].total,
      brute(data, steps, (x, y) => (y ? 0.25 : 0)),
    );
    check(
      { hz: rates.overlap.hz[1], error: rates.overlap.error[1] },
      brute(data, steps, (x, y) => (x && y ? 0.25 : 0)),
    );
  }
});

test("a scan is the rates at each step", () => {
  const data = toy(300, 2);
  const engine = new Engine(data);
  const { steps, total, unique, rate } = engine.scan(data.menus[0].written, "X");
  assert.deepEqual(steps, [0, 1, 2, 3, 4]);
  steps.forEach((step, i) => {
    check(
      { hz: total.hz[i], error: total.error[i] },
      brute(data, [step, 1], (x) => Number(x)),
    );
    check(
      { hz: unique.hz[i], error: unique.error[i] },
      brute(data, [step, 1], (x, y) => (x ? (y ? 0.75 : 1) : 0)),
    );
    check({ hz: rate.hz[i], error: rate.error[i] }, brute(data, [step, 1], either));
  });
  const wanted = total.hz[3] * 1.01;
  assert.equal(engine.solve(data.menus[0].written, "X", { quantity: "total", hz: wanted }).step, 3);
  assert.equal(engine.solve(data.menus[0].written, "X", { quantity: "total", hz: 1e9 }).step, null);
});

test("what a random trigger accepts has no error", () => {
  const data = toy(300, 6, [trigger("R", { always: true }, { kind: "random", prescale: 8, constant: true })]);
  const engine = new Engine(data);
  const state = data.menus[0].written;
  const all = brute(data, [2, 1], () => 1);
  const others = (x, y) => brute(data, [x, y], either);
  const withRandom = ({ hz, error }) => ({ hz: all.hz / 8 + (7 / 8) * hz, error: (7 / 8) * error });
  const { rate, triggers, overlap } = engine.rates(state);
  check(rate, withRandom(others(2, 1)));
  check(triggers[2].total, { hz: all.hz / 8, error: 0 });
  check(triggers[2].unique, { hz: (all.hz - others(2, 1).hz) / 8, error: others(2, 1).error / 8 });
  check({ hz: overlap.hz[8], error: overlap.error[8] }, { hz: all.hz / 8, error: 0 });
  near(rate.effective, (rate.hz / brute(data, [2, 1], (x, y) => 1 / 8 + (7 / 8) * either(x, y)).error) ** 2);
  const scan = engine.scan(state, "X").rate;
  for (const i of [0, 1, 2, 3, 4]) {
    check({ hz: scan.hz[i], error: scan.error[i] }, withRandom(others(i, 1)));
  }
  const off = withTrigger(withTrigger(state, "X", { on: false }), "Y", { on: false });
  const half = withTrigger(off, "R", { prescale: 16 });
  check(engine.rates(off).rate, { hz: all.hz / 8, error: 0 });
  const { differences, gained } = engine.differences(off, half);
  check(
    differences.find(({ what }) => what === "menu"),
    { hz: all.hz / 16, error: 0 },
  );
  check(gained[1], { hz: all.hz / 16, error: 0 });
});

test("differences are paired", () => {
  const data = toy(300, 3);
  const engine = new Engine(data);
  const a = data.menus[0].written;
  const b = withTrigger(a, "X", { step: 4 });
  const { differences, gained } = engine.differences(a, b);
  const { scores } = data.background;
  const both = { ...data, background: { ...data.background, scores: [scores[0], scores[0]] } };
  check(
    differences.find(({ what, quantity }) => what === "X" && quantity === "total"),
    brute(both, [2, 4], (x, y) => x - y),
  );
  assert.equal(gained[0].hz, 0);
  assert.ok(gained[1].hz > 0);
});

test("a change of prescales and switches forgets what it has to", () => {
  const data = toy(200, 4);
  const engine = new Engine(data);
  const written = data.menus[0].written;
  const first = engine.rates(written).rate;
  check(
    engine.rates(withTrigger(written, "Y", { prescale: 2 })).rate,
    brute(data, [2, 1], (x, y) => (x ? 1 : y ? 0.5 : 0)),
  );
  check(
    engine.rates(withTrigger(written, "X", { on: false })).rate,
    brute(data, [2, 1], (x, y) => (y ? 0.25 : 0)),
  );
  assert.deepEqual(engine.rates(written).rate, first);
});
