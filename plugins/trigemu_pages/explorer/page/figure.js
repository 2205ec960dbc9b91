// A figure of the page with its title, legend and buttons that save it, and what all plots share.
/* global Plot */

import { download, el, fileStem, setText } from "./dom.js";
import { short } from "./numbers.js";

/** Petroff's ten colours (arXiv:2107.02270), made for colour-blind readers; the report has the same. */
const COLOURS = [
  "#3f90da",
  "#ffa90e",
  "#bd1f01",
  "#94a4a2",
  "#832db6",
  "#a96b59",
  "#e76300",
  "#b9ac70",
  "#717581",
  "#92dadd",
];
/** Those of up to three lines, which are clear on white and on black. */
export const LINES = [COLOURS[0], COLOURS[1], COLOURS[6]];
/** Line styles, so that lines differ not only in colour. */
export const DASHES = ["none", "6 4", "8 3 2 3", "2 3"];
/** Pixels of a plot, which leave room for the table of triggers on the first screen. */
const HEIGHT = 240;
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
const FONT_SIZE = 12;
const PAPER = "#ffffff";
const INK = "#1c1e21";
const SVG = "http://www.w3.org/2000/svg";
/** Pixels of a PNG for each pixel of the screen. */
const SHARPNESS = 2;
const LEGEND_HEIGHT = 18;
const LEGEND_GAP = 16;
/** The label of the vertical axis is left of the legend. */
const LEGEND_LEFT = 60;

/** A figure: `root` is its element, `width` what a plot may have, `draw` shows one. */
export class Figure {
  #place = el("div", { class: "plot" });
  #caption = el("span");
  #name = "trigemu";

  constructor(label) {
    const save = (kind) =>
      el("button", {
        type: "button",
        class: "small",
        text: kind,
        "aria-label": `Save the plot as ${kind}: ${label}`,
        on: { click: () => this.#save(kind) },
      });
    this.root = el(
      "figure",
      { "aria-label": label },
      this.#place,
      el("figcaption", {}, this.#caption, el("span", { class: "buttons" }, save("SVG"), save("PNG"))),
    );
  }

  get width() {
    return Math.max(280, Math.floor(this.#place.clientWidth) || 640);
  }

  /**
   * Draw a plot with a legend and a frame.
   * @param {object[]} entries of the legend
   * @param {object} options of Plot.plot, without what all plots share
   * @param {string} caption
   * @param {string} name of files, without ending
   */
  draw(entries, options, caption, name) {
    const { mark, height } = legend(entries, this.width);
    const svg = Plot.plot({
      width: this.width,
      height: HEIGHT,
      marginTop: height + 8,
      marginBottom: 40,
      ...options,
      marks: [mark, ...options.marks, Plot.frame({ strokeOpacity: 0.4 })],
      style: { fontFamily: FONT, fontSize: `${FONT_SIZE}px` },
    });
    svg.querySelector("style")?.remove(); // style.css has its rules: the page forbids styles that come in later
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", caption);
    this.#place.replaceChildren(svg);
    setText(this.#caption, caption);
    this.#name = fileStem(name);
  }

  /** Show a sentence in place of a plot. */
  say(text) {
    this.#place.replaceChildren(el("p", { text }));
    setText(this.#caption, "");
  }

  #save(kind) {
    const svg = this.#place.querySelector("svg");
    if (!svg) return;
    const text = svgText(svg);
    const blob = new Blob([text], { type: "image/svg+xml" });
    if (kind === "SVG") download(`${this.#name}.svg`, blob);
    else savePng(blob, svg.viewBox.baseVal, `${this.#name}.png`);
  }
}

/** Return an SVG as a file of its own: on white, in the colours of the light page. */
export function svgText(svg) {
  const copy = svg.cloneNode(true);
  const { width, height } = svg.viewBox.baseVal;
  const paper = document.createElementNS(SVG, "rect");
  for (const [key, value] of Object.entries({ width, height, fill: PAPER })) paper.setAttribute(key, value);
  copy.prepend(paper);
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("color", INK);
  copy.setAttribute("font-family", FONT);
  copy.setAttribute("font-size", FONT_SIZE);
  copy.removeAttribute("class");
  return new XMLSerializer().serializeToString(copy).replaceAll("var(--plot-background)", PAPER);
}

async function savePng(blob, { width, height }, name) {
  const image = new Image();
  const url = URL.createObjectURL(blob);
  image.src = url;
  await image.decode();
  const canvas = el("canvas", { width: SHARPNESS * width, height: SHARPNESS * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  canvas.toBlob((png) => download(name, png), "image/png");
}

/**
 * Return a mark that draws a legend above the frame, and the height it needs.
 * @param {{label: string, colour: string, dash?: string}[]} entries
 * @param {number} width of the plot in pixels
 */
function legend(entries, width) {
  let x = 0;
  let line = 0;
  const placed = entries.map((entry) => {
    const size = 28 + 6.6 * entry.label.length;
    if (x && x + size > width - LEGEND_LEFT - 70) {
      x = 0;
      line += 1;
    }
    const place = { ...entry, x, line };
    x += size + LEGEND_GAP;
    return place;
  });
  const mark = (index, scales, values, { marginLeft }) => {
    const group = svgElement("g", { "aria-label": "legend", "font-size": FONT_SIZE });
    for (const { label, colour, dash = "none", x: left, line: row } of placed) {
      const at = marginLeft + LEGEND_LEFT + left;
      const y = 9 + LEGEND_HEIGHT * row;
      const stroke = { stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash };
      group.append(svgElement("line", { x1: at, x2: at + 22, y1: y, y2: y, ...stroke }));
      const text = svgElement("text", { x: at + 28, y: y + 4, fill: "currentColor", "text-anchor": "start" });
      text.textContent = label;
      group.append(text);
    }
    return group;
  };
  return { mark, height: LEGEND_HEIGHT * (line + 1) + 6 };
}

function svgElement(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

/** Return a logarithmic axis of rates in Hz with plain labels: 1k, 10k, and between where there is room. */
export function rateAxis(low, high) {
  return {
    type: "log",
    domain: [low, high],
    tickFormat: short,
    ticks: 5,
    label: "rate [Hz]",
  };
}
