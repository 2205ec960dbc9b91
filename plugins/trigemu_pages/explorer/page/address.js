// The state in the page's address, as in
//     #A=full;J100:t105,p10;HT300:off,u1350&B=full-decade&two&show=B&pick=J100&budget=100000
// Only what differs from the menu as written is there: t threshold, p prescale, on, off, u and s the unique
// and total rate in Hz that is held. Thresholds are values, not steps, so that an address survives a table
// with other steps. Whatever cannot be read is ignored.

import {
  SLOTS,
  changedTriggers,
  firstPage,
  isMovable,
  nearestStep,
  prescaleOf,
  slotOf,
  thresholdAt,
  withHold,
  withTrigger,
} from "./state.js";

const HELD = { u: "unique", s: "total" };

/**
 * Return the part of an address after the #.
 * @param {object} page
 * @param {object} data
 * @param {object[]} written the engine's state of each menu as written
 */
export function encode(page, data, written) {
  const parts = [`A=${slotText(page.slots.A, data, written)}`];
  if (page.two) parts.push(`B=${slotText(page.slots.B, data, written)}`, "two", `show=${page.shown}`);
  if (page.pick) parts.push(`pick=${escaped(page.pick)}`);
  if (page.budget) parts.push(`budget=${page.budget}`);
  return parts.join("&");
}

function slotText(slot, data, written) {
  const menu = data.menus[slot.menu];
  const changed = new Set([...changedTriggers(slot, written[slot.menu]), ...slot.holds.keys()]);
  const triggers = menu.triggers.filter((trigger) => changed.has(trigger.name));
  return [menu.name, ...triggers.map((trigger) => trigger.name)]
    .map((name, i) =>
      i ? `${escaped(name)}:${changes(slot, data, triggers[i - 1], written)}` : escaped(name),
    )
    .join(";");
}

function changes(slot, data, trigger, written) {
  const now = slot.triggers.get(trigger.name);
  const before = slotOf(written[slot.menu]).triggers.get(trigger.name);
  const hold = slot.holds.get(trigger.name);
  const found = [];
  if (now.step !== before.step) found.push(`t${thresholdAt(data, trigger, now.step)}`);
  if (now.prescale !== before.prescale) found.push(`p${now.prescale}`);
  if (now.on !== before.on) found.push(now.on ? "on" : "off");
  if (hold) found.push(`${hold.quantity === "unique" ? "u" : "s"}${hold.hz}`);
  return found.join(",");
}

/**
 * Escape a name. encodeURIComponent leaves some punctuation that mail programs take for the end of an
 * address.
 */
function escaped(name) {
  return encodeURIComponent(name).replace(
    /[!'()*.~]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * Return the page of an address.
 * @param {string} text the part after the #
 * @param {object} data
 * @param {object[]} written the engine's state of each menu as written
 * @param {number} budget in Hz, if the address has none
 */
export function decode(text, data, written, budget) {
  const fields = new Map(text.split("&").map((part) => halves(part, "=")));
  let page = firstPage(data, written, budget);
  const a = slotFrom(fields.get("A"), data, written);
  if (a) {
    const b = slotFrom(fields.get("B"), data, written) ?? a;
    const two = fields.has("two");
    const shown = two && SLOTS.includes(fields.get("show")) ? fields.get("show") : "A";
    page = { ...page, slots: { A: a, B: b }, two, shown };
  }
  const slot = page.slots[page.shown];
  const pick = unescaped(fields.get("pick") ?? "");
  const asked = number(fields.get("budget"));
  return {
    ...page,
    pick: slot.triggers.has(pick) ? pick : data.menus[slot.menu].pick,
    budget: asked > 0 ? asked : budget,
  };
}

function slotFrom(text, data, written) {
  if (text === undefined) return null;
  const [name, ...changed] = text.split(";");
  const menu = data.menus.findIndex((candidate) => candidate.name === unescaped(name));
  if (menu < 0) return null;
  let slot = slotOf(written[menu]);
  for (const part of changed) {
    const [escapedName, words] = halves(part, ":");
    const trigger = data.menus[menu].triggers.find((candidate) => candidate.name === unescaped(escapedName));
    if (!trigger) continue;
    for (const word of words.split(",")) slot = withWord(slot, data, trigger, word);
  }
  return slot;
}

function withWord(slot, data, trigger, word) {
  if (word === "on" || word === "off") return withTrigger(slot, trigger.name, { on: word === "on" });
  const value = number(word.slice(1));
  const kind = word[0];
  if (kind === "t" && Number.isFinite(value) && isMovable(trigger))
    return withTrigger(slot, trigger.name, { step: nearestStep(data, trigger, value) });
  if (kind === "p" && prescaleOf(value) !== null) return withTrigger(slot, trigger.name, { prescale: value });
  if (kind in HELD && value > 0 && isMovable(trigger))
    return withHold(slot, trigger.name, { quantity: HELD[kind], hz: value });
  return slot;
}

/** Return the number that a text is, else NaN. */
function number(text) {
  const value = text ? Number(text) : NaN;
  return Number.isFinite(value) ? value : NaN;
}

/** Return what comes before and after the first separator. */
function halves(text, separator) {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function unescaped(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
