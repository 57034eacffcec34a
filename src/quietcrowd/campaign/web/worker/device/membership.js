// Random names: who the device is in a campaign, and ids that tell nothing.

/** Return a new credential: 32 random bytes. */
export function newCredential() {
  const text = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
  return `qcw_${text.replaceAll("+", "-").replaceAll("/", "_").replace("=", "")}`;
}

/** Return the participant that follows from a credential: 16 bytes of its SHA-256, in hex. */
export async function participantOf(credential) {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(credential));
  return hexOf(new Uint8Array(hash, 0, 16));
}

/** Return 16 random bytes, in hex. */
export function newId() {
  return hexOf(crypto.getRandomValues(new Uint8Array(16)));
}

function hexOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
