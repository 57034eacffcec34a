// What the page may ask with: a requester's key, or a token for one campaign. Neither is stored.
//
// No key is taken from an address: browsers keep those. A link brings a code, which is good once.

const KEY = /^qck_[\w-]+$/;
const CODE = /^qcd_[\w-]+$/;

/** Return what the address brings behind its #, and take it out of the address bar. */
export function takeFragment() {
  const brought = new URLSearchParams(location.hash.slice(1));
  if (location.hash) {
    history.replaceState(null, "", location.pathname);
  }
  const code = brought.get("c");
  return { code: CODE.test(code ?? "") ? code : null, holdsKey: brought.has("k") };
}

/** Return whether a text has the form of a key. */
export function isKey(text) {
  return KEY.test(text);
}
