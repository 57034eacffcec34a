// The images of all tasks, fetched at once: no request tells which task is open.

import { imageIn } from "../terms/images.js";
import { sha256 } from "./membership.js";
import { refuseIf } from "./refusing.js";
import { insist, request } from "./server.js";

const MOST_IMAGES = 1000;
const MOST_BYTES_OF_AN_IMAGE = 2 ** 20;
const MOST_BYTES_OF_IMAGES = 50 * 2 ** 20;
const USUAL_TIMING = { pause: 500, patience: 60_000 };

/** Return the images of a task. @returns {{hash: string, alt: string}[]} */
export function imagesOf(task) {
  return Object.values(task.data).map(imageIn).filter((image) => image !== null);
}

/**
 * Return images by their hashes: all of them, one after the other in the order of their hashes.
 *
 * They have no type: what an image element shows follows from their bytes, and is never SVG.
 * @param {string} server  its base, with a slash at the end
 * @param {string} credential
 * @param {Iterable<string>} hashes
 * @returns {Promise<Map<string, Blob>>}
 */
export async function fetchImages(server, credential, hashes, timing = USUAL_TIMING) {
  const images = new Map();
  let room = MOST_BYTES_OF_IMAGES;
  for (const hash of [...new Set(hashes)].sort()) {
    const attempt = () => request(`${server}api/v1/me/images/${hash}`, { credential });
    const content = await insist(attempt, timing).then(
      (blob) => blob.arrayBuffer(),
      ({ key }) => refuseIf(true, key === "refusal.unanswered" ? key : "refusal.image"),
    );
    room -= content.byteLength;
    const fits = content.byteLength <= MOST_BYTES_OF_AN_IMAGE && room >= 0;
    const isNamed = fits && images.size < MOST_IMAGES && (await sha256(content)) === hash;
    refuseIf(!isNamed, "refusal.image");
    images.set(hash, new Blob([content]));
  }
  return images;
}
