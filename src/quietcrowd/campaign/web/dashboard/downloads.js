// Files for the requester to download.

import { byId, make, say } from "./elements.js";

const FILES = [
  [byId("download-truths"), "/truths?format=csv", "truths.csv"],
  [byId("download-results"), "/results", "results.json"],
  [byId("download-jsonl"), "/reports?format=jsonl", "reports.jsonl"],
  [byId("download-csv"), "/reports?format=csv", "reports.csv"],
  [byId("download-mechanism"), "/reports?format=mechanism", "reports.csv.mechanism.json"],
];
const [TRUTHS, RESULTS, LINES, TABLE, MECHANISM] = FILES.map(([button]) => button);

let source = null;
let later = new Set(); // buttons of unavailable files

for (const [button, path, name] of FILES) {
  button.addEventListener("click", () => download(button, path, name));
}

/** Download from a campaign; a token that shows no workers gives no reports. */
export function downloadFrom(api) {
  source = api;
  for (const part of [LINES, TABLE, MECHANISM, byId("downloads-later"), byId("downloads-note")]) {
    part.hidden = !api.showsWorkers;
  }
}

/** Enable only the buttons of available files. */
export function offerDownloads(campaign, results) {
  const waits = campaign.state === "open" && campaign.at_least > 1;
  later = new Set([...(waits ? [LINES, TABLE] : []), ...(results === null ? [TRUTHS, RESULTS] : [])]);
  for (const [button] of FILES) {
    button.disabled = later.has(button);
  }
  say(byId("downloads-later"), waits ? "Reports are available after the campaign closes." : "");
}

async function download(button, path, name) {
  button.disabled = true;
  say(byId("download-error"), "");
  try {
    const content = await (await source.fetch(path)).blob();
    save(content, name);
  } catch (error) {
    say(byId("download-error"), `${name} is not available: ${error.message}`);
  }
  button.disabled = later.has(button);
}

function save(content, name) {
  const link = make("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
