// The block of data: the length of a header in JSON, the header, then arrays at multiples of 8 bytes.

const TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };

/**
 * Read a block. The arrays are views of its bytes.
 * @param {Uint8Array} bytes that begin their buffer
 * @returns {object} the header with typed arrays in place of what it says of them. Bits stay packed: element i
 *   is bit i & 7 of byte i >> 3
 */
export function unpack({ buffer }) {
  const length = new DataView(buffer).getUint32(0, true);
  const start = Math.ceil((4 + length) / 8) * 8;

  function asArray(key, value) {
    if (!value?.dtype) return value;
    if (value.dtype === "bits") return new Uint8Array(buffer, start + value.at, Math.ceil(value.length / 8));
    return new TYPES[value.dtype](buffer, start + value.at, value.length);
  }

  return prepared(JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)), asArray));
}

/**
 * Return data with the weight of each event of a table, and `starts`: where the events of each parent begin,
 * and their number; and with `written`, the state of each menu as it is written, `{menu, triggers, holds}`.
 */
export function prepared(data) {
  return {
    ...data,
    background: tableOf(data.background),
    signals: data.signals.map((signal) => ({ ...signal, table: tableOf(signal.table) })),
    menus: data.menus.map((menu, m) => ({
      ...menu,
      written: { menu: m, triggers: new Map(menu.triggers.map(asWritten)), holds: new Map() },
    })),
  };
}

function tableOf(table) {
  const weight = new Float64Array(table.events);
  const starts = [];
  for (let i = 0; i < table.events; i++) {
    weight[i] = table.weights[table.weight[i]];
    if ((table.first[i >> 3] >> (i & 7)) & 1) starts.push(i);
  }
  starts.push(table.events);
  return { ...table, weight, starts: Uint32Array.from(starts) };
}

function asWritten({ name, on, decision, prescale }) {
  return [name, { on, step: decision.at ?? null, prescale: prescale ?? Infinity }];
}
