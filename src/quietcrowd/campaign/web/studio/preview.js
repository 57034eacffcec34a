// Step 2: the real worker page in a sandbox, without a device: nothing is stored or sent.

import { byId, element } from "./elements.js";
import { counted } from "./format.js";

const NOT_READY = 409;
const LONG = 200; // characters of a question that are many on a phone

/** The screen of the second step. */
export async function preview(app) {
  let given = null;
  try {
    given = await app.api.json("preview");
  } catch (error) {
    if (error.status !== NOT_READY) {
      throw error;
    }
    return { missing: app.campaign.tasks > 0 ? error.message : "There are no questions yet. Add some in step 1." };
  }
  const images = await imagesOf(app.api, given.tasks);
  const source = new URL(`preview/j/${app.campaign.id}#i=preview`, location);
  let frame = null;
  const answer = ({ source: from, data }) => {
    if (data === "ready" && from === frame?.contentWindow) {
      from.postMessage({ ...given, images }, "*"); // its origin is opaque, and the data is public to workers
    }
  };
  const start = () => {
    removeEventListener("message", answer);
    addEventListener("message", answer);
    const attributes = { sandbox: "allow-scripts", title: "The page that people see" };
    frame = element("iframe", { ...attributes, src: source.href });
    byId("frame").replaceChildren(frame);
  };
  const leave = () => removeEventListener("message", answer);
  return { again: start, shown: true, notes: notesOn(given), ready: start, leave };
}

/** Return the images that tasks name, by their hashes. */
async function imagesOf(api, tasks) {
  const cells = tasks.flatMap(({ data }) => Object.values(data));
  const hashes = new Set(cells.map((cell) => cell?.image).filter((hash) => typeof hash === "string"));
  const images = new Map();
  for (const hash of hashes) {
    images.set(hash, await (await api.fetch(`images/${hash}`)).blob());
  }
  return images;
}

/** Return hints for better questions. */
function notesOn({ tasks }) {
  const texts = tasks.map(({ data }) => Object.values(data));
  const long = texts.filter((all) => all.some((one) => typeof one === "string" && one.length > LONG));
  const unnamed = texts.flat().filter((one) => typeof one?.image === "string" && !one.alt);
  const notes = [
    ...(long.length ? [`${counted(long.length, "question")} longer than ${LONG} characters: read one on a phone.`] : []),
    ...(unnamed.length ? [`${counted(unnamed.length, "picture")} without a description for people who cannot see.`] : []),
  ];
  return notes.map((text) => element("li", {}, text));
}
