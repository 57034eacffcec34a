// The requester's key: it comes after the # of the address, or is asked for, and is never stored.

const KEY = /^qck_[\w-]+$/;

/** Return the key that the address brings, and take it out of the address bar; or null. */
export function takeKey() {
  const brought = new URLSearchParams(location.hash.slice(1)).get("k");
  if (location.hash) {
    history.replaceState(null, "", location.pathname);
  }
  return isKey(brought) ? brought : null;
}

/** Return whether a text has the form of a key. */
export function isKey(text) {
  return text !== null && KEY.test(text);
}
