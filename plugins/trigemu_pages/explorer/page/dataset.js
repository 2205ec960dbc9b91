// The data that the page carries: base64 of gzip of the blob that the engine unpacks.

/** Return the bytes of the script element with the data. */
export async function readData(element) {
  const packed = bytesOf(element.textContent);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Decode base64; a loop over charCodeAt is the fastest way that every browser has. */
function bytesOf(text) {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
