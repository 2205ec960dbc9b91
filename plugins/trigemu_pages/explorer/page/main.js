// The page: reads the data, keeps the state with its history and address, and lets the views show it.

import { decode, encode } from "./address.js";
import { Calculator } from "./calculator.js";
import { ratesCsv } from "./csv.js";
import { readData } from "./dataset.js";
import { download, el, fileStem, isTyped } from "./dom.js";
import { asWritten } from "./engine/menu.js";
import { unpack } from "./engine/unpack.js";
import { numbersOf } from "./everything.js";
import { History } from "./history.js";
import { Scheduler } from "./scheduler.js";
import {
  firstPage,
  SLOTS,
  slotOf,
  thresholdAt,
  withHold,
  withHoldsSolved,
  withSlot,
  withTrigger,
} from "./state.js";
import { menuText } from "./toml.js";
import { ChangesView } from "./views/changes.js";
import { DifferencesView } from "./views/differences.js";
import { HeaderView } from "./views/header.js";
import { OverlapView } from "./views/overlap.js";
import { RatesView } from "./views/rates.js";
import { ScanView } from "./views/scan.js";
import { SignalsView } from "./views/signals.js";
import { TriggersView } from "./views/triggers.js";
import { TurnonView } from "./views/turnon.js";

/**
 * Milliseconds after a change until it is in the address: browsers allow no more than a hundred changes in
 * ten seconds.
 */
const ADDRESS_WAIT = 200;

/** What views read and call. */
class App {
  #history;
  #scheduler;
  #address = 0;
  #seen = location.hash;

  constructor(data) {
    this.data = data;
    this.written = data.menus.map((_, m) => asWritten(data, m));
    this.calculator = new Calculator(data, this.written);
    const { slots } = firstPage(data, this.written);
    const rates = SLOTS.map((place) => this.calculator.rates(place, slots[place]).rate.hz);
    this.budget = roundedUp(Math.max(...rates));
    this.#history = new History(this.#fromAddress());
  }

  start(views) {
    this.#scheduler = new Scheduler(views);
    this.#show();
  }

  get page() {
    return this.#history.present;
  }

  get slot() {
    return this.page.slots[this.page.shown];
  }

  menuOf(slot) {
    return this.data.menus[slot.menu];
  }

  get canUndo() {
    return this.#history.canUndo;
  }

  get canRedo() {
    return this.#history.canRedo;
  }

  /** Change the slot that the controls are of. Changes of one gesture are undone together. */
  change(slot, gesture = null) {
    const place = this.page.shown;
    this.#history.push(withSlot(this.page, place, this.#solved(place, slot)), gesture);
    this.#show();
  }

