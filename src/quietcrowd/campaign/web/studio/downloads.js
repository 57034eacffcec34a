// Files for the requester to download.

import { element } from "./elements.js";

const TRUTHS = { words: "Truths, CSV", path: "truths?format=csv&questions=true", file: "truths.csv", needsResults: true };
const SHARES = { words: "Shares, CSV", path: "shares", file: "shares.csv", needsResults: true };
const RESULTS = { words: "Results, JSON", path: "results", file: "results.json", needsResults: true };
const REPORTS = [
  { words: "Reports, JSON Lines", path: "reports?format=jsonl", file: "reports.jsonl", waits: true },
  { words: "Reports, CSV", path: "reports?format=csv", file: "reports.csv", waits: true },
  { words: "How reports were randomized, JSON", path: "reports?format=mechanism", file: "reports.csv.mechanism.json" },
];

/** Return the buttons of all files that may be seen, of the round of a series; a token gives no reports. */
export function downloadButtons(app, goal, series = null) {
  const found = goal === "shares" ? [SHARES] : [TRUTHS, RESULTS];
  const files = app.api.showsWorkers ? [...found, ...REPORTS] : found;
  return files.map(({ words, path, file, ...needs }) => {
    const click = () => {
      const { round, begins } = (needs.needsResults && series?.chosen) || {};
      const of = [`${path}${path.includes("?") ? "&" : "?"}round=${round}`, file.replace(".", `-${begins?.slice(0, 13)}.`)];
      app.attempt(() => download(app.api, ...(begins ? of : [path, file])));
    };
    const made = element("button", { type: "button", click }, words);
    return Object.assign(made, { needs });
  });
}

/** Enable only the buttons of available files. */
export function offerDownloads(buttons, hasResults, areHeldBack) {
  for (const one of buttons) {
    one.disabled = Boolean((one.needs.waits && areHeldBack) || (one.needs.needsResults && !hasResults));
  }
}

/** Save a file of the server; Excel reads UTF-8 only after a byte order mark. */
async function download(api, path, name) {
  const content = await (await api.fetch(path)).blob();
  save(name.endsWith(".csv") ? new Blob(["\ufeff", content], { type: "text/csv" }) : content, name);
}

/** Let the browser save a file. */
export function save(content, name) {
  const link = element("a", { download: name });
  link.href = URL.createObjectURL(content);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
