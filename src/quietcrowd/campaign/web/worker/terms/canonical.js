// One spelling for each JSON value, so that equal values have equal hashes (RFC 8785).

/**
 * Return the one spelling of a JSON value: sorted keys, no spaces, numbers as ECMAScript has them.
 * @param {unknown} value
 * @returns {string}
 */
export function canonicalJson(value) {
  if (Array.isArray(value)) {
    return `[${value.map(canonicalJson).join(",")}]`;
  }
  if (typeof value === "object" && value !== null) {
    const items = Object.keys(value)
      .sort()
      .map((key) => `${canonicalJson(key)}:${canonicalJson(value[key])}`);
    return `{${items.join(",")}}`;
  }
  requireScalar(value);
  return JSON.stringify(value);
}

function requireScalar(value) {
  const fits =
    typeof value === "string"
      ? !/\p{Surrogate}/u.test(value) // half a pair: UTF-8 cannot hold it
      : value === null || typeof value === "boolean" || Number.isFinite(value);
  if (!fits) {
    throw new RangeError(`JSON cannot hold a ${typeof value} such as this`);
  }
}

/** Return the SHA-256 of the one spelling of a JSON value, in hex. @param {unknown} value */
export async function canonicalHash(value) {
  return sha256(new TextEncoder().encode(canonicalJson(value)));
}

/** Return the SHA-256 of bytes, in hex. */
export async function sha256(bytes) {
  return hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** Return bytes in hex. */
export function hexOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
