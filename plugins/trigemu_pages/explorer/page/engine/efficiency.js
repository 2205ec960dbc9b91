// Efficiencies of weighted events and their intervals, as `trigemu efficiency` gives them: Wilson's interval
// for n = ε (1 − ε) / Var events of weight 1 (Wilson, JASA 22, 209).

/** Sums over the events of a bin. Events of one parent are added one after the other. */
class Efficiency {
  #weight = 0;
  #passed = 0;
  #difference = 0;
  #square = 0;
  #squarePassed = 0;
  #signs = [false, false];
  // Σ over parents of (Σ w a)², (Σ w a)(Σ w), (Σ w)², each less the same of single events
  #shared = [0, 0, 0];
  // Σ over parents of (Σ w d)², (Σ w d)(Σ w), (Σ w)²
  #gains = [0, 0, 0];
  #parent = new Float64Array(6);
  events = 0;

  /** Add an event of weight w, of which a fraction a is accepted, by d more than by the other menu. */
  add(w, a, d) {
    const sums = this.#parent;
    this.events++;
    this.#square += w * w;
    this.#squarePassed += w * w * a;
    this.#signs[w < 0 ? 0 : 1] ||= w !== 0;
    sums[0] += w * a;
    sums[1] += w;
    sums[2] += w * d;
    sums[3] += (w * a) ** 2;
    sums[4] += w * a * w;
    sums[5] += w * w;
  }

  endParent() {
    const [passed, weight, difference, passed2, mixed, weight2] = this.#parent;
    this.#passed += passed;
    this.#weight += weight;
    this.#difference += difference;
    this.#shared[0] += passed ** 2 - passed2;
    this.#shared[1] += passed * weight - mixed;
    this.#shared[2] += weight ** 2 - weight2;
    this.#gains[0] += difference ** 2;
    this.#gains[1] += difference * weight;
    this.#gains[2] += weight ** 2;
    this.#parent.fill(0);
  }

  /** Return {value, low, high, gain: {value, error}, events}; NaN without events. */
  result() {
    const total = this.#weight || NaN;
    const { events } = this;
    const gained = this.#difference / total;
    const ofGain = withMean(this.#gains, gained);
    const gain = { value: gained, error: Math.sqrt(Math.max(ofGain, 0)) / total };
    const value = this.#passed / total;
    const lost = (this.#weight - this.#passed) / total;
    const alone = lost ** 2 * this.#squarePassed + value ** 2 * (this.#square - this.#squarePassed);
    const variance = Math.max(alone + withMean(this.#shared, value), 0) / total ** 2;
    if (this.#signs[0] && this.#signs[1] && variance > 0) {
      const error = Math.sqrt(variance);
      return { value, low: value - error, high: value + error, gain, events };
    }
    const known = value * lost > 0 && variance > 0;
    const effective = known ? (value * lost) / variance : total ** 2 / (this.#square + this.#shared[2]);
    return { value, ...wilson(value, effective), gain, events };
  }
}

/** Return Σ (x − mean · y)² from Σ x², Σ x y and Σ y². */
function withMean([x2, xy, y2], mean) {
  return x2 - 2 * mean * xy + mean ** 2 * y2;
}

/** The ends of Wilson's interval at one standard deviation. */
function wilson(given, effective) {
  const value = Math.min(Math.max(given, 0), 1);
  const shrink = 1 + 1 / effective;
  const centre = (value + 1 / (2 * effective)) / shrink;
  const half = Math.sqrt((value * (1 - value)) / effective + 1 / (4 * effective ** 2)) / shrink;
  const between = (x, low, high) => Math.min(Math.max(x, low), high);
  return { low: between(centre - half, 0, value), high: between(centre + half, value, 1) };
}

/**
 * Return the efficiencies in the bins of a table's events, with gains.
 * @param {number} bins
 * @param {(event: number) => number} bin the bin of an event, beyond these for none
 * @param {(event: number) => number} now the accepted fraction of an event
 * @param {(event: number) => number} before that of the menu over which gains are
 */
export function efficienciesIn({ starts, weight }, bins, bin, now, before) {
  const sums = Array.from({ length: bins }, () => new Efficiency());
  for (let parent = 0; parent + 1 < starts.length; parent++) {
    for (let i = starts[parent]; i < starts[parent + 1]; i++) {
      const accepted = now(i);
      sums[bin(i)]?.add(weight[i], accepted, accepted - before(i));
    }
    sums.forEach((sum) => sum.endParent());
  }
  return sums.map((sum) => sum.result());
}
