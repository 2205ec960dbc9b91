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
  thresholdAt,
  withHold,
  withTrigger,
} from "./state.js";

const HELD = { u: "unique", s: "total" };

/** Return the part of an address after the #. */
export function encode(page, data) {
  const parts = [`A=${slotText(page.slots.A, data)}`];
  if (page.two) parts.push(`B=${slotText(page.slots.B, data)}`, "two", `show=${page.shown}`);
  if (page.pick) parts.push(`pick=${escaped(page.pick)}`);
  if (page.budget) parts.push(`budget=${page.budget}`);
  return parts.join("&");
}

function slotText(slot, data) {
  const menu = data.menus[slot.menu];
  const changed = new Set([...changedTriggers(data, slot), ...slot.holds.keys()]);
  const triggers = menu.triggers.filter(({ name }) => changed.has(name));
  const texts = triggers.map((trigger) => `${escaped(trigger.name)}:${changes(slot, data, trigger)}`);
  return [escaped(menu.name), ...texts].join(";");
}

function changes(slot, data, trigger) {
  const now = slot.triggers.get(trigger.name);
  const before = data.menus[slot.menu].written.triggers.get(trigger.name);
  const hold = slot.holds.get(trigger.name);
  const found = [];
  if (now.step !== before.step) found.push(`t${thresholdAt(data, trigger, now.step)}`);
  if (now.prescale !== before.prescale) found.push(`p${now.prescale}`);
  if (now.on !== before.on) found.push(now.on ? "on" : "off");
  if (hold) found.push(`${hold.quantity === "unique" ? "u" : "s"}${hold.hz}`);
  return found.join(",");
}

/** Escape a name, and the punctuation that mail programs take for the end of an address. */
function escaped(name) {
  const asHex = (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(name).replace(/[!'()*.~]/g, asHex);
}

/** Return the page of the part of an address after the #. budget: in Hz, if the address has none. */
export function decode(text, data, budget) {
  const fields = new Map(text.split("&").map((part) => halves(part, "=")));
  let page = firstPage(data, budget);
  const A = slotFrom(fields.get("A"), data);
  if (A) {
    const two = fields.has("two");
    const shown = two && SLOTS.includes(fields.get("show")) ? fields.get("show") : "A";
    page = { ...page, slots: { A, B: slotFrom(fields.get("B"), data) ?? A }, two, shown };
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

function slotFrom(text, data) {
  const [name, ...changed] = (text ?? "").split(";");
  const menu = data.menus.find((candidate) => candidate.name === unescaped(name));
  if (!menu) return null;
  let slot = menu.written;
  for (const part of changed) {
    const [escapedName, words] = halves(part, ":");
    const trigger = menu.triggers.find((candidate) => candidate.name === unescaped(escapedName));
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
