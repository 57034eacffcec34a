// Identity of the device in a campaign, and ids, which are random bytes.

import { hexOf, sha256 } from "../terms/canonical.js";

/** Return a new credential: 32 random bytes in base64url. */
export function newCredential() {
  const text = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
  return `qcw_${text.replaceAll("+", "-").replaceAll("/", "_").replace("=", "")}`;
}

export async function participantOf(credential) {
  return (await sha256(new TextEncoder().encode(credential))).slice(0, 32);
}

export function newId() {
  return hexOf(crypto.getRandomValues(new Uint8Array(16)));
}
