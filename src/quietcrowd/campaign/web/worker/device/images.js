// The images of all tasks, fetched at once: no request tells which task is open.

import { imageIn } from "../terms/images.js";
import { Refusal } from "../terms/terms.js";

const MOST_IMAGES = 1000;
const MOST_BYTES_OF_AN_IMAGE = 2 ** 20;
const MOST_BYTES_OF_IMAGES = 50 * 2 ** 20;
const MOST_TRIES = 60;

/** Return the images of a task. @returns {{hash: string, alt: string}[]} */
export function imagesOf(task) {
  return Object.values(task.data).map(imageIn).filter((image) => image !== null);
}

/**
 * Return images by their hashes: all of them, one after the other in the order of their hashes.
 *
 * They have no type: what an image element shows follows from their bytes, and is never SVG.
 * @param {string | URL} server its base, with a slash at the end
 * @param {string} credential
 * @param {Iterable<string>} hashes
 * @returns {Promise<Map<string, Blob>>}
 */
export async function fetchImages(server, credential, hashes) {
  const images = new Map();
  let room = MOST_BYTES_OF_IMAGES;
  for (const hash of [...new Set(hashes)].sort()) {
    const content = await fetchImage(new URL(`api/v1/me/images/${hash}`, server), credential);
    room -= content.byteLength;
    const fits = content.byteLength <= MOST_BYTES_OF_AN_IMAGE && room >= 0;
    if (!fits || images.size === MOST_IMAGES || (await hashOfImage(content)) !== hash) {
      throw new Refusal("refusal.image");
    }
    images.set(hash, new Blob([content]));
  }
  return images;
}

async function fetchImage(url, credential) {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const answer = await fetch(url, {
      headers: { Authorization: `Bearer ${credential}` },
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
    if (answer.ok) {
      return answer.arrayBuffer();
    }
    if (answer.status !== 429 && answer.status !== 503) {
      break;
    }
    const seconds = Number(answer.headers.get("Retry-After")) || 1;
    await new Promise((resume) => setTimeout(resume, 1000 * seconds));
  }
  throw new Refusal("refusal.image");
}

async function hashOfImage(content) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
