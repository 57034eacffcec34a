// A page's device, as tests speak to it: answers come as pairs, and refusals as their keys.

import { Device, whyNotHere } from "../worker/device/device.js";
import { speaker } from "../worker/page/messages.js";

let device;

/** Open the device; return its state. */
export async function openDevice(campaign, timing) {
  const messages = await fetch("./en.json");
  const english = speaker(await messages.json());
  const base = new URL("../", location.href).href;
  const now = () => Date.now() + (window.later ?? 0);
  device = await Device.open({ base, campaign, english, now, ...timing });
  return device.state;
}

/** Call a method of the device; return what it gives, or `{ refused, values }`. */
export async function call(method, ...given) {
  const values = given.map((one) => (Array.isArray(one) ? new Map(one) : one));
  try {
    const result = await device[method](...values);
    return result instanceof Map ? [...result] : (result ?? null);
  } catch (error) {
    return { refused: error.key ?? String(error), values: error.values ?? null };
  }
}

/** Call a method several times at once; return how each ended. */
export function callAtOnce(count, ...call_) {
  return Promise.all(Array.from({ length: count }, () => call(...call_)));
}

/** Return a public property. */
export function look(name) {
  const value = device[name];
  return value instanceof Map ? [...value.keys()] : value;
}

/** Return all that the database holds. */
export async function everything() {
  const request = indexedDB.open("quietcrowd");
  const settled = (one) =>
    new Promise((resolve, reject) => {
      one.onsuccess = () => resolve(one.result);
      one.onerror = () => reject(one.error);
    });
  const database = await settled(request);
  const held = await settled(database.transaction("kept").objectStore("kept").getAll());
  database.close();
  return held;
}

export { whyNotHere };

/** Send, and count on the window how often the device waits. */
export function sendCounting() {
  window.waits = 0;
  return device.send(() => {
    window.waits += 1;
  });
}
