// Canonical JSON (RFC 8785), so that equal values have equal hashes.

/** Return the canonical form of a JSON value: sorted keys, no spaces, numbers as in ECMAScript. */
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
  const fits =
    typeof value === "string"
      ? !/\p{Surrogate}/u.test(value) // a lone surrogate has no UTF-8
      : value === null || typeof value === "boolean" || Number.isFinite(value);
  if (!fits) {
    throw new RangeError(`JSON cannot hold a ${typeof value} such as this`);
  }
  return JSON.stringify(value);
}

export async function canonicalHash(value) {
  return sha256(new TextEncoder().encode(canonicalJson(value)));
}

export async function sha256(bytes) {
  return hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

export function hexOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
