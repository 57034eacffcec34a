// Images of all tasks, fetched at once, so that requests do not reveal which task is open.

import { imageIn, isShownImage } from "../terms/images.js";
import { sha256 } from "../terms/canonical.js";
import { refuseIf } from "../terms/terms.js";
import { insist, request } from "./server.js";

const MOST_BYTES = 50 * 2 ** 20; // of all images

export function imagesOf(task) {
  return Object.values(task.data).map(imageIn).filter((image) => image !== null);
}

/**
 * Fetch images one after the other, sorted by hash. Blobs have no type: an image element detects it
 * from the bytes, and never shows SVG. `timing.onImage` receives how many are here, of how many.
 */
export async function fetchImages(base, credential, hashes, timing) {
  const images = new Map();
  let room = MOST_BYTES;
  const sorted = [...new Set(hashes)].sort();
  for (const hash of sorted) {
    await timing.onImage?.(images.size, sorted.length);
    const attempt = () => request(`${base}api/v1/me/images/${hash}`, { credential });
    const image = await insist(attempt, timing).catch(({ key }) =>
      refuseIf(true, key === "refusal.unanswered" ? key : "refusal.image"),
    );
    room -= image.size;
    const content = await image.arrayBuffer();
    const isNamed = room >= 0 && (await sha256(content)) === hash;
    refuseIf(!isNamed || !isShownImage(content), "refusal.image");
    images.set(hash, image.slice());
  }
  return images;
}
