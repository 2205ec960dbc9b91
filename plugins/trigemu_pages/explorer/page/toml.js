// A state as a menu in TOML: the file it is from, with comments and order kept, in which changed keys are
// replaced.

import { changedTriggers, thresholdAt } from "./state.js";

/** Return the text of a menu in some state. */
export function menuText(data, slot) {
  const menu = data.menus[slot.menu];
  const triggers = new Map(menu.triggers.map((trigger) => [trigger.name, trigger]));
  const isChanged = changedTriggers(data, slot).length > 0;
  return menu.text
    .map((piece) => {
      if (typeof piece === "string") return piece;
      const now = slot.triggers.get(piece.trigger);
      const before = menu.written.triggers.get(piece.trigger);
      const value = newValue(data, triggers.get(piece.trigger), piece.key, now, before, isChanged);
      return pieceText(piece, value);
    })
    .join("");
}

/** Return the new value of a key as TOML, or null if it is as written. */
function newValue(data, trigger, key, now, before, isChanged) {
  if (key === "enabled") return now.on === before.on ? null : String(now.on);
  if (key === "prescale") return now.prescale === before.prescale ? null : tomlFloat(now.prescale);
  // a rate that a threshold was found from would give another one in a menu that was changed elsewhere
  const kept = key === "budget" ? !isChanged || now.step === null : now.step === before.step;
  return kept ? null : tomlFloat(thresholdAt(data, trigger, now.step));
}

function pieceText({ key, before = "", value: old, after = "", fitted_on: fittedOn }, value) {
  if (value === null) return old === undefined ? "" : before + old + after;
  if (key !== "budget") return before + value + after;
  // a threshold takes the place of a rate; it still was found on the sample that `fitted_on` names
  const fitted = fittedOn === undefined ? "" : `\nfitted_on = ${JSON.stringify(fittedOn)}`;
  return `above = ${value}${fitted}${after}`;
}

/** Write a number as a float: 100 as 100.0. */
export function tomlFloat(value) {
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}
