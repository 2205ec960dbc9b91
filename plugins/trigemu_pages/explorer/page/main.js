// The page: reads the data, keeps the state with its history and address, and lets the views show it.

import { decode, encode } from "./address.js";
import { ratesCsv } from "./csv.js";
import { readData } from "./dataset.js";
import { download, fileStem, isTyped } from "./dom.js";
import { Engine } from "./engine/index.js";
import { unpack } from "./engine/unpack.js";
import { numbersOf } from "./everything.js";
import { History } from "./history.js";
import { Scheduler } from "./scheduler.js";
import { firstPage, SLOTS, withHold, withHoldsSolved, withSlot, withTrigger } from "./state.js";
import { menuText } from "./toml.js";
import { ChangesView } from "./views/changes.js";
import { DifferencesView } from "./views/differences.js";
import { HeaderView } from "./views/header.js";
import { OverlapView } from "./views/overlap.js";
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
  #scheduler;
  #address = 0;
  #seen = location.hash;

  constructor(data) {
    this.data = data;
    // each keeps the patterns of its last state
    this.engines = { A: new Engine(data), B: new Engine(data), written: new Engine(data) };
    const { slots } = firstPage(data);
    const rates = SLOTS.map((place) => this.engines[place].rates(slots[place]).rate.hz);
    this.budget = roundedUp(Math.max(...rates));
    this.history = new History(this.#fromAddress());
  }

  start(views) {
    this.#scheduler = new Scheduler(views);
    this.#show();
  }

  get page() {
    return this.history.present;
  }

  /** The state that the controls are of. */
  get slot() {
    return this.page.slots[this.page.shown];
  }

  get otherPlace() {
    return this.page.shown === "A" ? "B" : "A";
  }

  get engine() {
    return this.engines[this.page.shown];
  }

  menuOf(slot) {
    return this.data.menus[slot.menu];
  }

  /** The differences of the slot from its menu as written. */
  get fromWritten() {
    return this.engine.differences(this.slot, this.menuOf(this.slot).written);
  }

  /** The differences B − A. */
  get betweenSlots() {
    const { A, B } = this.page.slots;
    return this.engines.written.differences(B, A);
  }

  /** Change the slot that the controls are of. Changes of one gesture are undone together. */
  change(slot, gesture = null) {
    const place = this.page.shown;
    this.history.push(withSlot(this.page, place, this.#solved(place, slot)), gesture);
    this.#show();
  }

  #solved(place, slot) {
    return withHoldsSolved(this.menuOf(slot), slot, (...asked) => this.engines[place].solve(...asked));
  }

  #fromAddress() {
    const page = decode(location.hash.slice(1), this.data, this.budget);
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

  /** Change what else a page has, such as the selected trigger, as a step to undo or not. */
  show(change, isStep = false) {
    const page = { ...this.page, ...change };
    if (isStep) this.history.push(page);
    else this.history.present = page;
    this.#show();
  }

  chooseMenu(m) {
    const { written, pick } = this.data.menus[m];
    this.show({ ...withSlot(this.page, this.page.shown, written), pick }, true);
  }

  undo() {
    this.history.undo();
    this.#show();
  }

  redo() {
    this.history.redo();
    this.#show();
  }

  /** Take the state of the address, if the user or a link changed it. */
  follow() {
    this.#seen = location.hash;
    const page = this.#fromAddress();
    if (encode(page, this.data) !== encode(this.page, this.data)) this.show(page, true);
  }

  #show() {
    this.#scheduler.show(this.page);
    clearTimeout(this.#address);
    this.#address = setTimeout(() => this.#writeAddress(), ADDRESS_WAIT);
  }

  #writeAddress() {
    if (location.hash !== this.#seen) return this.follow(); // it was changed while the page was busy
    const address = encode(this.page, this.data);
    history.replaceState(null, "", `#${address}`);
    this.#seen = location.hash;
    // for a page that this one is a frame of, such as a notebook
    const trigemuExplorer = { address, toml: menuText(this.data, this.slot) };
    if (parent !== window) parent.postMessage({ trigemuExplorer }, "*");
  }

  repaint() {
    this.#scheduler.repaint();
  }

  settled() {
    return this.#scheduler.idle();
  }

  csv(place) {
    const slot = this.page.slots[place];
    return ratesCsv(this.data, slot, this.engines[place].rates(slot));
  }

  save(kind) {
    const { shown, two } = this.page;
    const name = fileStem(this.menuOf(this.slot).name) + (two ? `_${shown}` : "");
    if (kind === "TOML") download(`${name}.toml`, menuText(this.data, this.slot), "application/toml");
    else download(`${name}.csv`, this.csv(shown), "text/csv");
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
  const status = document.getElementById("status");
  try {
    const app = new App(unpack(await readData(document.getElementById("data"))));
    const { data } = app;
    const header = new HeaderView(app);
    const triggers = new TriggersView(app);
    const views = [
      header,
      new ScanView(app),
      new TurnonView(app),
      triggers,
      new ChangesView(app, triggers, header),
      new SignalsView(app),
      new DifferencesView(app),
      new OverlapView(app),
    ];
    document.querySelector("main").hidden = false;
    status.remove();
    addEventListener("hashchange", () => app.follow());
    addEventListener("keydown", (event) => onKey(app, event));
    addEventListener("resize", () => app.repaint());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => app.repaint());
    app.start(views);
    // for tests: the numbers that are shown, and what would be downloaded
    window.trigemuExplorer = {
      settled: () => app.settled(),
      numbers: () => numbersOf(data, app.engines.A, app.page.slots),
      toml: (place) => menuText(data, app.page.slots[place]),
      csv: (place) => app.csv(place),
    };
  } catch (error) {
    const isOld = typeof DecompressionStream === "undefined";
    status.setAttribute("role", "alert");
    status.textContent = isOld
      ? "This browser is too old: it cannot unpack the data."
      : `The page is damaged: ${error.message}`;
  }
}

start();
