// Files that the requester takes home.

import { byId, make, say } from "./elements.js";

const FILES = [
  [byId("download-jsonl"), "/reports?format=jsonl", "reports.jsonl"],
  [byId("download-csv"), "/reports?format=csv", "reports.csv"],
  [byId("download-mechanism"), "/reports?format=mechanism", "reports.csv.mechanism.json"],
  [byId("download-results"), "/results", "results.json"],
];

let source = null;

for (const [button, path, name] of FILES) {
  button.addEventListener("click", () => download(button, path, name));
}

/** Let the buttons fetch from a campaign. */
export function downloadFrom(campaign) {
  source = campaign;
}

async function download(button, path, name) {
  button.disabled = true;
  say(byId("download-error"), "");
  try {
    const content = await (await source.fetch(path)).blob();
    save(content, name);
  } catch (error) {
    say(byId("download-error"), `${name} cannot be had: ${error.message}`);
  }
  button.disabled = false;
}

/** Hand a file to the browser. */
function save(content, name) {
  const link = make("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
