// Credentials of the page: a requester's key, or a token for one campaign. Neither is stored.
//
// Keys in addresses are not used, because browsers store addresses. A link contains a code for one
// use.

const KEY = /^qck_[\w-]+$/;
const CODE = /^qcd_[\w-]+$/;

/** Return the code in the URL fragment; remove a fragment with a secret from the address bar. */
export function takeFragment() {
  const brought = new URLSearchParams(location.hash.slice(1));
  if (location.hash.includes("=")) {
    history.replaceState(null, "", location.pathname);
  }
  const code = brought.get("c");
  return { code: CODE.test(code ?? "") ? code : null, holdsKey: brought.has("k") };
}

export function isKey(text) {
  return KEY.test(text);
}
