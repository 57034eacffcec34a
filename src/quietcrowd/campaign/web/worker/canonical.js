// One spelling for each JSON value, so that equal values have equal hashes (RFC 8785).

/**
 * Return the one spelling of a JSON value: keys sorted by UTF-16 code units, no spaces, and numbers as
 * JSON.stringify prints them.
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
  if (!["string", "number", "boolean"].includes(typeof value) && value !== null) {
    throw new TypeError(`JSON cannot hold a value of type ${typeof value}`);
  }
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new RangeError("JSON cannot hold a number that is not finite");
  }
  if (typeof value === "string" && /\p{Surrogate}/u.test(value)) {
    throw new RangeError("a text holds half a surrogate pair: UTF-8 cannot hold it");
  }
}

/**
 * Return the SHA-256 of the one spelling of a JSON value, in hex.
 * @param {unknown} value
 */
export async function canonicalHash(value) {
  const text = new TextEncoder().encode(canonicalJson(value));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
