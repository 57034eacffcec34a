// Stores the page and its files, and nothing else, so that the page opens offline.
//
// Stored files are used first. When a page opens, a newer release is fetched for the next time.
// Files are stored by the hashes that a page requests, so no page mixes two releases.

const BASE = new URL("../", location).href;
const MANIFEST = `${BASE}worker/manifest.json`;
const PAGE = `${BASE}j/${"0".repeat(32)}`; // the same for all campaigns

addEventListener("install", (event) => event.waitUntil(update()));

addEventListener("fetch", (event) => {
  const { mode, url, destination } = event.request;
  const path = url.startsWith(BASE) ? url.slice(BASE.length).replace(/#.*/, "") : "";
  if (mode === "navigate" && /^j\/[0-9a-f]{32}$/.test(path)) {
    event.respondWith(kept(PAGE, event.request));
    event.waitUntil(update().catch(() => {})); // offline
  } else if (path.startsWith("worker/") && ["script", "style"].includes(destination)) {
    event.respondWith(keyOf(event.request).then((key) => kept(key, event.request)));
  }
});

async function kept(key, request) {
  const found = await caches.match(key, { cacheName: "quietcrowd" });
  return found ? new Response(found.body, found) : fetch(request);
}

/** Return a file's key; if a browser hides the requested hash, that which the stored page names. */
async function keyOf({ url, integrity }) {
  const cache = await caches.open("quietcrowd");
  const named = integrity || (await (await cache.match(PAGE))?.text()) || "";
  const keys = (await cache.keys()).map((one) => one.url);
  return keys.find((key) => key.startsWith(`${url}?`) && named.includes(key.split("?")[1])) ?? url;
}

/** Store the server's release; updates run one at a time, since each deletes unknown files. */
function update() {
  return navigator.locks.request("quietcrowd service worker", keepRelease);
}

/** Store the server's release if it is new; of the previous one, keep files that may be open. */
async function keepRelease() {
  const [cache, manifest] = [await caches.open("quietcrowd"), await fetched(MANIFEST)];
  const before = (await (await cache.match(MANIFEST))?.text()) ?? '{"files":{}}';
  const now = await manifest.clone().text();
  if (now === before) {
    return;
  }
  const keys = keysOf(JSON.parse(now));
  const files = await Promise.all(keys.map((key) => fetched(...key.split("?"))));
  const page = await fetched(PAGE, JSON.parse(now).page);
  await Promise.all(keys.map((key, i) => cache.put(key, files[i])));
  await cache.put(PAGE, page);
  await cache.put(MANIFEST, manifest);
  const open = new Set([PAGE, MANIFEST, ...keys, ...keysOf(JSON.parse(before))]);
  const over = (await cache.keys()).filter(({ url }) => !open.has(url));
  await Promise.all(over.map((one) => cache.delete(one)));
}

function keysOf({ files }) {
  const listed = Object.entries(files).filter(([path]) => path.startsWith("worker/"));
  return listed.map(([path, hash]) => `${BASE}${path}?${hash}`);
}

async function fetched(url, integrity = "") {
  const response = await fetch(url, { integrity, cache: "no-store", credentials: "omit" });
  return response.ok ? response : Promise.reject(response);
}
