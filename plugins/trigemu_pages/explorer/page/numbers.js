// Rates and counts as short text, as the command line prints them; an exact tie is rounded up.

/** Units with their scales, descending; smaller values have the last one. */
export const HZ = [
  ["MHz", 1e6],
  ["kHz", 1e3],
  ["Hz", 1],
  ["mHz", 1e-3],
];
const PREFIXES = [
  ["G", 1e9],
  ["M", 1e6],
  ["k", 1e3],
  ["", 1],
];
/** Enough to write 40 MHz / 1 Hz without an exponent. */
const PRESCALE_DIGITS = 8;

/** Format a number with so many decimals, as Python's `f"{x:z.2f}"`; negative ones round to tens, hundreds, …. */
function fixed(x, decimals) {
  const unit = 10 ** -decimals;
  const rounded = decimals > 0 ? x.toFixed(decimals) : String(Math.round(x / unit) * unit);
  return Number(rounded) ? rounded : rounded.replace("-", "");
}

/** Format a number with so many significant digits, as Python's `f"{x:.3g}"`. */
function general(x, digits) {
  const power = powerOfTen(x, digits);
  if (power >= -4 && power < digits) return String(Number(x.toPrecision(digits)));
  const mantissa = Number(x.toExponential(digits - 1).split("e")[0]);
  return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** Return the power of ten of a number rounded to so many digits: 1 for 9.96 with two digits. */
function powerOfTen(x, digits) {
  return Number(x.toExponential(digits - 1).split("e")[1]);
}

/** Return the largest unit, of units in descending order, that a number reaches, and its scale. */
export function unitOf(size, units) {
  return units.find(([, scale]) => size >= scale) ?? units.at(-1);
}

/**
 * Format a rate as `18.7 ± 1.4 kHz`, the error with two digits; as `< 12 Hz` for an upper limit at 68 %; as
 * `0` where it is 0 by construction.
 * @param {{hz: number, error: number, limit: number|null, inside?: string[]}} rate
 */
export function formatRate(rate) {
  if (rate.inside?.length) return "0";
  return rate.limit == null ? inUnit(rate.hz, rate.error) : `< ${inUnit(rate.limit, 0)}`;
}

/** Format a rate in Hz as `18.7 ± 1.4 kHz`, without the error where it is 0. */
export function inUnit(hz, error) {
  const size = Number(general(Math.max(Math.abs(hz), Math.abs(error)), 3));
  if (!size) return "0 Hz";
  const [unit, scale] = unitOf(size, HZ);
  if (error <= 0) return `${general(hz / scale, 3)} ${unit}`;
  return `${withError(hz / scale, error / scale)} ${unit}`;
}

/** Format a number as `18.7 ± 1.4`, the error with two digits. */
export function withError(value, error) {
  if (error <= 0) return general(value, 6);
  const decimals = 1 - powerOfTen(error, 2);
  return `${fixed(value, decimals)} ± ${fixed(error, decimals)}`;
}

/** Format a difference of rates as `+1.350 ± 0.045 kHz`, or `0` where there is none. */
export function signedRate(hz, error) {
  if (!hz && !error) return "0";
  const text = inUnit(hz, error);
  return hz <= 0 || text.startsWith("0") ? text : `+${text}`;
}

/** Format a prescale; "off" where it is infinite. */
export function prescaleText(prescale) {
  return prescale === null ? "off" : general(prescale, PRESCALE_DIGITS);
}

/** Format the raw and, in brackets, the effective number of events. */
export function eventsText(rate) {
  return `${short(rate.events)} (${short(rate.effective)})`;
}

/** Format a number with three digits: 37900 as 37.9k. */
export function short(count) {
  const size = Number(general(count, 3));
  const [unit, scale] = unitOf(size, PREFIXES);
  return general(size / scale, 3) + unit;
}

/** Format the rejection of a level, the rate of the level before over its own; empty where there is none. */
export function rejectionText(level) {
  return level.rejection == null ? "" : withError(level.rejection, level.rejectionError ?? 0);
}

/** Format a fraction as percent: `42.17`. */
export function percent(fraction) {
  return Number.isFinite(fraction) ? fixed(100 * fraction, 2) : "–";
}

/** Format a fraction and its error as percent: `97.8 ± 0.7 %`. */
export function percentWithError(fraction, error) {
  return `${withError(100 * fraction, 100 * error)} %`;
}

/** Format a fraction in three characters of percent: 100, 42, 4.2, <.1, 0. */
export function shortPercent(fraction) {
  const value = 100 * fraction;
  if (!(value > 0 && value < 9.95)) return fixed(value, 0);
  return value >= 0.05 ? fixed(value, 1) : "<.1";
}

/** Format a threshold, as `100` or `0.35`. */
export function thresholdText(value) {
  return general(value, 6);
}