  #solved(place, slot) {
    const solve = (of, name, hold) => this.calculator.solve(place, of, name, hold);
    return withHoldsSolved(this.menuOf(slot), slot, solve);
  }

  #fromAddress() {
    const page = decode(location.hash.slice(1), this.data, this.written, this.budget);
    return SLOTS.reduce(
      (solved, place) => withSlot(solved, place, this.#solved(place, page.slots[place])),
      page,
    );
  }

  changeTrigger(name, change, gesture = null) {
    this.change(withTrigger(this.slot, name, change), gesture);
  }

  hold(name, hold) {
    this.change(withHold(this.slot, name, hold));
  }

  endGesture() {
    this.#history.endGesture();
  }

  /** Change what else a page has, such as the selected trigger, as a step to undo or not. */
  show(change, isStep = false) {
    const page = { ...this.page, ...change };
    if (isStep) this.#history.push(page);
    else this.#history.replace(page);
    this.#show();
  }

  chooseMenu(m) {
    const slot = slotOf(this.written[m]);
    this.show({ ...withSlot(this.page, this.page.shown, slot), pick: this.data.menus[m].pick }, true);
  }

  undo() {
    this.#history.undo();
    this.#show();
  }

  redo() {
    this.#history.redo();
    this.#show();
  }

  /** Take the state of the address, if the user or a link changed it. */
  follow() {
    this.#seen = location.hash;
    const page = this.#fromAddress();
    if (encode(page, this.data, this.written) === this.#encoded) return;
    this.#history.push(page);
    this.#show();
  }

  get #encoded() {
    return encode(this.page, this.data, this.written);
  }

  #show() {
    this.#scheduler.show(this.page);
    clearTimeout(this.#address);
    this.#address = setTimeout(() => this.#writeAddress(), ADDRESS_WAIT);
  }

  #writeAddress() {
    if (location.hash === this.#seen) {
      history.replaceState(null, "", `#${this.#encoded}`);
      this.#seen = location.hash;
      this.#report();
    } else this.follow(); // it was changed while the page was busy
  }

  /** Send the state to the page that this one is a frame of, such as a notebook. */
  #report() {
    if (parent === window) return;
    const state = { address: this.#encoded, toml: this.toml(this.page.shown) };
    parent.postMessage({ trigemuExplorer: state }, "*");
  }

  repaint() {
    this.#scheduler.repaint();
  }

  settled() {
    return this.#scheduler.idle();
  }

  toml(place) {
    const slot = this.page.slots[place];
    return menuText(this.data, slot, this.written[slot.menu]);
  }

  csv(place) {
    const slot = this.page.slots[place];
    const menu = this.menuOf(slot);
    const settings = (name) => {
      const { step, prescale } = slot.triggers.get(name);
      const trigger = menu.triggers.find((of) => of.name === name);
      const threshold = "score" in trigger.decision ? thresholdAt(this.data, trigger, step) : null;
      return { prescale: Number.isFinite(prescale) ? prescale * trigger.factor : null, threshold };
    };
    return ratesCsv(menu, settings, this.calculator.rates(place, slot));
  }

  save(kind) {
    const place = this.page.shown;
    const name = fileStem(this.menuOf(this.slot).name) + (this.page.two ? `_${place}` : "");
    if (kind === "TOML") download(`${name}.toml`, this.toml(place), "application/toml");
    else download(`${name}.csv`, this.csv(place), "text/csv");
  }
}

/** Return a number rounded up to two digits. */
function roundedUp(hz) {
  if (!(hz > 0)) return 1;
  const unit = 10 ** (Math.floor(Math.log10(hz)) - 1);
  return Number((Math.ceil(hz / unit) * unit).toPrecision(2));
}

function onKey(app, event) {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || isTyped(event.target)) return;
  const key = event.key.toLowerCase();
  if (key === "y" || (key === "z" && event.shiftKey)) app.redo();
  else if (key === "z") app.undo();
  else return;
  event.preventDefault();
}

async function start() {
  const place = document.getElementById("page");
  try {
    const data = unpack(await readData(document.getElementById("data")));
    const app = new App(data);
    const header = new HeaderView(app);
    const triggers = new TriggersView(app);
    const views = [
      header,
      new ScanView(app),
      data.signals.some(({ turnons }) => turnons.length) ? new TurnonView(app) : new RatesView(app),
      triggers,
      new ChangesView(app, triggers, header),
      new SignalsView(app),
      new DifferencesView(app),
      new OverlapView(app),
    ];
    const roots = views.map((view) => view.root).filter(Boolean);
    place.replaceChildren(...roots, header.notes);
    addEventListener("hashchange", () => app.follow());
    addEventListener("keydown", (event) => onKey(app, event));
    addEventListener("resize", () => app.repaint());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => app.repaint());
    app.start(views);
    // for tests: the numbers that are shown, and what would be downloaded
    window.trigemuExplorer = {
      settled: () => app.settled(),
      numbers: () => numbersOf(data, app.calculator.engine("A"), app.page.slots),
      toml: (slot) => app.toml(slot),
      csv: (slot) => app.csv(slot),
    };
  } catch (error) {
    const old = typeof DecompressionStream === "undefined";
    const said = old
      ? "This browser is too old: it cannot unpack the data."
      : `The page is damaged: ${error.message}`;
    place.replaceChildren(el("p", { role: "alert", text: said }));
  }
}

start();
