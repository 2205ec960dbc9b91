// The block of data: the length of a header in JSON, the header, then arrays at multiples of 8 bytes.

const TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };

/**
 * Read a block. The arrays are views of its bytes.
 * @param {Uint8Array} bytes
 * @returns {object} the header with typed arrays in place of what it says of them; bits stay packed, element
 * i
 *   being bit i & 7 of byte i >> 3
 */
export function unpack(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(0, true);
  const start = Math.ceil((4 + length) / 8) * 8;
  const data = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice(); // as views need it

  function asArray(key, value) {
    if (value === null || typeof value !== "object" || !("dtype" in value)) return value;
    const at = data.byteOffset + start + value.at;
    if (value.dtype === "bits") return new Uint8Array(data.buffer, at, Math.ceil(value.length / 8));
    return new TYPES[value.dtype](data.buffer, at, value.length);
  }

  return JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)), asArray);
}
