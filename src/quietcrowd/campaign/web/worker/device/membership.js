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

const CODE_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"; // a power of two of them
const CODE_FORM = new RegExp(`^[${CODE_LETTERS}]{16}$`);

/** Return 80 random bits as text, with which a worker goes on in another browser. */
export function newCode() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => CODE_LETTERS[byte % CODE_LETTERS.length]).join("");
}

/** Return a typed code as it is sent; null if it has another form. */
export function readCode(typed) {
  const letters = typed.toUpperCase().replace(/[\s-]/g, "");
  const code = letters.replace(/O/g, "0").replace(/[IL]/g, "1");
  return CODE_FORM.test(code) ? code : null;
}

export function newId() {
  return hexOf(crypto.getRandomValues(new Uint8Array(16)));
}
