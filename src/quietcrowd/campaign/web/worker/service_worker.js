// Keeps the page and its files, so that it opens without a network; and nothing else, ever.
//
// What is kept is shown first. A newer release is fetched after a page was opened, for the next
// time. Files are kept by their hashes, which the page asks for: it never mixes two releases.

const KEPT = "quietcrowd";
const BASE = new URL("../", self.location).href;
const MANIFEST = `${BASE}worker/manifest.json`;
const PAGE = `${BASE}j/${"0".repeat(32)}`; // the page is the same for all campaigns

self.addEventListener("install", (event) => event.waitUntil(update()));
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { method, mode, url, integrity } = event.request;
  if (method !== "GET" || !url.startsWith(BASE)) {
    return;
  }
  const path = url.slice(BASE.length).replace(/#.*/, "");
  if (mode === "navigate" && /^j\/[0-9a-f]{32}$/.test(path)) {
    event.respondWith(keptOr(event.request, PAGE));
    event.waitUntil(update().catch(() => {})); // without a network
  } else if (path.startsWith("worker/") && integrity) {
    event.respondWith(keptOr(event.request, keyOf(path, integrity)));
  }
});

async function keptOr(request, key) {
  const kept = await (await caches.open(KEPT)).match(key);
  return kept ? new Response(kept.body, kept) : fetch(request);
}

function keyOf(path, integrity) {
  return `${BASE}${path}?${encodeURIComponent(integrity)}`;
}

/** Keep the release that the server has now, unless it is the one that is kept. */
async function update() {
  const [manifest, cache] = [await fetched(MANIFEST), await caches.open(KEPT)];
  const [text, before] = [await manifest.clone().text(), await cache.match(MANIFEST)];
  const known = before ? await before.text() : '{"files":{}}';
  if (text === known) {
    return;
  }
  const { files, page } = JSON.parse(text);
  const listed = Object.entries(files).filter(([path]) => path.startsWith("worker/"));
  const put = async ([path, integrity]) =>
    cache.put(keyOf(path, integrity), await fetched(BASE + path, integrity));
  const newPage = await fetched(PAGE, page);
  await Promise.all(listed.map(put));
  await cache.put(PAGE, newPage);
  await cache.put(MANIFEST, manifest);
  const keys = [...listed, ...Object.entries(JSON.parse(known).files)].map((one) => keyOf(...one));
  for (const { url } of await cache.keys()) {
    if (![PAGE, MANIFEST, ...keys].includes(url)) {
      await cache.delete(url);
    }
  }
}

async function fetched(url, integrity = "") {
  const response = await fetch(url, { integrity, cache: "no-store", credentials: "omit" });
  if (!response.ok) {
    throw new Error("not to be had");
  }
  return response;
}
